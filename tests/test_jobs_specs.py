"""Files of a spec of one's own, damaged or not, are read the same by any number of workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import test_declared as declared
import test_described as described
from test_jobs import WORKERS, told, verified

import thawline
from thawline import formats
from thawline.compiler import kernel_cache
from thawline.formats import division
from thawline.formats.contract import Kind, read
from thawline.formats.division import read_together
from thawline.jobs import ALONE, Crew
from thawline.source import LocalSource
from tools.damage import damages

SEEDS = range(3)
MANY = 20
"""Repetitions of the units of a file, so that several workers have something to do."""


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(division, "LEAST_STRETCH", 1)
    monkeypatch.setattr(division, "STRETCH", 100)
    monkeypatch.setattr(kernel_cache, "missing", lambda: "tests compile nothing")


@pytest.fixture
def toys(tmp_path: Path) -> Iterator[Path]:
    spec = tmp_path / "toy_log.ksy"
    spec.write_text(declared.SPEC, encoding="utf-8")
    made = formats.declare(spec)
    yield spec
    del formats.FORMATS[made.name]


@pytest.fixture
def events(tmp_path: Path) -> Path:
    spec = tmp_path / "event_log.ksy"
    spec.write_text(described.LOG, encoding="utf-8")
    return spec


def differing(kind: Kind, data: bytes) -> list[str]:
    """Tables that workers read otherwise than one thread does, and numbers of workers that verify otherwise."""
    source = LocalSource("file", data)
    report = verified(kind, source, ALONE)
    found = [f"verify by {workers}" for workers in WORKERS if verified(kind, source, Crew(workers)) != report]
    for table, it in kind.tables.items():
        alone = list(told(read(kind, source, table, it.schema.names)))
        for workers in WORKERS:
            together = list(told(read_together(kind, source, table, it.schema.names, Crew(workers))))
            found += [f"{table} by {workers}"] if together != alone else []
    return found


def check(kind: Kind, data: bytes) -> None:
    assert differing(kind, data) == []
    for seed in SEEDS:
        for damage in damages(data, seed):
            assert differing(kind, damage.data) == [], (seed, damage.what)


def test_damage_to_files_of_a_declared_format_gives_the_same_for_any_number_of_workers(toys: Path) -> None:
    data = declared.FILE * MANY
    with thawline.open(data, toys.stem) as cold:
        check(cold.kind, data)


def test_damage_to_files_of_a_described_format_gives_the_same_for_any_number_of_workers(events: Path) -> None:
    data = described.HEAD + b"".join(described.EVENTS) * MANY
    with thawline.open(data, spec=events) as cold:
        check(cold.kind, data)
