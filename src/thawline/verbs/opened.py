"""What a verb is given: an open file, or an open folder, as far as verbs use it. `thawline.cold` has both."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Protocol, TypeVar

import pyarrow as pa

from thawline.filters import Bound, Filter
from thawline.folder import Folder, Unread
from thawline.formats.contract import Claim, Depth, Format, Kind
from thawline.jobs import Crew
from thawline.model import Finding, Run
from thawline.source import Source

Item = TypeVar("Item")


class OpenFile(Protocol):
    """A file with its format, and one of its tables."""

    @property
    def name(self) -> str:
        """The name of the file."""

    @property
    def size(self) -> int:
        """Its size in bytes."""

    @property
    def source(self) -> Source:
        """Its bytes."""

    @property
    def format(self) -> Format:
        """The format that it is read by."""

    @property
    def kind(self) -> Kind:
        """What it is among the files of its format."""

    @property
    def claim(self) -> Claim | None:
        """Why it is of this format; None if the format was named."""

    @property
    def table(self) -> str:
        """The table whose rows are read."""

    @property
    def crew(self) -> Crew:
        """The threads that read it."""

    @property
    def unit_name(self) -> str:
        """The name of its units, such as `batch`."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of its rows."""

    @property
    def every_column(self) -> pa.Schema:
        """The schema with the columns that are only given when they are requested by name."""

    def projected(self, columns: Collection[str] | None) -> pa.Schema:
        """The schema of some columns, in the table's order."""

    def bound(self, where: Filter | str | None, columns: Collection[str] | None = None) -> Bound:
        """A filter for the table."""

    def scan(self, depth: Depth = Depth.EVERYTHING) -> Iterator[Run | Finding]:
        """Intact runs and findings, in file order; their spans tile the file."""

    def watched(self, items: Iterator[Item]) -> Iterator[Item]:
        """The items of a scan, which the caller of a verb may count."""

    def batches(
        self, columns: Collection[str] | None = None, where: Filter | str | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Rows that meet a filter."""

    def head(self, rows: int, columns: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The first rows."""

    def tail(self, rows: int, columns: Collection[str] | None = None) -> list[pa.RecordBatch]:
        """The last rows."""


class OpenFolder(Protocol):
    """A folder whose files belong together."""

    @property
    def name(self) -> str:
        """Its path or URL."""

    @property
    def folder(self) -> Folder:
        """Its entries."""

    @property
    def format(self) -> Format:
        """The format of its files."""

    def opened(self) -> Iterator[OpenFile | Unread]:
        """Each file that holds rows, or why it cannot be opened."""
