"""msgpack that anybody may have written, read value by value: what is there decides nothing about what is built.

A value of a kind that nobody asked for is passed over without an object being made of it, so neither its size, nor how
deep it is nested, nor its keys cost more than a look.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgpack

LONGEST_TEXT = 1 << 20
FIRST_WINDOW = 1 << 8
TIMESTAMP = 0xFF
"""The type byte of an extension that is a time."""


class Short(Exception):
    """The bytes end inside of a value."""


class Wrong(Exception):
    """A value that is not what belongs there."""


@dataclass(frozen=True, slots=True)
class Nanoseconds:
    """A time since 1970."""

    count: int


class Other:
    """A value that has no use here."""


OTHER = Other()
Value = str | bytes | int | bool | None | Nanoseconds | Other


def _heads() -> dict[int, tuple[str, int, int]]:
    """By the first byte of a value: its kind, bytes of its length, and the length or number where that is in it."""
    found: dict[int, tuple[str, int, int]] = {0xC0: ("none", 0, 0), 0xC2: ("bool", 0, 0), 0xC3: ("bool", 0, 1)}
    found |= {number % 256: ("number", 0, number) for number in range(-32, 128)}
    found |= {byte: ("map", 0, byte & 15) for byte in range(0x80, 0x90)}
    found |= {byte: ("list", 0, byte & 15) for byte in range(0x90, 0xA0)}
    found |= {byte: ("text", 0, byte & 31) for byte in range(0xA0, 0xC0)}
    sized = {"bytes": (0xC4, 0xC5, 0xC6), "ext": (0xC7, 0xC8, 0xC9), "text": (0xD9, 0xDA, 0xDB)}
    for kind, bytes_ in sized.items():
        found |= {byte: (kind, width, 0) for byte, width in zip(bytes_, (1, 2, 4), strict=True)}
    for kind, first in (("list", 0xDC), ("map", 0xDE)):
        found |= {first: (kind, 2, 0), first + 1: (kind, 4, 0)}
    found |= {0xCC + power: ("unsigned", 0, 1 << power) for power in range(4)}
    found |= {0xD0 + power: ("signed", 0, 1 << power) for power in range(4)}
    found |= {0xD4 + power: ("ext", 0, 1 << power) for power in range(5)}
    return found | {0xCA: ("float", 0, 4), 0xCB: ("float", 0, 8)}


HEADS = _heads()


class Cursor:
    """A place in msgpack, and what stands there."""

    def __init__(self, data: bytes | bytearray, at: int = 0) -> None:
        self.data, self.at = data, at

    def _take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.data):
            raise Short
        taken, self.at = self.data[self.at : end], end
        return bytes(taken)

    def _head(self) -> tuple[str, int]:
        """Kind of a value, and how much follows: bytes, entries, or the number itself."""
        if self.at >= len(self.data):
            raise Short
        kind, width, size = HEADS.get(self.data[self.at], ("", 0, 0))
        if not kind:
            raise Wrong("a byte that msgpack does not have")
        self.at += 1
        return kind, int.from_bytes(self._take(width), "big") if width else size

    def entries(self, kind: str, most: int) -> int:
        """How many entries a list or map has that starts here; `Wrong` if there is none, or a larger one."""
        start = self.at
        found, size = self._head()
        if found != kind or size > most:
            self.at = start
            raise Wrong(f"no {kind}" if found != kind else f"a {kind} of {size} entries")
        return size

    def value(self) -> Value:
        """The value that starts here; of a list, a map or a fraction no more than that it is one."""
        start = self.at
        kind, size = self._head()
        match kind:
            case "number":
                return size
            case "text" | "bytes" if size > LONGEST_TEXT:
                self._take(size)
                return OTHER
            case "text":
                return self._take(size).decode("utf-8", "surrogateescape")
            case "bytes":
                return self._take(size)
            case "unsigned" | "signed":
                return int.from_bytes(self._take(size), "big", signed=kind == "signed")
            case "none" | "bool":
                return None if kind == "none" else bool(size)
            case "ext":
                return self._extension(size)
            case "float":
                self._take(size)
                return OTHER
        self.at = start
        self.skip()
        return OTHER

    def _extension(self, size: int) -> Value:
        (kind,) = self._take(1)
        data = self._take(size)
        if kind != TIMESTAMP:
            return OTHER
        try:
            return Nanoseconds(msgpack.Timestamp.from_bytes(data).to_unix_nano())
        except ValueError:
            return OTHER

    def skip(self) -> None:
        """Go on behind the value that starts here, whatever is in it."""
        window = FIRST_WINDOW
        while True:
            end = min(self.at + window, len(self.data))
            # Its buffer may grow as it likes: no more is fed to it than there is.
            unpacker = msgpack.Unpacker(max_buffer_size=0)
            unpacker.feed(bytes(self.data[self.at : end]))
            try:
                unpacker.skip()
            except msgpack.OutOfData:
                if end == len(self.data):
                    raise Short from None
                window *= 8
                continue
            except (ValueError, msgpack.UnpackException, RecursionError) as error:
                raise Wrong(str(error) or "is nested too deep") from None
            self.at += unpacker.tell()
            return
