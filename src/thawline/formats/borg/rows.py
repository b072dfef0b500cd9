"""Rows of the table `blobs`, and the verdicts in them; rows of the items of archives.

A blob is judged by what its mode lets anybody check without the key, a pack as a whole by its name, too: the name is a
hash of its bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline.engine.chunks import Chunk
from thawline.formats.borg.archives import Item
from thawline.formats.borg.blobs import (
    HASH_RULES,
    HEADER_SIZE,
    SEALED,
    Allowance,
    Checked,
    Flaw,
    Rule,
    Slots,
    check_content,
    decompress,
    id_in,
    known_mode,
    mode_names,
    mode_of,
    pack_rule,
)
from thawline.formats.borg.findings import (
    BAD_NAME,
    BAD_SLOT,
    BY_NAME,
    BY_READING,
    BY_STRUCTURE,
    NOT_ITS_NAME,
    PROVEN,
    UNPROVEN_ORIGIN,
    UNPROVEN_READABLE,
    UNPROVEN_SEALED,
    UNREPORTED_BLOBS,
    WITH_KEY,
)
from thawline.formats.building import Origins, batch_of
from thawline.generated.tables.borg import BLOBS
from thawline.generated.tables.borg_archive import ITEMS
from thawline.literals import repeated
from thawline.model import Finding, Payload, Span
from thawline.source import Source
from thawline.tables import PublicColumn
from thawline.values import well_formed

SLOTS = frozenset({"meta_slot", "data_slot"})
"""Columns of the slots in their envelopes. With version and chunk_id, they are the whole blob in any mode."""
CHECKED = frozenset({"type", "ctype", "clevel", "csize"})
"""Columns that the meta map has."""
CONTENT = CHECKED | {"plain_size", "verdict", "verified_by", "meta", "data", "plaintext"}
"""Columns that need more than headers and envelopes."""
PLACES = BLOBS.projected({"pack_id", "offset", "size", "chunk_id"}).schema
LARGEST_BATCH = 64 << 20
"""Bytes of plaintext after which a batch ends."""
ENVELOPE_COLUMNS = (
    "version", "chunk_id", "len_meta", "len_data", "meta_key_type", "data_key_type", "meta_iv", "data_iv",
    "meta_session_id", "data_session_id",
)  # fmt: skip
SLOT_COLUMNS = ("version", "chunk_id", "meta_key_type", "meta_tag", "meta_payload", "data_tag", "data_payload")
"""The columns of the kernel that `Slots` is made of, in its order."""
CONTENT_COLUMNS = (*ENVELOPE_COLUMNS, "meta_tag", "data_tag", "meta_payload", "data_payload")
GENERATIONS = {rule: version for version, rule in HASH_RULES.items()}
"""Repository versions by the rule that names packs."""
SHOWN_JUMPS = 5


@dataclass(frozen=True, slots=True)
class Pack:
    """What holds for every blob of a pack."""

    pack_id: str | None
    """The id that it is named by, in hexadecimal digits."""
    rule: Rule
    """The rule that its name follows; `none` also where its bytes were not hashed."""
    repository_version: int | None

    @property
    def is_proven(self) -> bool:
        """Whether the name of the pack is a hash of its bytes."""
        return self.rule in {"sha256", "blake3"}


def unproven_pack(source: Source, version: int | None) -> Pack:
    """A pack whose name is not held against its bytes."""
    return Pack(id_in(source.name), "none", version)


def proven_pack(source: Source, version: int | None) -> Pack:
    """A pack whose name is held against its bytes; without a given repository version, the name tells it."""
    pack_id = id_in(source.name)
    if pack_id is None:
        return Pack(None, "none", version)
    rule = pack_rule(source.on_disk().view(0, source.size), pack_id, version)
    return Pack(pack_id, rule, version or GENERATIONS.get(rule))


@dataclass(frozen=True, slots=True)
class Judged:
    """A chunk of blobs with a verdict on each."""

    chunk: Chunk
    flaws: dict[int, Flaw]
    """What is wrong, by row."""
    contents: dict[int, Checked] = field(default_factory=dict)
    """What was read, by row; a row that needs the key is not in it."""
    batches: dict[Any, pa.RecordBatch] = field(default_factory=dict)
    """Batches of the whole chunk that were made already, by pack and columns."""

    def __len__(self) -> int:
        return len(self.chunk)

    def moved(self, by: int) -> Judged:
        """The same blobs with positions `by` bytes higher."""
        return replace(self, chunk=self.chunk.moved(by), batches={})

    def start(self, row: int) -> int:
        """Where a blob starts in the pack."""
        return int(self.chunk.starts[row].as_py())

    def end(self, row: int) -> int:
        """Where a blob ends in the pack."""
        return int(self.chunk.ends[row].as_py())

    def key_type(self, row: int) -> int:
        """The first byte of a blob's slots."""
        return int(self.chunk.batch["meta_key_type"][row].as_py())

    def seal(self, row: int) -> tuple[bytes, int] | None:
        """Session and last counter of an encrypted blob."""
        session, iv = (self.chunk.batch[name][row].as_py() for name in ("meta_session_id", "meta_iv"))
        return (session, iv) if session is not None else None

    def is_sealed(self, row: int) -> bool:
        """Whether the slots of a blob are encrypted."""
        return self.key_type(row) in SEALED


@dataclass(frozen=True, slots=True)
class Stretch:
    """Intact blobs that follow one another: some rows of a chunk."""

    judged: Judged
    first: int
    last: int
    """The row after the last one."""
    doubt: str = ""
    """`nested` if they may be content of a broken blob, `uncertain` if it is not sure where the blob ends."""

    def __len__(self) -> int:
        return self.last - self.first

    @property
    def span(self) -> Span:
        """The bytes of the blobs."""
        return Span(self.judged.start(self.first), self.judged.end(self.last - 1))

    def kinds(self) -> dict[tuple[int, int], None]:
        """Object versions and key types of the blobs, each pair once."""
        batch = self.judged.chunk.batch.slice(self.first, len(self))
        pairs = zip(batch["version"].to_pylist(), batch["meta_key_type"].to_pylist(), strict=True)
        return dict.fromkeys(pairs)


@dataclass(frozen=True, slots=True)
class Blobs(Payload):
    """What the rows of a run need: the pack, and the blobs if the walk has read them with their contents."""

    pack: Pack
    stretch: Stretch | None = field(default=None, repr=False, compare=False)

    def portable(self) -> Blobs:
        """The same without the blobs, which can be read again."""
        return Blobs(self.pack)


def judge_envelopes(chunk: Chunk) -> Judged:
    """Blobs judged by their envelopes: both slots need one key type and, if encrypted, one session and adjacent ivs."""
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
    """Blobs judged by their envelopes and, where that needs no key, by their content."""
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
    """One blob of a batch, out of its envelopes."""
    return Slots(*(batch[name][row].as_py() for name in SLOT_COLUMNS))


class Evidence:
    """What a walk shows about a pack as a whole."""

    def __init__(self, pack: Pack) -> None:
        self.pack = pack
        self.is_damaged = False
        self.unverified: set[str] = set()
        """Modes of the blobs that no hash of their own verifies."""
        self.are_sealed = False
        self.jumps: list[int] = []
        """Offsets of encrypted blobs whose counter does not follow that of the blob before."""
        self.last_iv: int | None = None

    def add(self, item: Stretch | Finding) -> None:
        """Take the next item of the walk into account."""
        if isinstance(item, Finding):
            self.is_damaged = True
            return
        if self.pack.pack_id and self.pack.rule == "none":
            self._follow_counters(item)
        judged = item.judged
        for row in self._unverified_rows(item):
            version = judged.chunk.batch["version"][row].as_py()
            mode = mode_of(version, judged.key_type(row), self.pack.repository_version)
            self.unverified.add(mode.name)
            self.are_sealed |= mode.is_sealed

    def _unverified_rows(self, stretch: Stretch) -> list[int]:
        """Rows that no hash verifies; one of them is enough where no content of the chunk was read."""
        rows, contents = range(stretch.first, stretch.last), stretch.judged.contents
        if not contents:
            return list(rows[:1])
        return [row for row in rows if row not in contents or not contents[row].verified_by]

    def _follow_counters(self, stretch: Stretch) -> None:
        """Note where counters jump: blobs are missing, doubled or moved, or borg has compacted the pack."""
        batch = stretch.judged.chunk.batch.slice(stretch.first, len(stretch))
        counters = zip(batch["data_iv"].to_pylist(), batch["meta_iv"].to_pylist(), strict=True)
        for row, (data, meta) in enumerate(counters, stretch.first):
            if self.last_iv is not None and data is not None and data != self.last_iv + 1:
                self.jumps.append(stretch.judged.start(row))
            self.last_iv = meta

    def conclusions(self, end: Span, *, is_member: bool) -> Iterator[Finding]:
        """Findings at the end of the pack. For a member of a repository, the check of the whole says what is proven."""
        if self.pack.pack_id and self.pack.rule == "none":
            detail: dict[str, object] = {"pack_id": self.pack.pack_id}
            if self.jumps:
                detail |= {"counters_jump_at": ", ".join(map(hex, self.jumps[:SHOWN_JUMPS])), "jumps": len(self.jumps)}
            yield Finding(NOT_ITS_NAME if self.is_damaged else BAD_NAME, end, detail)
        if self.unverified and not is_member:
            yield Finding(PROVEN, end, self._proven())

    def _proven(self) -> dict[str, object]:
        """What is proven, what is not, and who can prove it."""
        facts: dict[str, object] = {"mode": ", ".join(sorted(self.unverified))}
        if self.pack.is_proven:
            return {**facts, "proven": BY_NAME, "not_proven": UNPROVEN_ORIGIN}
        proven = BY_STRUCTURE if self.are_sealed else BY_READING
        unproven = UNPROVEN_SEALED if self.are_sealed else UNPROVEN_READABLE
        proven = UNREPORTED_BLOBS + proven if self.is_damaged else proven
        return {**facts, "proven": proven, "not_proven": unproven, "who_can_tell": WITH_KEY}


class Ledger:
    """Where every intact blob of a repository lies, filled while its packs are walked."""

    def __init__(self) -> None:
        self.places: dict[str, list[pa.RecordBatch]] = {}
        """Places of intact blobs by the path of the pack; only of packs that were walked to their end."""
        self.damaged: dict[str, list[Span]] = {}
        """Damaged spans by the name of the pack."""
        self.modes: set[str] = set()
        self.are_named = True
        """Whether the packs are named by a hash of their bytes, not by the chunk that they hold."""
        self.is_deep = True
        """Whether the contents of all blobs were read, not only their heads."""

    def entered(
        self, path: str, items: Iterable[Stretch | Finding], pack: Pack, *, is_deep: bool
    ) -> Iterator[Stretch | Finding]:
        """The items of a pack, entered into the ledger as they pass."""
        if not is_deep:
            self.is_deep = False
        if pack.rule == "chunk_id":
            self.are_named = False
        found: list[pa.RecordBatch] = []
        held: list[Stretch] = []
        for item in items:
            if isinstance(item, Finding):
                if item.span.size:
                    self.damaged.setdefault(str(pack.pack_id), []).append(item.span)
            elif not item.doubt:
                if held and held[-1].judged is not item.judged:
                    found.append(self._places(held, pack))
                    held = []
                held.append(item)
            yield item
        self.places[path] = [*found, *([self._places(held, pack)] if held else [])]

    def _places(self, stretches: list[Stretch], pack: Pack) -> pa.RecordBatch:
        """The places of the blobs of a chunk, as a copy: the kernel's columns have room for many more rows."""
        for stretch in stretches:
            self.modes |= {mode_of(*kind, pack.repository_version).name for kind in stretch.kinds()}
        batches = [batch for stretch in stretches for batch in blob_batches(stretch, pack, PLACES.names)]
        return pa.concat_batches([batch.select(PLACES.names) for batch in batches])

    def table(self) -> pa.Table:
        """All places, by the path of the pack: packs may have been walked side by side."""
        return pa.Table.from_batches([batch for path in sorted(self.places) for batch in self.places[path]], PLACES)


def blob_batches(
    stretch: Stretch, pack: Pack, columns: Collection[str], view: memoryview | None = None
) -> Iterator[pa.RecordBatch]:
    """The blobs of a stretch as one batch, or as several where their plaintext is too much for one.

    The columns `meta_slot` and `data_slot` need a view of the whole pack.
    """
    if not {"plaintext", *SLOTS} & set(columns):
        yield _sliced(stretch, pack, frozenset(columns))
        return
    if "plaintext" not in columns:
        yield _batch(stretch, pack, columns, {}, view)
        return
    first, plaintexts, held = stretch.first, list[bytes | None](), 0
    for row in range(stretch.first, stretch.last):
        plaintexts.append(_plaintext(stretch.judged, row))
        held += len(plaintexts[-1] or b"")
        if held >= LARGEST_BATCH or row == stretch.last - 1:
            part = Stretch(stretch.judged, first, row + 1, stretch.doubt)
            yield _batch(part, pack, columns, {"plaintext": plaintexts}, view)
            first, plaintexts, held = row + 1, [], 0


def _sliced(stretch: Stretch, pack: Pack, columns: frozenset[str]) -> pa.RecordBatch:
    """The blobs of a stretch, sliced from a batch of the whole chunk: between damage, a stretch has a blob or two."""
    whole, judged = stretch.judged.batches.get((pack, columns)), stretch.judged
    if whole is None:
        whole = _batch(Stretch(judged, 0, len(judged)), pack, columns, {}, None)
        judged.batches[pack, columns] = whole
    part = whole.slice(stretch.first, len(stretch))
    if not stretch.doubt or "verdict" not in columns:
        return part
    place = part.schema.get_field_index("verdict")
    return part.set_column(place, "verdict", pa.array([stretch.doubt] * len(stretch), pa.string()))


def _plaintext(judged: Judged, row: int) -> bytes | None:
    checked = judged.contents.get(row)
    if checked is None:
        return None
    try:
        return decompress(checked.meta, slots_of(judged.chunk.batch, row).data)
    except Flaw:  # it was read before, so the file has changed
        return None


def _batch(
    stretch: Stretch,
    pack: Pack,
    columns: Collection[str],
    made: dict[str, list[bytes | None]],
    view: memoryview | None,
) -> pa.RecordBatch:
    return batch_of(BLOBS, columns, _Columns(stretch, pack, made, view).origins)


class _Columns:
    """The columns of a stretch, each made on request."""

    def __init__(
        self, stretch: Stretch, pack: Pack, given: dict[str, list[bytes | None]], view: memoryview | None
    ) -> None:
        self.stretch, self.pack, self.judged, self.view = stretch, pack, stretch.judged, view
        self.given, self.rows = given, range(stretch.first, stretch.last)

    @property
    def origins(self) -> Origins:
        """Where the columns come from."""
        pack_id = None if self.pack.pack_id is None else bytes.fromhex(self.pack.pack_id)
        facts: dict[str, int | str | bytes | None] = {"pack_id": pack_id, "name_rule": self.pack.rule}
        return Origins(len(self.stretch), lambda column: self._wire(column.source), self._made, file=facts)

    def _made(self, column: PublicColumn) -> pa.Array:
        name, kind = column.name, column.stored_type
        if name in self.given:
            return pa.array(self.given[name], kind)
        if name in CHECKED:
            return self._checked(kind, lambda checked: getattr(checked.meta, name))
        made: dict[str, Callable[[], pa.Array]] = {
            "offset": lambda: self._sliced(self.judged.chunk.starts),
            "size": lambda: pc.subtract(*map(self._sliced, (self.judged.chunk.ends, self.judged.chunk.starts))),
            "mode": self._modes,
            "plain_size": lambda: self._checked(kind, lambda checked: checked.plain_size),
            "verdict": self._verdicts,
            "verified_by": self._checks,
            "meta_slot": lambda: self._slots("len_meta", []),
            "data_slot": lambda: self._slots("len_data", ["len_meta"]),
        }
        return made[name]()

    def _sliced(self, whole: pa.Array) -> pa.Array:
        return whole.slice(self.stretch.first, len(self.stretch))

    def _wire(self, name: str) -> pa.Array:
        return self._sliced(self.judged.chunk.batch[name])

    def _slots(self, size: str, before: list[str]) -> pa.Array:
        """The bytes of a slot of each blob; `before` names the sizes of the slots between the header and it."""
        assert self.view is not None  # noqa: S101 - given with these columns
        starts = pc.add(self._sliced(self.judged.chunk.starts), HEADER_SIZE)
        for name in before:
            starts = pc.add(starts, self._wire(name))
        places = zip(starts.to_pylist(), self._wire(size).to_pylist(), strict=True)
        return pa.array([bytes(self.view[start : start + length]) for start, length in places], pa.binary())

    def _repeated(self, value: str) -> pa.Array:
        return repeated(value, pa.string(), len(self.stretch))

    def _modes(self) -> pa.Array:
        return mode_names(self._wire("version"), self._wire("meta_key_type"), self.pack.repository_version)

    def _checked(self, kind: pa.DataType, value: Callable[[Checked], object]) -> pa.Array:
        contents = self.judged.contents
        if not contents:
            return pa.nulls(len(self.stretch), kind)
        return pa.array([value(contents[row]) if row in contents else None for row in self.rows], kind)

    def _verdicts(self) -> pa.Array:
        if self.stretch.doubt or self.pack.is_proven:
            return self._repeated(self.stretch.doubt or "verified")
        if not self.judged.contents:
            return self._repeated("sealed")
        return pa.array([self._verdict(self.judged.contents.get(row)) for row in self.rows], pa.string())

    def _verdict(self, checked: Checked | None) -> str:
        return "sealed" if checked is None else "verified" if checked.verified_by else "readable"

    def _checks(self) -> pa.Array:
        by_name = ("pack_name",) if self.pack.is_proven else ()
        if not self.judged.contents:
            return self._repeated("+".join(by_name) or "structure")
        found = (self.judged.contents.get(row) for row in self.rows)
        checks = ((*(one.verified_by if one else ()), *by_name) for one in found)
        return pa.array(["+".join(check) or "structure" for check in checks], pa.string())


# Items of archives.

ITEMS_AT_ONCE = 4096


def item_rows(items: Iterable[Item]) -> Iterator[pa.RecordBatch]:
    """Items in batches of rows; a repository may have many millions."""
    waiting = iter(items)
    while some := [_item_row(item) for item in islice(waiting, ITEMS_AT_ONCE)]:
        yield pa.RecordBatch.from_pylist(some, schema=ITEMS.schema)


def _item_row(item: Item) -> dict[str, Any]:
    digest = hashlib.sha256()
    for chunk_id, size in item.chunks:
        digest.update(f"{chunk_id} {size}\n".encode())
    texts = well_formed({"path": item.path, "user": item.user, "group": item.group, "target": item.target})
    return {
        "path": texts["path"],
        "kind": item.kind,
        "mode": f"{item.mode:04o}",
        "user": texts["user"],
        "group": texts["group"],
        "size": item.size,
        "mtime": item.mtime,
        "target": texts["target"],
        "chunks": len(item.chunks),
        "content": digest.hexdigest() if item.chunks else None,
    }
