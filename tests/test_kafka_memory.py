"""Large Kafka segments are read in little memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from kafka_written import append_all, numbered

import thawline
from thawline.formats.kafka import walk
from thawline.formats.kafka.write import KafkaSegmentWriter
from thawline.source import LocalSource
from tools.bench.kafka_segment import MEASURED, write

ROOT = Path(__file__).parents[1]
MEASURE = """
import sys
from pathlib import Path
from tools.bench.kafka_segment import measure
for what in sys.argv[2:]:
    found = measure(Path(sys.argv[1]), what)
    print(found["rows"], found["peak"])
"""


def test_what_was_read_of_a_segment_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "00000000000000000000.log"
    with KafkaSegmentWriter(path, batch_records=10, indexes=False) as writer:
        append_all(writer, numbered(0, 40_000))
    released: list[int] = []
    monkeypatch.setattr(walk, "RELEASE_BYTES", 50_000)
    monkeypatch.setattr(LocalSource, "release", lambda _source, end: released.append(end))
    with thawline.open(path) as cold:
        for read in (lambda: cold.verify().rows, lambda: sum(batch.num_rows for batch in cold.batches())):
            released.clear()
            assert read() == 40_000
            assert released == sorted(released)
            assert released[-1] > path.stat().st_size / 2


def test_a_segment_larger_than_the_memory_it_may_use_is_read(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    records = write(path, 600_000_000, "none")
    command = [sys.executable, "-c", MEASURE, str(path), *MEASURED]
    run = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    rows, peaks = zip(*(map(int, line.split()) for line in run.stdout.splitlines()), strict=True)
    assert rows == (records,) * len(MEASURED)
    assert max(peaks) < 400_000_000
