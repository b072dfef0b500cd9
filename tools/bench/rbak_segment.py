"""Figures of RBAK: `python -m tools.bench.rbak_segment [--records 40000] [--segments 10000]`.

Decoding of a zstd segment to Arrow beside zstandard, orjson and `bytes` of each body's list; of its JSON alone; `info`
of many segments; and the peak of memory, each of the last two in a process of its own. Times are CPU times, best of
nine runs in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import orjson
import zstandard

from thawline.cold import open_cold
from thawline.engine import columns
from thawline.engine.chunks import Chunk
from thawline.formats.rbak import records as wire
from thawline.formats.rbak.write import SegmentBuilder, record
from tools.bench.data import START, DataSet
from tools.bench.measure import Contender, compare
from tools.bench.memory import peak

MOST_RECORDS = 40_000
BODY = 1024
OURS, JSON_ONLY, THEIRS = "thawline", "thawline, JSON only", "zstandard + orjson + bytes(list)"


def body(random: Random, number: int) -> bytes:
    """1 KB as services send it: an order in JSON."""
    lines = [
        {
            "sku": f"SKU-{random.randrange(10**6):06}",
            "quantity": random.randrange(1, 9),
            "price": random.randrange(10**4),
        }
        for _ in range(20)
    ]
    order = {"order": number, "customer": f"c-{random.randrange(10**5)}", "status": "created", "lines": lines}
    return json.dumps(order).encode().ljust(BODY)[:BODY]


def build(records: int) -> tuple[bytes, bytes]:
    """A zstd segment with bodies of 1 KB, and its payload."""
    random, builder, payload = Random(0), SegmentBuilder(), bytearray()  # noqa: S311 - no secret
    for number in range(records):
        message = record(
            body(random, number),
            queue="orders",
            exchange="orders.exchange",
            routing_key="order.created",
            delivery_tag=number,
            backed_up_at=START + number,
            properties={"content_type": "application/json", "delivery_mode": 2, "message_id": f"msg-{number:08}"},
        )
        document = orjson.dumps(message)
        builder.add(document, START + number)
        payload += struct.pack("<I", len(document)) + document
    return b"".join(builder.finish()), bytes(payload)


def segment(records: int) -> DataSet:
    """The segment alone, of no more records than a segment has."""
    count = min(records, MOST_RECORDS)
    return DataSet(build(count)[0], count, count)


def read(data: bytes) -> int:
    """Every column of every message, as record batches; the checksum and every record are checked."""
    with open_cold(data) as cold:
        return sum(batch.num_rows for batch in cold.batches())


def read_by_objects(data: bytes) -> int:
    """The same rows as Python objects, the way one would write it; nothing is checked."""
    payload = zstandard.ZstdDecompressor().decompressobj().decompress(data[32:-8])
    position, rows = 0, 0
    while position < len(payload):
        (size,) = struct.unpack_from("<I", payload, position)
        found = orjson.loads(payload[position + 4 : position + 4 + size])
        found["body"] = bytes(found["body"])
        position, rows = position + 4 + size, rows + 1
    return rows


def decode(payload: bytes) -> int:
    """The JSON of a payload as columns."""
    wanted, view = {*wire.WIRE.names} - {"record_json", "headers_at"}, memoryview(payload)
    chunks = columns.scan("rbak_records", view, columns=(), max_bytes=8 << 20)
    return sum(wire.decode(view, chunk, wanted).batch.num_rows for chunk in chunks if isinstance(chunk, Chunk))


def contenders() -> tuple[Contender, ...]:
    """Those who read the segment."""
    return Contender(OURS, lambda: read), Contender(THEIRS, lambda: read_by_objects)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.rbak_segment", description="Figures of RBAK.")
    parser.add_argument("--records", type=int, default=MOST_RECORDS, metavar="N", help="records of the segment")
    parser.add_argument("--segments", type=int, default=10_000, metavar="N", help="segments for `info`")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        print(json.dumps(_peak_of(options.file)))
        return
    data, payload = build(options.records)
    _show_speed(data, payload, options.records)
    with tempfile.TemporaryDirectory() as folder:
        _show_info(Path(folder), options.segments)
        _show_memory(Path(folder, "large.zst"), data, len(payload))


def _show_speed(data: bytes, payload: bytes, records: int) -> None:
    ours, theirs = compare(contenders(), DataSet(data, records, records))
    (parsed,) = compare([Contender(JSON_ONLY, lambda: decode)], DataSet(payload, records, records))
    size = len(payload) / records
    print(f"{records} records, {len(payload) / 1e6:.0f} MB of JSON, {len(data) / 1e6:.0f} MB compressed")
    for timing in (ours, parsed, theirs):
        used = timing.ns_per_record or 0.0
        print(f"  {timing.contender.name:34} {used:8.0f} ns a record  {size / used * 1e3:6.0f} MB/s")
    factor = (theirs.ns_per_record or 0.0) / (ours.ns_per_record or 1.0)
    print(f"  {OURS} is {factor:.1f} x {THEIRS}; to reach: 6 x, and 400 MB/s of JSON")


def _show_info(folder: Path, count: int) -> None:
    """`thawline info` of a folder of segments, in a process of its own."""
    small = build(20)[0]
    inside = folder / "many" / "queues" / "_default" / "orders"
    inside.mkdir(parents=True)
    for number in range(count):
        (inside / f"segment-{number:05}.zst").write_bytes(small)
    command = [sys.executable, "-m", "thawline", "info", str(folder / "many"), "--format", "jsonl"]
    start, before = time.perf_counter(), os.times()
    lines = subprocess.run(command, check=True, capture_output=True).stdout.count(b"\n")
    wall, after = time.perf_counter() - start, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"info of {lines} segments: {cpu:.1f} s cpu, {wall:.1f} s wall; to reach: 3 s")


def _show_memory(path: Path, data: bytes, payload: int) -> None:
    path.write_bytes(data)
    command = [sys.executable, "-m", "tools.bench.rbak_segment", "--file", str(path)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    for name, used in found.items():
        print(f"{name}: {used / 1e6:.0f} MB above imports, {used / payload:.2f} x the payload; to reach: 3 x")


def _peak_of(path: Path) -> dict[str, int]:
    """The peak of memory of verifying a segment, then of reading its rows."""
    before = peak()
    with open_cold(str(path)) as cold:
        cold.verify()
        verified = peak()
        for _ in cold.batches():
            pass
    return {"memory of verify": verified - before, "memory of rows": peak() - before}


if __name__ == "__main__":
    main()
