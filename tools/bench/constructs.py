"""Descriptions that construct can compile and that only read.

Those of `tools/samples` build too, with functions that construct's compiler does not take; where it does, for Borg
and RBAK, they are used as they are.
"""

from __future__ import annotations

from typing import Any

from construct import (
    Array,
    Bytes,
    Check,
    Const,
    GreedyBytes,
    If,
    Int8sb,
    Int8ul,
    Int16sb,
    Int32sb,
    Int32ub,
    Int32ul,
    Int64sb,
    Pointer,
    Prefixed,
    PrefixedArray,
    Struct,
    Tell,
    ZigZag,
    this,
)

from tools.samples.borg import BLOB
from tools.samples.rbak import PAYLOAD

HEADER = Struct(
    "len_key" / ZigZag,
    "key" / Bytes(this.len_key),
    "len_value" / ZigZag,
    "value" / If(this.len_value >= 0, Bytes(this.len_value)),
)
RECORD = Struct(
    "attributes" / Int8sb,
    "timestamp_delta" / ZigZag,
    "offset_delta" / ZigZag,
    "len_key" / ZigZag,
    "key" / If(this.len_key >= 0, Bytes(this.len_key)),
    "len_value" / ZigZag,
    "value" / If(this.len_value >= 0, Bytes(this.len_value)),
    "headers" / PrefixedArray(ZigZag, HEADER),
)
BATCH_COVERED = Struct(
    "attributes" / Int16sb,
    "last_offset_delta" / Int32sb,
    "base_timestamp" / Int64sb,
    "max_timestamp" / Int64sb,
    "producer_id" / Int64sb,
    "producer_epoch" / Int16sb,
    "base_sequence" / Int32sb,
    "num_records" / Int32sb,
    "records" / GreedyBytes,
)
BATCH = Struct(
    "base_offset" / Int64sb,
    "len_body" / Int32sb,
    "partition_leader_epoch" / Int32sb,
    "magic" / Const(2, Int8sb),
    "crc" / Int32ub,
    "covered" / Bytes(this.len_body - 9),
)
MESSAGE_COVERED = Struct(
    "magic" / Int8sb,
    "attributes" / Int8sb,
    "timestamp" / If(this.magic == 1, Int64sb),
    "len_key" / Int32sb,
    "key" / If(this.len_key >= 0, Bytes(this.len_key)),
    "len_value" / Int32sb,
    "value" / If(this.len_value >= 0, Bytes(this.len_value)),
)
MESSAGE = Struct("offset" / Int64sb, "len_body" / Int32sb, "crc" / Int32ub, "covered" / Bytes(this.len_body - 4))
FRAME = Struct(
    "start" / Tell,
    "len_frame" / Int32ul,
    Check(this.len_frame % 4 == 0),
    "last_status" / Pointer(this.start + this.len_frame - 9, Int8ul),
    Check((this.last_status & 0x7C) == 0),
    "frame_tag" / Int32ul,
    "payload" / Bytes(this.len_frame - 17 - (this.last_status & 3)),
    "status" / Array((this.last_status & 3) + 1, Int8ul),
    "len_tail" / Int32ul,
    Check(this.len_tail == this.len_frame),
    "crc32c" / Int32ul,
    "fence" / Const(b"RBF1"),
)

SPECS: dict[str, Any] = {
    "kafka_batch": BATCH,
    "kafka_covered": BATCH_COVERED,
    "kafka_record": Prefixed(ZigZag, RECORD),
    "kafka_message": MESSAGE,
    "kafka_message_covered": MESSAGE_COVERED,
    "rbf": FRAME,
    "borg": BLOB,
    "rbak": PAYLOAD.subcon,
}


def compiled(name: str) -> Any:
    """The compiled form of a description."""
    return SPECS[name].compile()
