"""Contenders that every format has: the parser by the Kaitai Struct compiler, and construct."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import Any

import kaitaistruct

from thawline import specs
from tools.bench.measure import Contender, Read

Rows = Callable[[bytes], Iterable[object]]
"""Yields one object for each record."""

Compile = Callable[[str], Any]
"""Gives the compiled construct of a name."""


def counted(rows: Rows) -> Read:
    """Read rows and drop each of them as soon as the next one comes."""
    return lambda data: sum(1 for _ in rows(data))


def by_loop(rows: Rows, share: int = 10) -> Contender:
    """A loop over rows in plain Python."""
    return Contender("plain struct loop", lambda: counted(rows), share, note="tuples")


def by_ksc(spec: str, share: int, touch: Callable[[Any], object] | None = None) -> Contender:
    """The parser by the Kaitai Struct compiler; `touch` does what the spec leaves to the caller."""

    def prepare() -> Read:
        parser = specs.parser(spec)

        def read(data: bytes) -> int:
            stream = kaitaistruct.KaitaiStream(kaitaistruct.BytesIO(data))
            rows = 0
            while not stream.is_eof():
                row = parser(stream)
                if touch is not None:
                    touch(row)
                rows += 1
            return rows

        return read

    return Contender("ksc parser", prepare, share, note="objects, dropped one by one")


def by_construct(rows: Callable[[Compile], Callable[[io.BytesIO], Iterable[object]]], share: int) -> Contender:
    """A compiled construct; `rows` asks for it and gives a function that yields what it reads from a stream."""

    def prepare() -> Read:
        from tools.bench import constructs  # noqa: PLC0415 - construct may be missing

        read = rows(constructs.compiled)
        return counted(lambda data: read(io.BytesIO(data)))

    return Contender("construct, compiled", prepare, share, needs="construct", note="containers, dropped one by one")


def at_end(stream: io.BytesIO) -> bool:
    """Whether a stream has no more bytes."""
    return stream.tell() == stream.getbuffer().nbytes


def agree(computed: int, stored: int) -> None:
    """Raise ValueError where a checksum is wrong."""
    if computed != stored:
        raise ValueError(f"checksum {computed:#x} is not {stored:#x}")
