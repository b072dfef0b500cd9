"""What a walk over a backup finds: stretches of intact entries, entries in doubt, and the codes of all findings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from thawline.engine.chunks import Chunk
from thawline.formats.aerospike.entries import Broken, Entry, Note, Record
from thawline.formats.aerospike.rows import BAD_MSGPACK, BAD_SKETCH, BinColumns, ChunkRows, Decoded, Selection
from thawline.generated.kernels.tolerant import AEROSPIKE_HEADER_VERSION, TOOLS
from thawline.model import Code, Finding, Span
from thawline.native.constants.aerospike import DIGEST_SIZE
from thawline.provenance import Tool
from thawline.wording import counted


def _lenient(code_id: str, code: Code) -> Code:
    """The warning that replaces an error in a lenient reading."""
    explanation = f"With --lenient this takes the place of {code.id}, of which holds: {code.explanation}"
    return Code(code_id, code.message, "warning", explanation)


def _refusal(tool: Tool) -> Code:
    """The error about what a tool refuses and the others read."""
    others = " and ".join(name for name in TOOLS if name != tool.name)
    who = f"{tool.name} and the tools built on it ({tool.heirs}) do not" if tool.heirs else f"{tool.name} does not"
    return Code(
        tool.code,
        f"{tool.name} refuses this line",
        "error",
        f"{others} reads it, {who}. It counts as damage. cat and convert still give it, with `suspect` set; salvage "
        "writes it so that both tools read it. --lenient makes it a warning, --strict leaves it out.",
    )


TRUNCATED = Code(
    "ASB101",
    "the file ends inside an entry",
    "error",
    "The last record, index or UDF is cut: a crash, a full disk or a copy that did not finish. Everything before it is "
    "not affected; the detail says where the last complete entry ends. backup-go and the tools built on it accept "
    "most cut files as complete and silently lose the last record. A file that was cut exactly between two records "
    "looks complete; compare its count with the log of the backup.",
)
BROKEN = Code(
    "ASB102",
    "no tool reads this entry",
    "error",
    "The bytes break a rule of the format; the detail gives the offset and the reason. asrestore and backup-go stop "
    "here. thawline resynchronises at the next record whose header is complete and whose digest is valid.",
)
REFUSALS = {name: _refusal(tool) for name, tool in TOOLS.items()}
"""The codes of entries that one tool refuses and another reads, by the tool."""
DIGEST_MISMATCH = Code(
    "ASB105",
    "the digest is not that of set and key",
    "error",
    "A digest is the RIPEMD-160 of set, key type and key. The record has all of them and they do not match, so one of "
    "them was changed after it was written. After a restore, no client would find the record by its key. cat and "
    "convert still give the record, with `suspect` set, unless --strict is given; salvage leaves it out unless "
    "--include-suspects is given.",
)
BROKEN_COLLECTION = Code(
    "ASB106",
    "a list or map is no valid msgpack",
    "error",
    "The bytes of a list or map bin do not decode: they are cut, have bytes after their end, are nested deeper than 64 "
    "levels, or hold values that a server never stores. Both tools restore them without reading them. cat and convert "
    "still give the record, with the bytes, without JSON, and with `suspect` set.",
)
BROKEN_SKETCH = Code(
    "ASB107",
    "a HyperLogLog has an impossible size",
    "error",
    "The size of a HyperLogLog follows from its index and minhash bits. This one has another size, or impossible bits. "
    "cat and convert still give the record, with `suspect` set.",
)
NO_HEADER = Code(
    "ASB108",
    "no valid header line",
    "error",
    "A backup starts with `Version 3.0`, `3.1` or `3.2` and a line feed. Without it no tool reads the file; records "
    "after it may be intact, and salvage writes them with a header.",
)
ENCRYPTED = Code(
    "ASB109",
    "encrypted, or no Aerospike backup",
    "error",
    "asbackup and backup-go encrypt the whole file with AES in counter mode. What remains is noise under the name "
    ".asb. Decrypt it with the key of the backup: asrestore --encrypt aes128 --encryption-key-file, or openssl.",
)
BROKEN_FRAME = Code(
    "ASB110",
    "a zstd frame is damaged",
    "error",
    "The file is compressed, and these bytes of it do not decompress. The text before them is used; thawline "
    "resynchronises at the next frame, if there is one.",
)
UNKNOWN_KIND = Code(
    "ASB111",
    "something that this version of the format has not",
    "error",
    "A type of index, bin or global data that neither tool knows. A newer tool may have written it, or the byte that "
    "names the type was changed. The entry is left out, the rest is read.",
)
OTHER_FORMAT = Code(
    "ASB112",
    "an XDR backup (.asbx)",
    "error",
    "A file of Aerospike's continuous backup, which has another, binary format. It is recognised but not read.",
)
DUPLICATE_RECORDS = Code(
    "ASB113",
    "the same record more than once",
    "error",
    "Digests that occur more than once in a backup, in one file or in several: a file was copied under a second name, "
    "or two backups are in one folder. A restore keeps the last one that it reads, or the one of the higher "
    "generation.",
)
FIRST_FILES = Code(
    "ASB114",
    "more than one first file",
    "error",
    "One file of a backup has the line `# first-file`. More than one means that files of several backups are mixed.",
)
WRONG_COUNTS = Code(
    "ASB115",
    "metadata.yaml counts otherwise",
    "error",
    "The Backup Service wrote how many records, bytes, files, indexes and UDFs the backup has. The folder has other "
    "numbers: something is missing, was added, or is damaged.",
)
REFUSAL_WARNINGS = {REFUSALS[name]: _lenient(tool.warning, REFUSALS[name]) for name, tool in TOOLS.items()}
DIGEST_WARNING = _lenient("ASB205", DIGEST_MISMATCH)
COLLECTION_WARNING = _lenient("ASB206", BROKEN_COLLECTION)
SKETCH_WARNING = _lenient("ASB207", BROKEN_SKETCH)
NOT_UTF8 = Code(
    "ASB201",
    "a string that is not UTF-8",
    "warning",
    "The server accepts any bytes as a string; clients expect UTF-8. The value is in the column `bytes` instead of "
    "`text`. It may be text in another encoding, or it was changed after it was written.",
)
BROKEN_CONTEXT = Code(
    "ASB202",
    "the context of an index cannot be decoded",
    "warning",
    "The context is base-64 of a msgpack list. This one is not, so the index can be restored but would not work.",
)
UNREADABLE_METADATA = Code(
    "ASB208",
    "metadata.yaml cannot be read",
    "warning",
    "The file that the Backup Service writes beside a backup is not a flat YAML mapping with a count of records, or "
    "has what the service never writes: tags, anchors, a count that is no number. The detail says which. The counts "
    "of the backup were not checked.",
)
NO_FIRST_FILE = Code(
    "ASB209",
    "no first file",
    "warning",
    "One file of a backup has the line `# first-file`; with asbackup it is the one with the indexes and UDFs. None of "
    "the files here has the line, so at least that file is missing.",
)
CODES = (
    TRUNCATED, BROKEN, *REFUSALS.values(), DIGEST_MISMATCH, BROKEN_COLLECTION, BROKEN_SKETCH,
    NO_HEADER, ENCRYPTED, BROKEN_FRAME, UNKNOWN_KIND, OTHER_FORMAT, DUPLICATE_RECORDS, FIRST_FILES, WRONG_COUNTS,
    NOT_UTF8, BROKEN_CONTEXT, *REFUSAL_WARNINGS.values(), DIGEST_WARNING, COLLECTION_WARNING,
    SKETCH_WARNING, UNREADABLE_METADATA, NO_FIRST_FILE,
)  # fmt: skip
LENIENT = {
    **REFUSAL_WARNINGS,
    DIGEST_MISMATCH: DIGEST_WARNING,
    BROKEN_COLLECTION: COLLECTION_WARNING,
    BROKEN_SKETCH: SKETCH_WARNING,
}
"""The codes of entries that can be read in spite of the finding, with the warnings that replace them leniently."""
SUSPECT = {DIGEST_MISMATCH: "digest", BROKEN_COLLECTION: "value", BROKEN_SKETCH: "value"}
"""Values of the column `suspect` for records that are given in spite of the finding; `nested` is another."""
REFUSED_BY = {code: name for name, code in REFUSALS.items()}
"""Further values of that column: the tool that does not read the entry."""
LOST_GLOBAL = "1 index or UDF"


# What is found.


@dataclass(frozen=True, slots=True)
class Sound:
    """What is kept of records that are intact beyond doubt."""

    namespace: str
    digests: bytes
    """20 bytes for each record."""

    def rows(self, first: int, count: int) -> Sound:
        """Some of the records."""
        return Sound(self.namespace, self.digests[DIGEST_SIZE * first : DIGEST_SIZE * (first + count)])


@dataclass(frozen=True, slots=True)
class Stretch:
    """Entries of one table that follow one another in the text, and the content that their rows are made of."""

    span: Span
    units: int
    table: str = ""
    """Empty for the header and for meta data."""
    content: ChunkRows | Chunk | Sound | None = None
    first: int = 0
    """The index of its first row in the content."""
    suspect: str | None = None
    """Why the entries may not be genuine. Salvage leaves such entries out by default."""
    refused_by: str | None = None
    """The tool that does not read the entry."""
    canonical: bytes = b""
    """The bytes for salvage, where only one tool reads those in the file."""
    requested: int | None = None
    """The number of its rows in the content, where some entries were not requested; None for one row per entry."""
    is_header: bool = False
    is_first_file: bool = False
    """Whether it is the line that marks the first file of a backup."""
    is_lasting: bool = False
    """Whether one tool also refuses the bytes for salvage."""

    @property
    def rows(self) -> int:
        """Rows of `records`."""
        return self.units if self.table == "records" else 0

    def touches(self, following: Stretch) -> bool:
        """Whether another stretch continues this one, in the text and in the content."""
        if self.content is None or self.content is not following.content or self.span.end != following.span.start:
            return False
        if self.requested is not None:
            return False
        return replace(self, span=following.span, units=following.units, first=self.first + self.units) == following

    def with_next(self, following: Stretch) -> Stretch:
        """Both as one stretch."""
        return replace(self, span=Span(self.span.start, following.span.end), units=self.units + following.units)

    @property
    def left_out_bytes(self) -> int:
        """The bytes of entries that are not requested."""
        if self.requested == self.units:
            return 0
        kept = sum(end - start for start, end in self.places()) if self.requested else 0
        return self.span.size - kept

    def places(self) -> list[tuple[int, int]]:
        """Where its entries start and end."""
        chunk = self.content.chunk if isinstance(self.content, ChunkRows) else self.content
        if not isinstance(chunk, Chunk):
            return [(self.span.start, self.span.end)]
        rows = slice(self.first, self.first + (self.requested or self.units))
        return list(zip(chunk.starts[rows].to_pylist(), chunk.ends[rows].to_pylist(), strict=True))

    def batches(
        self, table: str, wanted: Collection[str], bins: BinColumns | None = None, selection: Selection | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Its requested rows of a table."""
        if table != self.table or self.requested == 0 or not isinstance(self.content, ChunkRows):
            return
        rows = self.units if self.requested is None else self.requested
        made = self.content.rows(frozenset(wanted), bins, self.suspect or self.refused_by)
        batch = made.slice(self.first, rows)
        mask = self.content.mask(selection) if selection and self.requested is None else None
        if mask is None:
            yield batch
        elif rows == 1:  # a file may have a stretch for every record, and `filter` takes longer than to make the row
            yield batch if mask[self.first].as_py() else batch.slice(0, 0)
        else:
            yield batch.filter(mask.slice(self.first, rows))


Making = Callable[[], Stretch | None]
"""Makes the stretch of a doubted entry; None if it cannot be read after all."""


@dataclass(frozen=True, slots=True)
class Doubted:
    """A finding about entries that count as damaged but can be given."""

    finding: Finding
    make: Making


Found = Stretch | Finding | Doubted


def nothing() -> None:
    """Make nothing: the entry is not given."""


@dataclass(frozen=True, slots=True)
class Strictness:
    """What becomes of a doubted entry: one tool refuses it, or its content is wrong. The same for every verb."""

    is_damage: bool
    """Whether it counts as damaged."""
    is_given: bool
    """Whether it is given, with `suspect` set."""

    def judged(
        self, code: Code, span: Span, make: Making, detail: Mapping[str, object], lost: str = "", hint: str = ""
    ) -> Iterator[Found]:
        """The finding about a doubted entry, and the entry itself where it is given."""
        if self.is_damage:
            detail = {**detail, **({"lost": lost} if lost else {})}
            yield Doubted(Finding(code, span, detail, hint), make if self.is_given else nothing)
            return
        stretch = make()
        if stretch is None:
            yield Finding(BROKEN, span, detail, hint)
            return
        yield stretch
        yield Finding(LENIENT[code], Span(span.end, span.end), {"at": span.start, **detail})


STRICT = Strictness(is_damage=True, is_given=False)
USUAL = Strictness(is_damage=True, is_given=True)
LENIENTLY = Strictness(is_damage=False, is_given=True)


def strictness(strict: bool | None) -> Strictness:  # noqa: FBT001 - it is the option
    """The rules for a value of the option `strict`; by default doubted entries count as damaged but are given."""
    return USUAL if strict is None else STRICT if strict else LENIENTLY


# What is wrong, and what is lost.


def wrong_content(decoded: Decoded) -> dict[int, tuple[Code, dict[str, object]]]:
    """The code and the detail of each record that both tools read although its content is wrong, by its row."""
    wrong: dict[int, tuple[Code, dict[str, object]]] = {row: (DIGEST_MISMATCH, {}) for row in decoded.mismatches()}
    for row, index, problem in decoded.problems():
        if problem & (BAD_MSGPACK | BAD_SKETCH) and row not in wrong:
            code = BROKEN_COLLECTION if problem & BAD_MSGPACK else BROKEN_SKETCH
            wrong[row] = code, {"bin": decoded.bin_name(row, index)}
    return wrong


def refusal(notes: Iterable[Note]) -> Code:
    """The code for what one of the tools refuses; if both refuse something, that of the first tool in the spec."""
    refusing = {note.tool for note in notes}
    return next(code for name, code in REFUSALS.items() if name in refusing)


def version_notes(version: bytes) -> list[Note]:
    """What tools have against a version of the format, apart from what is tolerated."""
    refusals = [rule for rule in AEROSPIKE_HEADER_VERSION if rule.objects(version, version) and not rule.is_tolerated]
    return [Note(0, rule.reason("version", version, version), *rule.tools) for rule in refusals]


def reason_of(broken: Broken, base: int) -> dict[str, object]:
    """Why no tool reads an entry, and the offset; `base` is the position of the text's first byte."""
    return {"at": base + broken.at, "reason": broken.reason}


def lost_entry(entry: Entry | None) -> str:
    """An entry in the user's terms."""
    if not isinstance(entry, Record):
        return LOST_GLOBAL
    found_set = f" of set {entry.set.decode('utf-8', 'replace')!r}" if entry.set else ""
    key = "" if entry.key is None else f" with key {_shown_key(entry.key.value)}"
    return f"1 record{found_set}{key}, digest {entry.digest.hex()}"


def _shown_key(value: object) -> str:
    return repr(value.decode("utf-8", "replace")) if isinstance(value, bytes) else str(value)


def lost_rows(decoded: Decoded, row: int, rows: int) -> str:
    """Records of a chunk in the user's terms."""
    if rows > 1:
        return counted(rows, "record")
    batch = decoded.batch
    found_set, key, digest = batch["set"][row].as_py(), decoded.key[row].as_py(), batch["digest"][row].as_py()
    named = f" of set {found_set!r}" if found_set else ""
    keyed = "" if key is None else f" with key {key.decode('utf-8', 'replace')!r}"
    return f"1 record{named}{keyed}, digest {digest.hex() if digest else 'damaged'}"
