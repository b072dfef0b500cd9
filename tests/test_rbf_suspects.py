"""Frames that a broken frame may have carried in its payload are marked, and not salvaged."""

# ruff: noqa: ARG005 - every kind of damage is told the same

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rbf_logs import flipped, patched, suspects_of, u4

import thawline
from tools.bench import attack
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
