"""Bins as columns of their own: which there are, learned from the file, and their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline.errors import ThawlineError
from thawline.formats.aerospike.values import Decoded, doubles_of

KINDS = {
    "boolean": "boolean", "integer": "integer", "double": "double", "string": "text", "base64_string": "text",
    "geojson": "text", "list": "json", "map": "json",
}  # fmt: skip
"""Which part of a bin holds the values of a type; those that are not here are bytes."""
TYPES = {
    "boolean": pa.bool_(), "integer": pa.int64(), "double": pa.float64(), "text": pa.string(), "json": pa.string(),
    "bytes": pa.binary(), "mixed": pa.string(), "mixed_bytes": pa.binary(),
}  # fmt: skip
MOST = 4096
"""Columns of a table; a file with more names of bins is read with `--bins list`."""

AT_ONCE = 4
"""Chunks whose records may come by turns."""


class TooManyBins(ThawlineError, ValueError):
    """The file has more names of bins than a table can have columns."""


@dataclass(frozen=True, slots=True)
class BinColumn:
    """A column for the bins of one name."""

    name: str
    bin: str
    kind: str

    @property
    def type(self) -> pa.DataType:
        """The type of its values."""
        return TYPES[self.kind]


@dataclass(frozen=True, slots=True)
class BinColumns:
    """The columns of all bins of a file or a backup, by name."""

    columns: tuple[BinColumn, ...]

    def schema(self, fixed: pa.Schema) -> pa.Schema:
        """The table's columns with these in the place of the list."""
        at = fixed.get_field_index("bins")
        fields = list(fixed)
        return pa.schema([*fields[:at], *((each.name, each.type) for each in self.columns), *fields[at + 1 :]])

    def arrays(self, decoded: Decoded, wanted: Iterable[str]) -> Iterator[tuple[str, pa.Array]]:
        """The values of the columns that are wanted."""
        parts = _Parts(decoded)
        for column in self.columns:
            if column.name in wanted:
                yield column.name, parts.values(column.kind).take(decoded.places_of(column.bin))


class Learning:
    """Names and kinds of the bins that have been seen."""

    def __init__(self) -> None:
        self.kinds: dict[str, set[str]] = {}
        self._seen: dict[Decoded, list[tuple[int, int]]] = {}
        """Records that are to be looked at, chunk by chunk, since many stretches may share one."""

    def add(self, decoded: Decoded, first: int, rows: int) -> None:
        """Look at the bins of some records."""
        if decoded not in self._seen and len(self._seen) >= AT_ONCE:
            self._look(next(iter(self._seen)))
        start, end = decoded.bin_offsets[first], decoded.bin_offsets[first + rows]
        self._seen.setdefault(decoded, []).append((start, end - start))

    def _look(self, decoded: Decoded) -> None:
        seen = pa.table({"name": decoded.items.field("name"), "type": decoded.items.field("type")})
        seen = pa.concat_tables([seen.slice(*place) for place in self._seen.pop(decoded)])
        for row in seen.group_by(["name", "type"]).aggregate([]).to_pylist():
            kinds = self.kinds.setdefault(row["name"], set())
            if row["type"] != "nil":
                kinds.add(KINDS.get(row["type"], "bytes"))
        if len(self.kinds) > MOST:
            raise TooManyBins(f"there are more than {MOST} names of bins; read them with --bins list")

    def columns(self, taken: Iterable[str]) -> BinColumns:
        """The columns, in the order of their names; those of the table keep theirs."""
        for decoded in list(self._seen):
            self._look(decoded)
        names = set(taken)
        found = []
        for name, kinds in sorted(self.kinds.items()):
            shown = name
            while shown in names:
                shown = f"bin_{shown}"
            names.add(shown)
            found.append(BinColumn(shown, name, _kind(kinds)))
        return BinColumns(tuple(found))


def _kind(kinds: set[str]) -> str:
    if len(kinds) == 1:
        return next(iter(kinds))
    return "mixed_bytes" if "bytes" in kinds else "mixed" if kinds else "text"


class _Parts:
    """Values of all bins of a chunk by kind, made when they are asked for."""

    def __init__(self, decoded: Decoded) -> None:
        self.decoded = decoded
        self.made: dict[str, Any] = {}

    def values(self, kind: str) -> pa.Array:
        """One value for each bin, null for those of another kind."""
        if kind not in self.made:
            self.made[kind] = self._make(kind)
        return self.made[kind]

    def _make(self, kind: str) -> pa.Array:
        items, bins = self.decoded.items, self.decoded.bins
        match kind:
            case "text":
                return bins.text
            case "json":
                return bins.json()
            case "bytes":
                return bins.bytes
            case "double":
                return doubles_of(items.field("double"))
            case "integer" | "boolean":
                return items.field(kind)
        texts = [self.values("text"), self.values("json"), items.field("double")]
        texts += [pc.cast(items.field(name), pa.string()) for name in ("integer", "boolean")]
        if kind == "mixed":
            return pc.coalesce(*texts)
        return pc.coalesce(*(pc.cast(text, pa.binary()) for text in texts), bins.bytes)
