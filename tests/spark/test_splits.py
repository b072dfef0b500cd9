"""Tasks together read what one process reads, row for row, wherever a file is cut; no session is needed to see that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate, combinations, pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from accounts import golden_files

from thawline import formats
from thawline.cold import ColdFile
from thawline.errors import SourceError
from thawline.formats import FORMATS
from thawline.formats.contract import Reading, read
from thawline.formats.rbf import Log
from thawline.model import Finding, Run
from thawline.source import Source, open_source
from thawline.spark.files import File, Listing, Members
from thawline.spark.planning import Part, Planner
from thawline.spark.rows import METADATA, Reader, every_column, schema_of
from thawline.spark.settings import Settings, understood
from tools.damage import damages

SIZES = (1, 64, 200, 1000, 1 << 16)
MOST_UNITS = 24
"""Units of a file whose sizes are added up in every way."""
PARTS_OF_FILES = (".address", ".bin", ".index", ".timeindex", ".txnindex", ".snapshot")
FILES = [golden.file for name in FORMATS for golden in golden_files(name) if golden.file.suffix not in PARTS_OF_FILES]

each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")


def settings_for(file: Path, table: str, **given: str) -> Settings:
    return understood(file.parent.name, {"path": str(file), "table": table, **given})


def partitions(settings: Settings, size: int) -> list[tuple[Part, ...]]:
    return Planner(settings.format, settings.table, size).plan(Listing(settings).files)


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


def check(file: Path, sizes: tuple[int, ...]) -> int:
    """How many partitions there are at the most, once it is sure that each choice of them gives the same rows."""
    most = 0
    for table in tables_of(file):
        settings = settings_for(file, table)
        whole = in_one_process(settings, file)
        for size in sizes:
            found = partitions(settings, size)
            most = max(most, len(found))
            together = rows(settings, whole.schema, (part for parts in found for part in parts))
            assert same(together, whole), (table, size)
    return most


@each_file
def test_partitions_of_any_size_have_the_rows_of_the_whole_file(file: Path) -> None:
    check(file, SIZES)


def all_sizes(settings: Settings) -> list[int]:
    """Every size from 1 byte up at which a file may be cut otherwise than a byte before: those of units in a row."""
    units = [part.weight for parts in partitions(settings, 1) for part in parts][:MOST_UNITS]
    ends = [0, *accumulate(units)]
    return sorted({1, *(end - start for start, end in combinations(ends, 2))} - {0})


@each_file
def test_every_size_from_a_byte_up_gives_the_rows_of_the_whole_file(file: Path) -> None:
    settings = settings_for(file, tables_of(file)[0])
    whole = in_one_process(settings, file)
    seen: set[tuple[tuple[int, int], ...]] = set()
    for size in all_sizes(settings):
        found = [part for parts in partitions(settings, size) for part in parts]
        ends = tuple((item.span.start, item.span.end) for part in found for item in part.items or ())
        cuts = tuple((part.items[0].span.start, part.items[-1].span.end) if part.items else (0, 0) for part in found)
        assert all(one[1] == other[0] for one, other in pairwise(ends))
        if cuts not in seen:
            seen.add(cuts)
            assert same(rows(settings, whole.schema, iter(found)), whole), size


@each_file
def test_partitions_of_a_damaged_file_have_its_rows_and_its_damage(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / file.parent.name
    folder.mkdir()
    for damage in damages(file.read_bytes(), len(file.name)):
        copy = folder / file.name
        copy.write_bytes(damage.data)
        check(copy, (1, 500))


@pytest.mark.parametrize(
    "name, units", [("rbf/many-frames.rbf", 40), ("kafka/v2-none.log", 1), ("borg/authenticated.pack", 1)]
)
def test_at_a_byte_a_partition_each_unit_is_one(name: str, units: int) -> None:
    file = next(file for file in FILES if f"{file.parent.name}/{file.name}" == name)
    assert check(file, (1,)) >= units


@each_file
def test_the_place_of_a_row_is_the_same_however_the_file_is_cut(file: Path) -> None:
    settings = replace(settings_for(file, tables_of(file)[0]), has_metadata=True)
    schema = schema_of(settings)
    assert set(METADATA.names) < set(schema.names)
    tables = [
        rows(settings, schema, (part for parts in partitions(settings, size) for part in parts))
        for size in (1, 500, 1 << 30)
    ]
    assert same(tables[0], tables[1])
    assert same(tables[0], tables[2])
    assert same(tables[0].drop(METADATA.names), in_one_process(settings, file))


def test_small_files_are_packed_and_keep_their_order() -> None:
    files = [File(f"/{number}.rbf", 1000) for number in range(10_000)]
    found = Planner(formats.get("rbf"), "frames", cores=2).plan(files)
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
