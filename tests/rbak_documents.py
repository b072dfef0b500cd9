"""`BackupRecord` documents decoded once more, with Python's json and an object a value.

What `thawline.formats.rbak.records` decodes is compared with this: the same rows, the same faults.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from json.decoder import JSONDecoder, scanstring  # type: ignore[attr-defined]
from typing import Any, NoReturn

import pyarrow as pa

from thawline.engine.chunks import Chunk
from thawline.engine.decoding import Decoded, Fault
from thawline.engine.documents import Field, FieldKind
from thawline.formats.rbak.records import HEAD, MOST_HEADERS, RECORD, WIRE
from thawline.native.constants.documents import NOT_A_BYTE, NOT_JSON, WRONG_TYPE

DEEPEST = 128
NUMBERS = RECORD.numbers
DOCUMENT = len(NUMBERS)
BLANK = " \t\n\r"
LONGEST_INTEGER = 20
LIMITS: dict[FieldKind, tuple[int, int]] = {"uint64": (0, 2**64 - 1), "int64": (-(2**63), 2**63 - 1), "uint8": (0, 255)}


def decode(view: memoryview, chunk: Chunk, wanted: Collection[str]) -> Decoded:
    """The documents of a chunk as the wanted wire columns, and every fault."""
    faults, rows, incomplete, odd = [], [], [], []
    for index, (start, end) in enumerate(zip(chunk.starts.to_pylist(), chunk.ends.to_pylist(), strict=True)):
        record = _Record(bytes(view[start + HEAD : end]))
        if record.fault:
            kind, number, at = record.fault
            faults.append(Fault(index, kind, number, start + HEAD + at))
            continue
        rows.append(record.row() | {"index": index})
        incomplete += [index] if RECORD.required & ~sum(1 << NUMBERS[name] for name in record.seen) else []
        odd += [index] if record.has_odd_headers else []
    schema = pa.schema([field for field in WIRE if field.name in wanted])
    arrays = [pa.array([row[name] for row in rows], schema.field(name).type) for name in schema.names]
    return Decoded(pa.RecordBatch.from_arrays(arrays, schema=schema), faults, {}, incomplete, odd)


class _NotJson(Exception):
    """At a character of the text."""


def _refused(constant: str) -> NoReturn:
    raise _NotJson(constant)


@dataclass(frozen=True, slots=True)
class _Number:
    """A number that is no integer, or one whose sign or size the reader of a field has to see."""

    text: str


_DECODER = JSONDecoder(parse_float=_Number, parse_int=_Number, parse_constant=_refused)


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    """The value that starts here and the position after it; `_NotJson` if there is none or it is nested too deeply."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise _NotJson(error.pos) from error
    except (RecursionError, StopIteration) as error:
        raise _NotJson(at) from error
    if depth + _depth(text[at:end]) > DEEPEST:
        raise _NotJson(at)
    return value, end


def _depth(text: str) -> int:
    """How deeply a right value is nested."""
    deepest = depth = at = 0
    while at < len(text):
        character = text[at]
        if character == '"':
            _, at = scanstring(text, at + 1)
            continue
        depth += (character in "[{") - (character in "]}")
        deepest = max(deepest, depth)
        at += 1
    return deepest


def _blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in BLANK:
        at += 1
    return at


def _members(text: str, at: int, depth: int) -> Iterator[tuple[str, Any, int, int]]:
    """Key, value, start and end of each member of the object that starts here; lastly `""` and the end of it."""
    at = _blank(text, at + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"':
            raise _NotJson(at)
        try:
            key, at = scanstring(text, at + 1)
        except json.JSONDecodeError as error:
            raise _NotJson(error.pos) from error
        at = _blank(text, at)
        if text[at : at + 1] != ":":
            raise _NotJson(at)
        start = _blank(text, at + 1)
        value, at = _value(text, start, depth)
        yield key, value, start, at
        at = _blank(text, at)
        if text[at : at + 1] not in {",", "}"} or text[at : at + 1] == "":
            raise _NotJson(at)
        if text[at] == ",":
            at = _blank(text, at + 1)
            if text[at : at + 1] == "}":
                raise _NotJson(at)
    yield "", None, at, at + 1


def _check_end(text: str, at: int) -> None:
    if _blank(text, at) != len(text):
        raise _NotJson(at)


def _is_text(value: object) -> bool:
    """Whether it is text that UTF-8 can hold: half a surrogate pair is none."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _check_text(value: object) -> None:
    """Raise `_NotJson` if any text in a value is half a surrogate pair."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            left += [*item, *item.values()]
        elif isinstance(item, list):
            left += item
        elif isinstance(item, str) and not _is_text(item):
            raise _NotJson(0)


@dataclass
class _Record:
    """One document, read when it is made."""

    document: bytes
    values: dict[str, Any] = field(default_factory=dict)
    headers: tuple[str, list[dict[str, str | None]] | None] | None = None
    headers_at: int | None = None
    fault: tuple[int, int, int] | None = None

    def __post_init__(self) -> None:
        try:
            self.text = self.document.decode()
            at = _blank(self.text, 0)
            if self.text[at : at + 1] == "{":
                end = self.read(at, RECORD.members(), 1)
            else:
                value, end = _value(self.text, at, 0)
                _check_text(value)
                self.blame(WRONG_TYPE, DOCUMENT, at)
            _check_end(self.text, end)
        except (_NotJson, UnicodeDecodeError) as error:
            at = error.args[0] if isinstance(error.args[0], int) else getattr(error, "start", 0)
            self.fault = (NOT_JSON, DOCUMENT, at)

    def blame(self, kind: int, number: int, at: int) -> None:
        self.fault = self.fault or (kind, number, len(self.text[:at].encode()))

    @property
    def seen(self) -> Collection[str]:
        return self.values.keys()

    @property
    def has_odd_headers(self) -> bool:
        return self.headers is not None and self.headers[1] is None

    def read(self, at: int, fields: tuple[Field, ...], depth: int) -> int:
        """Take the members that are known of the object that starts here; the position after it."""
        end, known = at, {field.name: field.kind for field in fields}
        for key, value, start, end in _members(self.text, at, depth):
            if end == start + 1 and self.text[start] == "}":
                continue
            _check_text([key, value])
            if key in known:
                self.take(key, known[key], value, start, end)
        return end

    def take(self, key: str, kind: FieldKind, value: Any, start: int, end: int) -> None:
        self.values.pop(key, None)
        if kind == "object":
            for field in RECORD.members(key):
                self.values.pop(field.name, None)
        if kind == "pairs":
            self.headers = self.headers_at = None
        if value is None:
            return
        take: dict[str, Callable[[], Any]] = {
            "bytes": lambda: self.body(value, start),
            "object": lambda: isinstance(value, dict) and self.read(start, RECORD.members(key), 2) and True,
            "pairs": lambda: self.take_headers(value, start, end),
            "text": lambda: value if isinstance(value, str) else None,
            "bool": lambda: value if isinstance(value, bool) else None,
        }
        taken = take[kind]() if kind in take else _integer(value, kind)
        if taken is None or (kind == "object" and taken is False):
            self.blame(WRONG_TYPE, NUMBERS[key], start)
        else:
            self.values[key] = taken

    def body(self, value: Any, start: int) -> bytes | None:
        if not isinstance(value, list):
            return None
        for item in value:
            if not isinstance(item, _Number):
                return None
            if _integer(item, "uint8") is None:
                self.blame(NOT_A_BYTE, NUMBERS["body"], start)
                return b""
        return bytes(int(item.text) for item in value)

    def take_headers(self, value: Any, start: int, end: int) -> str | None:
        if not isinstance(value, list | dict):
            return None
        text = self.text[start:end]
        self.headers, self.headers_at = (text, _headers(text)), len(self.text[:start].encode())
        return text

    def row(self) -> dict[str, Any]:
        """Every wire column, which is null where the document has nothing for it."""
        text, entries = self.headers or (None, None)
        simple = {name: self.values.get(name) for name in NUMBERS if name not in {"properties", "headers"}}
        further = {"headers": entries, "headers_json": text, "headers_at": self.headers_at, "record_json": self.text}
        return simple | further


def _integer(value: Any, kind: FieldKind) -> int | None:
    """A number as an integer of a kind; None if it is none. To serde -0 is a float."""
    if not isinstance(value, _Number) or not value.text.lstrip("-").isdigit() or value.text == "-0":
        return None
    low, high = LIMITS[kind]
    number = int(value.text) if len(value.text) <= LONGEST_INTEGER else high + 1
    return number if low <= number <= high else None


def _headers(text: str) -> list[dict[str, str | None]] | None:
    """Keys and the JSON text of values, in any of the known shapes; None if it has none of them or too many."""
    if text[0] == "{":
        entries = [_entry(key, text[start:end]) for key, start, end in _pairs(text, 0)]
    else:
        listed = [_listed(entry) for entry in _elements(text)]
        entries = [entry for entry in listed if entry]
        if None in listed:
            return None
    return entries if len(entries) <= MOST_HEADERS else None


def _elements(text: str) -> Iterator[str]:
    """The text of each element of an array."""
    at = _blank(text, 1)
    while text[at] != "]":
        _, end = _value(text, at, 0)
        yield text[at:end]
        at = _blank(text, end)
        at = _blank(text, at + 1) if text[at] == "," else at


def _entry(key: str, value: str | None) -> dict[str, str | None]:
    return {"key": key, "value": value}


def _pairs(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    for key, _, start, end in _members(text, at, 0):
        if end != start + 1 or text[start] != "}":
            yield key, start, end


def _listed(text: str) -> dict[str, str | None] | None:
    """One header of an array: a key and a value, or an object of both."""
    if text[0] == "{":
        found = {key: text[start:end] for key, start, end in _pairs(text, 0)}
        key = json.loads(found["key"]) if "key" in found else None
        return _entry(key, found.get("value")) if isinstance(key, str) else None
    if text[0] != "[" or text[_blank(text, 1)] != '"':
        return None
    key, at = scanstring(text, _blank(text, 1) + 1)
    at = _blank(text, at)
    if text[at] != ",":
        return None
    start = _blank(text, at + 1)
    _, end = _value(text, start, 0)
    return _entry(key, text[start:end]) if _blank(text, end) == len(text) - 1 else None
