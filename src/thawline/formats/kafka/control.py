"""The table `control`: transaction markers and KRaft's own records, decoded."""

from __future__ import annotations

import base64
import sys
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import Any

import kaitaistruct
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from thawline import codecs, specs
from thawline.formats.kafka import records
from thawline.formats.kafka.heads import Heads
from thawline.formats.kafka.rows import MICROSECONDS, Part, Request
from thawline.formats.kafka.selection import Selection
from thawline.model import Finding
from thawline.source import Source

CONTROL = pa.schema(
    [
        ("batch_start", pa.int64()),
        ("offset", pa.int64()),
        ("timestamp", MICROSECONDS),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("leader_epoch", pa.int32()),
        ("type", pa.string()),
        ("version", pa.int16()),
        ("coordinator_epoch", pa.int32()),
        ("value", pa.binary()),
        ("content", pa.string()),
    ]
)
OF_RECORDS = ("batch_start", "offset", "timestamp", "producer_id", "producer_epoch", "leader_epoch", "value")
"""Columns that any record has."""
ABORT, COMMIT = "abort", "commit"
KEY_SIZE = 4
"""Kafka refuses a shorter key of a control record, and one with a negative version."""
EPOCH_AT = 2
"""Where the coordinator's epoch stands in the value of a transaction marker."""
INTEGERS = {"h": pa.int16(), "i": pa.int32()}


def control_batches(
    source: Source, heads: Heads, columns: Collection[str], max_batch_bytes: int = codecs.DEFAULT_MAX_BYTES
) -> Iterator[pa.RecordBatch]:
    """Control records of some units: the columns that are asked for. Units that cannot be read are passed over."""
    for part in _decode(source, heads, (*OF_RECORDS, "key"), max_batch_bytes):
        if not isinstance(part, Finding):
            yield from (_decoded(batch, columns) for batch in part[1])


def broken_control(source: Source, heads: Heads, max_batch_bytes: int) -> Iterator[Finding]:
    """What is wrong with control records of some units: what `control_batches` passes over."""
    return (part for part in _decode(source, heads, (), max_batch_bytes) if isinstance(part, Finding))


def _decode(source: Source, heads: Heads, columns: tuple[str, ...], max_batch_bytes: int) -> Iterator[Part | Finding]:
    chosen = heads.rows.filter(heads.rows["is_control"])
    if not chosen.num_rows:
        return
    request = Request(columns, Selection(control=True), max_batch_bytes=max_batch_bytes)
    yield from records.decode(source, Heads(chosen), request)


def _decoded(batch: pa.RecordBatch, columns: Collection[str]) -> pa.RecordBatch:
    marker = _Marker(batch)
    schema = pa.schema([field for field in CONTROL if field.name in columns])
    made = [batch[field.name] if field.name in OF_RECORDS else marker.column(field.name) for field in schema]
    return pa.RecordBatch.from_arrays(made, schema=schema) if made else batch.select([])


class _Marker:
    """What keys and values of control records say."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.values = batch["value"]
        self.is_whole = pc.fill_null(pc.greater_equal(pc.binary_length(batch["key"]), KEY_SIZE), False)  # noqa: FBT003
        versions = integers(batch["key"], 0, "h")
        self.is_valid = pc.and_(self.is_whole, pc.fill_null(pc.greater_equal(versions, 0), False))  # noqa: FBT003
        self.versions = _where(self.is_valid, versions)
        self.numbers = _where(self.is_valid, integers(batch["key"], 2, "h"))

    def column(self, name: str) -> pa.Array:
        """One column, by its name."""
        made: Callable[[], pa.Array] = getattr(self, f"_{name}")
        return made()

    def _version(self) -> pa.Array:
        return self.versions

    def _type(self) -> pa.Array:
        """Names; the number of a type that has none, null where the key breaks Kafka's rule."""
        encoded = self.numbers.dictionary_encode()
        names = pa.array([types().get(number, str(number)) for number in encoded.dictionary.to_pylist()], pa.string())
        return names.take(encoded.indices)

    def _coordinator_epoch(self) -> pa.Array:
        return _where(self._is_end(), integers(self.values, EPOCH_AT, "i"))

    def _content(self) -> pa.Array:
        """JSON of what KRaft's records say; null for transaction markers."""
        if pc.all(self._is_end()).as_py():
            return pa.nulls(len(self.numbers), pa.string())
        pairs = zip(self.numbers.to_pylist(), self.values.to_pylist(), strict=True)
        return pa.array([_content(number, value) for number, value in pairs], pa.string())

    def _is_end(self) -> pa.BooleanArray:
        ends = pa.array([number for number, name in types().items() if name in {ABORT, COMMIT}], pa.int16())
        return pc.is_in(self.numbers, ends)


@cache
def types() -> Mapping[int, str]:
    """The kinds of control records that have a name."""
    return {int(kind): kind.name for kind in specs.parser("kafka_control_key").ControlType}


def integers(values: pa.BinaryArray, at: int, typecode: str) -> pa.Array:
    """Big-endian integers that stand at a byte of each value; null where it has not got them."""
    size = array(typecode).itemsize
    stored = pc.binary_slice(values, at, at + size)
    is_there = pc.fill_null(pc.equal(pc.binary_length(stored), size), False)  # noqa: FBT003 - a value, not a flag
    whole = pc.if_else(is_there, stored, pa.scalar(bytes(size))).cast(pa.binary(size))
    found = array(typecode)
    found.frombytes(memoryview(whole.buffers()[1])[size * whole.offset : size * (whole.offset + len(whole))])
    if sys.byteorder == "little":
        found.byteswap()
    return _where(is_there, pa.Array.from_buffers(INTEGERS[typecode], len(found), [None, pa.py_buffer(found)]))


def _where(condition: pa.BooleanArray, values: pa.Array) -> pa.Array:
    return pc.if_else(condition, values, pa.scalar(None, values.type))


def _content(number: int | None, value: bytes | None) -> str | None:
    """What one of KRaft's records says; None for what the spec does not describe, and for what breaks it."""
    if number is None or value is None:
        return None
    root, error = specs.read("kafka_control_value", value, number)
    message = getattr(root, "message", None)
    if error or message is None:
        return None
    return orjson.dumps({"version": root.version, **plain(message)}).decode()


def plain(value: Any) -> Any:
    """What a parser read, as JSON can say it: without lengths and counts, bytes as Kafka writes its ids, in base 64."""
    if isinstance(value, bytes):
        return base64.urlsafe_b64encode(value).decode().rstrip("=")
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, kaitaistruct.KaitaiStruct):
        return value
    return value.value if hasattr(value, "value") else dict(_fields(value))


def _fields(structure: Any) -> Iterator[tuple[str, Any]]:
    for name in structure.SEQ_FIELDS:
        value = getattr(structure, name, None)
        is_nothing = value is None or (name == "tagged_fields" and not value.fields)
        if not is_nothing and not name.startswith(("len_", "num_")):
            yield name, plain(value)
