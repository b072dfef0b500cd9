"""Speed of writers: `python -m tools.bench.writers [--only kafka_batches,borg] [--runs 5] [--against TREE]`.

CPU time of each way to write, the best of some runs. With the tree of another commit, where `make setup` was run, each
run is a process of its own and the trees take turns; the ratio tells how much longer this tree takes. It imports
nothing else of `tools`, so that this file can measure any commit.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

import thawline
from thawline.formats.borg.write import PackWriter
from thawline.formats.kafka.write import KafkaSegmentWriter
from thawline.formats.rbak.write import RbakWriter
from thawline.formats.rbf.write import RbfWriter

START = 1_700_000_000_000
VALUE = bytes(range(100))
DOCUMENT = b'{"source_queue":"orders","source_vhost":"/","backed_up_at":1700000000000,"body":[' + b"104," * 60 + b"1]}"
OURS = Path(__file__).resolve().parents[2]

Write = Callable[[Path], None]


def records(count: int) -> pa.RecordBatch:
    """Records with a key, a value of 100 bytes and a timestamp."""
    keys = [f"key-{number}".encode() for number in range(count)]
    times = range(START, START + count)
    return pa.RecordBatch.from_pydict(
        {"key": keys, "value": [VALUE] * count, "timestamp": pa.array(times, pa.timestamp("ms", "UTC"))}
    )


def kafka_records(batch_records: int, rows: int, calls: int) -> Write:
    """Calls of `append_batch`, and the number of records in a batch that they fill."""
    batch = records(rows)

    def write(folder: Path) -> None:
        with KafkaSegmentWriter(folder / "orders-0", batch_records=batch_records) as writer:
            for _ in range(calls):
                writer.append_batch(batch)

    return write


def kafka_single() -> Write:
    """200,000 records, one by one."""

    def write(folder: Path) -> None:
        with KafkaSegmentWriter(folder / "orders-0") as writer:
            for number in range(200_000):
                writer.append(key=b"key", value=VALUE, timestamp=START + number)

    return write


def borg() -> Write:
    """20,000 blobs of 2 KB, which `none` stores as they are."""
    ids = [number.to_bytes(32, "big") for number in range(20_000)]
    meta, data = bytes(100), bytes(2048)

    def write(folder: Path) -> None:
        with PackWriter(folder) as pack:
            for chunk_id in ids:
                pack.add(chunk_id, meta, data)

    return write


def rbf() -> Write:
    """200,000 frames, one by one."""

    def write(folder: Path) -> None:
        with RbfWriter(folder / "log.rbf") as writer:
            for _ in range(200_000):
                writer.append(7, VALUE)

    return write


def rbak() -> Write:
    """300,000 records, not compressed."""

    def write(folder: Path) -> None:
        with RbakWriter(folder / "backup", compression="none") as writer:
            for number in range(300_000):
                writer.append_json(DOCUMENT, vhost="/", queue="orders", backed_up_at=START + number)

    return write


def aerospike_records(count: int) -> list[Any]:
    """Records with a key and a bin of each kind that is common."""
    module = aerospike_module()
    keys = [module.Key("S", b"user-%d" % number) for number in range(count)]
    bins = (
        module.Bin("I", b"visits", 12345),
        module.Bin("D", b"score", 0.125),
        module.Bin("S", b"name", b"Ada Lovelace"),
        module.Bin("Z", b"active", value=True),
        module.Bin("B", b"picture", VALUE),
    )
    digests = [module.digest_of(b"users", key) for key in keys]
    named = zip(digests, keys, strict=True)
    return [module.Record(b"shop", digest, bins, b"users", key, 3, 500_000_000) for digest, key in named]


def aerospike_module() -> Any:
    """The module of the writer, which has had another name."""
    names = ("thawline.formats.aerospike.write", "thawline.formats.aerospike.writer")
    return import_module(next(name for name in names if find_spec(name)))


def aerospike() -> Write:
    """20,000 records, one by one."""
    made = aerospike_records(20_000)

    def write(folder: Path) -> None:
        with aerospike_module().AsbWriter(folder / "shop.asb", "shop") as writer:
            for record in made:
                writer.write(record)

    return write


def aerospike_rows() -> Write:
    """The same records, as rows of their table."""
    with tempfile.TemporaryDirectory() as folder:
        aerospike()(Path(folder))
        with thawline.open(Path(folder) / "shop.asb") as cold:
            batches = list(cold.batches())

    def write(folder: Path) -> None:
        with aerospike_module().AsbWriter(folder / "shop.asb", "shop") as writer:
            for batch in batches:
                writer.write_rows(batch)

    return write


CASES: dict[str, tuple[str, Callable[[], Write]]] = {
    "kafka": ("Kafka, 1 M records, 100 k a call", lambda: kafka_records(10_000, 100_000, 10)),
    "kafka_batches": ("Kafka, 20 k batches of 10 records", lambda: kafka_records(10, 100_000, 2)),
    "kafka_calls": ("Kafka, 5 k calls of 10 records", lambda: kafka_records(10_000, 10, 5000)),
    "kafka_single": ("Kafka, 200 k single records", kafka_single),
    "aerospike": ("Aerospike, 20 k single records", aerospike),
    "aerospike_rows": ("Aerospike, 20 k rows", aerospike_rows),
    "borg": ("Borg, 20 k blobs of 2 KB", borg),
    "rbf": ("RBF, 200 k frames", rbf),
    "rbak": ("RBAK, 300 k records", rbak),
}


def best(name: str, runs: int) -> float:
    """Seconds of CPU time of the best run."""
    write, times = CASES[name][1](), []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            write(Path(folder))
            times.append(time.process_time() - start)
    return min(times)


def best_in(tree: Path, name: str) -> float:
    """The same of a tree, in a process that imports thawline from there."""
    command = [str(tree / ".venv/bin/python"), "-P", __file__, "--only", name, "--runs", "2", "--bare"]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def compare(name: str, runs: int, other: Path) -> str:
    """The best runs of this tree and another, taken in turns, and their ratio."""
    pairs = [(best_in(OURS, name), best_in(other, name)) for _ in range(runs)]
    ours, theirs = (min(times) for times in zip(*pairs, strict=True))
    return f"{ours:8.3f} s {theirs:8.3f} s {ours / theirs:6.2f}"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.writers", description="Speed of writers.")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(CASES), help="some of the cases")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="runs, of which the best counts")
    parser.add_argument("--against", type=Path, metavar="TREE", help="another commit's tree, to compare with")
    parser.add_argument("--bare", action="store_true", help="print the seconds alone")
    options = parser.parse_args()
    for name in options.only:
        found = compare(name, options.runs, options.against) if options.against else f"{best(name, options.runs):8.3f}"
        sys.stdout.write(f"{found}\n" if options.bare else f"{CASES[name][0]:<36}{found}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
