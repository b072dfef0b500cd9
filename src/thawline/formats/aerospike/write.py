"""AsbWriter: a new backup that asrestore and backup-go both read. `encode` spells one entry."""

from __future__ import annotations

import math
import os
import struct
from base64 import b64encode
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal, Self

import pyarrow as pa

from thawline import native
from thawline.engine.encoding import Refused, frame, whole
from thawline.errors import ThawlineError
from thawline.formats.aerospike.entries import (
    BYTES_LETTERS,
    Bin,
    Broken,
    Entry,
    EntryReader,
    Index,
    Key,
    Meta,
    Record,
    Udf,
    Value,
)
from thawline.generated.kernels.tables import TABLES as KERNELS
from thawline.generated.tables.aerospike import RECORDS
from thawline.outputs import replacing
from thawline.ripemd160 import ripemd160

__all__ = ["AsbWriter", "BadEntry", "Bin", "Index", "Key", "Meta", "Record", "Udf", "digest_of", "encode", "header"]

TEXT_LETTERS, SCALAR_LETTERS = frozenset("SGX"), frozenset("NZID")
LETTERS = {
    name: chr(letter)
    for column in KERNELS["aerospike_records"].columns
    for item in column.items
    for letter, name in item.labels.items()
}
"""Letters of the types of bins and keys, by their names in tables."""

Version = Literal["3.0", "3.1", "3.2"]


class BadEntry(ThawlineError, ValueError):
    """An entry that one of the tools would refuse. Nothing of it is written."""


def digest_of(found_set: bytes | None, key: Key) -> bytes:
    """The digest of a record: RIPEMD-160 of set, key type and key.

    >>> digest_of(b"demo", Key("S", b"key1")).hex()
    'ec91192d4b7f8ce35d5d78d34bca65cbaaaac960'
    """
    return ripemd160((found_set or b"") + bytes([native.functions.key_particle(ord(key.letter))]) + _hashed(key))


def _hashed(key: Key) -> bytes:
    try:
        match key.letter, key.value:
            case "I", int(number):
                return struct.pack(">q", number)
            case "D", (float() | bytes() | int()) as number:
                return struct.pack(">d", float(number))
            case (("S" | "X" | "B"), bytes(data)):
                return data
    except (struct.error, ValueError, OverflowError):
        pass  # no number, or one that does not fit 64 bits
    raise BadEntry(f"a key of type {key.letter} cannot be {key.value!r}")


class AsbWriter:
    """A writer of a backup, which appears under its name when it is complete.

    Each entry is checked by the rules of both tools before it is written. Types, compact bytes and the text of doubles
    are kept, so an entry that was read from a backup is written back byte for byte.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        namespace: bytes | str | None = None,
        *,
        first_file: bool = False,
        version: Version = "3.1",
        overwrite: bool = False,
    ) -> None:
        self.version = version
        self.records = 0
        """The number of records written."""
        self._stack = ExitStack()
        first = header(version)
        self._file: BinaryIO = self._stack.enter_context(replacing(Path(path), overwrite=overwrite))
        self._file.write(first)
        if namespace is not None:
            self._put(Meta(namespace.encode() if isinstance(namespace, str) else namespace))
        if first_file:
            self._put(Meta())

    def write(self, entry: Record | Index | Udf) -> None:
        """Write a record, an index or a UDF; `BadEntry` if one of the tools would refuse it."""
        if isinstance(entry, Record):
            _check_digest(entry)
        self._put(entry)
        self.records += isinstance(entry, Record)

    def write_rows(self, batch: pa.RecordBatch) -> None:
        """Write rows of the table `records`: bytes in base-64, doubles in their fewest digits."""
        for row in batch.to_pylist():
            self.write(record_of(row))

    def _put(self, entry: Entry) -> None:
        data = encode(entry)
        if self.version == "3.0" and _needs_escapes(entry, data):
            raise BadEntry("the tools read a backslash in a name of version 3.0 differently, and it has no escapes")
        reader = EntryReader(memoryview(data), 0, self.version)
        try:
            reader.meta() if isinstance(entry, Meta) else reader.entry()
        except Broken as broken:
            raise BadEntry(f"no tool would read this entry: {broken.reason}") from None
        if reader.notes or reader.pos != len(data):
            reason = reader.notes[0].reason if reader.notes else "more than one entry"
            raise BadEntry(f"{reader.refused_by or 'asrestore'} would refuse this entry: {reason}")
        self._file.write(data)

    def close(self) -> None:
        """Complete the file and give it its name."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


def _check_digest(record: Record) -> None:
    if record.key is not None and digest_of(record.set, record.key) != record.digest:
        expected = digest_of(record.set, record.key).hex()
        raise BadEntry(f"the digest {record.digest.hex()} is not that of set and key, which is {expected}")


def record_of(row: Mapping[str, Any]) -> Record:
    """A row of the table `records` as a record."""
    expiration = row["expiration"]
    return Record(
        namespace=row["namespace"].encode(),
        digest=row["digest"],
        bins=tuple(_bin_of(item) for item in row["bins"]),
        set=None if row["set"] is None else row["set"].encode(),
        key=_key_of(row["key_type"], row["key"]),
        generation=row["generation"],
        expiration=0 if expiration is None else int(expiration.timestamp()) - RECORDS.column("expiration").since,
    )


def _key_of(key_type: str | None, key: bytes | None) -> Key | None:
    if key_type is None or key is None:
        return None
    letter = LETTERS[key_type]
    return Key(letter, int(key) if letter == "I" else key)


def _bin_of(item: Mapping[str, Any]) -> Bin:
    letter = LETTERS[item["type"]]
    value: Value = None
    if letter in TEXT_LETTERS and item["text"] is not None:
        value = item["text"].encode()
    else:
        columns = {"I": "integer", "D": "double", "Z": "boolean"}
        value = None if letter == "N" else item[columns.get(letter, "bytes")]
    return Bin(letter, item["name"].encode(), value)


def header(version: str = "3.1") -> bytes:
    """The first line of a backup."""
    (line,) = frame("aerospike_header", version=version.encode())
    return bytes(line)


def encode(entry: Entry, version: str = "3.1") -> bytes:
    r"""The canonical bytes of an entry, which both tools read; version 3.0 has no escapes.

    >>> encode(Udf(b"a b.lua", b"return 1"))
    b'* u L a\\ b.lua 8 return 1\n'
    """
    try:
        return whole(TABLES[type(entry)], *_values(entry), version != "3.0")
    except (Refused, TypeError, OverflowError) as error:
        raise BadEntry(f"no tool would read this entry: {error}") from None


TABLES = {Record: "aerospike_records", Index: "aerospike_indexes", Udf: "aerospike_udfs", Meta: "aerospike_meta"}


def _needs_escapes(entry: Entry, data: bytes) -> bool:
    """Whether the bytes of an entry have escapes in them."""
    try:
        return encode(entry, "3.0") != data
    except BadEntry:  # a name holds what would end it
        return True


def _values(entry: Entry) -> tuple[Any, ...]:
    """The fields of an entry in the order of its spec."""
    if isinstance(entry, Record):
        bins = tuple([_particle(item, item.name) for item in entry.bins])
        rest = entry.namespace, entry.digest, entry.set, entry.generation, entry.expiration, bins
        return *_key(entry.key), *rest
    match entry:
        case Index(namespace, found_set, name, index_type, path, data_type, context, expression):
            kind = "i" if expression is None else "e"
            letters = ord(kind), ord(index_type), ord(data_type)
            return letters[0], namespace, found_set, name, letters[1], path, letters[2], context, expression
        case Udf(name, content, udf_type):
            return ord(udf_type), name, content
        case Meta(namespace):
            return namespace is None, namespace


NO_KEY = (None,) * 5


def _key(key: Key | None) -> tuple[Any, ...]:
    """The columns of a key, which has no name and is no boolean."""
    if key is None:
        return NO_KEY
    code, is_compact, _, _, *values = _particle(key, b"")
    return code, is_compact, *values


def _particle(item: Bin | Key, name: bytes) -> tuple[Any, ...]:
    """The columns of a bin: type, mark, name, boolean, integer, double, data."""
    letter, value = item.letter, item.value
    code = ord(letter)
    if isinstance(value, bytes) and letter not in SCALAR_LETTERS:
        is_base64 = letter == "X" or (letter in BYTES_LETTERS and not item.is_compact)
        return code, item.is_compact, name, None, None, None, b64encode(value) if is_base64 else value
    match letter, value:
        case "I", int() if not isinstance(value, bool):
            return code, item.is_compact, name, None, value, None, None
        case "D", (int() | float() | bytes()):
            text = value if isinstance(value, bytes) else double_text(value)
            return code, item.is_compact, name, None, None, text, None
        case "Z", bool():
            return code, item.is_compact, name, value, None, None, None
        case "N", None:
            return code, item.is_compact, name, None, None, None, None
    raise BadEntry(f"no tool would read this entry: a value of type {letter} cannot be {value!r}")


def double_text(value: float) -> bytes:
    """A double in the fewest digits that preserve it, in a form that both tools read.

    >>> double_text(0.1), double_text(float("-inf")), double_text(1e21)
    (b'0.1', b'-inf', b'1e+21')
    """
    if math.isnan(value):
        return b"nan"
    return repr(value).encode().removesuffix(b".0")
