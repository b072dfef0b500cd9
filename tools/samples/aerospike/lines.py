"""The entries of a backup: header, meta data, indexes, UDFs and records; the bytes and the account of each."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from construct import Construct

from tools.samples.aerospike import wire
from tools.samples.golden import Plain, Sample, Unit

KINDS = {"i": "bins", "e": "expression"}
INDEX_TYPES = {"N": "bin", "L": "list_elements", "K": "map_keys", "V": "map_values"}
DATA_TYPES = {"N": "numeric", "S": "string", "G": "geo2dsphere", "B": "blob"}
KEY_TYPES = {"I": "integer", "D": "double", "S": "string", "X": "base64_string", "B": "bytes"}
BYTES_TYPES = {
    "B": "bytes",
    "J": "java",
    "C": "csharp",
    "P": "python",
    "R": "ruby",
    "H": "php",
    "E": "erlang",
    "Y": "hll",
    "M": "map",
    "L": "list",
}
BIN_TYPES = BYTES_TYPES | {
    "N": "nil",
    "Z": "boolean",
    "I": "integer",
    "D": "double",
    "S": "string",
    "X": "base64_string",
    "G": "geojson",
}
NO_KEY_DIGEST = bytes.fromhex("0001020304050607 08090a0b0c0d0e0f 20ff7f80")
"""The digest of records without a key line, for which it cannot be computed."""


class Item:
    """One structure of a backup: the spec that reads it, its bytes, and the account of its fields."""

    __slots__ = ()
    spec: ClassVar[str]
    wire: ClassVar[Construct]

    def build(self) -> bytes:
        """Return the bytes with the line feed."""
        return bytes(self.wire.build(self._values()))

    def unit(self, start: int) -> Unit:
        """Return the account of the item, which begins at `start`."""
        return Unit(self.spec, start, start + len(self.build()), self._account())

    def _values(self) -> dict[str, object]:
        raise NotImplementedError

    def _account(self) -> dict[str, Plain]:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Header(Item):
    """The first line."""

    version: str = "3.1"
    spec = "aerospike_header"
    wire = wire.HEADER

    def _values(self) -> dict[str, object]:
        return {"version": self.version.encode()}

    def _account(self) -> dict[str, Plain]:
        return {"version": self.version}


@dataclass(frozen=True, slots=True)
class Namespace(Item):
    """The meta data line that names the namespace."""

    namespace: bytes = b"test"
    spec = "aerospike_meta"
    wire = wire.META_NAMESPACE

    def _values(self) -> dict[str, object]:
        return {"namespace": self.namespace}

    def _account(self) -> dict[str, Plain]:
        return {"keyword": "namespace ", "namespace": self.namespace.hex()}


@dataclass(frozen=True, slots=True)
class FirstFile(Item):
    """The meta data line that marks the first file of a backup."""

    spec = "aerospike_meta"
    wire = wire.META_FIRST_FILE

    def _values(self) -> dict[str, object]:
        return {}

    def _account(self) -> dict[str, Plain]:
        return {"keyword": "first-file", "namespace": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Index(Item):
    """A secondary index; `context` is the msgpack of its CDT context, or of the expression for kind `e`."""

    name: bytes
    path: bytes
    index_type: str = "N"
    data_type: str = "N"
    context: bytes | None = None
    kind: str = "i"
    namespace: bytes = b"test"
    set: bytes = b""
    spec = "aerospike_index"
    wire = wire.INDEX

    def _values(self) -> dict[str, object]:
        return {
            "kind": self.kind.encode(),
            "namespace": self.namespace,
            "set": self.set,
            "name": self.name,
            "index-type": self.index_type.encode(),
            "path": self.path,
            "data-type": self.data_type.encode(),
            "context": self.context,
        }

    def _account(self) -> dict[str, Plain]:
        last = None if self.context is None else b64encode(self.context).hex()
        return {
            "kind": KINDS[self.kind],
            "namespace": self.namespace.hex(),
            "set": self.set.hex(),
            "name": self.name.hex(),
            "index_type": INDEX_TYPES[self.index_type],
            "num_paths": 1,
            "path": self.path.hex(),
            "data_type": DATA_TYPES[self.data_type],
            "after_data_type": ord("\n") if self.context is None else ord(" "),
            "context": last if self.kind == "i" else None,
            "expression": last if self.kind == "e" else None,
        }


@dataclass(frozen=True, slots=True)
class Udf(Item):
    """A file of Lua functions."""

    name: bytes
    content: bytes
    spec = "aerospike_udf"
    wire = wire.UDF

    def _values(self) -> dict[str, object]:
        return {"name": self.name, "content": self.content}

    def _account(self) -> dict[str, Plain]:
        return {
            "udf_type": "lua",
            "name": self.name.hex(),
            "len_content": len(self.content),
            "content": self.content.hex(),
        }


@dataclass(frozen=True, slots=True)
class Key:
    """The user's key with the digest of it and the record's set."""

    type: str
    value: int | bytes
    digest: str
    compact: bool = False

    def values(self) -> dict[str, object]:
        """Return the parts of the line, named as in `wire`."""
        return {"type": self.type.encode(), "compact": self.compact, "value": self.value}

    def account(self) -> dict[str, Plain]:
        """Return the key as `aerospike_record` names its fields."""
        return {
            "type": KEY_TYPES[self.type],
            "after_type": ord("!" if self.compact else " "),
            "integer": self.value if isinstance(self.value, int) else None,
            "double": self.value.hex() if self.type == "D" and isinstance(self.value, bytes) else None,
            "sized": _sized_account(self.type, self.value, compact=self.compact),
        }


@dataclass(frozen=True, slots=True)
class Bin:
    """A bin. The value of a double is its text, since a number can be written in many ways."""

    type: str
    name: bytes
    value: int | bytes | None = None
    compact: bool = False

    def values(self) -> dict[str, object]:
        """Return the parts of the line, named as in `wire`."""
        return {
            "type": self.type.encode(),
            "compact": self.compact,
            "bin-name": self.name,
            "value": self.value,
        }

    def account(self) -> dict[str, Plain]:
        """Return the bin as `aerospike_record` names its fields."""
        letter: dict[str, Plain] = {"letter": ord("T" if self.value else "F")}
        return {
            "type": BIN_TYPES[self.type],
            "after_type": ord("!" if self.compact else " "),
            "name": self.name.hex(),
            "boolean": letter if self.type == "Z" else None,
            "integer": self.value if self.type == "I" and isinstance(self.value, int) else None,
            "double": self.value.hex() if self.type == "D" and isinstance(self.value, bytes) else None,
            "sized": _sized_account(self.type, self.value, compact=self.compact),
        }


def _sized_account(type_: str, value: int | bytes | None, *, compact: bool) -> dict[str, Plain] | None:
    """Length and data as stored: in base-64 for bytes without the compact mark and for X."""
    if type_ == "D" or not isinstance(value, bytes):
        return None
    is_base64 = type_ == "X" or (type_ in BYTES_TYPES and not compact)
    stored = b64encode(value) if is_base64 else value
    return {"len_data": len(stored), "data": stored.hex()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Item):
    """A record with its header lines; `digest` is for records without a key."""

    bins: tuple[Bin, ...] = ()
    key: Key | None = None
    digest: bytes = NO_KEY_DIGEST
    namespace: bytes = b"test"
    set: bytes | None = None
    generation: int = 1
    expiration: int = 0
    spec = "aerospike_record"
    wire = wire.RECORD

    def _values(self) -> dict[str, object]:
        return {
            "key": self.key.values() if self.key else None,
            "namespace": self.namespace,
            "digest": self._digest(),
            "set": self.set,
            "gen-count": self.generation,
            "expiration": self.expiration,
            "bins": [bin_.values() for bin_ in self.bins],
        }

    def _account(self) -> dict[str, Plain]:
        return {
            "first_line": "key" if self.key else "namespace",
            "key": self.key.account() if self.key else None,
            "namespace": self.namespace.hex(),
            "digest": b64encode(self._digest()).hex(),
            "fourth_line": "generation" if self.set is None else "set",
            "set": None if self.set is None else self.set.hex(),
            "generation": self.generation,
            "expiration": self.expiration,
            "num_bins": len(self.bins),
            "bins": [bin_.account() for bin_ in self.bins],
        }

    def _digest(self) -> bytes:
        return bytes.fromhex(self.key.digest) if self.key else self.digest


def backup(name: str, what: str, *items: Item, version: str = "3.1") -> Sample:
    """Return a backup file of a header and these items."""
    return respelled(name, what, *((item, {}) for item in (Header(version), *items)))


def respelled(name: str, what: str, *items: tuple[Item, Mapping[bytes, bytes]]) -> Sample:
    """Return a backup file of these items with parts of their bytes replaced by other spellings of the same values."""
    units: list[Unit] = []
    data = b""
    for item, spellings in items:
        start = len(data)
        data += _exchanged(item.build(), spellings)
        units.append(replace(item.unit(start), end=len(data)))
    return Sample(f"aerospike/{name}.asb", what, data, tuple(units), file_spec="aerospike_backup")


def _exchanged(data: bytes, spellings: Mapping[bytes, bytes]) -> bytes:
    for usual, other in spellings.items():
        if data.count(usual) != 1:
            raise ValueError(f"{usual!r} is there {data.count(usual)} times, not once: {data!r}")
        data = data.replace(usual, other)
    return data
