"""Documents and their fields: what a reader of JSON documents fills, as `generated/kernels/documents.py` lists it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FieldKind = Literal["object", "bytes", "pairs", "text", "bool", "uint64", "int64", "uint8"]
"""What a field holds. `object` has fields of its own; `bytes` is an array of numbers; `pairs` are keys with values."""


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a document, or of an object in it."""

    name: str
    kind: FieldKind
    is_optional: bool = False
    """Whether it may be null or absent."""
    parent: str = ""
    """The field whose member it is; none for a member of the document."""


@dataclass(frozen=True, slots=True)
class Document:
    """A kind of JSON document: its fields in the order in which writers have them, those of objects after the rest."""

    name: str
    fields: tuple[Field, ...]
    pair_members: tuple[str, ...] = ()
    """What the key and the value of a pair are called where the pair is an object."""
    most_pairs: int = 0
    """The most pairs that a document may have."""

    @property
    def numbers(self) -> dict[str, int]:
        """A field's number is its place in `fields`, and its bit in a set of fields."""
        return {field.name: number for number, field in enumerate(self.fields)}

    @property
    def required(self) -> int:
        """The set of fields that must not be null or absent."""
        return sum(1 << number for number, field in enumerate(self.fields) if not field.is_optional)

    def members(self, parent: str = "") -> tuple[Field, ...]:
        """The fields of the document itself, or those of an object in it."""
        return tuple(field for field in self.fields if field.parent == parent)

    @property
    def pair_names(self) -> bytes:
        """The names of a pair's members, each after its length, as native code takes them."""
        return b"".join(bytes([len(name)]) + name.encode() for name in self.pair_members)
