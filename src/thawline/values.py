"""Columns as values for JSON, CSV and a terminal: bytes as text, times with their zone.

Bytes that are valid UTF-8 become text. Other bytes give a null, and a companion column `<name>_b64` holds them: nothing
is lost and nothing is guessed. `hex`, `base64` and `utf8` convert all values of a column alike.
"""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from thawline.batches import slices
from thawline.wording import is_utf8, raw, utf8

Bytes = Literal["auto", "hex", "base64", "utf8"]
BYTES: tuple[Bytes, ...] = ("auto", "hex", "base64", "utf8")

JSON = orjson.OPT_UTC_Z | orjson.OPT_NAIVE_UTC | orjson.OPT_NON_STR_KEYS
"""Options of orjson: times in UTC, with `Z`."""

COMPANION = "_b64"
FORMULA = "\\A[=+\\-@\t\r\n＝＋－＠]"  # noqa: RUF001 - spreadsheets treat full-width signs alike
"""The start of a text that a spreadsheet evaluates as a formula, at once or after trimming."""
UNSEEN = re.compile(
    "[\\x7f-\\x9f\\xad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\U000e0000-\\U000e007f]"
)
"""Control and direction marks that JSON allows unescaped, and that change how a terminal shows the text around them."""
DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
"""Decimal places of a second, by the unit of a time."""
DAY = 86_400
CYCLE = 146_097
"""Seconds of a day; days of 400 years, after which the calendar repeats."""
YEAR_9999 = 9999
YEAR_0, YEAR_10000 = -719_528, 2_932_897
"""The first day of these years, in days since 1970."""
LONGEST_INTEGER = 20
"""A decimal with at most this many digits and no fraction is written as a JSON number: uint64 has 20 digits."""

SLICE, SLICE_BYTES = 1024, 1 << 20
"""At most this many rows and bytes become Python objects at once: lists of short items take up to 50 times the memory
of the batch."""


def hexed(value: bytes) -> str:
    """Bytes as hexadecimal digits."""
    return value.hex()


def base64ed(value: bytes) -> str:
    """Bytes as base64."""
    return binascii.b2a_base64(value, newline=False).decode("ascii")


def decoded(value: bytes) -> str:
    """Bytes decoded as UTF-8, with a replacement character for invalid bytes."""
    return value.decode("utf-8", "replace")


SHOWN: dict[Bytes, Callable[[bytes], str]] = {"hex": hexed, "base64": base64ed, "utf8": decoded}


def is_bytes(kind: pa.DataType) -> bool:
    """Whether a column of this type holds bytes."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def listed(batch: pa.RecordBatch, mode: Bytes) -> dict[str, list[Any]]:
    """Columns by name, as lists of JSON values; with a companion where bytes are not UTF-8."""
    columns: dict[str, list[Any]] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if is_bytes(column.type):
            columns |= _bytes_listed(name, column, mode)
        else:
            columns[name] = json_values(column, mode)
    return columns


def json_values(column: pa.Array, mode: Bytes) -> list[Any]:
    """A column, not of bytes, as a list of JSON values."""
    if pa.types.is_timestamp(column.type):
        values: list[Any] = iso_times(column).to_pylist()
        return values
    convert = converter(column.type, mode)
    values = column.to_pylist()
    return values if convert is None else [None if value is None else convert(value) for value in values]


def objects(batch: pa.RecordBatch, mode: Bytes) -> Iterator[dict[str, Any]]:
    """The rows of a batch as dicts that JSON can hold."""
    columns = listed(batch, mode)
    names = list(columns)
    rows = (dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True))
    added = [name for name in names if name not in batch.schema.names]
    return (_without_nulls(row, added) for row in rows) if added else rows


def _without_nulls(row: dict[str, Any], names: list[str]) -> dict[str, Any]:
    for name in names:
        if row[name] is None:
            del row[name]
    return row


def json_texts(batch: pa.RecordBatch, mode: Bytes) -> Iterator[bytes]:
    """The rows of a batch as JSON, by way of Python's objects."""
    for piece in slices(batch, SLICE, SLICE_BYTES):
        yield from map(json_bytes, objects(piece, mode))


def _bytes_listed(name: str, column: pa.Array, mode: Bytes) -> dict[str, list[Any]]:
    if mode != "auto":
        show = SHOWN[mode]
        return {name: [None if value is None else show(value) for value in column.to_pylist()]}
    text = as_text(column)
    if text is not None:
        return {name: text.to_pylist()}
    pairs = [_text_or_base64(value) for value in column.to_pylist()]
    return {name: [pair[0] for pair in pairs], name + COMPANION: [pair[1] for pair in pairs]}


def as_text(column: pa.Array) -> pa.Array | None:
    """A column of bytes as text; None if any value is not valid UTF-8."""
    try:
        if pa.types.is_fixed_size_binary(column.type):
            column = column.cast(pa.binary())
        return column.cast(pa.string() if pa.types.is_binary(column.type) else pa.large_string())
    except pa.ArrowInvalid:
        return None


def _text_or_base64(value: bytes | None) -> tuple[str | None, str | None]:
    if value is None:
        return None, None
    try:
        return value.decode("utf-8"), None
    except UnicodeDecodeError:
        return None, base64ed(value)


def iso_times(column: pa.Array) -> pa.Array:
    """Times in ISO 8601, in UTC, in their stored precision; years of more than four digits have a sign.

    >>> iso_times(pa.array([0, 253402300800000, -62167219200001], pa.timestamp("ms"))).to_pylist()
    ['1970-01-01T00:00:00.000Z', '+10000-01-01T00:00:00.000Z', '-0001-12-31T23:59:59.999Z']
    """
    unit = column.type.unit
    ticks = column.cast(pa.timestamp(unit)).view(pa.int64())
    first, last = (days * DAY * 10 ** DIGITS[unit] for days in (YEAR_0, YEAR_10000))
    is_far = pc.or_(pc.less(ticks, _bound(first)), pc.greater_equal(ticks, _bound(last)))
    near = pc.if_else(is_far, 0, ticks).view(pa.timestamp(unit))
    texts = pc.binary_join_element_wise(pc.strftime(near, format="%Y-%m-%dT%H:%M:%S"), "Z", "")
    if not pc.any(is_far).as_py():
        return texts
    far = [iso_time(number, unit) for number in ticks.filter(is_far).to_pylist()]
    return pc.replace_with_mask(texts, pc.fill_null(is_far, fill_value=False), pa.array(far, pa.string()))


def _bound(ticks: int) -> pa.Scalar:
    return pa.scalar(min(max(ticks, -(1 << 63)), (1 << 63) - 1), pa.int64())


def iso_time(ticks: int, unit: str) -> str:
    """One time in ISO 8601, in any year: neither `strftime` nor Python's datetime supports years beyond 9999.

    >>> iso_time(-(1 << 63), "ms")
    '-292275055-05-16T16:47:04.192Z'
    """
    digits = DIGITS[unit]
    seconds, fraction = divmod(ticks, 10**digits)
    days, second = divmod(seconds, DAY)
    cycles, day = divmod(days - YEAR_0, CYCLE)
    date = datetime(2000, 1, 1) + timedelta(day)  # noqa: DTZ001 - 2000 starts a cycle of the calendar, as year 0 does
    year = date.year - 2000 + 400 * cycles
    shown = f"{year:05d}" if year < 0 else f"{year:04d}" if year <= YEAR_9999 else f"+{year}"
    clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
    return f"{shown}-{date:%m-%d}T{clock}{f'.{fraction:0{digits}d}' if digits else ''}Z"


def converter(kind: pa.DataType, mode: Bytes) -> Callable[[Any], Any] | None:
    """The function that converts values of this type to JSON values; None if they are JSON values."""
    if is_bytes(kind):
        return SHOWN.get(mode, lambda value: _text_or_base64(value)[0])
    if pa.types.is_struct(kind):
        return _struct_converter([kind.field(i) for i in range(kind.num_fields)], mode)
    if pa.types.is_map(kind):
        return _map_converter(kind, mode)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _list_converter(kind.value_field, mode)
    if pa.types.is_decimal(kind) and kind.scale == 0 and kind.precision <= LONGEST_INTEGER:
        return int
    if pa.types.is_decimal(kind) or pa.types.is_duration(kind):
        return str
    return None


def _struct_converter(fields: list[pa.Field], mode: Bytes) -> Callable[[dict[str, Any]], dict[str, Any]]:
    converters = {field.name: converter(field.type, mode) for field in fields}
    split = {field.name for field in fields if mode == "auto" and is_bytes(field.type)}

    def convert(value: dict[str, Any]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for name, item in value.items():
            change = converters[name]
            members[name] = item if item is None or change is None else change(item)
            if name in split and item is not None and members[name] is None:
                members[name + COMPANION] = base64ed(item)
        return members

    return convert


def _list_converter(field: pa.Field, mode: Bytes) -> Callable[[list[Any]], list[Any]] | None:
    # An item has no name for a companion, so all bytes in lists are base64.
    change = base64ed if mode == "auto" and is_bytes(field.type) else converter(field.type, mode)
    if change is None:
        return None
    return lambda values: [None if value is None else change(value) for value in values]


def _map_converter(kind: pa.MapType, mode: Bytes) -> Callable[[list[tuple[Any, Any]]], dict[Any, Any]]:
    key = converter(kind.key_type, "base64" if mode == "auto" else mode) or _same
    item = converter(kind.item_type, "base64" if mode == "auto" else mode) or _same
    return lambda pairs: {key(name): None if value is None else item(value) for name, value in pairs}


def _same(value: Any) -> Any:
    return value


def flat(batch: pa.RecordBatch, mode: Bytes) -> pa.RecordBatch:
    """The batch as columns of numbers and text, for CSV. With `auto`, every column of bytes has a companion."""
    arrays, names = [], []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        for flat_name, array in _flat(name, column, mode):
            names.append(flat_name)
            arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _flat(name: str, column: pa.Array, mode: Bytes) -> list[tuple[str, pa.Array]]:
    if is_bytes(column.type):
        columns = _bytes_listed(name, column, mode)
        if mode == "auto":
            columns.setdefault(name + COMPANION, [None] * len(column))
        return [(key, pa.array(values, pa.string())) for key, values in columns.items()]
    if pa.types.is_timestamp(column.type):
        return [(name, iso_times(column))]
    if pa.types.is_nested(column.type):
        values = [None if value is None else json_text(value) for value in json_values(column, mode)]
        return [(name, pa.array(values, pa.string()))]
    return [(name, column)]


def guarded(batch: pa.RecordBatch) -> pa.RecordBatch:
    r"""The batch with a `'` before every text and column name that a spreadsheet would evaluate as a formula.

    >>> guarded(pa.record_batch({"a": ["=1+1", "1", None], "-b": [-1, 2, 3]})).to_pydict()
    {'a': ["'=1+1", '1', None], "'-b": [-1, 2, 3]}
    """
    columns = [
        pc.replace_substring_regex(column, FORMULA, r"'\0") if is_text(column.type) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=[re.sub(FORMULA, r"'\g<0>", name) for name in batch.schema.names])


def json_text(value: Any) -> str:
    """A value as one line of JSON."""
    return json_bytes(value).decode("utf-8")


def json_line(value: Any) -> bytes:
    """A value as one line of JSON, with a newline."""
    return json_bytes(value, b"\n")


def json_bytes(value: Any, end: Literal[b"", b"\n"] = b"") -> bytes:
    """A value as JSON in valid UTF-8, without characters that control a terminal."""
    try:
        encoded = orjson.dumps(value, plain, JSON | orjson.OPT_APPEND_NEWLINE if end else JSON)
    except orjson.JSONEncodeError:  # text with lone surrogates, or an integer of more than 64 bits
        encoded = json.dumps(well_formed(value), ensure_ascii=False, separators=(",", ":")).encode() + end
    if encoded.isascii() and b"\x7f" not in encoded:
        return encoded
    text = encoded.decode()
    if not UNSEEN.search(text):
        return encoded
    return UNSEEN.sub(lambda match: json.dumps(match.group())[1:-1], text).encode()


def well_formed(value: Any) -> Any:
    """A value without lone surrogates: they are escaped, and a companion holds the exact bytes in base64.

    File names can hold such text. Many JSON readers reject a lone surrogate, even an escaped one.
    """
    match value:
        case str():
            return utf8(value)
        case None | bool() | int():
            return value
        case Mapping():
            return _well_formed_object(value)
        case list() | tuple():
            return [well_formed(item) for item in value]
    return orjson.loads(orjson.dumps(value, plain, JSON))


def _well_formed_object(value: Mapping[Any, Any]) -> dict[str, Any]:
    members = {}
    for key, item in value.items():
        name = utf8(str(key))
        members[name] = well_formed(item)
        if isinstance(item, str) and not is_utf8(item):
            members[name + COMPANION] = base64ed(raw(item))
    return members


def plain(value: Any) -> Any:
    """The JSON value for an object that JSON does not support."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return value.isoformat() if isinstance(value, datetime) else str(value)
