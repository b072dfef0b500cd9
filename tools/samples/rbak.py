"""RBAK segments, built from the tables of rabbitmq-backup's segment format page."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from construct import (
    Byte,
    Bytes,
    Checksum,
    Const,
    Enum,
    GreedyBytes,
    GreedyRange,
    Int32ul,
    Int64sl,
    Int64ul,
    Prefixed,
    RawCopy,
    Struct,
    this,
)

from tools.samples.codecs import lz4_frame_stored, lz4_sized_block, zstd_rle, zstd_stored
from tools.samples.golden import Content, Plain, Sample, Unit

MAGIC = b"RBAK"
END_MAGIC = b"KABR"

HEADER = Struct(
    "Magic" / Const(MAGIC),
    "Version" / Const(1, Byte),
    "Compression" / Enum(Byte, none=0, zstd=1, lz4=2),
    "Reserved" / Bytes(2),
    "Record Count" / Int64ul,
    "First Timestamp" / Int64sl,
    "Last Timestamp" / Int64sl,
)
# CRC-32 (IEEE), the only one of crc32fast, over everything before it.
SEGMENT = Struct(
    "covered" / RawCopy(Struct("Header" / HEADER, "Compressed Payload" / GreedyBytes)),
    "CRC32" / Checksum(Int32ul, zlib.crc32, this.covered.data),
    "End Magic" / Const(END_MAGIC),
)
PAYLOAD = GreedyRange(Prefixed(Int32ul, GreedyBytes))

Json = dict[str, Any]

# The example of the page's section "Record Schema", in its key order, which is that of serde.
PROPERTIES: Json = {
    "content_type": "application/json",
    "content_encoding": None,
    "delivery_mode": 2,
    "priority": None,
    "correlation_id": None,
    "reply_to": None,
    "expiration": None,
    "message_id": "msg-001",
    "timestamp": None,
    "type_field": None,
    "user_id": None,
    "app_id": "my-service",
    "cluster_id": None,
}
RECORD: Json = {
    "body": list(b"bytes"),
    "properties": PROPERTIES,
    "headers": [],
    "exchange": "orders.exchange",
    "routing_key": "order.created",
    "delivery_tag": 42,
    "redelivered": False,
    "backed_up_at": 1712756400123,
    "source_queue": "orders",
    "source_vhost": "/",
}
NO_PROPERTIES: Json = dict.fromkeys(PROPERTIES)
ALL_PROPERTIES: Json = {
    "content_type": "text/plain",
    "content_encoding": "utf-8",
    "delivery_mode": 1,
    "priority": 255,
    "correlation_id": "c\u00f6rr-\u4e8c-\U0001f407",
    "reply_to": "amq.rabbitmq.reply-to",
    "expiration": "60000",
    "message_id": 'quote " backslash \\ slash / tab \t line \n bell \x07 delete \x7f',
    "timestamp": 2**64 - 1,
    "type_field": "order.created.v1",
    "user_id": "guest",
    "app_id": "",
    "cluster_id": "deprecated",
}

# The page shows only `[]`; these are the shapes that formats/rbak.md section 3 requires readers to accept.
TAGGED_VALUES: Json = {
    "boolean": {"Boolean": True},
    "i8": {"ShortShortInt": -128},
    "u8": {"ShortShortUInt": 255},
    "i16": {"ShortInt": -32768},
    "u16": {"ShortUInt": 65535},
    "i32": {"LongInt": -(2**31)},
    "u32": {"LongUInt": 2**32 - 1},
    "i64": {"LongLongInt": -(2**63)},
    "f32": {"Float": 1.5},
    "f64": {"Double": -0.25},
    "decimal": {"DecimalValue": {"scale": 2, "value": 314}},
    "text": {"LongString": "x"},
    "array": {"FieldArray": [{"LongLongInt": 5}, {"LongString": "y"}, "Void"]},
    "time": {"Timestamp": 1712756400},
    "table": {"FieldTable": {"inner": {"Boolean": False}, "deeper": {"FieldTable": {}}}},
    "bytes": {"ByteArray": [0, 127, 255]},
    "void": "Void",
}
HEADER_SHAPES: Json = {
    "none": [],
    "pairs": [["k", "v"], ["n", 5], ["null", None], ["flag", True], ["ratio", 0.5]],
    "pairs, tagged values": [[key, value] for key, value in TAGGED_VALUES.items()],
    "key and value": [{"key": "k", "value": "v"}, {"key": "n", "value": -5}, {"key": "k", "value": "again"}],
    "key and value, tagged values": [{"key": key, "value": value} for key, value in TAGGED_VALUES.items()],
    "object": {"k": "v", "n": 5, "x-death": [{"count": 1, "queue": "dlq"}]},
    "object, tagged values": TAGGED_VALUES,
}


@dataclass(frozen=True, slots=True)
class Codec:
    """A compression of the payload, and its names in header, account and file name."""

    compression: str
    content_codec: str
    suffix: str
    compress: Callable[[bytes], bytes]


def _chunked(store: Callable[..., bytes], size: int) -> Callable[[bytes], bytes]:
    return lambda payload: store(*(payload[start : start + size] for start in range(0, len(payload), size)))


def _zstd_two_frames(payload: bytes) -> bytes:
    middle = len(payload) // 2
    return zstd_stored(payload[:middle]) + zstd_stored(payload[middle:])


def _zstd_run(payload: bytes) -> bytes:
    head, run, tail = payload.partition(RUN)
    return zstd_stored(head) + zstd_rle(run[0], len(run)) + zstd_stored(tail)


RUN = b"z" * 3000
NONE = Codec("none", "none", "rbak", bytes)
ZSTD = Codec("zstd", "zstd", "zst", zstd_stored)
ZSTD_BLOCKS = Codec("zstd", "zstd", "zst", _chunked(zstd_stored, 100))
ZSTD_TWO_FRAMES = Codec("zstd", "zstd", "zst", _zstd_two_frames)
ZSTD_RUN = Codec("zstd", "zstd", "zst", _zstd_run)
LZ4_FRAME = Codec("lz4", "lz4", "lz4", lz4_frame_stored)
LZ4_FRAME_BLOCKS = Codec("lz4", "lz4", "lz4", _chunked(lz4_frame_stored, 100))
# The output of lz4_flex::compress_prepend_size, which the tool probably uses although its page states otherwise.
LZ4_BLOCK = Codec("lz4", "lz4_sized_block", "lz4", lz4_sized_block)


@dataclass(frozen=True, slots=True)
class Segment:
    """The input of a segment's writer."""

    records: Sequence[Json]
    codec: Codec = NONE
    reserved: bytes = bytes(2)
    timestamps: tuple[int, int] | None = None
    """The first and last timestamp, if they are not those of the records."""

    @property
    def jsons(self) -> list[bytes]:
        """The records as compact UTF-8 JSON, as serde_json writes it."""
        return [json.dumps(r, separators=(",", ":"), ensure_ascii=False).encode() for r in self.records]

    @property
    def compressed(self) -> bytes:
        """The length-prefixed JSON, compressed."""
        return self.codec.compress(PAYLOAD.build(self.jsons))

    def header(self) -> Json:
        """The values of HEADER; without records both times are 0."""
        times = [record["backed_up_at"] for record in self.records] or [0]
        first, last = self.timestamps or (times[0], times[-1])
        return {
            "Compression": self.codec.compression,
            "Reserved": self.reserved,
            "Record Count": len(self.records),
            "First Timestamp": first,
            "Last Timestamp": last,
        }

    def build(self) -> bytes:
        """The bytes of the file."""
        covered = {"Header": self.header(), "Compressed Payload": self.compressed}
        return bytes(SEGMENT.build({"covered": {"value": covered}}))

    def account(self) -> dict[str, Plain]:
        """Fields by the names of `rbak_segment`."""
        header, crc32_wire = self.header(), self.build()[-8:-4]
        return {
            "header": {
                "magic": MAGIC.hex(),
                "version": 1,
                "compression": self.codec.compression,
                "reserved": self.reserved.hex(),
                "num_records": header["Record Count"],
                "first_timestamp": header["First Timestamp"],
                "last_timestamp": header["Last Timestamp"],
            },
            "payload": self.compressed.hex(),
            "footer": {"crc32": Int32ul.parse(crc32_wire), "end_magic": END_MAGIC.hex()},
        }

    def content(self) -> Content:
        """Fields of the decompressed payload by the names of `rbak_payload`."""
        records: list[Plain] = [{"len_json": len(text), "json": text.hex()} for text in self.jsons]
        return Content("payload", self.codec.content_codec, "rbak_payload", {"records": records})


def samples() -> Iterator[Sample]:
    """Every golden RBAK segment."""
    yield _worked_example()
    yield from _codecs()
    yield from _counts()
    yield from _bodies()
    yield from _extremes()
    yield from _texts()


def _worked_example() -> Sample:
    """The header of the page's byte-level example with the record of its schema section."""
    printed = Int64sl.parse(bytes.fromhex("CB 04 A7 D2 8E 01 00 00"))
    segment = Segment([RECORD], ZSTD, timestamps=(printed, printed))
    remark = "the page's header and record name different times: 1712931144907 and 1712756400123"
    what = "The page's byte-level example around the record of its Record Schema section."
    return _sample("worked-example", what, segment, {"remark": remark, "findings": ["RBK202"]})


def _codecs() -> Iterator[Sample]:
    records = _numbered(3)
    codecs = (
        ("codec-none", "Stored payload.", NONE),
        ("codec-zstd", "One zstd frame without content size, one block.", ZSTD),
        ("codec-zstd-blocks", "One zstd frame of many blocks, whose borders cut records.", ZSTD_BLOCKS),
        (
            "codec-zstd-two-frames",
            "Two zstd frames; the second record begins in one and ends in the other.",
            ZSTD_TWO_FRAMES,
        ),
        ("codec-lz4-frame", "One LZ4 frame, one block.", LZ4_FRAME),
        ("codec-lz4-frame-blocks", "One LZ4 frame of many blocks, whose borders cut records.", LZ4_FRAME_BLOCKS),
        ("codec-lz4-block", "Raw LZ4 block with matches, after its size.", LZ4_BLOCK),
    )
    for name, what, codec in codecs:
        yield _sample(name, what, Segment(records, codec))
    run = Segment([RECORD | {"routing_key": RUN.decode()}], ZSTD_RUN)
    yield _sample("codec-zstd-run", "Three zstd frames, the middle one a run of 3,000 equal bytes.", run)


def _counts() -> Iterator[Sample]:
    for name, codec in (("none", NONE), ("zstd", ZSTD), ("lz4-frame", LZ4_FRAME), ("lz4-block", LZ4_BLOCK)):
        yield _sample(f"no-records-{name}", "No record, and so both timestamps 0.", Segment([], codec))
    yield _sample("one-record", "One record.", Segment([RECORD]))
    yield _sample("many-records", "Sixty records in a size-prefixed LZ4 block.", Segment(_numbered(60), LZ4_BLOCK))


def _bodies() -> Iterator[Sample]:
    bodies: tuple[tuple[str, str, object], ...] = (
        ("body-null", "A message without body.", None),
        ("body-empty", "A body of no bytes, which is not the same as no body.", []),
        ("body-all-bytes", "A body that holds each byte value once.", list(range(256))),
    )
    for name, what, body in bodies:
        yield _sample(name, what, Segment([RECORD | {"body": body}]))


def _extremes() -> Iterator[Sample]:
    tag = RECORD | {"delivery_tag": 2**64 - 1, "redelivered": True}
    yield _sample("delivery-tag-max", "delivery_tag 2**64 - 1, which no double holds.", Segment([tag]))
    times = [RECORD | {"backed_up_at": time} for time in (-(2**63), -1, 2**63 - 1)]
    beyond: dict[str, Plain] = {"findings": ["RBK208"]}
    yield _sample("timestamps-extreme", "backed_up_at: least i64, -1, greatest i64.", Segment(times), beyond)
    times = [RECORD | {"backed_up_at": time} for time in (1712756400999, 1712756400123)]
    stepped: dict[str, Plain] = {"findings": ["RBK302"]}
    yield _sample("timestamps-reversed", "The writer's clock stepped back: first after last.", Segment(times), stepped)
    reserved = Segment([RECORD], reserved=b"\xa5\x5a")
    what = "Reserved bytes that are not zero, which readers should ignore."
    yield _sample("reserved-nonzero", what, reserved, {"findings": ["RBK301"]})


def _texts() -> Iterator[Sample]:
    shapes = Segment([RECORD | {"headers": headers} for headers in HEADER_SHAPES.values()], LZ4_BLOCK)
    yield _sample("header-shapes", "Each shape of headers, one a record.", shapes, {"shapes": list(HEADER_SHAPES)})
    full = RECORD | {"properties": ALL_PROPERTIES, "exchange": "", "source_vhost": "v/h%2f:\u00fc"}
    bare = RECORD | {"properties": NO_PROPERTIES, "routing_key": "", "source_queue": "zero \0 in a name"}
    what = "All properties set, with escapes and text beyond ASCII; then all of them null."
    yield _sample("properties", what, Segment([full, bare], ZSTD))


def _numbered(count: int) -> list[Json]:
    """`count` messages of two queues, a second apart."""
    return [
        RECORD
        | {
            "body": list(f"message {number}".encode()),
            "properties": NO_PROPERTIES | {"message_id": f"msg-{number:03}"},
            "delivery_tag": number,
            "backed_up_at": 1712756400123 + 1000 * number,
            "source_queue": ("orders", "orders.dlq")[number % 2],
        }
        for number in range(1, count + 1)
    ]


def _sample(name: str, what: str, segment: Segment, notes: Mapping[str, Plain] | None = None) -> Sample:
    data = segment.build()
    unit = Unit("rbak_segment", 0, len(data), segment.account(), content=segment.content())
    return Sample(f"rbak/{name}.{segment.codec.suffix}", what, data, (unit,), "rbak_segment", notes or {})
