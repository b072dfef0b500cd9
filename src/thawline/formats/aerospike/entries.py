"""Entries of a backup as objects, and the reader that applies the rules of both tools to one entry.

Kernels make rows without objects. Only an entry that no kernel reads, or that is about to be written, comes here.
asrestore (C) and backup-go accept different numbers, base-64 and names; each refusal of one tool is a note. If both
refuse an entry, or one invents a value (an integer that wraps, padding that becomes bytes), the entry is broken.
"""

from __future__ import annotations

import binascii
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from thawline.wording import counted

BYTES_LETTERS = frozenset("BJCPRHEYML")
"""Types of bins whose value is bytes: base-64, or raw after an exclamation mark."""
ASRESTORE, BACKUP_GO = "asrestore", "backup-go"
BOTH = "asrestore and backup-go"
LF, SP, BACKSLASH, BANG = 0x0A, 0x20, 0x5C, 0x21
DIGEST = 20
"""Bytes of RIPEMD-160."""
LONGEST_TOKEN = 999
LONGEST_NAMESPACE, LONGEST_SET, LONGEST_BIN_NAME, LONGEST_META = 31, 63, 15, 1001
"""The longest names and the longest meta data line that asrestore accepts, in bytes."""
LONGEST_RAW = 1 << 20
"""The end of a token is searched for within this many bytes. No tool reads a longer token."""
LONGEST_NUMBER = 1024
INT64_MIN, INT64_MAX, UINT32_MAX, UINT16_MAX = -(1 << 63), (1 << 63) - 1, (1 << 32) - 1, (1 << 16) - 1
LATEST_EXPIRATION = INT64_MAX // 1_000_000 - 1_262_304_000
"""The last expiration that fits a column of microseconds since 1970. backup-go accepts later ones."""
LDT = "a large data type (LDT), which servers have not supported since version 3.15; only an older asrestore reads it"
GLOBAL_IN_OLD_VERSION = "global data in a file of version 3.0"
WRAPS = "a number that does not fit 64 bits; backup-go silently wraps it to another one"
PADDED = "base-64 with padding where none belongs; asrestore decodes it to bytes that nobody encoded"

C_DOUBLE = re.compile(rb"[+-]?(?:nan|inf|infinity|(?=[\d.]*\d)\d*\.?\d*(?:[e][+-]?\d+)?)", re.IGNORECASE)
C_EXPONENT = re.compile(rb"\dE|\.E")
GO_DOUBLE = re.compile(
    rb"nan|[+-]?(?:inf|infinity|(?=[\d.]*\d)(?:\d+(?:_\d+)*)?\.?(?:\d+(?:_\d+)*)?(?:e[+-]?\d+(?:_\d+)*)?"
    rb"|0x(?=[0-9a-f_.]*[0-9a-f])[0-9a-f_]*\.?[0-9a-f_]*p[+-]?\d+)",
    re.IGNORECASE,
)
DIGITS = re.compile(rb"-?\d*")
UNESCAPE = re.compile(rb"\\(.)", re.DOTALL)
LINE_END = re.compile(rb"\n")
TOKEN_ENDS = {
    (terminator, has_escapes): re.compile(
        (rb"(?:[^\\%s]++|\\.)*+%s" if has_escapes else rb"[^%s]*+%s") % (2 * (re.escape(bytes([terminator])),)),
        re.DOTALL,
    )
    for terminator in (LF, SP)
    for has_escapes in (True, False)
}

PLAIN_HEAD = re.compile(
    rb"\+ n ([^\\\n\0]{0,31})\n\+ d ([A-Za-z0-9+/]{27}=)\n(?:\+ s ([^\\\n\0]{0,63})\n|(?!\+ s )(?=.{4}))", re.DOTALL
)
"""The first lines of a record without a key that both tools accept."""


Value = bytes | int | float | bool | None
Spelling = Callable[[bytes], bytes]
"""How a name is written."""


@dataclass(frozen=True, slots=True)
class Bin:
    """A bin: the letter of its type, its name and its value.

    Text and bytes are `bytes`. A double is a number, or the bytes of its text in the file.
    """

    letter: str
    name: bytes
    value: Value = None
    is_compact: bool = False
    """Whether bytes are written raw, after an exclamation mark."""


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a record: its letter (I, D, S, X or B), and its value as in a bin."""

    letter: str
    value: Value
    is_compact: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """A record with the content of all its lines."""

    namespace: bytes
    digest: bytes
    bins: tuple[Bin, ...] = ()
    set: bytes | None = None
    key: Key | None = None
    generation: int = 1
    expiration: int = 0
    """Seconds since 2010-01-01T00:00:00Z; 0 for never."""


@dataclass(frozen=True, slots=True)
class Index:
    """A secondary index. With an `expression` instead of a `context` it is a `* e` line, which only version 3.2 has."""

    namespace: bytes
    set: bytes
    name: bytes
    index_type: str
    path: bytes
    data_type: str
    context: bytes | None = None
    expression: bytes | None = None


@dataclass(frozen=True, slots=True)
class Udf:
    """A file of user-defined functions."""

    name: bytes
    content: bytes
    udf_type: str = "L"


@dataclass(frozen=True, slots=True)
class Meta:
    """A line of the meta data section: the namespace of the file, or, without one, the mark of the first file."""

    namespace: bytes | None = None


Entry = Record | Index | Udf | Meta


class Broken(Exception):
    """No tool reads the entry: the offset, the reason, and the offset from which to resynchronise."""

    def __init__(
        self, at: int, reason: str, resume: int = -1, *, is_cut: bool = False, is_unknown: bool = False, size: int = 0
    ) -> None:
        super().__init__(reason)
        self.at, self.reason, self.is_cut, self.is_unknown = at, reason, is_cut, is_unknown
        self.size = size
        """The size of the value that extends past the end of the text."""
        self.resume = at if resume < 0 else resume


@dataclass(frozen=True, slots=True)
class Note:
    """Something that one of the two tools refuses."""

    at: int
    reason: str
    tool: str


@dataclass(slots=True)
class EntryReader:
    """Reads one entry from a position of a text, by the rules of both tools."""

    text: memoryview
    pos: int
    version: str = "3.1"
    notes: list[Note] = field(default_factory=list)
    is_lasting: bool = False
    """Whether one tool also refuses the entry as `write.encode` spells it."""
    longest: int = LONGEST_RAW
    """The end of a token is searched for within this many bytes."""

    @property
    def refused_by(self) -> str:
        """The tools that refuse the entry."""
        tools = sorted({note.tool for note in self.notes})
        return BOTH if len(tools) > 1 else "".join(tools)

    def entry(self) -> Entry:
        """The entry that starts here; `Broken` if no tool reads it."""
        start = bytes(self.text[self.pos : self.pos + 4])
        if start[:2] == b"+ ":
            return self.record()
        if start in (b"* i ", b"* e "):
            return self.index()
        if start == b"* u ":
            return self.udf()
        if self._is_cut_before(self.pos, 4):
            raise self._cut(self.pos)
        if start[:2] == b"* ":
            raise Broken(self.pos + 2, f"no kind of global data is called {chr(start[2])!r}", is_unknown=True)
        if start[:2] == b"- ":
            raise Broken(self.pos, "a bin that belongs to no record")
        raise Broken(self.pos, "no line starts like this")

    def meta(self) -> Meta:
        """A line of the meta data section."""
        at = self.pos
        if self._starts(b"# namespace "):
            self.pos += len(b"# namespace ")
            namespace = self._token(LF, "namespace")
            if self.pos - at > LONGEST_META:
                self._note(at, f"a meta data line of {counted(self.pos - at, 'byte')}", ASRESTORE)
            if b"\n" in namespace:
                self._note(at, "a line feed in the namespace of the file", ASRESTORE)
            return Meta(namespace)
        line = self._line()
        self._expect_lf()
        if line.startswith(b"# namespace"):
            self._note(at, f"meta data {_shown(line)}", BACKUP_GO)
        elif line != b"# first-file":
            raise Broken(at, f"no meta data is called {_shown(line)}", self.pos)
        return Meta()

    def record(self) -> Record:
        """A record: its header lines in order, then its bins."""
        head = self._first_lines()
        self._expect(b"+ g ", "the line of the set or the generation is due")
        generation = self._number(LF, "generation", UINT16_MAX)
        self._expect(b"+ t ", "the line of the expiration is due")
        expiration = self._expiration()
        self._expect(b"+ b ", "the line of the bin count is due")
        count_at = self.pos
        count = self._number(LF, "bin count", UINT16_MAX)
        bins = tuple(self._bins(count))
        if self._starts(b"- "):
            raise Broken(count_at, f"the bin count is {count}, and more bins follow", self.pos)
        return Record(head.namespace, head.digest, bins, head.set, head.key, generation, expiration)

    def _expiration(self) -> int:
        at = self.pos
        expiration = self._number(LF, "expiration", LATEST_EXPIRATION)
        if expiration > UINT32_MAX:
            self._note(at, f"an expiration of more than 32 bits ({expiration})", ASRESTORE, is_lasting=True)
        return expiration

    def head(self) -> Record:
        """The header of a record up to its set, without its bins: enough to tell a record from similar text.

        Resynchronisation tries it wherever a record may start, so its cost is bounded by the longest names of a header.
        """
        rest, self.text = self.text, self.text[: min(len(self.text), self.pos + LONGEST_RAW)]
        self.longest = LONGEST_TOKEN + 1
        try:
            return self._first_lines()
        finally:
            self.text, self.longest = rest, LONGEST_RAW

    def _first_lines(self) -> Record:
        if found := PLAIN_HEAD.match(self.text, self.pos):
            self.pos = found.end()
            return Record(found[1], binascii.a2b_base64(found[2]), (), found[3])
        key = self._key() if self._starts(b"+ k ") else None
        self._expect(b"+ n ", "a record starts with its key or its namespace")
        namespace = self._token(LF, "namespace", LONGEST_NAMESPACE)
        self._expect(b"+ d ", "the line of the digest is due")
        digest = self._digest()
        found_set = None
        if self._starts(b"+ s "):
            self.pos += 4
            found_set = self._token(LF, "set", LONGEST_SET)
        return Record(namespace, digest, (), found_set, key)

    def skip_bins(self, count: int) -> None:
        """Skip `count` bins; `Broken` if more bins follow, or no tool reads one of them."""
        for _ in self._bins(count):
            pass
        if self._starts(b"- "):
            raise Broken(self.pos, "more bins follow")

    def index(self) -> Index:
        """A secondary index."""
        kind_at, kind = self.pos, chr(self.text[self.pos + 2])
        self._refuse_in_old_version()
        if kind == "e" and self.version != "3.2":
            self._note(kind_at, "an expression index in a file that is not of version 3.2", ASRESTORE, is_lasting=True)
        self.pos += 4
        namespace, found_set, name = (self._token(SP, word) for word in ("namespace", "set", "index name"))
        index_type = self._letter("NLKV", "index type", SP)
        at = self.pos
        if self._number(SP, "path count", UINT32_MAX) != 1:
            raise Broken(at, "an index over more than one path, which the tools read differently")
        path = self._token(SP, "path")
        data_type = self._letter("NSGB", "data type", None)
        last = None
        if self.pos < len(self.text) and self.text[self.pos] == SP:
            self.pos += 1
            last = self._line()
        self._expect_lf()
        context, expression = (last, None) if kind == "i" else (None, last or b"")
        return Index(namespace, found_set, name, index_type, path, data_type, context, expression)

    def udf(self) -> Udf:
        """A file of user-defined functions."""
        self._refuse_in_old_version()
        self.pos += 4
        udf_type = self._letter("L", "type of UDF", SP)
        name = self._token(SP, "name")
        content = self._sized()
        return Udf(name, content, udf_type)

    def _refuse_in_old_version(self) -> None:
        if self.version == "3.0":
            self._note(self.pos, GLOBAL_IN_OLD_VERSION, ASRESTORE, is_lasting=True)

    # Fields of an entry.

    def _key(self) -> Key:
        self.pos += 4
        at, letter, is_compact = self.pos, *self._type("IDSXB", "key")
        if is_compact and letter != "B":
            self._note(at, "an exclamation mark after the type of a key that is not bytes", ASRESTORE)
        value = self._value(letter, is_compact=is_compact)
        return Key(letter, value, is_compact and letter == "B")

    def _bins(self, count: int) -> Iterator[Bin]:
        for number in range(count):
            self._expect(b"- ", f"bin {number + 1} of {count} is due")
            letter, is_compact = self._type("NZIDSXG" + "".join(BYTES_LETTERS), "bin")
            if letter == "N":
                yield Bin("N", self._nil_name(), None, is_compact)
                continue
            name = self._token(SP, "bin name", LONGEST_BIN_NAME)
            yield Bin(letter, name, self._value(letter, is_compact=is_compact), is_compact)

    def _nil_name(self) -> bytes:
        at = self.pos
        name = self._token(LF, "bin name", LONGEST_BIN_NAME)
        if b" " in UNESCAPE.sub(b"", bytes(self.text[at : self.pos])):
            raise Broken(at, "a value after a bin that has none")
        return name

    def _type(self, letters: str, what: str) -> tuple[str, bool]:
        """The letter of a type, and whether an exclamation mark follows."""
        self._need(2)
        letter = chr(self.text[self.pos])
        if letter == "U":
            raise Broken(self.pos, LDT, is_unknown=True)
        if letter not in letters:
            raise Broken(self.pos, f"no type of {what} has the letter {letter!r}", is_unknown=True)
        self.pos += 1
        is_compact = self.text[self.pos] == BANG
        self.pos += is_compact
        self._expect(b" ", "a space is due after the type")
        return letter, is_compact

    def _value(self, letter: str, *, is_compact: bool) -> bytes | int | bool:
        match letter:
            case "Z":
                return self._boolean()
            case "I":
                return self._number(LF, "integer", INT64_MAX, INT64_MIN)
            case "D":
                return self._double()
        at = self.pos
        data = self._sized()
        if letter == "X" or (letter in BYTES_LETTERS and not is_compact):
            return self._base64(data, at)
        return data

    def _boolean(self) -> bool:
        at = self.pos
        raw = self._line()
        self._expect_lf()
        if raw == b"\\T" or raw == b"\\F":  # noqa: PLR1714 - one literal a line of the grammar
            self._note(at, "a backslash before T or F", BACKUP_GO)
        elif raw not in (b"T", b"F"):
            raise Broken(at, "a boolean that is neither T nor F")
        return raw.endswith(b"T")

    def _number(self, terminator: int, what: str, most: int, least: int = 0) -> int:
        at = self.pos
        raw = self._raw(terminator, LONGEST_NUMBER)
        digits = _unescaped(raw)
        if not DIGITS.fullmatch(digits):
            raise Broken(at, f"{what} {_shown(raw)} is no number")
        if digits != raw:
            self._note(at, f"a backslash in a number ({what})", BACKUP_GO)
        if digits in (b"", b"-"):
            self._note(at, f"an empty number ({what}), which asrestore takes for 0", BACKUP_GO)
        value = int(digits or b"0") if digits != b"-" else 0
        if not least <= value <= most:
            raise Broken(at, WRAPS if most == INT64_MAX else f"{what} {_shown(raw)} is out of range")
        return value

    def _double(self) -> bytes:
        """The text of a double: unchanged if both tools read it, else the number that the one tool reads."""
        at = self.pos
        raw = self._line()
        self._expect_lf()
        if len(raw) > LONGEST_NUMBER:
            raise Broken(at, f"double of {counted(len(raw), 'character')}")
        text = _unescaped(raw)
        by_c = text == b"" or bool(C_DOUBLE.fullmatch(text) and not C_EXPONENT.search(text))
        by_go = bool(GO_DOUBLE.fullmatch(raw)) and not _overflows(raw)
        if not by_c and not by_go:
            raise Broken(at, f"double {_shown(raw)} is no number")
        if text.lower() in (b"-nan", b"+nan"):
            return raw  # asbackup writes this for a NaN whose sign bit is set
        if not by_go:
            self._note(at, f"double {_shown(raw)}", BACKUP_GO)
        if not by_c:
            self._note(at, f"double {_shown(raw)}", ASRESTORE)
        return raw if by_c and by_go else _canonical_double(text)

    def _base64(self, data: bytes, at: int) -> bytes:
        kept = data.replace(b"\r", b"").replace(b"\n", b"")
        if kept != data:
            self._note(at, "line ends in base-64", ASRESTORE)
        body = kept.rstrip(b"=")
        if len(kept) % 4 == 0 and b"=" in kept and (len(kept) - len(body) > 2 or b"=" in body):  # noqa: PLR2004
            raise Broken(at, PADDED, self.pos)
        try:
            return binascii.a2b_base64(kept, strict_mode=True)
        except binascii.Error:
            raise Broken(at, "base-64 that cannot be decoded", self.pos) from None

    def _digest(self) -> bytes:
        at = self.pos
        raw = self._line()
        self._expect_lf()
        kept = raw.replace(b"\r", b"")
        if kept != raw:
            self._note(at, "a carriage return in the digest", ASRESTORE)
        try:
            digest = binascii.a2b_base64(kept, strict_mode=True)
        except binascii.Error:
            raise Broken(at, f"digest {_shown(raw)} is no base-64") from None
        if len(digest) == DIGEST + 1 and kept == raw:
            self._note(at, "a digest of 21 bytes, of which asrestore takes the first 20", BACKUP_GO)
        elif len(digest) != DIGEST:
            raise Broken(at, f"a digest of {counted(len(digest), 'byte')} instead of 20")
        return digest[:DIGEST]

    def _sized(self) -> bytes:
        """A size, a value of that many bytes, and a line feed."""
        size = self._number(SP, "size", UINT32_MAX)
        start, end = self.pos, self.pos + size
        if end >= len(self.text):
            reason = f"a value of {counted(size, 'byte')} extends past the end of the text"
            raise Broken(start, reason, start, is_cut=True, size=size)
        if self.text[end] != LF:
            raise Broken(end, f"no line feed after a value of {counted(size, 'byte')}", start)
        self.pos = end + 1
        return bytes(self.text[start:end])

    def _token(self, terminator: int, what: str, longest: int = LONGEST_TOKEN) -> bytes:
        at = self.pos
        raw = self._raw(terminator, self.longest)
        token = raw if self.version == "3.0" else _unescaped(raw)
        if len(raw) > LONGEST_TOKEN:
            self._note(at, f"{what} of {counted(len(raw), 'byte')}", BACKUP_GO)
        if len(token) > longest:
            reason = f"{what} of {counted(len(token), 'byte')}; the limit is {longest}"
            self._note(at, reason, ASRESTORE, is_lasting=True)
        if b"\0" in token:
            self._note(at, f"{what} with a NUL in it", ASRESTORE, is_lasting=True)
        if 2 * len(token) > LONGEST_TOKEN:  # only then can escapes make it too long
            self.is_lasting |= len(spelling(self.version)(token)) > LONGEST_TOKEN
        if len(token) > LONGEST_TOKEN and self.refused_by == BOTH:
            raise Broken(at, f"{what} of {counted(len(token), 'byte')}; the limit is {LONGEST_TOKEN}")
        return token

    def _letter(self, letters: str, what: str, terminator: int | None) -> str:
        self._need(1)
        letter = chr(self.text[self.pos])
        if letter not in letters:
            raise Broken(self.pos, f"{what} {letter!r} is unknown", is_unknown=True)
        self.pos += 1
        if terminator is not None:
            self._expect(bytes([terminator]), f"a space is due after the {what}")
        return letter

    # Bytes.

    def _raw(self, terminator: int, most: int) -> bytes:
        """The bytes up to a terminator that is not escaped; the position is after the terminator."""
        start = self.pos
        pattern = TOKEN_ENDS[terminator, self.version != "3.0"]
        found = pattern.match(self.text, start, min(len(self.text), start + most))
        if not found:
            if self._is_cut_before(start, most):
                raise self._cut(start)
            raise Broken(start, f"no end of a field within {counted(most, 'byte')}")
        self.pos = found.end()
        return bytes(self.text[start : self.pos - 1])

    def _line(self) -> bytes:
        """The bytes up to the next line feed; the position is before the line feed."""
        start = self.pos
        found = LINE_END.search(self.text, start, start + LONGEST_RAW)
        if not found:
            raise self._cut(start) if self._is_cut_before(start, LONGEST_RAW) else Broken(start, "no end of a line")
        self.pos = found.start()
        return bytes(self.text[start : self.pos])

    def _starts(self, lead: bytes) -> bool:
        """Whether these bytes come next; `Broken` if the text ends before that can be told."""
        found = bytes(self.text[self.pos : self.pos + len(lead)])
        if found == lead:
            return True
        if len(lead) - 2 < len(found) < len(lead) and lead.startswith(found):
            raise self._cut(self.pos)
        return False

    def _expect(self, lead: bytes, reason: str) -> None:
        if not self._starts(lead):
            found = bytes(self.text[self.pos : self.pos + len(lead)])
            if self.pos + len(found) == len(self.text) and lead.startswith(found):
                raise self._cut(self.pos)
            raise Broken(self.pos, f"{reason}; found {_shown(found)}")
        self.pos += len(lead)

    def _expect_lf(self) -> None:
        self._expect(b"\n", "the end of the line is due")

    def _need(self, size: int) -> None:
        if self._is_cut_before(self.pos, size):
            raise self._cut(self.pos)

    def _is_cut_before(self, at: int, size: int) -> bool:
        return at + size > len(self.text)

    def _cut(self, at: int) -> Broken:
        return Broken(at, "the text ends here", is_cut=True)

    def _note(self, at: int, reason: str, tool: str, *, is_lasting: bool = False) -> None:
        self.notes.append(Note(at, reason, tool))
        self.is_lasting |= is_lasting


@dataclass(frozen=True, slots=True)
class Verdict:
    """An entry that at least one tool reads, and the objections of the other. It is read once and carried on."""

    entry: Entry
    end: int
    """The offset after it, in the text that it was read from."""
    notes: tuple[Note, ...] = ()
    is_lasting: bool = False
    """Whether one tool also refuses it as `write.encode` spells it, such as a name that is too long."""


def verdict_on(text: memoryview, start: int, version: str, base: int) -> Verdict:
    """The verdict on the entry that starts at an offset of a text; `Broken` if no tool reads it.

    `base` is the position of the text's first byte; notes have positions.
    """
    reader = EntryReader(text, start, version)
    entry = reader.entry()
    notes = tuple(replace(note, at=base + note.at) for note in reader.notes)
    return Verdict(entry, reader.pos, notes, reader.is_lasting)


def spelling(version: str) -> Spelling:
    """How names are spelled in a file of a version: 3.0 has no escapes."""
    return bytes if version == "3.0" else escaped


def escaped(token: bytes) -> bytes:
    r"""A token with a backslash before each backslash, space and line feed.

    >>> escaped(b"a b")
    b'a\\ b'
    """
    return token.replace(b"\\", b"\\\\").replace(b" ", b"\\ ").replace(b"\n", b"\\\n")


def _unescaped(raw: bytes) -> bytes:
    """Bytes without escapes. Most have none, and that test is quicker."""
    return UNESCAPE.sub(rb"\1", raw) if b"\\" in raw else raw


def _overflows(text: bytes) -> bool:
    """Whether a double is out of range for Go."""
    try:
        return math.isinf(_number_of(text)) and b"n" not in text.lower()
    except OverflowError:
        return True


def _canonical_double(text: bytes) -> bytes:
    """A double that one tool reads, as text that both read."""
    return repr(_number_of(text)).encode() if text else b"0"


def _number_of(text: bytes) -> float:
    plain = text.replace(b"_", b"").decode("ascii")
    return float.fromhex(plain) if "x" in plain.lower() else float(plain)


def _shown(raw: bytes) -> str:
    """Bytes for a message, shortened if they are long."""
    return repr(raw[:32])[1:] + ("..." if len(raw) > 32 else "")  # noqa: PLR2004 - enough to recognise it
