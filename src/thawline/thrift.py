"""Structures in Thrift's compact protocol, which Parquet's footers and page indexes are written in.

https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["I16", "I32", "I64", "LIST", "Items", "Structure", "decode", "encode"]

TRUE, FALSE, I8, I16, I32, I64, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12
INTEGERS = frozenset({I16, I32, I64})
LONG_LIST, LONGEST_STEP = 15, 15
"""A list of more items has its number after its head; a field further from the one before it has its own number."""
DOUBLE_SIZE = 8

Structure = dict[int, tuple[int, Any]]
"""The fields of a structure by their numbers, each with its type and value."""


@dataclass(slots=True)
class Items:
    """A list, and the type of its items."""

    type: int
    values: list[Any]


def decode(data: bytes | memoryview) -> Structure:
    """The structure that some bytes start with.

    >>> decode(bytes.fromhex("15 02 29 25 02 04 00"))
    {1: (5, 1), 3: (9, Items(type=5, values=[1, 2]))}
    """
    return _Decoder(data).structure()


def encode(structure: Structure) -> bytes:
    """The bytes of a structure.

    >>> encode({1: (I32, 1), 3: (LIST, Items(I32, [1, 2]))}).hex(" ")
    '15 02 29 25 02 04 00'
    """
    out = bytearray()
    _put_structure(out, structure)
    return bytes(out)


class _Decoder:
    def __init__(self, data: bytes | memoryview) -> None:
        self.data, self.at = memoryview(data), 0

    def structure(self) -> Structure:
        fields: Structure = {}
        number = 0
        while head := self._byte():
            step, type_ = head >> 4, head & 15
            number = number + step if step else self._integer()
            fields[number] = (type_, type_ == TRUE if type_ in {TRUE, FALSE} else self._value(type_))
        return fields

    def _value(self, type_: int) -> Any:
        if type_ in INTEGERS:
            return self._integer()
        if type_ == BINARY:
            return self._bytes(self._varint())
        if type_ == STRUCT:
            return self.structure()
        if type_ in {LIST, SET}:
            return self._items()
        if type_ in {TRUE, FALSE, I8}:
            return self._byte()  # in a list, a boolean is a byte
        if type_ == DOUBLE:
            return self._bytes(DOUBLE_SIZE)
        raise ValueError(f"no footer has a value of type {type_}")

    def _items(self) -> Items:
        head = self._byte()
        size, type_ = head >> 4, head & 15
        return Items(type_, [self._value(type_) for _ in range(self._varint() if size == LONG_LIST else size)])

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _bytes(self, size: int) -> bytes:
        self.at += size
        return bytes(self.data[self.at - size : self.at])

    def _varint(self) -> int:
        found = shift = 0
        while (byte := self._byte()) & 128:
            found |= (byte & 127) << shift
            shift += 7
        return found | byte << shift

    def _integer(self) -> int:
        found = self._varint()
        return (found >> 1) ^ -(found & 1)


def _put_structure(out: bytearray, structure: Structure) -> None:
    before = 0
    for number, (type_, value) in sorted(structure.items()):
        marked = (TRUE if value else FALSE) if type_ in {TRUE, FALSE} else type_
        step = number - before
        if 0 < step <= LONGEST_STEP:
            out.append(step << 4 | marked)
        else:
            out.append(marked)
            _put_varint(out, number << 1)
        if type_ not in {TRUE, FALSE}:
            _put(out, type_, value)
        before = number
    out.append(0)


def _put(out: bytearray, type_: int, value: Any) -> None:
    if type_ in INTEGERS:
        _put_varint(out, (value << 1 ^ value >> 63) & (1 << 64) - 1)
    elif type_ == BINARY:
        _put_varint(out, len(value))
        out += value
    elif type_ == STRUCT:
        _put_structure(out, value)
    elif type_ in {LIST, SET}:
        _put_items(out, value)
    elif type_ == DOUBLE:
        out += value
    else:
        out.append(value)


def _put_items(out: bytearray, items: Items) -> None:
    size = len(items.values)
    out.append(min(size, LONG_LIST) << 4 | items.type)
    if size >= LONG_LIST:
        _put_varint(out, size)
    for value in items.values:
        _put(out, items.type, value)


def _put_varint(out: bytearray, value: int) -> None:
    while value > 127:  # noqa: PLR2004 - seven bits a byte
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
