"""Rows of the tables: from decoded chunks to record batches with the columns that a user sees."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from thawline.engine.chunks import Chunk
from thawline.formats.aerospike.bins import BinColumns
from thawline.formats.aerospike.values import Decoded, bytes_of, doubles_of, lists_of
from thawline.generated.tables import aerospike as tables
from thawline.literals import integer, null, texts

EPOCH = 1_262_304_000
"""2010-01-01T00:00:00Z in seconds since 1970."""
SECOND, NEVER = integer(1_000_000), integer(0)
"""Microseconds in a second, and the void time of what does not expire."""
RECORDS, INDEXES, UDFS = (tables.TABLES[name].schema for name in ("records", "indexes", "udfs"))
BIN = RECORDS.field("bins").type.value_type
SCHEMAS = {"records": RECORDS, "indexes": INDEXES, "udfs": UDFS}
PLACE = tables.RECORDS.extras
"""Where an entry starts in the text, and how long it is: columns that are there when they are asked for."""
DOUBTED = tables.INDEXES.extras
"""The same with why an entry is not to be trusted: for tables that have no such column of their own."""
KERNELS = {"records": "aerospike_records", "indexes": "aerospike_indexes", "udfs": "aerospike_udfs"}
TABLES = {b"+ k ": "records", b"+ n ": "records", b"* i ": "indexes", b"* e ": "indexes", b"* u ": "udfs"}
"""Tables by what their entries start with."""

Maker = Callable[[], pa.Array]


def doubted(batch: pa.RecordBatch, doubt: str) -> pa.RecordBatch:
    """Rows with why they are not to be trusted, if that is asked for."""
    at = batch.schema.get_field_index("suspect")
    return batch if at < 0 else batch.set_column(at, batch.schema.field(at), pa.repeat(texts([doubt])[0], len(batch)))


def record_batch(decoded: Decoded, wanted: Collection[str], bins: BinColumns | None = None) -> pa.RecordBatch:
    """Records as rows that nobody doubts; of the columns those that are wanted, in the table's order."""
    batch = decoded.batch
    schema = bins.schema(RECORDS) if bins else RECORDS
    made: Mapping[str, Maker] = {
        "namespace": lambda: batch["namespace"],
        "set": lambda: batch["set"],
        "digest": lambda: batch["digest"],
        "partition_id": lambda: decoded.partition_id,
        "key_type": lambda: batch["key_type"],
        "key": lambda: decoded.key,
        "generation": lambda: batch["generation"].cast(pa.int32()),
        "expiration": lambda: _void_time(batch["expiration"]),
        "bins": lambda: _bins(decoded),
        "suspect": lambda: pa.nulls(decoded.rows, pa.string()),
        **_places(decoded.chunk),
    }
    if bins:
        made = {**made, **{name: partial(_same, values) for name, values in bins.arrays(decoded, wanted)}}
    return _chosen(pa.unify_schemas([schema, PLACE]), made, wanted, decoded.rows)


def _same(values: pa.Array) -> pa.Array:
    return values


def _void_time(seconds: pa.Int64Array) -> pa.TimestampArray:
    """When records expire; null for never."""
    times = pc.multiply(pc.add(seconds, integer(EPOCH)), SECOND).view(pa.timestamp("us", "UTC"))
    is_never = pc.equal(seconds, NEVER)
    return pc.if_else(is_never, null(times.type), times) if pc.any(is_never).as_py() else times


def _bins(decoded: Decoded) -> pa.ListArray:
    items, bins = decoded.items, decoded.bins
    fields = [
        items.field("name"), items.field("type"), items.field("integer"), doubles_of(items.field("double")),
        bins.text, bins.bytes, items.field("boolean"), bins.json(),
    ]  # fmt: skip
    values = pa.StructArray.from_arrays(fields, fields=list(BIN))
    offsets = decoded.batch["bins"].buffers()[1]
    return pa.Array.from_buffers(RECORDS.field("bins").type, decoded.rows, [None, offsets], 0, children=[values])


def index_batch(chunk: Chunk, wanted: Collection[str]) -> pa.RecordBatch:
    """Secondary indexes as rows."""
    batch = chunk.batch
    made: Mapping[str, Maker] = {
        "namespace": lambda: batch["namespace"],
        "set": lambda: pc.if_else(pc.equal(batch["set"], ""), pa.scalar(None, pa.string()), batch["set"]),
        "name": lambda: batch["name"],
        "index_type": lambda: batch["index_type"],
        "bin": lambda: pc.if_else(pc.equal(batch["path"], ""), pa.scalar(None, pa.string()), batch["path"]),
        "data_type": lambda: batch["data_type"],
        "context": lambda: pa.array(contexts_json(batch["context"].to_pylist()), pa.string()),
        "expression": lambda: pa.array(_expressions(batch["expression"].to_pylist()), pa.binary()),
        "suspect": lambda: pa.nulls(len(chunk), pa.string()),
        **_places(chunk),
    }
    return _chosen(pa.unify_schemas([INDEXES, DOUBTED]), made, wanted, len(chunk))


CONTEXTS = {
    0x04: "expression", 0x10: "list_index", 0x11: "list_rank", 0x13: "list_value", 0x20: "map_index",
    0x21: "map_rank", 0x22: "map_key", 0x23: "map_value", 0x2A: "keys_in",
}  # fmt: skip
"""Steps of a context, in the words of the clients (as_cdt_ctx.h)."""
KIND_BITS = 0x3F
"""Higher bits are flags for elements that are created on the way."""


def contexts_json(texts: Sequence[str | None]) -> list[str | None]:
    """The steps of CDT contexts as JSON: where in a bin the indexed value lies; None if there is none or it is broken.

    >>> contexts_json(["lhABI8zIIqMDaWQ="])
    ['[{"list_index": 1}, {"map_value": 200}, {"map_key": "id"}]']
    """
    return [_context(json) if json else None for json in lists_of([(text or "").encode() for text in texts])]


def _context(json: str) -> str | None:
    import orjson  # noqa: PLC0415 - only indexes with a context need it

    steps = [orjson.dumps(element).decode() for element in orjson.loads(json)]
    if not steps or len(steps) % 2 or not all(step.isdigit() for step in steps[::2]):
        return None
    named = (CONTEXTS.get(int(step) & KIND_BITS, step) for step in steps[::2])
    pairs = [f'{{"{name}": {value}}}' for name, value in zip(named, steps[1::2], strict=True)]
    return f"[{', '.join(pairs)}]"


def _expressions(texts: Sequence[str | None]) -> list[bytes | None]:
    """The bytes of expressions; as they are written where that is no base-64."""
    written = [None if text is None else text.encode() for text in texts]
    found = bytes_of([text or b"" for text in written])
    return [text if text is None or data is None else data for text, data in zip(written, found, strict=True)]


def udf_batch(chunk: Chunk, wanted: Collection[str]) -> pa.RecordBatch:
    """UDF files as rows."""
    made: Mapping[str, Maker] = {
        "name": lambda: chunk.batch["name"],
        "type": lambda: chunk.batch["udf_type"],
        "content": lambda: chunk.batch["content"],
        "suspect": lambda: pa.nulls(len(chunk), pa.string()),
        **_places(chunk),
    }
    return _chosen(pa.unify_schemas([UDFS, DOUBTED]), made, wanted, len(chunk))


def _places(chunk: Chunk) -> dict[str, Maker]:
    return {"position": lambda: chunk.starts, "length": lambda: pc.subtract(chunk.ends, chunk.starts)}


def _chosen(schema: pa.Schema, made: Mapping[str, Maker], wanted: Collection[str], rows: int) -> pa.RecordBatch:
    fields = [field for field in schema if field.name in wanted]
    if not fields:
        return pa.RecordBatch.from_arrays([pa.nulls(rows)], ["rows"]).select([])  # has as many rows all the same
    return pa.RecordBatch.from_arrays([made[field.name]() for field in fields], schema=pa.schema(fields))
