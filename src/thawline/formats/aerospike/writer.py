"""AsbWriter: a new backup that asrestore and backup-go both read."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import pyarrow as pa

from thawline.errors import ThawlineError
from thawline.formats.aerospike.rows import EPOCH
from thawline.formats.aerospike.tolerant import Broken, Look
from thawline.formats.aerospike.units import (
    LETTERS,
    TEXT_LETTERS,
    Bin,
    Index,
    Key,
    Meta,
    Record,
    Udf,
    Unit,
    Value,
    Version,
    encode,
    header,
)
from thawline.outputs import replacing
from thawline.ripemd160 import ripemd160

__all__ = ["AsbWriter", "BadEntry", "Bin", "Index", "Key", "Record", "Udf", "digest_of", "record_of"]

KEY_TYPES = {"I": 1, "D": 2, "S": 3, "X": 3, "B": 4}
"""Particle types of keys, as digests count them (as_key.c)."""


class BadEntry(ThawlineError, ValueError):
    """An entry that one of the tools would refuse; nothing of it was written."""


def digest_of(found_set: bytes | None, key: Key) -> bytes:
    """The digest of a record: RIPEMD-160 of set, key type and key.

    >>> digest_of(b"demo", Key("S", b"key1")).hex()
    'ec91192d4b7f8ce35d5d78d34bca65cbaaaac960'
    """
    return ripemd160((found_set or b"") + bytes([KEY_TYPES[key.letter]]) + _hashed(key))


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
        pass  # a number that is none, or does not fit 64 bits
    raise BadEntry(f"a key of type {key.letter} cannot be {key.value!r}")


class AsbWriter:
    """A backup to write, which appears under its name when it is complete.

    Entries are checked by the rules of both tools before a byte is written. Types, compact bytes and the text of
    doubles are written as they are given, so that what was read from a backup is written back byte for byte.
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
        """How many records were written."""
        self._stack = ExitStack()
        self._file: BinaryIO = self._stack.enter_context(replacing(Path(path), overwrite=overwrite))
        self._file.write(header(version))
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
        """Write rows of the table `records`. Bytes are written in base-64, doubles in their fewest digits."""
        for row in batch.to_pylist():
            self.write(record_of(row))

    def _put(self, unit: Unit) -> None:
        data = encode(unit, self.version)
        if data != encode(unit):
            raise BadEntry("the tools read a backslash in a name of version 3.0 differently, and it has no escapes")
        look = Look(memoryview(data), 0, self.version)
        try:
            look.meta() if isinstance(unit, Meta) else look.unit()
        except Broken as broken:
            raise BadEntry(f"no tool would read this entry: {broken.reason}") from None
        if look.notes or look.pos != len(data):
            reason = look.notes[0].reason if look.notes else "more than one entry"
            raise BadEntry(f"{look.refused_by or 'asrestore'} would refuse this entry: {reason}")
        self._file.write(data)

    def close(self) -> None:
        """Put the file in its place."""
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
        expiration=0 if expiration is None else int(expiration.timestamp()) - EPOCH,
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
