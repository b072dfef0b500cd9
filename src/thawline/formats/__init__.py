"""The formats, in the order in which they are asked whether a file is theirs.

Adding one is a line in `FORMATS`. A format's module is imported when it is first needed.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol

import pyarrow as pa

from thawline.errors import UnknownFormat
from thawline.model import Code, Finding, Run, Span
from thawline.source import Source

Confidence = Literal["certain", "likely", "possible"]

FORMATS = {
    "rbf": "thawline.formats.rbf:Rbf",
}
"""Self-describing formats first, those that only a name or a valid first checksum gives away last."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A format's word that a file is its own."""

    format: str
    version: str
    why: str
    confidence: Confidence


class Format(Protocol):
    """What a format offers. The spans that `scan` yields tile the file."""

    name: str
    title: str
    tables: tuple[str, ...]
    """Names of its tables; the first is the default."""
    codes: tuple[Code, ...]
    unit: str
    """The spec of the unit that `inspect` shows."""
    unit_name: str
    """What its owners call a unit: a frame, a batch, a blob."""

    def claim(self, source: Source) -> Claim | None:
        """Whether the file is of this format, from a look at a few bytes."""
        ...

    def schema(self, table: str) -> pa.Schema:
        """The Arrow schema of a table."""
        ...

    def scan(self, source: Source) -> Iterator[Run | Finding]:
        """Intact runs and findings, in file order."""
        ...

    def batches(self, source: Source, run: Run, table: str, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """Rows of a run; of the table's columns those that are asked for, in the table's order."""
        ...

    def tail(self, source: Source, rows: int) -> list[pa.RecordBatch] | None:
        """The last rows of the default table, read from the end; None where only a scan finds them."""
        ...

    def units(self, source: Source, run: Run) -> Iterator[Span]:
        """The unit spans of a run, without separators that belong to no unit."""
        ...

    def salvage(self, source: Source, items: Iterator[Run | Finding]) -> Iterator[bytes | memoryview]:
        """The bytes of a new, valid file that holds what is intact."""
        ...


@cache
def get(name: str) -> Format:
    """A format by name; `UnknownFormat` names those that there are."""
    if name not in FORMATS:
        raise UnknownFormat(f"no format is called {name!r}; there are {', '.join(FORMATS)}")
    module, _, attribute = FORMATS[name].partition(":")
    made: Any = getattr(importlib.import_module(module), attribute)()
    found: Format = made
    return found


def identify(source: Source) -> Claim:
    """Which format a file is of; `UnknownFormat` if none claims it."""
    claims = [claim for name in FORMATS if (claim := get(name).claim(source))]
    if not claims:
        raise UnknownFormat(f"{source.name}: no format recognises this file; `thawline formats` lists what is known")
    order = ("certain", "likely", "possible")
    return min(claims, key=lambda claim: order.index(claim.confidence))
