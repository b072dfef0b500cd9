"""Verdicts about blobs: what the kernel has read of them, held against what each mode lets anybody check."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline.engine.chunks import Chunk
from thawline.formats.borg.contents import Allowance, Flaw, Known, Slots, check_content, known_mode
from thawline.formats.borg.findings import BAD_SLOT
from thawline.formats.borg.modes import SEALED

ENVELOPE_COLUMNS = (
    "version", "chunk_id", "len_meta", "len_data", "meta_key_type", "data_key_type", "meta_iv", "data_iv",
    "meta_session_id", "data_session_id",
)  # fmt: skip
SLOT_COLUMNS = ("version", "chunk_id", "meta_key_type", "meta_tag", "meta_payload", "data_tag", "data_payload")
"""The columns that `Slots` is made of, in its order."""
CONTENT_COLUMNS = (*ENVELOPE_COLUMNS, "meta_tag", "data_tag", "meta_payload", "data_payload")


@dataclass(frozen=True, slots=True)
class Judged:
    """Blobs that follow one another, with what is wrong with some and what could be read of others."""

    chunk: Chunk
    flaws: dict[int, Flaw]
    contents: dict[int, Known] = field(default_factory=dict)
    """What was read, by row; a row whose mode cannot be read is not in it."""
    batches: dict[Any, pa.RecordBatch] = field(default_factory=dict)
    """Rows that were made of it, by what was asked for."""

    def __len__(self) -> int:
        return len(self.chunk)

    def moved(self, by: int) -> Judged:
        """The same blobs, with positions that count from `by` bytes earlier."""
        return replace(self, chunk=self.chunk.moved(by), batches={})

    def start(self, row: int) -> int:
        """Where a blob starts in the pack."""
        return int(self.chunk.starts[row].as_py())

    def end(self, row: int) -> int:
        """Where a blob ends in the pack."""
        return int(self.chunk.ends[row].as_py())

    def chunk_id(self, row: int) -> str:
        """A blob's chunk_id in hexadecimal digits."""
        found: bytes = self.chunk.batch["chunk_id"][row].as_py()
        return found.hex()

    def key_type(self, row: int) -> int:
        """The first byte of a blob's slots."""
        return int(self.chunk.batch["meta_key_type"][row].as_py())

    def seal(self, row: int) -> tuple[bytes, int] | None:
        """Session and last counter of an encrypted blob."""
        session, iv = (self.chunk.batch[name][row].as_py() for name in ("meta_session_id", "meta_iv"))
        return (session, iv) if session is not None else None

    def is_sealed(self, row: int) -> bool:
        """Whether a blob's slots are encrypted."""
        return self.key_type(row) in SEALED


def judge_envelopes(chunk: Chunk) -> Judged:
    """What envelopes tell: both slots of a blob have one key type and, if encrypted, one session and adjacent ivs."""
    batch = chunk.batch
    differs = pc.not_equal(batch["meta_key_type"], batch["data_key_type"])
    session = pc.not_equal(batch["meta_session_id"], batch["data_session_id"])
    counter = pc.not_equal(batch["meta_iv"], pc.add(batch["data_iv"], 1))
    wrong = pc.or_(differs, pc.fill_null(pc.or_(session, counter), fill_value=False))
    if not pc.any(wrong).as_py():
        return Judged(chunk, {})
    return Judged(chunk, {row: _envelope_flaw(batch, row) for row in pc.indices_nonzero(wrong).to_pylist()})


def _envelope_flaw(batch: pa.RecordBatch, row: int) -> Flaw:
    def both(column: str) -> tuple[object, object]:
        return batch[f"meta_{column}"][row].as_py(), batch[f"data_{column}"][row].as_py()

    meta, data = both("key_type")
    if meta != data:
        return Flaw(BAD_SLOT, f"the meta slot has key type {meta:#04x}, the data slot {data:#04x}")
    meta, data = both("session_id")
    if meta != data:
        return Flaw(BAD_SLOT, "the two slots were sealed in different sessions")
    meta, data = both("iv")
    return Flaw(BAD_SLOT, f"the counter of the meta slot is {meta}, that of the data slot {data}; it must be one less")


def judge_contents(chunk: Chunk, repository_version: int | None, allowance: Allowance) -> Judged:
    """The same, and of every blob that can be read without a key its content."""
    judged = judge_envelopes(chunk)
    sealed = pc.is_in(chunk.batch["meta_key_type"], pa.array(list(SEALED), chunk.batch["meta_key_type"].type))
    if pc.all(sealed).as_py():
        return judged
    blobs = zip(*(chunk.batch[name].to_pylist() for name in SLOT_COLUMNS), strict=True)
    for row, (blob, is_sealed) in enumerate(zip(blobs, sealed.to_pylist(), strict=True)):
        if is_sealed or row in judged.flaws:
            continue
        slots = Slots(*blob)
        try:
            judged.contents[row] = check_content(slots, known_mode(slots, repository_version), allowance)
        except Flaw as flaw:
            judged.flaws[row] = flaw
    return judged


def slots_of(batch: pa.RecordBatch, row: int) -> Slots:
    """One blob, out of its envelopes."""
    return Slots(*(batch[name][row].as_py() for name in SLOT_COLUMNS))
