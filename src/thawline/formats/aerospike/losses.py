"""Entries that are lost: what is said of them, and how far they reach."""

from __future__ import annotations

import re
from dataclasses import replace

from thawline.formats.aerospike.tolerant import Broken, Look, Note
from thawline.formats.aerospike.units import Record

LOST_GLOBAL = "1 index or UDF"
BIN_COUNT = re.compile(rb"\+ b ([0-9]{1,5})\n")


def closes(view: memoryview, size: int, version: str) -> bool:
    """Whether the bins of a broken record, which has so many bytes up to the next entry, end with them.

    Where they do not, what looks like the next entry may be text in one of its values.
    """
    found = BIN_COUNT.search(view, 0, size)
    if not found:
        return False
    look = Look(view, found.end(), version)
    try:
        look.skip_bins(int(found[1]))
    except Broken:
        return False
    return look.pos == size


def moved(notes: list[Note], by: int) -> list[Note]:
    """Notes with their places counted from elsewhere."""
    return [replace(note, at=note.at + by) for note in notes]


def told(broken: Broken, base: int) -> dict[str, object]:
    """What is wrong with an entry, and where."""
    return {"at": base + broken.at, "reason": broken.reason}


def described(view: memoryview, version: str) -> str:
    """A broken record in the terms of whoever wrote it, as far as its header can be read."""
    try:
        return lost_unit(Look(view, 0, version).head())
    except Broken:
        return "1 record, whose header is damaged"


def lost_unit(unit: object) -> str:
    """An entry in the same terms."""
    if not isinstance(unit, Record):
        return LOST_GLOBAL
    found_set = f" of set {unit.set.decode('utf-8', 'replace')!r}" if unit.set else ""
    key = "" if unit.key is None else f" with key {_shown_key(unit.key.value)}"
    return f"1 record{found_set}{key}, digest {unit.digest.hex()}"


def _shown_key(value: object) -> str:
    return repr(value.decode("utf-8", "replace")) if isinstance(value, bytes) else str(value)
