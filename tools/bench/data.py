"""Data sets that are the same in every run: many records of one size, with the bytes that a system would write."""

from __future__ import annotations

import json
import struct
import zlib
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import shake_128
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from crc32c import crc32c

from thawline.formats.kafka.write import KafkaSegmentWriter

START = 1_735_689_600_000
"""Milliseconds: the first day of 2025."""
RECORDS_IN_BATCH = 1000


@dataclass(frozen=True, slots=True)
class DataSet:
    """Bytes of `records` records, in units of one size that can be cut off anywhere between two of them."""

    data: bytes
    records: int
    records_in_unit: int = 1

    def __post_init__(self) -> None:
        if self.records % self.records_in_unit or len(self.data) % self.units:
            raise ValueError(f"{len(self.data)} bytes of {self.records} records are not made of equal units")

    @property
    def units(self) -> int:
        """The number of batches, frames or whatever stands one after the other."""
        return self.records // self.records_in_unit

    def first(self, share: int) -> DataSet:
        """The first of equal shares, or one unit where a share would be empty."""
        if share == 1:
            return self
        units = max(self.units // share, 1)
        size = len(self.data) // self.units * units
        return DataSet(self.data[:size], units * self.records_in_unit, self.records_in_unit)


def kafka(records: int) -> DataSet:
    """Uncompressed batches of magic 2: 120-byte records with a 16-byte key (every tenth null), a value and a header."""
    in_batch = min(records, RECORDS_IN_BATCH)
    batches = records // in_batch
    values = _noise("kafka", 96)
    made = (_kafka_batch(number * in_batch, list(islice(values, in_batch))) for number in range(batches))
    return DataSet(b"".join(made), batches * in_batch, in_batch)


BATCH_HEAD = struct.Struct(">qiibI")
BATCH_COVERED = struct.Struct(">hiqqqhii")


def _kafka_batch(base_offset: int, noise: list[bytes]) -> bytes:
    records = b"".join(_kafka_record(delta, chunk) for delta, chunk in enumerate(noise))
    last = len(noise) - 1
    covered = BATCH_COVERED.pack(0, last, START + base_offset, START + base_offset + 3 * last, -1, -1, -1, last + 1)
    covered += records
    return BATCH_HEAD.pack(base_offset, 9 + len(covered), 0, 2, crc32c(covered)) + covered


def _kafka_record(delta: int, noise: bytes) -> bytes:
    key = zigzag(-1) if delta % 10 == 0 else zigzag(16) + noise[:16]
    header = zigzag(5) + b"trace" + zigzag(8) + noise[8:16]
    body = b"".join((b"\0", zigzag(3 * delta), zigzag(delta), key, zigzag(80), noise[16:], zigzag(1), header))
    return zigzag(len(body)) + body


def kafka_segment(records: int, compression: str) -> DataSet:
    """A segment of 134-byte records of text, of which lz4 leaves 56 % and zstd 38 %.

    It is one unit, because compressed batches differ in size.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder, "00000000000000000000.log")
        options = {"batch_records": RECORDS_IN_BATCH, "batch_bytes": 1 << 20, "indexes": False}
        with KafkaSegmentWriter(path, compression=compression, **options) as writer:  # type: ignore[arg-type]
            for batch in texts(records):
                writer.append_batch(batch)
        return DataSet(path.read_bytes(), records, records)


def _words() -> list[bytes]:
    """256 words of three to nine letters, each with a space."""
    letters = [bytes([97 + byte % 26]) for byte in next(_noise("letters", 9 * 256))]
    return [b"".join(letters[9 * n : 9 * n + 3 + n % 7]) + b" " for n in range(256)]


def texts(records: int) -> Iterator[pa.RecordBatch]:
    """Keys of 16 digits, and values of 107 bytes of text."""
    words, noise = _words(), _noise("texts", 38)
    for first in range(0, records, RECORDS_IN_BATCH):
        blocks = list(islice(noise, min(RECORDS_IN_BATCH, records - first)))
        times = pa.array(range(START + first, START + first + len(blocks)), pa.timestamp("ms", "UTC"))
        keys = [block[:8].hex().encode() for block in blocks]
        values = [b"".join([words[byte] for byte in block[8:]])[:107] for block in blocks]
        yield pa.RecordBatch.from_arrays([pa.array(keys), pa.array(values), times], ["key", "value", "timestamp"])


def zigzag(number: int) -> bytes:
    r"""A number as a zig-zag varint.

    >>> zigzag(-1), zigzag(80)
    (b'\x01', b'\xa0\x01')
    """
    rest = (number << 1) ^ (number >> 63)
    groups = bytearray()
    while rest > 127:  # noqa: PLR2004 - seven bits a byte
        groups.append(rest & 127 | 128)
        rest >>= 7
    groups.append(rest)
    return bytes(groups)


def kafka_v1(records: int) -> DataSet:
    """Uncompressed messages of magic 1, 130 bytes each: a 16-byte key and an 80-byte value."""
    return DataSet(b"".join(islice(_kafka_messages(), records)), records)


def _kafka_messages() -> Iterator[bytes]:
    for offset, noise in enumerate(_noise("kafka v1", 96)):
        covered = b"".join(
            (struct.pack(">bbqi", 1, 0, START + offset, 16), noise[:16], struct.pack(">i", 80), noise[16:])
        )
        yield struct.pack(">qiI", offset, 4 + len(covered), zlib.crc32(covered)) + covered


def rbf(records: int) -> DataSet:
    """RBF frames with a 64-byte payload and the fence after each; the file's first fence is not there."""
    return DataSet(b"".join(islice(_rbf_entries(), records)), records)


def _rbf_entries() -> Iterator[bytes]:
    len_frame = 16 + 64 + 4
    for number, payload in enumerate(_noise("rbf", 64)):
        status = b"\x83" if number % 50 == 0 else b"\x03"
        covered = struct.pack("<I", 1 + number % 3) + payload + 4 * status + struct.pack("<I", len_frame)
        yield struct.pack("<I", len_frame) + covered + struct.pack("<I", crc32c(covered)) + b"RBF1"


def borg(records: int) -> DataSet:
    """Borg blobs of 200 bytes, encrypted: a 49-byte header, 79 bytes of metadata, 72 of data."""
    slot = b"\x40\0" + bytes(6)  # the key's type (chacha20-poly1305), a reserved byte, the message's counter
    blobs = (
        b"".join((b"BORG_OBJ\x02", noise[:32], struct.pack("<II", 79, 72), slot, noise[32:103], slot, noise[103:]))
        for noise in _noise("borg", 167)
    )
    return DataSet(b"".join(islice(blobs, records)), records)


RBAK_MESSAGE = {
    "body": [100 + number % 20 for number in range(62)],
    "properties": {"content_type": "application/json", "delivery_mode": 2, "app_id": "my-service", "user_id": None},
    "headers": [],
    "exchange": "orders.exchange",
    "routing_key": "order.created",
    "delivery_tag": 1_000_000,
    "redelivered": False,
    "backed_up_at": START,
    "source_queue": "orders",
    "source_vhost": "/",
}


def rbak_payload(records: int) -> DataSet:
    """A decompressed RBAK payload: JSON documents of 551 bytes, each after its length."""
    text = json.dumps(RBAK_MESSAGE, separators=(",", ":")).ljust(551).encode()
    before, after = (struct.pack("<I", len(text)) + text).split(b"1000000")
    documents = (before + b"%07d" % (1_000_000 + number % 9_000_000) + after for number in range(records))
    return DataSet(b"".join(documents), records)


def aerospike(records: int) -> DataSet:
    """Aerospike records of 219 bytes and 11 lines: namespace, digest, generation, expiration and six bins."""
    return DataSet(b"".join(islice(_aerospike_records(), records)), records)


def _aerospike_records() -> Iterator[bytes]:
    for number, noise in enumerate(_noise("aerospike", 67)):
        lines = (
            b"+ n test",
            b"+ d " + b64encode(noise[:20]),
            b"+ g %d" % (10 + number % 90),
            b"+ t %d" % (400_000_000 + number % 100_000_000),
            b"+ b 6",
            b"- I visits %06d" % (number % 1_000_000),
            b"- S name 12 " + noise[20:26].hex().encode(),
            b"- D score 0.%09d" % (number % 1_000_000_000),
            b"- Z active " + (b"T" if number % 3 else b"F"),
            b"- B! photo 32 " + noise[26:58],
            b"- L tags 12 " + b64encode(noise[58:]),
            b"",
        )
        yield b"\n".join(lines)


def _noise(seed: str, size: int) -> Iterator[bytes]:
    """Blocks of bytes without a pattern, without end."""
    number = 0
    while True:
        block = shake_128(f"{seed} {number}".encode()).digest(1000 * size)
        yield from (block[at : at + size] for at in range(0, len(block), size))
        number += 1
