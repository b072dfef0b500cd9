"""Legs of a file that join are what one process reads of it, row for row; legs of a damaged file do not join."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from accounts import golden_files
from lakes import Alone, everything, leftovers

from thawline import formats
from thawline.cold import ColdFile
from thawline.formats import FORMATS
from thawline.formats.contract import Depth, Format
from thawline.formats.kafka.write import KafkaSegmentWriter
from thawline.formats.legs import Broken, Joint, Leg, are_joined
from thawline.formats.ranges import Range
from thawline.formats.rbf.write import RbfWriter
from thawline.model import Report, Run, Span
from thawline.source import open_source
from thawline.spark import bundles, pipeline
from thawline.spark.bundles import Task
from thawline.spark.intake import Intake, Taken
from thawline.verbs.load import load
from tools.damage import damages

PARTS_OF_FILES = (".address", ".bin", ".index", ".timeindex", ".txnindex", ".snapshot")
FILES = [golden.file for name in FORMATS for golden in golden_files(name) if golden.file.suffix not in PARTS_OF_FILES]
each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")

Read = tuple[Report, dict[str, pa.Table]]


def in_legs(file: Path, format_: Format, places: Sequence[int]) -> Read | None:
    """What tasks together read of a file that is cut at some places; None unless their legs join."""
    size = file.stat().st_size
    edges = sorted({0, *(place for place in places if 0 < place < size), size})
    joints: list[Joint | None] = []
    rows: dict[str, list[pa.RecordBatch]] = {}
    whole = Report(str(file), format_.name, size)
    for edge in pairwise(edges):
        with open_source(str(file)) as source:
            kind = format_.kind_of(source)
            leg = Leg(kind, source, kind.tables[next(iter(kind.tables))].depth, Range(*edge))
            report = Report(str(file), format_.name, size)
            try:
                load(kind, source, lambda table, batch: rows.setdefault(table, []).append(batch), report, leg.items())
            except Broken:
                return None
            joints.append(leg.joint)
            whole.join(report)
    if not are_joined(joints, size):
        return None
    return whole, {table: pa.Table.from_batches(found).combine_chunks() for table, found in rows.items()}


def in_one_process(file: Path, format_: Format) -> Read:
    """The rows as `thawline cat` gives them, and the report of one pass."""
    report, rows = Report(str(file), format_.name, file.stat().st_size), {}
    with open_source(str(file)) as source:
        kind = format_.kind_of(source)
        load(kind, source, lambda _table, _batch: None, report)
        for table in kind.tables:
            cold = ColdFile(source, format_, table, "skip")
            found = pa.Table.from_batches(list(cold.batches()), cold.schema).combine_chunks()
            if found.num_rows:
                rows[table] = found
    return report, rows


def facts(report: Report) -> tuple[object, ...]:
    numbers = report.units, report.rows, report.intact_bytes, report.damaged_bytes
    return (*numbers, sorted(repr(finding) for finding in report.findings))


def check(file: Path, places: Sequence[int]) -> bool:
    """Whether the legs of a file join; if they do, they are right."""
    format_ = formats.get(file.parent.name)
    found = in_legs(file, format_, places)
    if found is None:
        return False
    report, rows = in_one_process(file, format_)
    assert facts(found[0]) == facts(report)
    assert found[1].keys() == rows.keys()
    for table, one in found[1].items():
        assert repr(one.to_pylist()) == repr(rows[table].to_pylist()), (table, places)
    return True


@each_file
def test_legs_that_join_are_what_one_process_reads(file: Path) -> None:
    size = file.stat().st_size
    for count in (1, 2, 5, 50):
        check(file, [index * size // count for index in range(1, count)])


@pytest.mark.parametrize(
    "name", ["rbf/many-frames.rbf", "kafka/v2-none.log", "kafka/v2-zstd.log", "aerospike/shop.asb"]
)
def test_legs_of_an_intact_file_join_wherever_it_is_cut(name: str) -> None:
    file = next((file for file in FILES if f"{file.parent.name}/{file.name}" == name), None)
    if file is None:
        file = next(file for file in FILES if file.parent.name == name.partition("/")[0])
    assert all(check(file, [place]) for place in range(0, file.stat().st_size, 97))


@each_file
def test_legs_of_a_damaged_file_are_right_or_do_not_join(file: Path, tmp_path: Path) -> None:
    _check_damaged(file, tmp_path, len(file.name), every=3)


@pytest.mark.fuzz
@pytest.mark.parametrize("round_", range(8))
@each_file
def test_legs_of_many_damaged_files_are_right_or_do_not_join(file: Path, round_: int, tmp_path: Path) -> None:
    _check_damaged(file, tmp_path, 1000 * (round_ + 1) + len(file.name), every=1)


def _check_damaged(file: Path, tmp_path: Path, seed: int, *, every: int) -> None:
    folder = tmp_path / file.parent.name
    folder.mkdir()
    random = Random(seed)
    for damage in islice(damages(file.read_bytes(), seed), seed % every, None, every):
        copy = folder / file.name
        copy.write_bytes(damage.data)
        for count in (1, 2, random.randrange(3, 50)):
            places = [random.randrange(len(damage.data) + 1) for _ in range(count)]
            check(copy, [*places, damage.at])


def test_offsets_that_fall_from_one_leg_to_the_next_do_not_join() -> None:
    one, other = Joint(Span(0, 10), (5, 0), (9, 0)), Joint(Span(10, 20), (9, 0), (12, 0))
    assert are_joined([other, one], 20)
    assert not are_joined([one, Joint(Span(10, 20), (8, 0), (12, 0))], 20)
    assert not are_joined([one, Joint(Span(11, 20), (9, 0), (12, 0))], 20)
    assert not are_joined([one, None], 10)
    assert not are_joined([one], 20)
    assert not are_joined([], 0)


@pytest.fixture
def cut_small(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """Files are cut into ranges of 4 KiB; the tasks that were run."""
    for module in (bundles, pytest.importorskip("thawline.spark.planning")):
        monkeypatch.setattr(module, "LEAST_PARTITION", 4096)
    monkeypatch.setattr(bundles, "MOST_PARTITION", 4096)
    monkeypatch.setattr(bundles, "OPEN_COST", 4096)
    ran: list[Task] = []
    take = Intake.take

    def recorded(self: Intake, shares: Task) -> Taken:
        ran.append(shares)
        return take(self, shares)

    monkeypatch.setattr(Intake, "take", recorded)
    return ran


def cold(folder: Path) -> Path:
    """A log and a segment of some ranges each."""
    folder.mkdir()
    log = RbfWriter(folder / "log.rbf")
    for number in range(300):
        log.append(number + 1, b"%d" % number * 30)
    log.close()
    with KafkaSegmentWriter(folder / "00000000000000000000.log", indexes=False, batch_records=10) as segment:
        for number in range(300):
            segment.append(value=b"%d" % number * 30, timestamp=number)
    return folder


def summed(lake: Path) -> dict[str, object]:
    """The rows of a lake without what differs from run to run."""
    return {name: sorted(map(str, rows)) for name, rows in everything(lake).items()}


def test_each_task_of_ingest_reads_its_own_bytes_and_a_damaged_file_is_read_again_in_ranges(
    cut_small: list[Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = cold(tmp_path / "cold")
    pipeline.ingest(Alone(), [str(folder)], tmp_path / "lake")  # type: ignore[arg-type]
    assert len(cut_small) > 6
    assert all(share.is_leg for task in cut_small for share in task if share.part.range)
    data = bytearray((folder / "log.rbf").read_bytes())
    data[len(data) // 2] ^= 1
    (folder / "log.rbf").write_bytes(data)
    cut_small.clear()
    again = pipeline.ingest(Alone(), [str(folder)], tmp_path / "lake")  # type: ignore[arg-type]
    assert (again.damaged, again.ingested) == (1, 1)
    in_ranges = [share for task in cut_small for share in task if share.part.range and not share.is_leg]
    assert {Path(share.part.file.path).name for share in in_ranges} == {"log.rbf"}
    assert leftovers(tmp_path / "lake") == []
    monkeypatch.undo()
    pipeline.ingest(Alone(), [str(folder)], tmp_path / "whole")  # type: ignore[arg-type]
    assert summed(tmp_path / "lake") == summed(tmp_path / "whole")


def test_what_is_found_at_the_end_of_a_file_is_told_by_its_last_leg_only(tmp_path: Path) -> None:
    snapshot = next(golden.file for golden in golden_files("kafka") if golden.file.suffix == ".checkpoint")
    data = snapshot.read_bytes()
    with open_source(str(snapshot)) as source:
        kind = formats.get("kafka").kind_of(source)
        units = [
            span for run in kind.walk(source, Depth.UNITS) if isinstance(run, Run) for span in kind.units(source, run)
        ]
    (tmp_path / "kafka").mkdir()
    file = tmp_path / "kafka" / snapshot.name
    file.write_bytes(data[: units[-1].start])  # without its footer
    size = file.stat().st_size
    assert check(file, [size - 3, size - 2, size - 1])
