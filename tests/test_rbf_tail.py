"""The last rows of an RBF file are those that reading all of it gives, wherever the file lies."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import fsspec
import pytest
from engines import calling
from rbf_logs import CRAFTED, MINIMAL, expected_rows, findings_of, flipped, mutated, rows_of

import thawline
from thawline.engine import columns
from thawline.errors import SourceError
from thawline.formats.rbf import walk as rbf_walk
from thawline.model import Finding
from thawline.native import fast
from thawline.source import RemoteSource, open_source
from tools.bench import attack


def last_rows(data: bytes, rows: int) -> list[dict[str, Any]]:
    with thawline.open(data, "rbf") as cold:
        return [row for batch in cold.tail(rows) for row in batch.to_pylist()]


def all_rows(data: bytes) -> list[dict[str, Any]]:
    with thawline.open(data, "rbf") as cold:
        return [row for batch in cold.batches() for row in batch.to_pylist()]


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 5, 39, 40, 41, 10**9])
@pytest.mark.parametrize("window", [8, 64, rbf_walk.FIRST_WINDOW])
def test_tail_is_the_end_of_all_rows(rows: int, window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rbf_walk, "FIRST_WINDOW", window)
    for name, data in CRAFTED.items():
        every = all_rows(data)
        assert last_rows(data, rows) == every[max(len(every) - rows, 0) :], name


def test_tail_is_the_end_of_all_rows_for_mutants() -> None:
    for index, mutant in enumerate(mutated(9, 1000)):
        rows = index % 4
        every = all_rows(mutant)
        assert last_rows(mutant, rows) == every[max(len(every) - rows, 0) :], mutant.hex()


def test_tail_marks_frames_that_only_the_start_of_the_file_shows_to_be_nested() -> None:
    data = CRAFTED["nested, cut behind an inner fence"]
    for rows in (1, 2, 3):
        assert [row["nested_suspect"] for row in last_rows(data, rows)] == [False, True, True][-rows:]


def test_tail_does_not_look_further_back_than_a_frame_can_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    data = attack.clean(8 << 20)
    monkeypatch.setattr(rbf_walk, "LOOKED_BACK", 1 << 20)
    seen: list[int] = []
    check_frames = fast.check_frames

    def watched(buf: Any, *rest: Any) -> None:
        seen.append(len(buf))
        check_frames(buf, *rest)

    module = SimpleNamespace(**{name: getattr(fast, name) for name in dir(fast)})
    module.check_frames = watched
    with calling(module):
        assert len(last_rows(data, 10)) == 10
    assert max(seen) <= rbf_walk.LOOKED_BACK + rbf_walk.FIRST_WINDOW


# Remote files.


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The ranges that are fetched, in small blocks."""
    ranges: list[tuple[int, int]] = []
    fetch = RemoteSource._fetch

    def recorded(self: RemoteSource, start: int, end: int) -> bytes:
        ranges.append((start, end))
        return fetch(self, start, end)

    monkeypatch.setattr(RemoteSource, "_fetch", recorded)
    monkeypatch.setattr(RemoteSource, "block", 1 << 12)
    monkeypatch.setattr(columns, "WINDOW", 1 << 16)
    return ranges


def uploaded(data: bytes) -> str:
    url = "memory://thawline/log.rbf"
    with fsspec.open(url, "wb") as file:
        file.write(data)
    return url


def comparable(findings: Iterator[Finding]) -> list[tuple[object, ...]]:
    return [(finding.code.id, finding.span, finding.detail) for finding in findings]


def test_a_remote_file_reads_like_a_local_one(fetched: list[tuple[int, int]]) -> None:
    for name, data in {**CRAFTED, **{name: data for name, (data, _) in MINIMAL.items()}}.items():
        with thawline.open(uploaded(data), "rbf") as remote, thawline.open(data, "rbf") as local:
            assert isinstance(remote.source, RemoteSource)
            assert comparable(remote.findings()) == comparable(local.findings()), name
            assert rows_of(remote.batches()) == rows_of(local.batches()), name
            assert remote.verify().rows == local.verify().rows
            assert rows_of(remote.tail(2)) == rows_of(local.tail(2)), name
    assert fetched


def no_copy(_: RemoteSource) -> None:
    raise AssertionError("a clean file was copied")


def test_a_clean_remote_file_is_read_in_ranges(fetched: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RemoteSource, "on_disk", no_copy)
    data = attack.clean(1 << 20)
    with thawline.open(uploaded(data)) as cold:
        assert cold.verify().ok
        assert sum(end - start for start, end in fetched) == len(data)
        fetched.clear()
        assert rows_of(cold.batches()) == expected_rows(data)
    assert not fetched  # what was fetched serves again


def test_the_tail_of_a_clean_remote_file_is_fetched_without_the_rest(
    fetched: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RemoteSource, "on_disk", no_copy)
    data = attack.clean(2 << 20)
    with thawline.open(uploaded(data)) as cold:
        fetched.clear()
        assert rows_of(cold.tail(7)) == expected_rows(data)[-7:]
    assert sum(end - start for start, end in fetched) <= 3 * rbf_walk.FIRST_WINDOW
    assert min(start for start, _ in fetched) >= len(data) - 2 * rbf_walk.FIRST_WINDOW


def test_a_damaged_remote_file_is_copied_once_and_in_blocks(
    fetched: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rbf_walk, "LAST_REMOTE_WINDOW", columns.WINDOW)
    data = flipped(attack.clean(1 << 19), 1 << 18)
    with thawline.open(uploaded(data)) as cold:
        assert not cold.verify().ok
        fetched.clear()
        assert rows_of(cold.batches()) == expected_rows(data)
        assert comparable(cold.findings()) == comparable(iter(findings_of(data)))
        assert not fetched  # the copy serves
    with thawline.open(uploaded(data)) as cold:
        fetched.clear()
        assert rows_of(cold.tail(600)) == expected_rows(data)[-600:]
    assert sum(end - start for start, end in fetched) <= len(data)


def test_a_remote_file_that_changes_while_it_is_copied_is_an_error(fetched: list[tuple[int, int]]) -> None:
    data = flipped(attack.clean(1 << 16), 1 << 15)
    with open_source(uploaded(data)) as source:
        source.size += 4096
        with pytest.raises(SourceError, match="changed while it was read"):
            source.on_disk()
    assert fetched
