"""Rows of the tables: keys and bins of a chunk, decoded and checked, and record batches with the requested columns.

A kernel leaves values as they are written. `Decoded` turns them into text, bytes and JSON in one pass over the chunk,
which also flags the few rows that one of the tools may refuse.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import accumulate

import pyarrow as pa
import pyarrow.compute as pc

from thawline import native
from thawline.engine.buffers import Pooled, bitmap, bits, numbers, slices, view
from thawline.engine.chunks import Chunk
from thawline.formats.building import Origins, batch_of
from thawline.generated.kernels.tolerant import LEADS
from thawline.generated.tables.aerospike import INDEXES, RECORDS, UDFS
from thawline.literals import integer, null, texts
from thawline.ripemd160 import SIZE
from thawline.tables import PublicColumn, PublicTable

BINS = RECORDS.schema.field("bins").type
KERNELS = {"records": "aerospike_records", "indexes": "aerospike_indexes", "udfs": "aerospike_udfs"}
TABLES = {lead: table for lead, kernel in LEADS.items() for table, name in KERNELS.items() if name == kernel}
"""Tables by the first bytes of their entries."""

BAD_NAME, BAD_DOUBLE, BAD_BASE64, BAD_TEXT, BAD_MSGPACK, BAD_SKETCH = native.functions.PROBLEMS
"""Problems of a bin, as bits."""
REFUSABLE = BAD_NAME | BAD_DOUBLE | BAD_BASE64
"""Problems for which a tool may refuse the record."""
NOT_ZERO = re.compile(rb"[^\0]")

Makers = Mapping[str, Callable[[], pa.Array]]


# Values.


def bytes_of(texts: Sequence[bytes]) -> list[bytes | None]:
    """The bytes of base-64 texts, by the rules for bins; None for each that is broken."""
    found = _decode_texts("B", texts)
    return [None if wrong else data for wrong, data in zip(found.problems, found.bytes.to_pylist(), strict=True)]


def lists_of(texts: Sequence[bytes]) -> list[str | None]:
    """Msgpack lists in base-64 as JSON; None for each that is broken."""
    found: list[str | None] = _decode_texts("L", texts).json().to_pylist()
    return found


def _decode_texts(letter: str, texts: Sequence[bytes]) -> DecodedBins:
    count = len(texts)
    starts = array("i", [0, *accumulate(map(len, texts))])
    letters, names = array("q", [ord(letter)]) * count, array("i", bytes(4 * (count + 1)))
    return _decode(letters, memoryview(bytes(count // 8 + 1)), names, b"", starts, b"".join(texts))


def json_of(data: bytes) -> str | None:
    """A msgpack list or map, as servers store it, as JSON; None if it is broken.

    >>> json_of(bytes.fromhex("92 01 a2 03 61"))
    '[1, "a"]'
    """
    is_map = data[:1] and (0x80 <= data[0] <= 0x8F or data[0] >= 0xDE)  # noqa: PLR2004 - heads of msgpack
    letters, starts = array("q", [ord("M" if is_map else "L")]), array("i", [0, 0])
    found = _decode(letters, memoryview(b"\1"), starts, b"", array("i", [0, len(data)]), data)
    text: str | None = found.json()[0].as_py()
    return text


@dataclass(frozen=True, slots=True)
class DecodedBins:
    """Bins with their values as text and as bytes."""

    letters: memoryview
    text: pa.StringArray
    bytes: pa.BinaryArray
    offsets: memoryview
    data: memoryview
    problems: memoryview
    wrong: int
    """The number of bins with a problem."""
    collections: int
    """The number of lists and maps."""
    most_json: int

    def json(self) -> pa.StringArray:
        """Lists and maps as JSON."""
        count = len(self.problems)
        if not self.collections:
            return pa.nulls(count, pa.string())
        offsets, data, valid = Pooled("i", count + 1), Pooled("B", self.most_json + 32), bitmap(count, is_zero=True)
        native.functions.write_json(
            count, self.letters, self.problems, self.offsets, self.data, offsets.view, data.view, valid.view
        )
        return pa.Array.from_buffers(pa.string(), count, [valid.buffer, offsets.buffer, data.buffer])


def _decode(
    letters: memoryview | array[int],
    compact: memoryview | bytes,
    names: memoryview | array[int],
    name_data: memoryview | bytes,
    starts: memoryview | array[int],
    data: memoryview | bytes,
    doubles: tuple[memoryview | array[int], memoryview | bytes] | None = None,
) -> DecodedBins:
    count, size = len(starts) - 1, len(data) + 32
    if len(names) < count + 1:
        names = array("i", bytes(4 * (count + 1)))
    text_offsets, text, text_valid = Pooled("i", count + 1), Pooled("B", size), bitmap(count, is_zero=True)
    offsets, out, valid = Pooled("i", count + 1), Pooled("B", size), bitmap(count, is_zero=True)
    problems, totals = Pooled("B", count), memoryview(array("q", bytes(32)))
    double_starts, double_data = doubles or (array("i", bytes(4 * (count + 1))), b"")
    wrong: int = native.functions.decode_bins(
        count, letters, compact, names, name_data, double_starts, double_data, starts, data,
        text_offsets.view, text.view, text_valid.view, offsets.view, out.view, valid.view, problems.view, totals,
    )  # fmt: skip
    return DecodedBins(
        memoryview(letters),
        pa.Array.from_buffers(pa.string(), count, [text_valid.buffer, text_offsets.buffer, text.buffer]),
        pa.Array.from_buffers(pa.binary(), count, [valid.buffer, offsets.buffer, out.buffer]),
        offsets.view, out.view[: offsets.view[count]], problems.view, wrong, totals[2], totals[3],
    )  # fmt: skip


def doubles_of(texts: pa.StringArray) -> pa.DoubleArray:
    """Numbers of texts that both tools read; null for others, which no row keeps."""
    try:
        return pc.cast(texts, pa.float64())
    except pa.ArrowInvalid:
        return pa.array([_double_of(text) for text in texts.to_pylist()], pa.float64())


def _double_of(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _nonzero(flags: memoryview) -> Iterator[int]:
    return (found.start() for found in NOT_ZERO.finditer(flags.tobytes()))


# Rows.


@dataclass(frozen=True, slots=True)
class Selection:
    """Records by namespace and set; None selects all."""

    namespace: tuple[str, ...] | None = None
    set: tuple[str, ...] | None = None
    trusts_header: bool = True
    """Whether a file is skipped if its header names a namespace that is not requested."""

    def mask(self, batch: pa.RecordBatch) -> pa.BooleanArray | None:
        """Which rows are requested; None for all of them."""
        mask = None
        for name, values in (("namespace", self.namespace), ("set", self.set)):
            if values is not None and name in batch.schema.names:
                found = pc.is_in(batch[name], value_set=pa.array(values, pa.string()))
                mask = found if mask is None else pc.and_(mask, found)
        return mask

    def prunes(self, namespace: str | None, heads: pa.RecordBatch) -> bool:
        """Whether no record of a file is requested: its header says so, and its first records confirm it.

        The header alone is no proof: it has no checksum, and one flipped bit changes a name.
        """
        if not self.trusts_header or namespace is None or self.namespace is None or namespace in self.namespace:
            return False
        return bool(pc.all(pc.equal(heads["namespace"], namespace)).as_py())


class ChunkRows:
    """Entries of one table in a chunk. Their rows are made once, however many stretches share the chunk."""

    def __init__(self, table: str, chunk: Chunk) -> None:
        self.table, self.chunk, self.batch = table, chunk, chunk.batch
        self._masks: dict[Selection, pa.BooleanArray | None] = {}
        self._made: dict[tuple[frozenset[str], str], pa.RecordBatch] = {}
        """Rows by their columns and by the value of `suspect`."""

    def rows(self, wanted: frozenset[str], bins: BinColumns | None, doubt: str | None) -> pa.RecordBatch:
        """All rows of the chunk with the requested columns; `doubt` is why they are not to be trusted."""
        key = wanted, (doubt or "") if "suspect" in wanted else ""
        if key not in self._made:
            self._made[key] = _doubted(self.rows(wanted, bins, None), key[1]) if key[1] else self._rows(wanted, bins)
        return self._made[key]

    def _rows(self, wanted: Collection[str], _bins: BinColumns | None) -> pa.RecordBatch:
        return (index_batch if self.table == "indexes" else udf_batch)(self.chunk, wanted)

    def mask(self, selection: Selection) -> pa.BooleanArray | None:
        """Which rows are requested; None for all of them."""
        if selection not in self._masks:
            self._masks[selection] = selection.mask(self.batch)
        return self._masks[selection]


class Decoded(ChunkRows):
    """Records of a chunk with decoded keys and bins, and the problems in them."""

    def __init__(self, chunk: Chunk) -> None:
        super().__init__("records", chunk)
        self.count = len(chunk)
        self.items = self.batch["bins"].values
        names, data, doubles = (slices(self.items.field(name)) for name in ("name", "data", "double"))
        letters, compact = numbers(self.items.field("letter")), bits(self.items.field("is_compact"))
        self.bins = _decode(letters, compact, *names, *data, doubles)
        self.bin_offsets = view(self.batch["bins"].buffers()[1], "i")
        self._flags = bytearray(self.count)
        self._digests = slices(self.batch["digest"])
        self._sets = slices(self.batch["set"])
        self._has_flags = self._check_heads()

    def _rows(self, wanted: Collection[str], bins: BinColumns | None) -> pa.RecordBatch:
        return record_batch(self, wanted, bins)

    @cached_property
    def has_key(self) -> memoryview:
        """A bit for each row that has a key; empty if every row has one."""
        return view(self.batch["key_letter"].buffers()[0])

    @cached_property
    def key(self) -> pa.BinaryArray:
        """Keys: the text of numbers, and text and bytes decoded."""
        letters = self.batch["key_letter"]
        return pa.Array.from_buffers(pa.binary(), self.count, [letters.buffers()[0], *self._key_buffers])

    @cached_property
    def partition_id(self) -> pa.Int32Array:
        """Partitions of the digests."""
        out = Pooled("i", self.count)
        native.functions.partition_ids(self.count, *self._digests, out.view)
        return out.column(self.count)

    def refusable(self) -> set[int]:
        """Rows that one of the tools may refuse."""
        flagged = {row for row, flag in enumerate(self._flags) if flag} if self._has_flags else set()
        return flagged | {row for row, _, problem in self.problems() if problem & REFUSABLE}

    def problems(self) -> Iterator[tuple[int, int, int]]:
        """The row, the index of the bin in it, and the problems of that bin."""
        if not self.bins.wrong:
            return
        row = 0
        for place in _nonzero(self.bins.problems):
            while row < self.count and self.bin_offsets[row + 1] <= place:
                row += 1
            if row == self.count:
                return  # the bin is one of a record that was left out of the chunk
            yield row, place - self.bin_offsets[row], self.bins.problems[place]

    def bin_name(self, row: int, index: int) -> str:
        """The name of a bin."""
        name: str = self.items.field("name")[self.bin_offsets[row] + index].as_py()
        return name

    def places_of(self, name: str) -> pa.Int64Array:
        """The index of the bin of a name in each row, to take values by; null where a row has no such bin."""
        out = Pooled("q", self.count)
        wanted = memoryview(name.encode())
        native.functions.find_bins(self.count, self.bin_offsets, *slices(self.items.field("name")), wanted, out.view)
        places = out.column(self.count)
        return pc.if_else(pc.less(places, integer(0)), null(pa.int64()), places)

    def mismatches(self) -> set[int]:
        """Rows whose digest is not that of their set and key."""
        if self.batch["key_letter"].null_count == self.count:
            return set()
        starts, ends = array("q", bytes(8 * self.count)), array("q", bytes(8 * self.count))
        packed, keys = self._packed_keys(starts, ends)
        hashes, flags = bytearray(SIZE * keys), bytearray(self.count)
        native.functions.ripemd160_ranges(memoryview(packed), starts, ends, keys, memoryview(hashes))
        if not native.functions.compare_digests(self.count, self.has_key, *self._digests, hashes, flags):
            return set()
        return set(_nonzero(memoryview(flags)))

    def _packed_keys(self, starts: array[int], ends: array[int]) -> tuple[bytearray, int]:
        """What the digest of each row with a key is the hash of, back to back, and the number of these rows."""
        keys, doubles = slices(self.key), self.batch["key_double"]
        integers = binary = numbers(self.batch["key_integer"])
        if doubles.null_count < self.count:
            binary = numbers(doubles_of(doubles).fill_null(0).view(pa.int64()))
        out = bytearray(len(self._sets[1]) + len(keys[1]) + 9 * self.count)
        count: int = native.functions.pack_messages(
            self.count, numbers(self.batch["key_letter"]), self.has_key, integers, binary,
            *keys, *self._sets, starts, ends, out,
        )  # fmt: skip
        return out, count

    def _check_heads(self) -> bool:
        """Flag rows by their heads, decode their keys, and tell whether any is flagged."""
        flagged = native.functions.check_heads(
            self.count, *slices(self.batch["namespace"]), *self._sets, self._digests[0],
            numbers(self.batch["expiration"]), self._flags,
        )  # fmt: skip
        letters = self.batch["key_letter"]
        if letters.null_count == self.count:
            self._key_buffers = [Pooled("i", self.count + 1, is_zero=True).buffer, pa.allocate_buffer(0)]
            return bool(flagged)
        doubles, data = slices(self.batch["key_double"]), slices(self.batch["key_data"])
        offsets, out = Pooled("i", self.count + 1), Pooled("B", len(data[1]) + len(doubles[1]) + 20 * self.count + 32)
        flagged += native.functions.decode_keys(
            self.count, numbers(letters), self.has_key, numbers(self.batch["key_integer"]),
            bits(self.batch["key_is_compact"]), *doubles, *data, offsets.view, out.view, self._flags,
        )  # fmt: skip
        self._key_buffers = [offsets.buffer, out.buffer]
        return bool(flagged)


def _doubted(batch: pa.RecordBatch, doubt: str) -> pa.RecordBatch:
    """Rows with why they are not to be trusted."""
    at = batch.schema.get_field_index("suspect")
    return batch if at < 0 else batch.set_column(at, batch.schema.field(at), pa.repeat(texts([doubt])[0], len(batch)))


def record_batch(decoded: Decoded, wanted: Collection[str], bins: BinColumns | None = None) -> pa.RecordBatch:
    """Records as rows without doubt: the requested columns, in the table's order."""
    made = {
        "partition_id": lambda: decoded.partition_id,
        "key": lambda: decoded.key,
        "bins": lambda: _bins(decoded),
        **(bins.makers(decoded) if bins else {}),
    }
    return _batch(bins.table if bins else RECORDS, decoded.chunk, wanted, made)


def _batch(table: PublicTable, chunk: Chunk, wanted: Collection[str], makers: Makers) -> pa.RecordBatch:
    """Entries of a chunk as rows without doubt."""
    made = {
        "suspect": lambda: pa.nulls(len(chunk), pa.string()),
        "position": lambda: chunk.starts,
        "length": lambda: pc.subtract(chunk.ends, chunk.starts),
        **makers,
    }
    origins = Origins(len(chunk), partial(_field, chunk.batch), lambda column: made[column.name]())
    return batch_of(table, wanted, origins)


def _field(batch: pa.RecordBatch, column: PublicColumn) -> pa.Array:
    values = batch[column.source]
    return values if values.type == column.stored_type else values.cast(column.stored_type)


def _bins(decoded: Decoded) -> pa.ListArray:
    items, bins = decoded.items, decoded.bins
    fields = [
        items.field("name"), items.field("type"), items.field("integer"), doubles_of(items.field("double")),
        bins.text, bins.bytes, items.field("boolean"), bins.json(),
    ]  # fmt: skip
    values = pa.StructArray.from_arrays(fields, fields=list(BINS.value_type))
    offsets = decoded.batch["bins"].buffers()[1]
    return pa.Array.from_buffers(BINS, decoded.count, [None, offsets], 0, children=[values])


def index_batch(chunk: Chunk, wanted: Collection[str]) -> pa.RecordBatch:
    """Secondary indexes as rows."""
    batch = chunk.batch
    made = {
        "context": lambda: pa.array(contexts_json(batch["context"].to_pylist()), pa.string()),
        "expression": lambda: pa.array(_expressions(batch["expression"].to_pylist()), pa.binary()),
    }
    return _batch(INDEXES, chunk, wanted, made)


CONTEXTS = {
    0x04: "expression", 0x10: "list_index", 0x11: "list_rank", 0x13: "list_value", 0x20: "map_index",
    0x21: "map_rank", 0x22: "map_key", 0x23: "map_value", 0x2A: "keys_in",
}  # fmt: skip
"""Steps of a context, by the names that clients use (as_cdt_ctx.h)."""
KIND_BITS = 0x3F
"""The higher bits are flags for elements that the step creates."""


def contexts_json(texts: Sequence[str | None]) -> list[str | None]:
    """The steps of CDT contexts as JSON: where in a bin the indexed value is. None for no context or a broken one.

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
    """The bytes of expressions; the text itself where that is not base-64."""
    written = [None if text is None else text.encode() for text in texts]
    found = bytes_of([text or b"" for text in written])
    return [text if text is None or data is None else data for text, data in zip(written, found, strict=True)]


def udf_batch(chunk: Chunk, wanted: Collection[str]) -> pa.RecordBatch:
    """UDF files as rows."""
    return _batch(UDFS, chunk, wanted, {})


# Bins as columns.

VALUE_KINDS = {
    "boolean": "boolean", "integer": "integer", "double": "double", "string": "text", "base64_string": "text",
    "geojson": "text", "list": "json", "map": "json",
}  # fmt: skip
"""The field of a bin that holds the values of a type; all other types are bytes."""
VALUE_TYPES = {
    "boolean": "bool", "integer": "int64", "double": "double", "text": "string", "json": "string", "bytes": "binary",
    "mixed": "string", "mixed_bytes": "binary",
}  # fmt: skip
"""Their types, by the words of declarations."""


@dataclass(frozen=True, slots=True)
class BinColumn:
    """A column for the bins of one name."""

    name: str
    bin: str
    kind: str

    @property
    def declared(self) -> PublicColumn:
        """It as a column of the table."""
        return PublicColumn(self.name, VALUE_TYPES[self.kind], "", "made", f"the bin {self.bin}", ("bins",))


@dataclass(frozen=True)
class BinColumns:
    """The columns of all bins of a file or a backup, in the order of their names."""

    columns: tuple[BinColumn, ...]

    @cached_property
    def table(self) -> PublicTable:
        """The table of records with these columns instead of the list."""
        at = RECORDS.schema.get_field_index("bins")
        columns = *RECORDS.columns[:at], *(each.declared for each in self.columns), *RECORDS.columns[at + 1 :]
        table: PublicTable = replace(RECORDS, columns=columns)
        return table

    def makers(self, decoded: Decoded) -> Makers:
        """How the values of each column are made."""
        values = _BinValues(decoded)
        return {column.name: partial(values.column, column) for column in self.columns}


class _BinValues:
    """Values of all bins of a chunk by kind, made when they are requested."""

    def __init__(self, decoded: Decoded) -> None:
        self.decoded = decoded
        self.made: dict[str, pa.Array] = {}

    def column(self, column: BinColumn) -> pa.Array:
        """The value of each record."""
        return self.of(column.kind).take(self.decoded.places_of(column.bin))

    def of(self, kind: str) -> pa.Array:
        """One value for each bin, null for bins of another kind."""
        if kind not in self.made:
            self.made[kind] = self._make(kind)
        return self.made[kind]

    def _make(self, kind: str) -> pa.Array:
        items, bins = self.decoded.items, self.decoded.bins
        match kind:
            case "text":
                return bins.text
            case "json":
                return bins.json()
            case "bytes":
                return bins.bytes
            case "double":
                return doubles_of(items.field("double"))
            case "integer" | "boolean":
                return items.field(kind)
        found = [self.of("text"), self.of("json"), items.field("double")]
        found += [pc.cast(items.field(name), pa.string()) for name in ("integer", "boolean")]
        if kind == "mixed":
            return pc.coalesce(*found)
        return pc.coalesce(*(pc.cast(text, pa.binary()) for text in found), bins.bytes)
