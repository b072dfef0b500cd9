"""Units of a backup as objects, and the bytes that both tools read for each of them.

These serve writers and the closer look at units that the kernels pass over; rows never become objects.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

BYTES_LETTERS = frozenset("BJCPRHEYML")
"""Types of bins whose value is bytes: in base-64, or as they are behind an exclamation mark."""
TEXT_LETTERS = frozenset("SGX")
LETTERS = {
    "bytes": "B", "csharp": "C", "double": "D", "erlang": "E", "geojson": "G", "php": "H", "integer": "I",
    "java": "J", "list": "L", "map": "M", "nil": "N", "python": "P", "ruby": "R", "string": "S",
    "base64_string": "X", "hll": "Y", "boolean": "Z",
}  # fmt: skip
"""Letters of the types of bins and keys by the names that they have in tables."""

Value = bytes | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Bin:
    """A bin: its type as the letter that is written, its name and its value.

    Text and bytes are bytes. A double is a number, or the bytes of the text that it is written as.
    """

    letter: str
    name: bytes
    value: Value = None
    is_compact: bool = False
    """Bytes are written as they are, behind an exclamation mark."""


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a record: I, D, S, X or B, and its value as that of a bin."""

    letter: str
    value: Value
    is_compact: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """A record with everything that its lines say."""

    namespace: bytes
    digest: bytes
    bins: tuple[Bin, ...] = ()
    set: bytes | None = None
    key: Key | None = None
    generation: int = 1
    expiration: int = 0
    """Seconds since 2010-01-01T00:00:00Z; 0 for never."""


@dataclass(frozen=True, slots=True)
class Index:
    """A secondary index; `expression` instead of `context` makes it a `* e` line, which only version 3.2 has."""

    namespace: bytes
    set: bytes
    name: bytes
    index_type: str
    path: bytes
    data_type: str
    context: bytes | None = None
    expression: bytes | None = None


@dataclass(frozen=True, slots=True)
class Udf:
    """A file of user-defined functions."""

    name: bytes
    content: bytes
    udf_type: str = "L"


@dataclass(frozen=True, slots=True)
class Meta:
    """A line of the meta data section: the namespace, or without one the mark of the first file."""

    namespace: bytes | None = None


Unit = Record | Index | Udf | Meta
Version = Literal["3.0", "3.1", "3.2"]
Spelling = Callable[[bytes], bytes]
"""How a name is written."""


def header(version: str = "3.1") -> bytes:
    """The first line of a backup."""
    return b"Version %s\n" % version.encode()


def encode(unit: Unit, version: str = "3.1") -> bytes:
    r"""The bytes of a unit, as both tools read it; version 3.0 has no escapes.

    >>> encode(Udf(b"a b.lua", b"return 1"))
    b'* u L a\\ b.lua 8 return 1\n'
    """
    spelled = bytes if version == "3.0" else escaped
    match unit:
        case Record():
            return b"".join(_record_lines(unit, spelled))
        case Index():
            return _index(unit, spelled)
        case Udf():
            return b"* u %s %s %d %s\n" % (unit.udf_type.encode(), spelled(unit.name), len(unit.content), unit.content)
        case Meta(None):
            return b"# first-file\n"
        case Meta(namespace):
            return b"# namespace %s\n" % spelled(namespace or b"")


def escaped(token: bytes) -> bytes:
    r"""A token with a backslash before each backslash, space and line feed.

    >>> escaped(b"a b")
    b'a\\ b'
    """
    return token.replace(b"\\", b"\\\\").replace(b" ", b"\\ ").replace(b"\n", b"\\\n")


def double_text(value: float) -> bytes:
    """A double in the fewest digits that give it back, in a form that both tools read.

    >>> double_text(0.1), double_text(float("-inf")), double_text(1e21)
    (b'0.1', b'-inf', b'1e+21')
    """
    if math.isnan(value):
        return b"nan"
    return repr(value).encode() if not math.isfinite(value) or value % 1 else _whole(value)


def _whole(value: float) -> bytes:
    return repr(value).encode().removesuffix(b".0")


def _record_lines(record: Record, spelled: Spelling) -> Iterable[bytes]:
    if record.key:
        yield b"+ k %s\n" % _value(record.key.letter, b"", record.key.value, is_compact=record.key.is_compact)
    yield b"+ n %s\n+ d %s\n" % (spelled(record.namespace), b64encode(record.digest))
    if record.set is not None:
        yield b"+ s %s\n" % spelled(record.set)
    yield b"+ g %d\n+ t %d\n+ b %d\n" % (record.generation, record.expiration, len(record.bins))
    for item in record.bins:
        named = spelled(item.name) + (b"" if item.letter == "N" else b" ")
        yield b"- %s\n" % _value(item.letter, named, item.value, is_compact=item.is_compact)


def _value(letter: str, named: bytes, value: Value, *, is_compact: bool) -> bytes:
    """A value behind its type and, of a bin, its name."""
    lead = letter.encode() + (b"! " if is_compact else b" ") + named
    match value:
        case None:
            return lead
        case bool():
            return lead + (b"T" if value else b"F")
        case int():
            return b"%s%d" % (lead, value)
        case float():
            return lead + double_text(value)
    if letter == "D":
        return lead + value
    data = b64encode(value) if letter == "X" or (letter in BYTES_LETTERS and not is_compact) else value
    return b"%s%d %s" % (lead, len(data), data)


def _index(index: Index, spelled: Spelling) -> bytes:
    kind = b"i" if index.expression is None else b"e"
    fields = [spelled(field) for field in (index.namespace, index.set, index.name)]
    fields += [index.index_type.encode(), b"1", spelled(index.path), index.data_type.encode()]
    behind = [field for field in (index.context, index.expression) if field is not None]
    return b"* %s %s\n" % (kind, b" ".join(fields + behind))
