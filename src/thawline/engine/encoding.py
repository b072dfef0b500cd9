"""Bytes from columns: the inverse of a scan.

`encode` makes the rows of a table, `frame` the bytes of a single structure around the parts that it holds. Lengths,
counts, fixed contents and checksums follow from the spec; they are computed, whatever columns say. An encoder is called
twice: it measures, and then it writes into one buffer of exactly that size.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline import native
from thawline.engine.buffers import Pooled, numbers, slices, valid_bits
from thawline.engine.chunks import ARROW_TYPES
from thawline.engine.encoders import Encoder, Path, Refusal, arguments, has_tokens
from thawline.engine.tables import SLICES, TYPECODES, Column
from thawline.errors import ThawlineError
from thawline.generated.encoders.inputs import ENCODERS, FRAMES
from thawline.native.constants.encoders import (
    ENCODE_REFUSED,
    ENCODED_AT,
    ENCODED_REFUSAL,
    ENCODED_ROW,
    ENCODED_SLOTS,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

__all__ = ["Encoded", "Refused", "encode", "frame", "function_of", "hold", "mended", "new_state", "refused", "whole"]

NOTHING = memoryview(b"")
MISSING = {code: memoryview(array(code)) for code in "qihbB"}
"""What an encoder gets for a column that is not given."""
BYTE = pa.uint8()


class Refused(ThawlineError, ValueError):
    """Values that the spec does not allow. Nothing of them is written."""

    def __init__(self, message: str, row: int = 0, refusal: Refusal | None = None) -> None:
        super().__init__(message)
        self.row, self.refusal = row, refusal


@dataclass(frozen=True, slots=True)
class Encoded:
    """Rows as bytes, and where each of them ends."""

    data: pa.Buffer
    ends: pa.Int64Array


def encode(table: str, batch: pa.RecordBatch) -> Encoded:
    """The rows of a batch, back to back; `Refused` names the first row, field and rule that the spec does not allow.

    The columns are those of the table, as a scan gives them. What the spec determines may be missing.

    >>> rows = pa.RecordBatch.from_pydict({"relative_offset": [7, 8], "position": [42, 99]})
    >>> encode("kafka_offset_index", rows).data.to_pybytes().hex(" ", 4)
    '00000007 0000002a 00000008 00000063'
    """
    encoder, rows = ENCODERS[table], batch.num_rows
    given = {name: batch.column(name) for name in batch.schema.names}
    made = tuple(_arguments(encoder, given))
    run = function_of(table)
    state, ends = new_state(), Pooled("q", rows)
    if run(0, rows, state, ends.view, True, NO_BYTES, *made) == ENCODE_REFUSED:  # noqa: FBT003 - native code
        raise refused(encoder, state)
    out = Pooled("B", state[ENCODED_AT])
    state[ENCODED_AT] = 0
    run(0, rows, state, MISSING["q"], False, out.view, *made)  # noqa: FBT003 - native code has no keywords
    return Encoded(out.buffer, ends.column(rows))


NO_BYTES = memoryview(bytearray())


def function_of(table: str) -> Callable[..., int]:
    """The native function that encodes rows of a table."""
    found: Callable[..., int] = getattr(native.functions, f"encode_{table}")
    return found


def hold(table: str, columns: tuple[Any, ...]) -> tuple[Any, ...]:
    """The columns as an encoder takes them, for one that is called often: it need not look at their memory again."""
    held: tuple[Any, ...] = getattr(native.functions, f"hold_{table}")(*columns)
    return held


def new_state() -> array[int]:
    """The state of an encoder before the first row."""
    return array("q", bytes(8 * ENCODED_SLOTS))


def refused(encoder: Encoder, state: array[int]) -> Refused:
    """The refusal at which an encoder stopped."""
    refusal, row = encoder.refusals[state[ENCODED_REFUSAL]], state[ENCODED_ROW]
    return Refused(f"row {row}: {_shown(refusal)}", row, refusal)


def _shown(refusal: Refusal) -> str:
    return f"{refusal.field} does not hold to its rule: {refusal.rule} ({refusal.spec}: {refusal.path})"


def frame(name: str, /, **values: Any) -> tuple[bytearray, ...]:
    """The bytes of one structure before, between and after its parts; none after a part that ends it.

    Parts are bytes of any size, which are not copied. One that no checksum covers is given by its size. A structure
    with lists, tokens or lines has no parts: all of it is made. What may be absent is None, or not given. A list holds
    mappings, or is a tuple of tuples in the order of its columns. `has_escapes=False` leaves tokens as they are, for
    files of a time before escapes; one that holds what ends it is refused then.

    >>> [made.hex() for made in frame("rbak_footer", crc32=5)]
    ['050000004b414252']
    """
    call = _call(name)
    return _framed(name, getattr(native.functions, call.function)(*_given(call, values)))


def _given(call: _Call, values: dict[str, Any]) -> tuple[Any, ...]:
    """The values as native code takes them."""
    if call.defaults:
        values = call.defaults | values
    for column, codes in call.enums:
        label = values[column.name]
        if label.__class__ is str:
            values[column.name] = codes[label] if label in codes else _code(column, label)
    for name, items in call.lists:
        if values[name].__class__ is not tuple:
            values[name] = tuple(_given(items, {**item}) for item in values[name])
    return call.arguments(values)


def whole(name: str, *values: Any) -> bytes:
    r"""The bytes of one structure without parts, from all of its columns in their order, and `has_escapes` last.

    It is `frame` for what is written often: enums are given by their codes, and lists as tuples of tuples.

    >>> whole("aerospike_udfs", ord("L"), b"a b.lua", b"return 1", True)
    b'* u L a\\ b.lua 8 return 1\n'
    """
    (made,) = _framed(name, getattr(native.functions, _call(name).function)(*values))
    return bytes(made)


def _framed(name: str, made: Any) -> tuple[bytearray, ...]:
    """The pieces of a structure; native code returns the number of a refusal instead."""
    if made.__class__ is int:
        refusal = FRAMES[name].refusals[made]
        raise Refused(_shown(refusal), 0, refusal)
    framed: tuple[bytearray, ...] = made
    return framed


@dataclass(frozen=True, slots=True)
class _Call:
    """How the encoder of a single structure is called; looked up for each one that is written."""

    function: str
    arguments: Callable[[dict[str, Any]], tuple[Any, ...]]
    """The values in the order of the columns."""
    enums: tuple[tuple[Column, dict[str, int]], ...]
    """Columns that may be given by name, with the codes of these."""
    defaults: dict[str, Any]
    """What need not be given: what may be absent, and what no table has."""
    lists: tuple[tuple[str, _Call], ...]
    """Columns that are lists, and how their items are given."""


@cache
def _call(name: str) -> _Call:
    columns, hidden = FRAMES[name].columns, FRAMES[name].hidden
    unseen = {column.name: _nothing(column) for column in columns if (column.name,) in hidden}
    switches = {"has_escapes": True} if has_tokens(columns) else {}
    return _call_of(f"frame_{name}", columns, unseen | switches, [*switches])


def _call_of(function: str, columns: tuple[Column, ...], defaults: dict[str, Any], more: list[str]) -> _Call:
    absent = {column.name: None for column in columns if column.nullable}
    named = [column for column in columns if column.kind == "enum"]
    enums = tuple((column, {label: code for code, label in column.labels.items()}) for column in named)
    lists = [column for column in columns if column.kind == "list"]
    inner = tuple((column.name, _call_of("", column.items, {}, [])) for column in lists)
    taking = _taking([*(column.name for column in columns), *more])
    return _Call(function, taking, enums, absent | defaults, inner)


def _taking(names: list[str]) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """The values of some names in their order; `itemgetter` makes no tuple of a single one."""
    return itemgetter(*names) if len(names) > 1 else lambda values: (values[names[0]],)


def _nothing(column: Column) -> bytes | int:
    return bytes(column.size) if column.kind in SLICES else 0


def mended(name: str, head: Buffer, /, **sizes: int) -> bytes:
    r"""The bytes of one structure before its first part, with lengths and constants as they must be.

    Its parts are given by their sizes. What the spec does not determine is kept, and so is a checksum.

    >>> head = mended("kafka_batches", b"\xff" * 61, records=5)
    >>> head[:17].hex(" "), set(head[17:])
    ('ff ff ff ff ff ff ff ff 00 00 00 36 ff ff ff ff 02', {255})
    """
    encoder, made = FRAMES[name], bytearray(head)
    values = {column.name: _nothing(column) for column in encoder.columns} | sizes
    (right,) = _framed(name, getattr(native.functions, f"head_{name}")(*_call(name).arguments(values)))
    for start, end in encoder.determined:
        made[start:end] = right[start:end]
    return bytes(made)


def _arguments(encoder: Encoder, given: Mapping[str, pa.Array]) -> Iterator[Any]:
    """What native code takes for the columns, in its order."""
    made: dict[tuple[Path, str], Any] = {}
    for column in encoder.columns:
        if column.name in given:
            made.update(_parts(column, (column.name,), given[column.name]))
        elif not column.nullable and (column.name,) not in encoder.hidden:
            raise Refused(f"the column {column.name} of {encoder.name} is missing")
    for it in arguments(encoder.columns):
        yield made.get((it.path, it.part), MISSING[it.typecode] if it.typecode else 0)


def _parts(column: Column, path: Path, values: pa.Array) -> Iterator[tuple[tuple[Path, str], Any]]:
    """The arrays of a column, by the path and the part."""
    if column.kind == "list":
        yield from _list_parts(column, path, values)
        return
    if values.null_count and not column.nullable:
        row = pc.index(values.is_null(), pa.scalar(True)).as_py()  # noqa: FBT003 - Arrow's constructor
        raise Refused(f"row {row}: {'.'.join(path)} is null, which it cannot be", row)
    found = _converted(column, path, values)
    if column.kind in SLICES:
        starts, data = slices(found)
        yield from (((path, "start"), starts), ((path, "data"), data))
    else:
        yield (path, "value"), numbers(found, TYPECODES[column.kind])
    if column.nullable:
        yield from (((path, "valid"), valid_bits(found)), ((path, "first"), found.offset))


def _list_parts(column: Column, path: Path, values: pa.Array) -> Iterator[tuple[tuple[Path, str], Any]]:
    found = values if pa.types.is_list(values.type) else values.cast(pa.list_(values.type.value_type))
    if found.null_count or found.values.null_count:
        raise Refused(f"{'.'.join(path)}: a list, or an item of one, is null, which it cannot be")
    yield (path, "start"), numbers(found.offsets, "i")
    names = {field.name for field in found.values.type}
    for item in column.items:
        if item.name in names:
            yield from _parts(item, (*path, item.name), found.values.field(item.name))
        elif not item.nullable:
            raise Refused(f"the column {'.'.join((*path, item.name))} is missing")


def _converted(column: Column, path: Path, values: pa.Array) -> pa.Array:
    """The values of the type that native code takes."""
    try:
        if column.kind == "enum":
            return _codes(column, values)
        if column.kind == "bool":
            return values.cast(BYTE)
        return values.cast(pa.binary() if column.kind in SLICES else ARROW_TYPES[column.kind])
    except pa.ArrowException as error:
        raise Refused(f"{'.'.join(path)}: {error}") from None


def _codes(column: Column, values: pa.Array) -> pa.Array:
    """The codes of an enum's names, or of numbers where it has no name for one."""
    if pa.types.is_integer(values.type):
        return values.cast(pa.int16())
    encoded = values.dictionary_encode()
    codes = pa.array([_code(column, label) for label in encoded.dictionary.to_pylist()], pa.int16())
    return codes.take(encoded.indices)


def _code(column: Column, label: str) -> int:
    found = next((code for code, name in column.labels.items() if name == label), None)
    if found is None and not label.isdecimal():
        raise Refused(f"{column.name} cannot be {label!r}; it is one of {', '.join(column.labels.values())}")
    return int(label) if found is None else found
