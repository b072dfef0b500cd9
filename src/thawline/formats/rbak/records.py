"""Records of a payload: JSON documents decoded into columns, by the native reader or by a plain one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import pyarrow as pa

from thawline import native
from thawline.engine.chunks import Chunk
from thawline.formats.rbak.fields import PROPERTIES, RECORD, Kind

NOT_JSON, NOT_A_BYTE, WRONG_TYPE = 1, 2, 3
"""What can be wrong with a record."""
NAMED_FAULTS = 100
MOST_HEADERS = 1 << 16
"""More than a frame of AMQP holds: a table of headers has to fit into one, of 128 KiB unless told otherwise."""
HEAD = 4
"""Bytes of the length before each document."""

HEADERS = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.string())])))
TYPES: dict[Kind, pa.DataType] = {
    "body": pa.binary(),
    "headers": HEADERS,
    "text": pa.string(),
    "bool": pa.bool_(),
    "uint64": pa.decimal128(20, 0),
    "int64": pa.int64(),
    "uint8": pa.int16(),
}
WIRE = pa.schema(
    [(name, TYPES[kind]) for name, kind in (RECORD | PROPERTIES).items() if kind in TYPES]
    + [("headers_json", pa.string()), ("headers_at", pa.int64()), ("record_json", pa.string()), ("index", pa.int64())]
)
"""Every column that a record can give; `index` is its number among the documents, `headers_at` the place of its headers
in its JSON."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A document that is no record."""

    index: int
    kind: int
    field: int
    """Number of the field; behind the last one, the document as a whole."""
    at: int
    """Position in the buffer."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Documents as columns, but for those that are no records."""

    batch: pa.RecordBatch
    faults: list[Fault]
    """The first of the documents that are none, as many as were asked for."""
    more_faults: Mapping[int, int]
    """How many more there are of each kind."""
    incomplete: list[int]
    """Indices of records without a field that they must have."""
    odd_headers: list[int]
    """Indices of records whose headers have no known shape."""


class Decode(Protocol):
    """A reader of documents: the native one or the plain one."""

    def __call__(self, view: memoryview, chunk: Chunk, wanted: Collection[str], named: int = NAMED_FAULTS) -> Decoded:
        """The documents of a chunk, of the wire columns those that are wanted; of its faults the first are named."""
        ...


def decoder() -> Decode:
    """The reader of this installation."""
    if not native.is_compiled:
        from thawline.formats.rbak import plain  # noqa: PLC0415 - not needed where there is the native module

        return plain.decode
    from thawline.formats.rbak.native import decode  # noqa: PLC0415 - needs the native module

    return decode


def projected(wanted: Collection[str]) -> pa.Schema:
    """The wire columns that are wanted, in their own order."""
    return _projected(frozenset(wanted))


@cache
def _projected(wanted: frozenset[str]) -> pa.Schema:
    return pa.schema([field for field in WIRE if field.name in wanted])
