"""Packed: many small records in little memory; a hostile file may cause hundreds of thousands of them."""

from __future__ import annotations

import marshal
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, overload

__all__ = ["PAGE", "Packed"]

PAGE = 1024
"""Records that are compressed together; fewer are kept as they are."""
QUICK = 1
"""The zlib level: the records of a file repeat each other, so the fastest level is enough."""

Page = bytes | list[Any]


class Packed(Sequence[Any]):
    """Tuples and dicts of numbers and text, in the order in which they were added.

    Full pages are compressed, and unpacked one at a time. A page that `marshal` does not support stays uncompressed.

    >>> records = Packed((number, "the same text") for number in range(5000))
    >>> len(records), records[4321], [number for number, _ in records[-2:]]
    (5000, (4321, 'the same text'), [4998, 4999])
    """

    __slots__ = ("_last", "_open", "_pages")

    def __init__(self, records: Iterator[Any] | Sequence[Any] = ()) -> None:
        self._pages: list[Page] = []
        self._open: list[Any] = []
        self._last: tuple[int, list[Any]] = (-1, [])
        for record in records:
            self.append(record)

    def append(self, record: Any) -> None:
        """Add a record after the others."""
        self._open.append(record)
        if len(self._open) == PAGE:
            self._pages.append(_packed(self._open))
            self._open = []

    def __len__(self) -> int:
        return PAGE * len(self._pages) + len(self._open)

    def __iter__(self) -> Iterator[Any]:
        for page in range(len(self._pages)):
            yield from _unpacked(self._pages[page])
        yield from self._open

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        numbers = range(len(self))[index]
        return [self._at(number) for number in numbers] if isinstance(numbers, range) else self._at(numbers)

    def _at(self, number: int) -> Any:
        page, place = divmod(number, PAGE)
        if page == len(self._pages):
            return self._open[place]
        if self._last[0] != page:
            self._last = page, _unpacked(self._pages[page])
        return self._last[1][place]


def _packed(records: list[Any]) -> Page:
    try:
        return zlib.compress(marshal.dumps(records), QUICK)
    except ValueError:  # an object of a class that marshal does not support
        return records


def _unpacked(page: Page) -> list[Any]:
    if isinstance(page, list):
        return page
    records: list[Any] = marshal.loads(zlib.decompress(page))  # noqa: S302 - packed by _packed, never read from a file
    return records
