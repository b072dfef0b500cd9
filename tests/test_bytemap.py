"""The byte map: nothing of a file is left out of it, and no damage is too small to be seen."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from accounts import GOLDEN
from hypothesis import given
from hypothesis import strategies as st
from in_process import on_pipe, on_terminal
from rich.cells import cell_len

import thawline
from thawline.bytemap import cells, runs, tiles
from thawline.model import Code, Finding, Report, Run, Span, report
from thawline.rendering.strip import strip

TORN = Code("XXX101", "torn", "error", "")
ZEROS = Code("XXX301", "zeros", "note", "")
LEFT = Code("XXX302", "left out", "note", "", is_pruning=True)


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """Reports of any runs and findings that tile a file."""
    items: list[Run | Finding] = []
    position = 0
    for size in draw(st.lists(st.integers(0, 40), max_size=12)):
        span = Span(position, position := position + size)
        code = draw(st.sampled_from([None, TORN, ZEROS, LEFT]))
        items.append(Finding(code, span) if code else Run(span, 1, 1))
    return report("a", "x", position, items)


@given(reports())
def test_tiles_cover_the_file_without_a_gap(verdict: Report) -> None:
    found = list(tiles(verdict.findings, verdict.size))
    assert sum(tile.span.size for tile in found) == verdict.size
    assert all(left.span.end == right.span.start for left, right in pairwise(found))
    damaged = sum(tile.span.size for tile in found if tile.state == "damaged")
    assert damaged == verdict.damaged_bytes


@given(reports(), st.integers(1, 50))
def test_no_damage_is_too_small_for_the_map(verdict: Report, count: int) -> None:
    found = cells(verdict.findings, verdict.size, count)
    assert len(found) == min(count, verdict.size)
    for tile in tiles(verdict.findings, verdict.size):
        if tile.state == "damaged" and verdict.size:
            first = min(tile.span.start * len(found) // verdict.size, len(found) - 1)
            assert found[first] == "damaged"
    assert ("damaged" in found) == bool(verdict.size and verdict.findings.errors)


@given(reports(), st.integers(0, 150))
def test_a_strip_fits_the_room_that_it_has(verdict: Report, room: int) -> None:
    line = strip(verdict, room)
    assert line is None or cell_len(line.plain) <= room


def test_runs_of_cells_are_counted_once() -> None:
    states = cells([Finding(TORN, Span(3, 6))], 9, 9)
    assert list(runs(states)) == [(0, 3, "intact"), (3, 6, "damaged"), (6, 9, "intact")]


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    data = bytearray((GOLDEN / "rbf/many-frames.rbf").read_bytes())
    data[len(data) // 2] ^= 0x55
    path = tmp_path / "torn.rbf"
    path.write_bytes(data)
    assert not thawline.verify(path)
    return path


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_verify_shows_where_the_damage_is_on_a_terminal(damaged: Path, columns: int) -> None:
    shown = on_terminal(["verify", damaged.name], damaged.parent, columns=columns)
    line = next(line for line in shown.lines() if line.startswith("    map"))
    assert "▇░" in line
    assert "░▇" in line
    assert cell_len(line) <= columns
    assert shown.code == 1


def test_no_map_goes_into_a_pipe(damaged: Path) -> None:
    for shape in ("table", "jsonl", "csv"):
        assert "▇" not in on_pipe(["verify", "--format", shape, damaged.name], damaged.parent).out


def test_an_intact_file_has_no_map(tmp_path: Path) -> None:
    (tmp_path / "a.rbf").write_bytes((GOLDEN / "rbf/many-frames.rbf").read_bytes())
    assert "▇" not in on_terminal(["verify", "a.rbf"], tmp_path).out


def test_a_terminal_without_blocks_gets_letters() -> None:
    verdict = report("a", "x", 100, [Run(Span(0, 80), 1, 1), Finding(TORN, Span(80, 100))])
    assert str(strip(verdict, 21, "ascii")) == "########!!  ! damaged"
