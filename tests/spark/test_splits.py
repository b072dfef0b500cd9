"""Tasks together read what one process reads, row for row, wherever a file is cut; no session is needed to see that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from accounts import golden_files

from thawline import formats
from thawline.cold import ColdFile
from thawline.errors import SourceError
from thawline.formats import FORMATS
from thawline.formats.contract import Depth, Reading, read
from thawline.formats.ranges import Range
from thawline.formats.rbf import Log
from thawline.model import Finding, Run
from thawline.source import Source, open_source
from thawline.spark.files import File, Listing, Members
from thawline.spark.planning import Part, Planner
from thawline.spark.rows import METADATA, Reader, every_column, schema_of
from thawline.spark.settings import Settings, understood
from tools.damage import damages

COUNTS = (2, 50)
"""How many ranges a file is cut into."""
PARTS_OF_FILES = (".address", ".bin", ".index", ".timeindex", ".txnindex", ".snapshot")
FILES = [golden.file for name in FORMATS for golden in golden_files(name) if golden.file.suffix not in PARTS_OF_FILES]

MOST_EDGES = 60
"""Edges of units that a file is cut at."""

each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")


def settings_for(file: Path, table: str, **given: str) -> Settings:
    return understood(file.parent.name, {"path": str(file), "table": table, **given})


def partitions(settings: Settings, size: int) -> list[tuple[Part, ...]]:
    return Planner(size).plan(Listing(settings).files)


def cut_at(settings: Settings, places: Iterable[int]) -> list[Part]:
    """The ranges of a file between some places."""
    (file,) = Listing(settings).files
    edges = sorted({0, *(place for place in places if 0 < place < file.size), file.size})
    return [Part(file, Range(*edge)) for edge in pairwise(edges)] or [Part(file, Range(0, 0))]


def rows(settings: Settings, schema: pa.Schema, parts: Iterator[Part]) -> pa.Table:
    reader, members = Reader(settings, schema), Members(settings.format)
    return pa.Table.from_batches([batch for part in parts for batch in reader.read(part, members)], schema)


def in_one_process(settings: Settings, file: Path) -> pa.Table:
    """The rows as `thawline cat` reads them, which knows nothing of tasks."""
    with open_source(str(file)) as source:
        cold = ColdFile(source, settings.format, settings.table, "keep")
        return pa.Table.from_batches(list(cold.batches()), cold.schema)


def tables_of(file: Path) -> list[str]:
    """The tables that a file has, of those of its format."""
    found = formats.get(file.parent.name)
    held = []
    for table in found.tables:
        with open_source(str(file)) as source, suppress(SourceError):
            list(read(found.kind_of(source), source, table, ()))
            held.append(table)
    return held


def same(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables have the same rows; that a number is none is the same as that another is none."""
    return one.equals(other) or (one.schema == other.schema and repr(one.to_pylist()) == repr(other.to_pylist()))


def check(file: Path, cuts: Callable[[int], Iterable[Iterable[int]]]) -> None:
    """Each choice of places to cut a file at gives the rows of the whole file, whichever worker reads which range."""
    for table in tables_of(file):
        settings = settings_for(file, table)
        whole = in_one_process(settings, file)
        for number, places in enumerate(cuts(file.stat().st_size)):
            parts = cut_at(settings, places)
            if number % 2:  # each range by a worker that has not read the one before it
                found = [rows(settings, whole.schema, iter([part])) for part in reversed(parts)]
                together = pa.concat_tables(reversed(found))
            else:
                together = rows(settings, whole.schema, iter(parts))
            assert same(together, whole), (table, sorted(places))


def evenly(size: int) -> list[list[int]]:
    return [[index * size // count for index in range(1, count)] for count in COUNTS]


@each_file
def test_ranges_of_any_number_have_the_rows_of_the_whole_file(file: Path) -> None:
    check(file, evenly)


def unit_edges(file: Path) -> list[int]:
    """Where the units and the findings of a file start and end."""
    found = formats.get(file.parent.name)
    with open_source(str(file)) as source:
        kind = found.kind_of(source)
        items = list(kind.walk(source, Depth.UNITS))
        spans = [span for item in items if isinstance(item, Run) for span in kind.units(source, item)]
        return sorted({edge for span in (*spans, *(item.span for item in items)) for edge in (span.start, span.end)})


@each_file
def test_a_cut_at_or_beside_the_edge_of_a_unit_loses_nothing(file: Path) -> None:
    edges = unit_edges(file)[:MOST_EDGES]
    check(file, lambda _: [[edge + shift for edge in edges] for shift in (-1, 0, 1)])


@each_file
def test_ranges_of_a_damaged_file_have_its_rows_and_its_damage(file: Path, tmp_path: Path) -> None:
    _check_damaged(file, tmp_path, len(file.name), choices=1, every=4)


@pytest.mark.fuzz
@pytest.mark.parametrize("round_", range(6))
@each_file
def test_ranges_of_many_damaged_files_have_their_rows_and_their_damage(file: Path, round_: int, tmp_path: Path) -> None:
    _check_damaged(file, tmp_path, 1000 * (round_ + 1) + len(file.name), choices=3, every=1)


def _check_damaged(file: Path, tmp_path: Path, seed: int, *, choices: int, every: int) -> None:
    """Copies with one kind of damage each, cut anywhere, at the damage, and where a unit starts."""
    folder = tmp_path / file.parent.name
    folder.mkdir()
    random = Random(seed)
    for damage in islice(damages(file.read_bytes(), seed), seed % every, None, every):
        copy = folder / file.name
        copy.write_bytes(damage.data)
        edges = unit_edges(copy)

        def chosen(size: int, at: int = damage.at, edges: Sequence[int] = edges) -> Iterator[list[int]]:
            for _ in range(choices):
                anywhere = [random.randrange(size + 1) for _ in range(random.randrange(1, 49))]
                yield [*anywhere, at, *random.sample(edges, min(len(edges), 2))]

        check(copy, chosen)


@each_file
def test_the_place_of_a_row_is_the_same_however_the_file_is_cut(file: Path) -> None:
    settings = replace(settings_for(file, tables_of(file)[0]), has_metadata=True)
    schema = schema_of(settings)
    assert set(METADATA.names) < set(schema.names)
    tables = [
        rows(settings, schema, (part for parts in partitions(settings, size) for part in parts))
        for size in (100, 500, 1 << 30)
    ]
    assert same(tables[0], tables[1])
    assert same(tables[0], tables[2])
    assert same(tables[0].drop(METADATA.names), in_one_process(settings, file))


def test_each_worker_decodes_only_its_own_range() -> None:
    file = next(file for file in FILES if file.name == "many-frames.rbf")
    settings = settings_for(file, "frames")
    parts = cut_at(settings, [file.stat().st_size // 2])
    counts = [rows(settings, schema_of(settings), iter([part])).num_rows for part in parts]
    assert sum(counts) == 40
    assert min(counts) > 10


@pytest.mark.parametrize("size", [1 << 30, 8 << 30])
def test_the_plan_for_a_file_of_any_size_reads_none_of_it(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "00000000000000000000.log"
    with file.open("wb") as sparse:
        sparse.truncate(size)
    listed = Listing(settings_for(FILES[0], formats_first_table(), path=str(file))).files

    def refused(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("the driver opened a file")

    monkeypatch.setattr("io.open", refused)
    monkeypatch.setattr("builtins.open", refused)
    monkeypatch.setattr("os.open", refused)
    plan = Planner(cores=2).plan(listed)
    sizes = [part.weight for parts in plan for part in parts]
    assert sum(sizes) == size
    assert 32 << 20 <= min(sizes) <= max(sizes) <= 128 << 20


@pytest.mark.parametrize("size", [1, 300, 1 << 20])
def test_a_tiny_size_of_ranges_makes_a_bounded_number_of_tasks(size: int) -> None:
    files = [File("/small.rbf", 70_028), File("/large.rbf", 8 << 30)]
    parts = [part for parts in Planner(size).plan(files) for part in parts]
    assert sum(part.weight for part in parts) == sum(file.size for file in files)
    assert len(parts) <= 1000 + 1000


def formats_first_table() -> str:
    return next(iter(formats.get(FILES[0].parent.name).tables))


def test_what_was_appended_since_the_listing_belongs_to_no_range(tmp_path: Path) -> None:
    data = next(file for file in FILES if file.name == "many-frames.rbf").read_bytes()
    (tmp_path / "rbf").mkdir()
    file = tmp_path / "rbf" / "growing.rbf"
    file.write_bytes(data)
    settings = settings_for(file, "frames")
    whole, parts = in_one_process(settings, file), cut_at(settings, [100, 600])
    with file.open("ab") as more:
        more.write(data[4:])
    assert same(rows(settings, whole.schema, iter(parts)), whole)
    file.write_bytes(data[:-4])
    with pytest.raises(SourceError, match=rf"growing.rbf: had {len(data)} bytes when the read was planned, and has"):
        rows(settings, whole.schema, iter(parts))


def test_small_files_are_packed_and_keep_their_order() -> None:
    files = [File(f"/{number}.rbf", 1000) for number in range(10_000)]
    found = Planner(cores=2).plan(files)
    assert [part.file for parts in found for part in parts] == files
    assert len(found) < 400


def test_a_column_that_is_not_asked_for_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    file = next(file for file in FILES if file.name == "many-frames.rbf")
    settings = settings_for(file, "frames")
    asked: list[list[str]] = []
    original = Log.rows

    def watched(self: Log, source: Source, items: Iterable[Run | Finding], table: str, columns: list[str]) -> Reading:
        asked.append(list(columns))
        return original(self, source, items, table, columns)

    monkeypatch.setattr(Log, "rows", watched)
    narrow = pa.schema([every_column(settings).field("tag")])
    found = rows(settings, narrow, iter([Part(Listing(settings).files[0])]))
    assert (asked, found.column_names) == ([["tag"]], ["tag"])
