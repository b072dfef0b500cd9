"""Whatever is done side by side gives what one thread gives, in the same order, with as little held as was promised."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from accounts import Golden, golden_files

from thawline import jobs
from thawline.errors import SourceError
from thawline.formats import FORMATS, division, get
from thawline.formats.contract import Depth, Kind, Reading, Sectioned, read
from thawline.formats.division import read_together, walk_together
from thawline.jobs import ALONE, Crew, usable_cores
from thawline.model import Finding, Report, Span, report
from thawline.source import LocalSource
from tools.damage import damages

WORKERS = (2, 7)
SEEDS = range(1)
MORE_SEEDS = range(len(SEEDS), 12)


# The crew.


def until_error(items: Iterator[int]) -> tuple[list[int], Exception | None]:
    """What comes before an error, and the error."""
    given = []
    try:
        for item in items:
            given.append(item)  # noqa: PERF402 - a list is not made of half an iterator
    except (ZeroDivisionError, SourceError) as error:
        return given, error
    return given, None


def slow_square(number: int) -> int:
    time.sleep(0.002 * (number % 3))
    return number * number


@pytest.mark.parametrize("workers", [1, *WORKERS])
def test_results_come_in_the_order_of_their_tasks(workers: int) -> None:
    tasks = (partial(slow_square, number) for number in range(50))
    assert list(Crew(workers).ordered(tasks)) == [number * number for number in range(50)]


@pytest.mark.parametrize("workers", [1, *WORKERS])
def test_an_error_comes_after_the_results_before_it_and_ends_the_rest(workers: int) -> None:
    begun = []

    def task(number: int) -> int:
        begun.append(number)
        return 10 // (number - 5)

    given, error = until_error(Crew(workers).ordered(partial(task, number) for number in range(1000)))
    assert isinstance(error, ZeroDivisionError)
    assert given == [10 // (number - 5) for number in range(5)]
    assert len(begun) < 50


@pytest.mark.parametrize("workers", [1, *WORKERS])
def test_an_error_of_whoever_gives_tasks_comes_after_the_results_of_those(workers: int) -> None:
    def tasks() -> Iterator[partial[int]]:
        yield from (partial(slow_square, number) for number in range(3))
        raise SourceError("no more")

    given, error = until_error(Crew(workers).ordered(tasks()))
    assert (given, str(error)) == ([0, 1, 4], "no more")


@pytest.mark.parametrize("workers", WORKERS)
def test_no_more_tasks_are_at_work_than_there_are_jobs(workers: int) -> None:
    lock, now, most = threading.Lock(), 0, 0

    def task() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.005)
        with lock:
            now -= 1

    list(Crew(workers).ordered(task for _ in range(40)))
    assert most == workers


@pytest.mark.parametrize("workers", WORKERS)
def test_work_is_taken_only_so_far_ahead(workers: int) -> None:
    drawn = 0

    def tasks() -> Iterator[partial[int]]:
        nonlocal drawn
        for number in range(1000):
            drawn += 1
            yield partial(slow_square, number)

    results = Crew(workers).ordered(tasks())
    next(results)
    assert drawn <= workers + jobs.AHEAD + 1
    results.close()  # type: ignore[attr-defined]  # a generator


@pytest.mark.parametrize("workers", WORKERS)
def test_a_consumer_that_stops_early_ends_all_streams(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "HELD", 10)
    before = threading.active_count()
    ended = []

    def stream(number: int) -> Iterator[int]:
        try:
            for item in range(10**9):
                yield number + item
        finally:
            ended.append(number)

    items = Crew(workers).streamed((partial(stream, number) for number in range(100)), weigh=lambda _item: 1)
    assert [next(items) for _ in range(5)] == list(range(5))
    items.close()  # type: ignore[attr-defined]  # as above
    assert threading.active_count() == before
    assert 1 <= len(ended) <= workers + jobs.AHEAD


@pytest.mark.parametrize("workers", WORKERS)
def test_a_stream_is_only_so_many_bytes_ahead(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "HELD", 10)
    made = taken = 0

    def stream() -> Iterator[int]:
        nonlocal made
        for item in range(200):
            made += 1
            yield item

    for _ in Crew(workers).streamed([stream], weigh=lambda _item: 4):
        taken += 1
        assert made - taken <= 5
    assert (made, taken) == (200, 200)


@pytest.mark.parametrize("workers", [1, *WORKERS])
def test_streams_come_one_after_the_other_with_their_errors_in_place(workers: int) -> None:
    def stream(number: int) -> Iterator[int]:
        yield from range(number)
        if number == 7:
            raise SourceError("torn")

    given, error = until_error(Crew(workers).streamed(partial(stream, number) for number in range(20)))
    assert str(error) == "torn"
    assert given == [item for number in range(8) for item in range(number)]


def test_an_iterator_that_nobody_closes_does_not_keep_the_process_from_ending() -> None:
    code = """
from itertools import count
from thawline import jobs
jobs.HELD = 10
items = jobs.Crew(2).streamed([count, count, count], weigh=lambda item: 1)
print(next(items))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)
    assert done.stdout == b"0\n"


def test_there_is_at_least_one_core_and_one_job() -> None:
    assert usable_cores() >= 1
    with pytest.raises(ValueError, match="jobs is 0"):
        Crew(0)


# Files.

each_file = pytest.mark.parametrize(
    "golden",
    [golden for name in FORMATS for golden in golden_files(name) if golden.file.suffix not in {".bin", ".address"}],
    ids=lambda golden: golden.name,
)


def told(reading: Reading) -> Iterator[str]:
    """Every row and every finding, in order."""
    for item in reading:
        if isinstance(item, Finding):
            yield repr(item)
        else:
            yield from (repr(row) for batch in item[1] for row in batch.to_pylist())


def differing(name: str, data: bytes, **options: object) -> list[str]:
    """Tables that workers read otherwise than one thread does."""
    format_ = get(name.partition("/")[0], **options)
    source = LocalSource(name, data)
    kind = format_.kind_of(source)
    return [
        f"{table} by {workers}"
        for table in kind.tables
        for workers in WORKERS
        if not _same(kind, source, table, workers)
    ]


def verified(kind: Kind, source: LocalSource, crew: Crew) -> Report:
    """What a walk over everything says."""
    return report(source.name, "", source.size, walk_together(kind, source, Depth.EVERYTHING, crew))


def _same(kind: Kind, source: LocalSource, table: str, workers: int) -> bool:
    names = kind.tables[table].schema.names
    assert verified(kind, source, Crew(workers)) == verified(kind, source, ALONE)
    alone = list(told(read(kind, source, table, names)))
    assert alone == list(told(read_together(kind, source, table, names, ALONE)))
    return alone == list(told(read_together(kind, source, table, names, Crew(workers))))


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(division, "LEAST_STRETCH", 1)
    monkeypatch.setattr(division, "STRETCH", 200)
    monkeypatch.setattr("thawline.formats.kafka.LONGEST_RUN", 100)


def test_a_file_is_divided_where_units_end() -> None:
    (golden,) = (golden for golden in golden_files("kafka") if golden.name == "kafka/many-records.log")
    source = LocalSource(golden.name, golden.data)
    kind = get("kafka").kind_of(source)
    stretches = list(division.grouped(kind.walk(source, Depth.UNITS), division.STRETCH))
    assert len(stretches) > 5
    assert {item.span.start for stretch in stretches for item in stretch} <= {
        u["start"] for u in golden.account["units"]
    }


@pytest.mark.parametrize(
    "name", ["kafka/many-records.log", "rbf/many-frames.rbf", "aerospike/keys.asb", "aerospike/indexes.asb"]
)
@pytest.mark.parametrize("depth", [Depth.UNITS, Depth.EVERYTHING])
def test_sections_found_by_heads_alone_tile_an_intact_file_and_all_of_them_hold(name: str, depth: Depth) -> None:
    source, kind = opened(name)
    found = list(kind.sections(source, depth, division.STRETCH, Span(0, source.size)))
    assert len(found) > 3
    assert [section.span.start for section in found] == [0, *(section.span.end for section in found[:-1])]
    assert found[-1].span.end == source.size
    for section in found[::-1]:  # in any order
        items = section.items()
        assert items is not None
        assert sum(item.span.size for item in items) == section.span.size
    assert list(kind.rest(source, depth, source.size)) == []


@pytest.mark.parametrize("name", ["kafka/many-records.log", "aerospike/keys.asb"])
def test_no_byte_is_walked_over_before_the_first_section_that_does_not_hold(name: str) -> None:
    """What one thread walks over starts where damage does, so that damage costs no more than what is after it."""
    source, kind = opened(name)
    broken = bytearray(source.view(0, source.size))
    spans = [section.span for section in kind.sections(source, Depth.UNITS, division.STRETCH, Span(0, source.size))]
    broken[spans[2].start + spans[2].size // 2] ^= 0xFF
    source = LocalSource(name, bytes(broken))
    held = [
        section.items() is not None
        for section in kind.sections(source, Depth.UNITS, division.STRETCH, Span(0, source.size))
    ]
    assert held[:2] == [True, True]
    assert not held[2:3] or not held[2]
    rest = list(kind.rest(source, Depth.UNITS, spans[2].start))
    assert min(item.span.start for item in rest) == spans[2].start
    assert sum(item.span.size for item in rest) == source.size - spans[2].start


def opened(name: str) -> tuple[LocalSource, Any]:
    """A golden file, and its kind."""
    (golden,) = (golden for golden in golden_files(name.partition("/")[0]) if golden.name == name)
    source = LocalSource(name, golden.data)
    kind = get(name.partition("/")[0]).kind_of(source)
    assert isinstance(kind, Sectioned)
    return source, kind


@each_file
def test_damage_gives_the_same_rows_and_findings_in_the_same_order_for_any_number_of_workers(golden: Golden) -> None:
    assert differing(golden.name, golden.data) == []
    for seed in SEEDS:
        for damage in damages(golden.data, seed):
            assert differing(golden.name, damage.data) == [], damage.what


@pytest.mark.fuzz
@each_file
def test_much_damage_gives_the_same_rows_and_findings_for_any_number_of_workers(golden: Golden) -> None:
    for seed in MORE_SEEDS:
        for damage in damages(golden.data, seed):
            assert differing(golden.name, damage.data) == [], damage.what


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("kafka/transactions-open.log", {"isolation": "read_committed"}),
        ("kafka/transactions.log", {"control": True}),
        ("kafka/many-records.log", {"offsets": (100, 700)}),
        ("rbf/many-frames.rbf", {"tag": (1, 2)}),
        ("rbak/many-records.lz4", {"unverified": True}),
        ("aerospike/keys.asb", {"namespace": ("test",)}),
        ("aerospike/keys.asb", {"strict": True}),
    ],
)
def test_a_selection_gives_the_same_for_any_number_of_workers(name: str, options: dict[str, object]) -> None:
    (golden,) = (golden for golden in golden_files(name.partition("/")[0]) if golden.name == name)
    assert differing(name, golden.data, **options) == []
    for damage in damages(golden.data, 0):
        assert differing(name, damage.data, **options) == [], damage.what
