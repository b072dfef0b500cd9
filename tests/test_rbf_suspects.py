"""Frames that a broken frame may have carried in its payload are marked, and not salvaged."""

# ruff: noqa: ARG005 - every kind of damage is told the same

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rbf_logs import CRAFTED, NESTED, OUTER, OUTER_AT, TWO, codes_of, findings_of, flipped, patched, suspects_of, u4

import thawline
from tools.bench import attack
from tools.bench.attack import FENCE, file_of, frame
from tools.damage import damaged

FIRST_OF_LOG, LAST_OF_LOG = attack.frame(b"before", 1), attack.frame(b"behind", 3)
CARRIED = [attack.frame(b"inner %d" % number, 7) for number in range(3)]


def carrying(lead: bytes = b"", trail: bytes = b"trailing") -> tuple[bytes, int, int]:
    """A log whose second frame has a log in its payload, and where that frame starts and ends."""
    outer = attack.frame(lead + attack.file_of(*CARRIED) + trail, 2)
    start = 4 + len(FIRST_OF_LOG) + 4
    return attack.file_of(FIRST_OF_LOG, outer, LAST_OF_LOG), start, start + len(outer)


BROKEN_OUTER: dict[str, Callable[[bytes, int, int], bytes]] = {
    "payload": lambda data, start, end: flipped(data, end - 18),
    "tag": lambda data, start, end: flipped(data, start + 4),
    "checksum": lambda data, start, end: flipped(data, end - 4),
    "HeadLen": lambda data, start, end: patched(data, start, u4(0)),
    "HeadLen beyond the file": lambda data, start, end: patched(data, start, u4(1 << 20)),
    "TailLen": lambda data, start, end: patched(data, end - 8, u4(0)),
    "both lengths, to zero": lambda data, start, end: patched(patched(data, start, u4(0)), end - 8, u4(0)),
    "both lengths, alike": lambda data, start, end: patched(
        patched(data, start, u4(end - start - 12)), end - 8, u4(end - start - 12)
    ),
    "both lengths, to others": lambda data, start, end: patched(
        patched(data, start, u4(end - start + 8)), end - 8, u4(end - start - 20)
    ),
    "status": lambda data, start, end: patched(data, end - 9, b"\x7f"),
    "the fence behind it": lambda data, start, end: flipped(flipped(data, end), end - 18),
    "bytes put in": lambda data, start, end: data[: end - 20] + bytes(16) + data[end - 20 :],
    "bytes put in before what it carries": lambda data, start, end: data[: start + 8] + bytes(64) + data[start + 8 :],
    "bytes taken out": lambda data, start, end: data[: end - 20] + data[end - 16 :],
}


@pytest.mark.parametrize("case", BROKEN_OUTER)
@pytest.mark.parametrize("lead", [b"", b"lead", b"a longer lead of words!!"], ids=len)
def test_frames_that_a_broken_frame_carries_are_marked_whatever_is_broken(case: str, lead: bytes) -> None:
    data, start, end = carrying(lead)
    marks = dict(suspects_of(BROKEN_OUTER[case](data, start, end)))
    for number in range(3):
        assert marks[b"inner %d" % number], number
    assert not marks[b"before"]
    if case not in {"HeadLen beyond the file", "the fence behind it"}:
        assert not marks[b"behind"]


@pytest.mark.parametrize("case", BROKEN_OUTER)
def test_frames_that_a_broken_frame_carries_are_not_salvaged_unless_asked_for(case: str, tmp_path: Path) -> None:
    data = BROKEN_OUTER[case](*carrying())
    for include, expected in ((False, set()), (True, {b"inner 0", b"inner 1", b"inner 2"})):
        target = tmp_path / f"{include}.rbf"
        thawline.salvage(data, target, "rbf", include_suspects=include)
        kept = suspects_of(target.read_bytes())
        assert {payload for payload, _ in kept if payload.startswith(b"inner")} == expected
        assert not any(is_suspect for _, is_suspect in kept)


@pytest.mark.parametrize("kind", ["flip", "insert", "delete", "zero"])
def test_damage_to_a_log_that_carries_none_marks_few_frames(kind: str) -> None:
    data = attack.file_of(*(attack.frame(b"%d" % number * 20, 1) for number in range(60)))
    marked = [sum(mark for _, mark in suspects_of(damaged(data, kind, seed).data)) for seed in range(200)]
    assert sum(marked) < 200 * 60 // 100


# Frames inside the claimed extent of a broken frame.

INSIDE = [(b"inner one", True), (b"inner two!!", True)]


def test_frames_inside_a_damaged_frame_are_suspects() -> None:
    data = CRAFTED["nested, outer damaged"]
    assert suspects_of(data) == [(b"one", False), *INSIDE, (b"second", False)]
    assert codes_of(data) == ["RBF104", "RBF105"]
    assert findings_of(data)[1].detail["reason"] == f"the rest of the broken frame at {OUTER_AT:#x}"


@pytest.mark.parametrize("missing", [1, 4, 8, 13, 16])
def test_frames_inside_a_torn_frame_are_suspects(missing: int) -> None:
    data = NESTED[: OUTER_AT + len(OUTER) - missing]
    assert suspects_of(data) == [(b"one", False), *INSIDE]
    assert codes_of(data)[0] == "RBF102"


def test_frames_inside_a_frame_torn_exactly_behind_their_fence_are_suspects() -> None:
    data = CRAFTED["nested, cut behind an inner fence"]
    assert data.endswith(FENCE)
    assert suspects_of(data) == [(b"one", False), *INSIDE]
    assert codes_of(data) == ["RBF102"]


def test_frames_inside_a_whole_frame_without_its_fence_are_suspects() -> None:
    assert suspects_of(CRAFTED["nested, outer unfenced"]) == [(b"one", False), *INSIDE]
    assert codes_of(CRAFTED["nested, outer unfenced"])[0] == "RBF103"


def test_frames_inside_the_first_frame_of_a_file_that_lost_its_genesis_are_suspects() -> None:
    data = CRAFTED["nested, genesis lost"]
    assert suspects_of(data) == [*INSIDE, (b"second", False)]
    assert codes_of(data)[:2] == ["RBF101", "RBF110"]


@pytest.mark.parametrize("length", [0, 24, len(OUTER) + 4 + len(TWO), 1 << 20, (1 << 32) - 4])
def test_frames_inside_a_frame_whose_head_len_is_damaged_are_suspects_and_others_not(length: int) -> None:
    data = patched(NESTED, OUTER_AT, u4(length))
    assert suspects_of(data) == [(b"one", False), *INSIDE, (b"second", False)]
    assert codes_of(data) == ["RBF106", "RBF105"]


@pytest.mark.parametrize("length", [0, 24, len(OUTER) + 4 + len(TWO), 1 << 20])
def test_a_tail_len_tells_the_extent_where_head_len_and_checksum_are_damaged(length: int) -> None:
    data = flipped(patched(NESTED, OUTER_AT, u4(length)), OUTER_AT + 9)
    assert suspects_of(data) == [(b"one", False), *INSIDE, (b"second", False)]
    assert codes_of(data) == ["RBF105", "RBF105"]


@pytest.mark.parametrize("length", [0, 20, 44, 68, 92, 1 << 12, 1 << 20])
def test_no_frame_is_a_suspect_because_of_a_damaged_head_len(length: int) -> None:
    frames = [frame(bytes([index]) * 3, index) for index in range(6)]
    for index in range(6):
        data = patched(file_of(*frames), 4 + 24 * index, u4(length))
        if length != 20:
            assert codes_of(data) == ["RBF106"]
        assert not any(marked for _, marked in suspects_of(data))


def test_only_the_frames_that_end_inside_the_broken_frame_are_suspects() -> None:
    # The second HeadLen claims itself and the next two frames, and a fence stands where it says they end.
    frames = [frame(bytes([index]) * 3, index) for index in range(6)]
    data = flipped(patched(file_of(*frames), 4 + 24, u4(20 + 2 * 24)), 4 + 24 + 12)
    data = flipped(data, 4 + 24 + 8)
    assert [marked for _, marked in suspects_of(data)] == [False, True, True, False, False]


def test_intact_files_in_payloads_are_no_suspects() -> None:
    assert not any(marked for _, marked in suspects_of(NESTED))
    assert codes_of(NESTED) == []
