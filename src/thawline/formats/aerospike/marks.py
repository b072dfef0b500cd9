"""Records of a chunk that are not simply intact, and what is the matter with each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from thawline.formats.aerospike.findings import (
    ASRESTORE_REFUSES,
    BACKUP_GO_REFUSES,
    BROKEN,
    BROKEN_COLLECTION,
    BROKEN_SKETCH,
    DIGEST_MISMATCH,
    UNKNOWN_KIND,
)
from thawline.formats.aerospike.tolerant import ASRESTORE, Broken, Look, Note
from thawline.formats.aerospike.units import encode
from thawline.formats.aerospike.values import BAD_MSGPACK, BAD_SKETCH, Decoded
from thawline.model import Code
from thawline.wording import counted


@dataclass(frozen=True, slots=True)
class Mark:
    """What is the matter with a row, or with some rows one behind the other."""

    row: int
    code: Code
    detail: Mapping[str, object] = field(default_factory=dict)
    mended: bytes = b""
    """The bytes that both tools read for it, where only one of them reads those in the file."""
    rows: int = 1

    def says_same_as(self, other: Mark) -> bool:
        """Whether two rows can share one finding."""
        return self.code == other.code and not self.mended and not other.mended


def refusal(notes: Iterable[Note]) -> Code:
    """The code for what one of the tools refuses; asrestore stands for both."""
    return ASRESTORE_REFUSES if any(note.tool == ASRESTORE for note in notes) else BACKUP_GO_REFUSES


def wrong_contents(decoded: Decoded) -> dict[int, Code]:
    """What is wrong inside of records that every tool reads, by their rows; of several things the worst."""
    found = dict.fromkeys(decoded.mismatches(), DIGEST_MISMATCH)
    for wrong, code in ((BAD_MSGPACK, BROKEN_COLLECTION), (BAD_SKETCH, BROKEN_SKETCH)):
        for row, _, problem in decoded.problems():
            if problem & wrong:
                found.setdefault(row, code)
    return found


def marks_of(decoded: Decoded, view: memoryview, base: int, version: str) -> list[Mark]:
    """Marks of rows, at most one each, in their order; `base` is the position of the view's first byte."""
    marks = {row: Mark(row, DIGEST_MISMATCH) for row in decoded.mismatches()}
    for row, index, problem in decoded.problems():
        if problem & (BAD_MSGPACK | BAD_SKETCH) and row not in marks:
            code = BROKEN_COLLECTION if problem & BAD_MSGPACK else BROKEN_SKETCH
            marks[row] = Mark(row, code, {"bin": decoded.bin_name(row, index)})
    for row in decoded.odd_rows():
        if mark := _looked_at(decoded, row, view, base, version):
            marks[row] = mark
    return [marks[row] for row in sorted(marks)]


def _looked_at(decoded: Decoded, row: int, view: memoryview, base: int, version: str) -> Mark | None:
    """A row that one of the tools may refuse, read by the rules of both."""
    start, end = decoded.chunk.starts[row].as_py() - base, decoded.chunk.ends[row].as_py() - base
    look = Look(view[:end], start, version)
    try:
        record = look.record()
    except Broken as broken:
        code = UNKNOWN_KIND if broken.is_unknown else BROKEN
        return Mark(row, code, {"at": base + broken.at, "reason": broken.reason})
    if not look.notes:
        return None
    first = look.notes[0]
    return Mark(row, refusal(look.notes), {"at": base + first.at, "reason": first.reason}, encode(record))


def lost_record(decoded: Decoded, row: int, rows: int) -> str:
    """What is lost with some rows, in the terms of whoever wrote them."""
    if rows > 1:
        return counted(rows, "record")
    batch = decoded.batch
    found_set, key, digest = batch["set"][row].as_py(), decoded.key[row].as_py(), batch["digest"][row].as_py()
    named = f" of set {found_set!r}" if found_set else ""
    keyed = "" if key is None else f" with key {key.decode('utf-8', 'replace')!r}"
    return f"1 record{named}{keyed}, digest {digest.hex() if digest else 'damaged'}"
