"""The bytes of Kafka's files: log segments of magic 0, 1 and 2, control records, and sidecars.

Names are those of Kafka's own documents and classes. A structure with a checksum is split where the checksum's coverage
begins; the covered part is named `covered`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from io import BytesIO
from typing import Any

from construct import (
    BitsInteger,
    BitStruct,
    Bytes,
    Const,
    Construct,
    Enum,
    ExprAdapter,
    Flag,
    GreedyBytes,
    GreedyRange,
    If,
    Int8sb,
    Int16sb,
    Int16ub,
    Int32sb,
    Int32ub,
    Int64sb,
    IntegerError,
    Prefixed,
    PrefixedArray,
    Rebuild,
    Struct,
    VarInt,
    len_,
    obj_,
    this,
)
from crc32c import crc32c


def size_of(data: bytes | None) -> int:
    """Return the length that Kafka stores for a nullable field."""
    return -1 if data is None else len(data)


class ZigZagVarint(Construct):  # type: ignore[misc]
    """A zig-zag varint of at most `bits` bits; `build(..., spare_groups=n)` makes it n groups longer than needed."""

    def __init__(self, bits: int) -> None:
        super().__init__()
        self.bits = bits
        self.max_groups = -(-bits // 7)

    def _parse(self, stream: BytesIO, context: Any, path: str) -> int:  # noqa: ARG002 - construct calls it so
        number: int = VarInt.parse_stream(stream)
        if number >> self.bits:
            raise IntegerError(f"{number} needs more than {self.bits} bits", path=path)
        return (number >> 1) ^ -(number & 1)

    def _build(self, obj: int, stream: BytesIO, context: Any, path: str) -> int:
        number = (obj << 1) ^ (obj >> (self.bits - 1))
        if number >> self.bits:
            raise IntegerError(f"{obj} does not fit {self.bits} bits", path=path)
        minimal: bytes = VarInt.build(number)
        spare = min(context["_params"].get("spare_groups", 0), self.max_groups - len(minimal))
        stream.write(_lengthened(minimal, spare))
        return obj


def _lengthened(varint: bytes, spare: int) -> bytes:
    """Return the same number in `spare` more groups: all have the continuation bit but the last, which is zero."""
    if spare == 0:
        return varint
    return varint[:-1] + bytes([varint[-1] | 0x80]) + b"\x80" * (spare - 1) + b"\x00"


def _nullable(length: Any) -> Construct:
    return If(length >= 0, Bytes(length))


def _length(length_type: Construct, field: str) -> Construct:
    def of_field(context: Any) -> int:
        return size_of(context[field])

    return Rebuild(length_type, of_field)


def _checksum(algorithm: Callable[[bytes], int]) -> Construct:
    def of_covered(context: Any) -> int:
        return algorithm(context.covered)

    return Rebuild(Int32ub, of_covered)


VARINT = ZigZagVarint(32)
VARLONG = ZigZagVarint(64)

# Records of magic 2. The document states only "the same varint encoding as Protobuf"; all of them are zig-zag
# (`sint32`, and `sint64` for the timestamp).
RECORD_HEADER = Struct(
    "headerKeyLength" / _length(VARINT, "headerKey"),
    "headerKey" / Bytes(this.headerKeyLength),
    "headerValueLength" / _length(VARINT, "Value"),
    "Value" / _nullable(this.headerValueLength),
)
RECORD_BODY = Struct(
    "attributes" / Int8sb,
    "timestampDelta" / VARLONG,
    "offsetDelta" / VARINT,
    "keyLength" / _length(VARINT, "key"),
    "key" / _nullable(this.keyLength),
    "valueLen" / _length(VARINT, "value"),
    "value" / _nullable(this.valueLen),
    "Headers" / PrefixedArray(VARINT, RECORD_HEADER),
)
RECORD = Prefixed(VARINT, RECORD_BODY)

TIMESTAMP_TYPE = Enum(BitsInteger(1), create_time=0, log_append_time=1)
COMPRESSION = Enum(BitsInteger(3), none=0, gzip=1, snappy=2, lz4=3, zstd=4)

BATCH_ATTRIBUTES = BitStruct(
    "unused" / BitsInteger(9),
    "hasDeleteHorizonMs" / Flag,
    "isControlBatch" / Flag,
    "isTransactional" / Flag,
    "timestampType" / TIMESTAMP_TYPE,
    "compression" / COMPRESSION,
)
BATCH_COVERED = Struct(
    "attributes" / BATCH_ATTRIBUTES,
    "lastOffsetDelta" / Int32sb,
    "baseTimestamp" / Int64sb,
    "maxTimestamp" / Int64sb,
    "producerId" / Int64sb,
    "producerEpoch" / Int16sb,
    "baseSequence" / Int32sb,
    "recordsCount" / Int32sb,
    "records" / GreedyBytes,
)
BATCH_BYTES_BEFORE_COVERED = 9
RECORD_BATCH = Struct(
    "baseOffset" / Int64sb,
    "batchLength" / Rebuild(Int32sb, BATCH_BYTES_BEFORE_COVERED + len_(this.covered)),
    "partitionLeaderEpoch" / Int32sb,
    "magic" / Const(2, Int8sb),
    "crc" / _checksum(crc32c),
    "covered" / Bytes(this.batchLength - BATCH_BYTES_BEFORE_COVERED),
)

MESSAGE_ATTRIBUTES = BitStruct(
    "unused" / BitsInteger(4),
    "timestampType" / TIMESTAMP_TYPE,
    "compression" / COMPRESSION,
)
MESSAGE_COVERED = Struct(
    "magic_byte" / Int8sb,
    "attributes" / MESSAGE_ATTRIBUTES,
    "timestamp" / If(this.magic_byte == 1, Int64sb),
    "keyLength" / _length(Int32sb, "key"),
    "key" / _nullable(this.keyLength),
    "valueLength" / _length(Int32sb, "value"),
    "value" / _nullable(this.valueLength),
    "trailing" / GreedyBytes,
)
MESSAGE_BYTES_BEFORE_COVERED = 4
MESSAGE = Struct(
    "offset" / Int64sb,
    "message_size" / Rebuild(Int32sb, MESSAGE_BYTES_BEFORE_COVERED + len_(this.covered)),
    "crc" / _checksum(zlib.crc32),
    "covered" / Bytes(this.message_size - MESSAGE_BYTES_BEFORE_COVERED),
)

CONTROL_KEY = Struct("version" / Int16sb, "type" / Int16sb, "unknown" / GreedyBytes)
END_TXN_MARKER = Struct("version" / Int16sb, "coordinatorEpoch" / Int32sb)

# KRaft's control values are "flexible" messages: lengths are stored plus one (0 is null), and every structure ends with
# tagged fields, of which Kafka defines none for these.
COMPACT_LENGTH = ExprAdapter(VarInt, obj_ - 1, obj_ + 1)
COMPACT_STRING = Prefixed(COMPACT_LENGTH, GreedyBytes)
TAGGED_FIELDS = Const(b"\x00")
UNKNOWN_FIELDS = "TaggedFields" / PrefixedArray(VarInt, Struct("Tag" / VarInt, "Data" / Prefixed(VarInt, GreedyBytes)))
ELECTION_VOTER = Struct("VoterId" / Int32sb, TAGGED_FIELDS)
ELECTION_VOTER_1 = Struct("VoterId" / Int32sb, "VoterDirectoryId" / Bytes(16), UNKNOWN_FIELDS)


def _leader_change(version: int, voter: Struct, tagged_fields: Construct) -> Struct:
    return Struct(
        "Version" / Const(version, Int16sb),
        "LeaderId" / Int32sb,
        "Voters" / PrefixedArray(COMPACT_LENGTH, voter),
        "GrantingVoters" / PrefixedArray(COMPACT_LENGTH, voter),
        tagged_fields,
    )


LEADER_CHANGE_MESSAGE = _leader_change(0, ELECTION_VOTER, TAGGED_FIELDS)
LEADER_CHANGE_MESSAGE_1 = _leader_change(1, ELECTION_VOTER_1, UNKNOWN_FIELDS)
SNAPSHOT_HEADER_RECORD = Struct("Version" / Const(0, Int16sb), "LastContainedLogTimestamp" / Int64sb, TAGGED_FIELDS)
SNAPSHOT_FOOTER_RECORD = Struct("Version" / Const(0, Int16sb), TAGGED_FIELDS)
KRAFT_VERSION_RECORD = Struct("Version" / Const(0, Int16sb), "KRaftVersion" / Int16sb, TAGGED_FIELDS)
ENDPOINT = Struct("Name" / COMPACT_STRING, "Host" / COMPACT_STRING, "Port" / Int16ub, TAGGED_FIELDS)
VOTER = Struct(
    "VoterId" / Int32sb,
    "VoterDirectoryId" / Bytes(16),
    "Endpoints" / PrefixedArray(COMPACT_LENGTH, ENDPOINT),
    "KRaftVersionFeature" / Struct("MinSupportedVersion" / Int16sb, "MaxSupportedVersion" / Int16sb, TAGGED_FIELDS),
    TAGGED_FIELDS,
)
VOTERS_RECORD = Struct("Version" / Const(0, Int16sb), "Voters" / PrefixedArray(COMPACT_LENGTH, VOTER), TAGGED_FIELDS)

OFFSET_INDEX = GreedyRange(Struct("relativeOffset" / Int32sb, "physicalPosition" / Int32sb))
TIME_INDEX = GreedyRange(Struct("timestamp" / Int64sb, "relativeOffset" / Int32sb))
TRANSACTION_INDEX = GreedyRange(
    Struct(
        "version" / Const(0, Int16sb),
        "producerId" / Int64sb,
        "firstOffset" / Int64sb,
        "lastOffset" / Int64sb,
        "lastStableOffset" / Int64sb,
    )
)
PRODUCER_ENTRIES = PrefixedArray(
    Int32sb,
    Struct(
        "ProducerId" / Int64sb,
        "Epoch" / Int16sb,
        "LastSequence" / Int32sb,
        "LastOffset" / Int64sb,
        "OffsetDelta" / Int32sb,
        "Timestamp" / Int64sb,
        "CoordinatorEpoch" / Int32sb,
        "CurrentTxnFirstOffset" / Int64sb,
    ),
)
PRODUCER_SNAPSHOT = Struct("Version" / Const(1, Int16sb), "Crc" / _checksum(crc32c), "covered" / GreedyBytes)
