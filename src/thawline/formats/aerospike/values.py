"""Keys and bins of a chunk of records: decoded into Arrow columns, and everything about them that can be checked.

The kernel leaves values as they are written. Here they become text, bytes and JSON in one pass over the chunk, which
also marks the few rows that deserve a closer look.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import pyarrow as pa
import pyarrow.compute as pc

from thawline import native
from thawline.engine.chunks import Chunk
from thawline.formats.aerospike.choice import Choice
from thawline.literals import integer, null
from thawline.ripemd160 import SIZE

BAD_NAME, BAD_DOUBLE, BAD_BASE64, BAD_TEXT, BAD_MSGPACK, BAD_SKETCH = native.functions.PROBLEMS
NOT_ZERO = re.compile(rb"[^\0]")
ODD = BAD_NAME | BAD_DOUBLE | BAD_BASE64
"""What may keep a tool from reading a record."""


def bytes_of(texts: Sequence[bytes]) -> list[bytes | None]:
    """The bytes of base-64 texts, by the same rules as in bins; None for each that breaks them."""
    found = _decode_texts("B", texts)
    return [None if wrong else data for wrong, data in zip(found.problems, found.bytes.to_pylist(), strict=True)]


def lists_of(texts: Sequence[bytes]) -> list[str | None]:
    """Lists of msgpack in base-64 as JSON; None for each that is broken."""
    found: list[str | None] = _decode_texts("L", texts).json().to_pylist()
    return found


def _decode_texts(letter: str, texts: Sequence[bytes]) -> DecodedBins:
    count = len(texts)
    starts = array("i", [0, *accumulate(map(len, texts))])
    letters, names = array("q", [ord(letter)]) * count, array("i", bytes(4 * (count + 1)))
    return _decode(letters, memoryview(bytes(count // 8 + 1)), names, b"", starts, b"".join(texts))


def json_of(data: bytes) -> str | None:
    """A msgpack list or map of the server's kind as JSON; None if it is broken.

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
    """How many have a problem."""
    collections: int
    most_json: int

    def json(self) -> pa.StringArray:
        """Lists and maps as JSON."""
        count = len(self.problems)
        if not self.collections:
            return pa.nulls(count, pa.string())
        offsets, data, valid = _ints(count + 1), _bytes(self.most_json + 32), _zeros((count + 7) // 8)
        native.functions.write_json(
            count, self.letters, self.problems, self.offsets, self.data,
            _view(offsets, "i"), _view(data), _view(valid),
        )  # fmt: skip
        return pa.Array.from_buffers(pa.string(), count, [valid, offsets, data])


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
    text_offsets, text, text_valid = _ints(count + 1), _bytes(size), _zeros((count + 7) // 8)
    offsets, out, valid = _ints(count + 1), _bytes(size), _zeros((count + 7) // 8)
    problems, totals = _bytes(count), memoryview(array("q", bytes(32)))
    double_starts, double_data = doubles or (array("i", bytes(4 * (count + 1))), b"")
    wrong: int = native.functions.decode_bins(
        count, letters, compact, names, name_data, double_starts, double_data, starts, data,
        _view(text_offsets, "i"), _view(text), _view(text_valid),
        _view(offsets, "i"), _view(out), _view(valid), _view(problems), totals,
    )  # fmt: skip
    return DecodedBins(
        memoryview(letters),
        pa.Array.from_buffers(pa.string(), count, [text_valid, text_offsets, text]),
        pa.Array.from_buffers(pa.binary(), count, [valid, offsets, out]),
        _view(offsets, "i"), _view(out)[: _view(offsets, "i")[count]], _view(problems), wrong, totals[2], totals[3],
    )  # fmt: skip


Made = dict[tuple[frozenset[str], str], pa.RecordBatch]
"""Rows by the columns that were asked for and why they are not to be trusted, since many parts may share a chunk."""


class Decoded:
    """A chunk of records with decoded keys and bins, and what is odd about them."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk, self.batch, self.rows = chunk, chunk.batch, len(chunk)
        self.made: Made = {}
        self.masks: dict[Choice, pa.BooleanArray | None] = {}
        self.items = self.batch["bins"].values
        names, data, doubles = (self.items.field(name) for name in ("name", "data", "double"))
        self.bins = _decode(
            _numbers(self.items.field("letter")), _bits(self.items.field("is_compact")),
            *_slices(names), *_slices(data), _slices(doubles),
        )  # fmt: skip
        self.bin_offsets = _view(self.batch["bins"].buffers()[1], "i")
        self._flags = bytearray(self.rows)
        self._digests = _slices(self.batch["digest"])
        self._sets = _slices(self.batch["set"])
        self._has_odd = self._look_at_heads()

    @cached_property
    def has_key(self) -> memoryview:
        """A bit for each row that has a key; no bits at all if every row has one."""
        valid = self.batch["key_letter"].buffers()[0]
        return _view(valid) if valid is not None else memoryview(b"")

    @cached_property
    def key(self) -> pa.BinaryArray:
        """Keys: numbers as they are written, text and bytes as they are."""
        letters = self.batch["key_letter"]
        return pa.Array.from_buffers(pa.binary(), self.rows, [letters.buffers()[0], *self._key_buffers])

    @cached_property
    def partition_id(self) -> pa.Int32Array:
        """Partitions of the digests."""
        out = _ints(self.rows)
        native.functions.partition_ids(self.rows, *self._digests, _view(out, "i"))
        return pa.Array.from_buffers(pa.int32(), self.rows, [None, out])

    def odd_rows(self) -> set[int]:
        """Rows that one of the tools may not read."""
        odd = {row for row, flag in enumerate(self._flags) if flag} if self._has_odd else set()
        return odd | {row for row, _, problem in self.problems() if problem & ODD}

    def problems(self) -> Iterator[tuple[int, int, int]]:
        """Row, index of the bin in it, and what is wrong with that bin."""
        if not self.bins.wrong:
            return
        row = 0
        for place in _nonzero(self.bins.problems):
            while row < self.rows and self.bin_offsets[row + 1] <= place:
                row += 1
            if row == self.rows:
                return  # of a record that was left out of the chunk
            yield row, place - self.bin_offsets[row], self.bins.problems[place]

    def bin_name(self, row: int, index: int) -> str:
        """The name of a bin."""
        name: str = self.items.field("name")[self.bin_offsets[row] + index].as_py()
        return name

    def places_of(self, name: str) -> pa.Int64Array:
        """The index of the bin of a name in each row, to take values by; null where a row has none."""
        out = pa.allocate_buffer(8 * self.rows)
        wanted = memoryview(name.encode())
        native.functions.find_bins(
            self.rows, self.bin_offsets, *_slices(self.items.field("name")), wanted, _view(out, "q")
        )
        places = pa.Array.from_buffers(pa.int64(), self.rows, [None, out])
        return pc.if_else(pc.less(places, integer(0)), null(pa.int64()), places)

    def mismatches(self) -> set[int]:
        """Rows whose digest is not that of their set and key."""
        if self.batch["key_letter"].null_count == self.rows:
            return set()
        keys = _slices(self.key)
        doubles = self.batch["key_double"]
        bits = _numbers(doubles_of(doubles).fill_null(0).view(pa.int64())) if doubles.null_count < self.rows else None
        integers = _numbers(self.batch["key_integer"])
        room = len(self._sets[1]) + len(keys[1]) + 9 * self.rows
        starts, ends, out = array("q", bytes(8 * self.rows)), array("q", bytes(8 * self.rows)), bytearray(room)
        count: int = native.functions.pack_messages(
            self.rows, _numbers(self.batch["key_letter"]), self.has_key, integers, bits or integers,
            *keys, *self._sets, starts, ends, out,
        )  # fmt: skip
        hashes, flags = bytearray(SIZE * count), bytearray(self.rows)
        native.functions.ripemd160_ranges(memoryview(out), starts, ends, count, memoryview(hashes))
        if not native.functions.compare_digests(self.rows, self.has_key, *self._digests, hashes, flags):
            return set()
        return set(_nonzero(memoryview(flags)))

    def _look_at_heads(self) -> bool:
        found = native.functions.check_heads(
            self.rows, *_slices(self.batch["namespace"]), *self._sets, self._digests[0],
            _numbers(self.batch["expiration"]), self._flags,
        )  # fmt: skip
        letters = self.batch["key_letter"]
        if letters.null_count == self.rows:
            self._key_buffers = [_zeros(4 * (self.rows + 1)), _bytes(0)]
            return bool(found)
        doubles, data = _slices(self.batch["key_double"]), _slices(self.batch["key_data"])
        offsets, out = _ints(self.rows + 1), _bytes(len(data[1]) + len(doubles[1]) + 20 * self.rows + 32)
        found += native.functions.decode_keys(
            self.rows, _numbers(letters), self.has_key, _numbers(self.batch["key_integer"]),
            _bits(self.batch["key_is_compact"]), *doubles, *data, _view(offsets, "i"), _view(out), self._flags,
        )  # fmt: skip
        self._key_buffers = [offsets, out]
        return bool(found)


def doubles_of(texts: pa.StringArray) -> pa.DoubleArray:
    """Numbers of texts that both tools read; null for others, which do not stay in a table."""
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


def _view(buffer: pa.Buffer | None, typecode: str = "B") -> memoryview:
    if buffer is None or not buffer.size:
        return memoryview(bytearray() if typecode == "B" else array(typecode, [0]))
    return memoryview(buffer).cast("B").cast(typecode)  # type: ignore[call-overload, no-any-return]


def _slices(values: pa.BinaryArray | pa.StringArray) -> tuple[memoryview, memoryview]:
    """Offsets and bytes of a column that was not sliced."""
    _, offsets, data = values.buffers()
    starts = _view(offsets, "i")[: len(values) + 1]  # there may be room behind them
    return starts, _view(data)[: starts[len(values)]] if len(values) else memoryview(b"")


def _numbers(values: pa.Int64Array) -> memoryview:
    return _view(values.buffers()[1], "q")


def _bits(values: pa.BooleanArray) -> memoryview:
    return _view(values.buffers()[1])


def _ints(count: int) -> pa.Buffer:
    return pa.allocate_buffer(4 * count)


def _bytes(size: int) -> pa.Buffer:
    return pa.allocate_buffer(size)


def _zeros(size: int) -> pa.Buffer:
    made = pa.allocate_buffer(size)
    memoryview(made).cast("B")[:] = bytes(size)
    return made
