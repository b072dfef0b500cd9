"""The first rows of an RBF file are those that reading all of it gives, and no more of it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fsspec
import pytest
from in_process import on_pipe
from rbf_logs import CRAFTED, flipped, mutated

import thawline
from thawline.engine import columns
from thawline.formats.rbf import walk as rbf_walk
from thawline.source import RemoteSource
from tools.bench import attack


def first_rows(data: bytes | str, rows: int, **options: Any) -> list[dict[str, Any]]:
    with thawline.open(data, "rbf", **options) as cold:
        return [row for batch in cold.head(rows) for row in batch.to_pylist()]


def all_rows(data: bytes, **options: Any) -> list[dict[str, Any]]:
    with thawline.open(data, "rbf", **options) as cold:
        return [row for batch in cold.batches() for row in batch.to_pylist()]


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 5, 39, 40, 41, 10**9])
def test_head_is_the_start_of_all_rows(rows: int) -> None:
    for name, data in CRAFTED.items():
        assert first_rows(data, rows) == all_rows(data)[:rows], name


def test_head_is_the_start_of_all_rows_for_mutants() -> None:
    for index, mutant in enumerate(mutated(10, 1000)):
        assert first_rows(mutant, index % 4) == all_rows(mutant)[: index % 4], mutant.hex()


def test_head_of_chosen_tags_has_those_tags() -> None:
    data = attack.clean(1 << 16)
    tag = all_rows(data)[3]["tag"]
    assert first_rows(data, 2, tag=str(tag)) == all_rows(data, tag=str(tag))[:2]


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The ranges that are fetched of a remote file, in small blocks."""
    ranges: list[tuple[int, int]] = []
    fetch = RemoteSource._fetch

    def recorded(self: RemoteSource, start: int, end: int) -> bytes:
        ranges.append((start, end))
        return fetch(self, start, end)

    monkeypatch.setattr(RemoteSource, "_fetch", recorded)
    monkeypatch.setattr(RemoteSource, "block", 1 << 12)
    monkeypatch.setattr(columns, "WINDOW", 1 << 16)
    monkeypatch.setattr(rbf_walk, "LOOKED_AHEAD", 1 << 16)
    return ranges


@pytest.mark.parametrize("damage", [None, 3 << 20])
def test_the_first_rows_need_only_the_start_of_the_file(fetched: list[tuple[int, int]], damage: int | None) -> None:
    data = attack.clean(4 << 20)
    with fsspec.open("memory://thawline/head.rbf", "wb") as file:
        file.write(data if damage is None else flipped(data, damage))
    assert first_rows("memory://thawline/head.rbf", 5) == all_rows(data)[:5]
    assert sum(end - start for start, end in fetched) <= 5 * columns.WINDOW < len(data) / 10


def test_damage_before_the_last_of_the_first_rows_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rbf_walk, "LOOKED_AHEAD", 1 << 10)
    monkeypatch.setattr(columns, "MAX_BYTES", 1 << 10)
    data = attack.clean(1 << 16)
    (tmp_path / "a.rbf").write_bytes(flipped(data, 200))
    (tmp_path / "b.rbf").write_bytes(flipped(data, len(data) - 200))
    early, late = (on_pipe(["head", "-n", "5", name], tmp_path) for name in ("a.rbf", "b.rbf"))
    assert (early.code, late.code) == (1, 0)
    assert "damaged bytes" in early.err
    assert late.err == ""
    assert len(early.out.splitlines()) == len(late.out.splitlines()) == 5
