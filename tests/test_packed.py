"""What many findings and many rows cost: memory that does not depend on how finely a file is broken."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console

import thawline
from thawline.batches import slices
from thawline.checksums import crc32c
from thawline.model import Code, Finding, Findings, Span
from thawline.packed import PAGE, Packed
from thawline.rendering.rows import Kind, row_sink
from tools.bench import hostile

TORN = Code("XXX101", "torn", "error", "")
ODD = Code("XXX201", "odd", "warning", "")
MANY = 40_000
MEGABYTE = 1_000_000


def finding(number: int) -> Finding:
    detail = {"number": number, "lost": f"whatever was at {number:#x}, and \udcff", "raw": b"\xff"}
    return Finding(ODD if number % 3 else TORN, Span(number, number + 1), detail, f"thawline x {number}", number == 7)


def test_findings_are_what_was_put_in() -> None:
    made = [finding(number) for number in range(3 * PAGE + 5)]
    found = Findings(made)
    assert (found == made, len(found), found.errors) == (True, len(made), len(made) // 3 + 1)
    assert found[PAGE : PAGE + 3] == made[PAGE : PAGE + 3]
    assert (found[0], found[-1], found[-PAGE], found[::PAGE]) == (made[0], made[-1], made[-PAGE], made[::PAGE])
    assert found[5].code is ODD
    assert found != made[:-1]
    with pytest.raises(IndexError):
        found[len(made)]


def test_what_cannot_be_packed_is_kept_as_it_is() -> None:
    made = [(number, Span(number, number)) for number in range(2 * PAGE)]
    assert list(Packed(made)) == made


def test_a_finding_costs_less_than_a_hundred_bytes() -> None:
    tracemalloc.start()
    found = Findings(finding(number) for number in range(MANY))
    taken, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken / len(found) < 100


def broken_log(frames: int) -> bytes:
    """A log in which every other frame is broken, so that each is a finding of its own."""
    frame = bytes.fromhex("14000000 41424344 03030303 14000000")
    good = frame + crc32c(frame, 4).to_bytes(4, "little") + b"RBF1"
    return b"RBF1" + (good + frame + b"\0\0\0\0RBF1") * frames


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("broken") / "x.rbf"
    path.write_bytes(broken_log(3 * PAGE))
    return path


def test_json_lines_tell_every_one_of_many_findings(broken: Path) -> None:
    with thawline.open(broken) as cold:
        told = cold.verify().to_dict()
    assert len(told["findings"]) == 3 * PAGE
    for shape, wrap in (("jsonl", dict), ("json", lambda made: [made])):
        command = [sys.executable, "-m", "thawline", "verify", str(broken), "--format", shape]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (ran.returncode, json.loads(ran.stdout)) == (1, wrap(told))


def test_a_table_of_many_findings_has_a_row_for_each(broken: Path) -> None:
    command = [sys.executable, "-m", "thawline", "verify", str(broken), "--format", "arrow"]
    ran = subprocess.run(command, capture_output=True, check=False)
    table = pa.ipc.open_stream(ran.stdout).read_all()
    with thawline.open(broken) as cold:
        assert table["start"].to_pylist() == [found.span.start for found in cold.findings()]
    assert [str(table.schema.field(name).type) for name in ("start", "detail", "hint")] == ["int64", "string", "string"]


# Rows as text.


def headers(rows: int, size: int) -> pa.RecordBatch:
    """Rows with lists of short items, which as objects take many times the memory."""
    pair = pa.struct([("name", pa.binary()), ("value", pa.binary())])
    items = pa.StructArray.from_arrays([pa.repeat(b"k", size), pa.repeat(b"1", size)], fields=list(pair))
    one = pa.ListArray.from_arrays(pa.array([0, size], pa.int32()), items)
    return pa.concat_batches([pa.record_batch({"headers": one})] * rows)


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv", "vertical", "table"])
def test_rows_of_long_lists_become_text_a_few_at_a_time(kind: Kind) -> None:
    batch = headers(48, 20_000)
    console = Console(file=io.StringIO(), width=80)
    sink = row_sink(kind, Nowhere(), console, "auto")
    tracemalloc.start()
    sink.add(batch.schema, [batch], "x")
    sink.close()
    _taken, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (sink.rows, peak < 80 * MEGABYTE) == (48, True), peak


class Nowhere(io.RawIOBase):
    """A file that keeps nothing."""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        return memoryview(data).nbytes  # type: ignore[arg-type]


def test_slices_are_all_rows_in_their_order() -> None:
    batch = pa.record_batch({"a": range(5000), "b": ["x" * (number % 977) for number in range(5000)]})
    pieces = list(slices(batch, 1024, 10_000))
    assert pa.concat_batches(pieces).equals(batch)
    assert all(piece.nbytes <= 10_000 or piece.num_rows == 1 for piece in pieces)


def test_many_batches_of_a_row_cost_little_while_they_wait(tmp_path: Path) -> None:
    (tmp_path / "x.rbf").write_bytes(broken_log(30_000))
    found = hostile.cost(["cat", str(tmp_path / "x.rbf"), "--format", "arrow"])
    assert (found.ended, found.memory < 200 * MEGABYTE) == (True, True), found
