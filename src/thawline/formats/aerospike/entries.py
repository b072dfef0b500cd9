"""Entries of a backup as objects, and the reader that applies the rules of both tools to one entry.

Kernels make rows without objects. Only an entry that no kernel reads, or that is about to be written, comes here. Its
layout and the rules, with the tool that has each, are in the specs: `generated/kernels/tolerant.py` knows which token
comes next and what the tools have against it. Here are the tokens, in every spelling that asrestore or backup-go reads.
Each refusal of one tool is a note. If both refuse a token, or one invents a value (an integer that wraps, padding that
becomes bytes), the entry is broken.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from thawline.generated.kernels import tolerant
from thawline.generated.kernels.constants import (
    AEROSPIKE_INDEX_LEAD,
    AEROSPIKE_RECORD_BIN_LEAD,
    AEROSPIKE_RECORD_LEAD,
    ESCAPED_TOKEN_LONGEST,
)
from thawline.generated.kernels.tolerant import TOOLS
from thawline.provenance import OfSize, Rule, number_of, shown, unescaped
from thawline.provenance import Value as Read
from thawline.wording import counted

# Tokens.

LF, SP = 0x0A, 0x20
LONGEST_TOKEN: int = ESCAPED_TOKEN_LONGEST
LONGEST_RAW = 1 << 20
"""The end of a token is searched for within this many bytes. No tool reads a longer token."""
LONGEST_NUMBER = 1024
DIGITS = re.compile(rb"-?\d*")
LINE_END = re.compile(rb"\n")
TOKEN_ENDS = {
    (terminator, has_escapes): re.compile(
        (rb"(?:[^\\%s]++|\\.)*+%s" if has_escapes else rb"[^%s]*+%s") % (2 * (re.escape(bytes([terminator])),)),
        re.DOTALL,
    )
    for terminator in (LF, SP)
    for has_escapes in (True, False)
}


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
class Tokens:
    """Reads one token after the other from a position of a text."""

    text: memoryview
    pos: int
    version: str = "3.1"
    notes: list[Note] = field(default_factory=list)
    is_lasting: bool = False
    """Whether one tool also refuses the entry as `write.encode` spells it."""
    longest: int = LONGEST_RAW
    """The end of a token is searched for within this many bytes."""

    # Rules.

    def judge(self, rules: Iterable[Rule], at: int, what: str, written: bytes, value: Read) -> None:
        """Note what one tool has against a value; `Broken` if no tool reads it."""
        for rule in rules:
            if rule.condition.holds(written, value):
                self.refuse(at, rule, what, written, value)

    def refuse(self, at: int, rule: Rule, what: str = "", written: bytes = b"", value: Read = b"") -> None:
        """Note what a rule objects to; `Broken` if no tool reads it."""
        reason = rule.reason(what, written, value)
        if rule.is_damage:
            raise Broken(at, reason)
        self.notes.append(Note(at, reason, *rule.tools))
        self.is_lasting |= rule.condition.lasts

    # Tokens.

    def token(
        self, terminator: int, what: str, rules: tuple[Rule, ...], plain: re.Pattern[bytes] | None = None
    ) -> bytes:
        """A name, without its escapes; `plain` matches what no rule objects to.

        It lasts that one tool refuses a name if it is too long with its escapes.
        """
        if plain and (found := plain.match(self.text, self.pos)):
            self.pos, token = found.end(), found[1]
        else:
            at, raw = self.pos, self._raw(terminator, self.longest)
            token = raw if self.version == "3.0" else unescaped(raw)
            self.judge(rules, at, what, raw, token)
        if 2 * len(token) > LONGEST_TOKEN:  # only then can escapes make it too long
            self.is_lasting |= len(token if self.version == "3.0" else escaped(token)) > LONGEST_TOKEN
        return token

    def number(self, terminator: int, what: str, rules: tuple[Rule, ...], least: int | None, most: int | None) -> int:
        """A number in a range; None for a range that only the rules limit."""
        at = self.pos
        raw = self._raw(terminator, LONGEST_NUMBER)
        digits = unescaped(raw)
        if not digits.isdigit() and not DIGITS.fullmatch(digits):
            raise Broken(at, f"{what} {shown(raw)} is no number")
        value = int(digits) if digits not in (b"", b"-") else 0
        if (least is not None and value < least) or (most is not None and value > most):
            raise Broken(at, f"{what} {shown(raw)} is out of range")
        self.judge(rules, at, what, raw, value)
        return value

    def double(self, rules: tuple[Rule, ...]) -> bytes:
        """The text of a double: unchanged if both tools read it, else the number that the one tool reads."""
        at, raw = self.pos, self.line()
        if len(raw) > LONGEST_NUMBER:
            raise Broken(at, f"double of {counted(len(raw), 'character')}")
        objecting = [rule for rule in rules if rule.objects(raw, raw)]
        if not objecting or any(rule.is_tolerated for rule in objecting):
            return raw
        if _is_refused_by_all(objecting):
            raise Broken(at, f"double {shown(raw)} is no number")
        for rule in objecting:
            self.refuse(at, rule, "double", raw, raw)
        text = unescaped(raw)
        return repr(number_of(text)).encode() if text else b"0"

    def digest(self, size: int, rules: tuple[Rule, ...]) -> bytes:
        """The bytes of a line of base-64, of which one tool may take too many."""
        at, raw = self.pos, self.line()
        try:
            digest = binascii.a2b_base64(raw.replace(b"\r", b""), strict_mode=True)
        except binascii.Error:
            raise Broken(at, f"digest {shown(raw)} is no base-64") from None
        objecting = [rule for rule in rules if rule.objects(raw, digest)]
        is_read = len(digest) == size or any(isinstance(rule.condition, OfSize) for rule in objecting)
        if not is_read or _is_refused_by_all(objecting):
            raise Broken(at, f"a digest of {counted(len(digest), 'byte')} instead of {size}")
        for rule in objecting:
            self.refuse(at, rule, "digest", raw, digest)
        return digest[:size]

    def base64(self, data: bytes, at: int, rules: tuple[Rule, ...]) -> bytes:
        """The bytes that a value encodes; asrestore decodes whole groups of four characters, whatever their padding."""
        kept = data.replace(b"\r", b"").replace(b"\n", b"")
        try:
            decoded = binascii.a2b_base64(kept, strict_mode=True)
        except binascii.Error:
            wrong = [rule for rule in rules if rule.is_damage and len(kept) % 4 == 0 and rule.objects(kept, kept)]
            reason = wrong[0].because if wrong else "base-64 that cannot be decoded"
            raise Broken(at, reason, self.pos) from None
        self.judge((rule for rule in rules if not rule.is_damage), at, "base-64", data, decoded)
        return decoded

    def sized(self, size: int) -> bytes:
        """A value of a given number of bytes, and the line feed after it."""
        start, end = self.pos, self.pos + size
        if end >= len(self.text):
            reason = f"a value of {counted(size, 'byte')} extends past the end of the text"
            raise Broken(start, reason, start, is_cut=True, size=size)
        if self.text[end] != LF:
            raise Broken(end, f"no line feed after a value of {counted(size, 'byte')}", start)
        self.pos = end + 1
        return bytes(self.text[start:end])

    # Letters.

    def letter(self, letters: bytes, ahead: int, what: str, unknown: str, rules: tuple[Rule, ...]) -> int:
        """A letter with a meaning; a given number of bytes has to be there."""
        if self.pos + ahead > len(self.text):
            raise self._cut(self.pos)
        letter = self.text[self.pos]
        if letter not in letters:
            written = bytes([letter])
            known = next((rule.because for rule in rules if rule.objects(written, letter)), unknown)
            raise Broken(self.pos, known.format(what=what, letter=repr(chr(letter))), is_unknown=True)
        self.pos += 1
        return letter

    def lone(self, letters: bytes, due: str, rules: tuple[Rule, ...]) -> int:
        """A letter that is all of a line, perhaps after a backslash."""
        at, raw = self.pos, self.line()
        letter = unescaped(raw)
        if len(letter) != 1 or letter not in letters:
            raise Broken(at, due)
        self.judge(rules, at, "letter", raw, letter)
        return letter[0]

    def byte(self, any_of: bytes, due: str) -> int:
        """One of some bytes."""
        found = bytes(self.text[self.pos : self.pos + 1])
        if not found:
            raise self._cut(self.pos)
        if found not in any_of:
            raise Broken(self.pos, f"{due}; found {shown(found)}")
        self.pos += 1
        return found[0]

    # Fixed bytes and lines.

    def starts(self, lead: bytes) -> bool:
        """Whether these bytes come next; `Broken` if the text ends before that can be told."""
        found = bytes(self.text[self.pos : self.pos + len(lead)])
        if found == lead:
            return True
        if len(lead) - 2 < len(found) < len(lead) and lead.startswith(found):
            raise self._cut(self.pos)
        return False

    def takes(self, lead: bytes) -> bool:
        """Whether these bytes come next; if so, they are passed."""
        if not self.starts(lead):
            return False
        self.pos += len(lead)
        return True

    def expect(self, lead: bytes, due: str, turn: int = 0, turns: int = 0) -> None:
        """Pass these bytes; `Broken` if others come next."""
        if not self.takes(lead):
            found = bytes(self.text[self.pos : self.pos + len(lead)])
            if self.pos + len(found) == len(self.text) and lead.startswith(found):
                raise self._cut(self.pos)
            raise Broken(self.pos, f"{due.format(turn=turn, turns=turns)}; found {shown(found)}")

    def close(self, lead: bytes, at: int, words: str, count: int) -> None:
        """`Broken`, with the offset of the count, if one more of the items follows that were counted."""
        if self.starts(lead):
            raise Broken(at, words.format(count), self.pos)

    def line(self) -> bytes:
        """The bytes up to the next line feed, which is passed."""
        start = self.pos
        found = LINE_END.search(self.text, start, start + LONGEST_RAW)
        if not found:
            raise self._cut(start) if start + LONGEST_RAW > len(self.text) else Broken(start, "no end of a line")
        self.pos = found.end()
        return bytes(self.text[start : found.start()])

    def _raw(self, terminator: int, most: int) -> bytes:
        """The bytes up to a terminator that is not escaped; the position is after the terminator."""
        start = self.pos
        pattern = TOKEN_ENDS[terminator, self.version != "3.0"]
        found = pattern.match(self.text, start, min(len(self.text), start + most))
        if not found:
            if start + most > len(self.text):
                raise self._cut(start)
            raise Broken(start, f"no end of a field within {counted(most, 'byte')}")
        self.pos = found.end()
        return bytes(self.text[start : self.pos - 1])

    def _cut(self, at: int) -> Broken:
        return Broken(at, "the text ends here", is_cut=True)


def _is_refused_by_all(rules: Iterable[Rule]) -> bool:
    return len({tool for rule in rules for tool in rule.tools}) == len(TOOLS)


def escaped(token: bytes) -> bytes:
    r"""A token with a backslash before each backslash, space and line feed.

    >>> escaped(b"a b")
    b'a\\ b'
    """
    return token.replace(b"\\", b"\\\\").replace(b" ", b"\\ ").replace(b"\n", b"\\\n")


# Entries.

BYTES_LETTERS = frozenset("BJCPRHEYML")
"""Types of bins whose value is bytes: base-64, or raw after an exclamation mark."""
BANG, TRUE = ord("!"), ord("T")
NAMESPACE_LINE, FIRST_FILE = tolerant.AEROSPIKE_META_KEYWORD_WORDS
LEAD_SIZE = max(map(len, tolerant.LEADS))

Value = bytes | int | float | bool | None


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


@dataclass(slots=True)
class EntryReader(Tokens):
    """Reads one entry from a position of a text, by the rules of both tools."""

    @property
    def refused_by(self) -> str:
        """The tools that refuse the entry."""
        return " and ".join(sorted({note.tool for note in self.notes}))

    def entry(self) -> Entry:
        """The entry that starts here; `Broken` if no tool reads it."""
        start = bytes(self.text[self.pos : self.pos + LEAD_SIZE])
        match tolerant.LEADS.get(start):
            case "aerospike_indexes":
                return self.index()
            case "aerospike_udfs":
                return self.udf()
        if start.startswith(AEROSPIKE_RECORD_LEAD):
            return self.record()
        if len(start) < LEAD_SIZE:
            raise self._cut(self.pos)
        if start.startswith(AEROSPIKE_INDEX_LEAD):
            raise Broken(self.pos + 2, f"no kind of global data is called {chr(start[2])!r}", is_unknown=True)
        if start.startswith(AEROSPIKE_RECORD_BIN_LEAD):
            raise Broken(self.pos, "a bin that belongs to no record")
        raise Broken(self.pos, "no line starts like this")

    def meta(self) -> Meta:
        """A line of the meta data section."""
        at = self.pos
        if self.takes(NAMESPACE_LINE):
            namespace = self.token(LF, "namespace", tolerant.ESCAPED_TOKEN)
            line = bytes(self.text[at : self.pos])
            self.judge(tolerant.AEROSPIKE_META, at, "meta data", line, line)
            return Meta(namespace)
        line = self.line()
        self.judge(tolerant.AEROSPIKE_META_KEYWORD, at, "meta data", line, line)
        if line != FIRST_FILE and not self.notes:
            raise Broken(at, f"no meta data is called {shown(line)}", self.pos)
        return Meta()

    def record(self) -> Record:
        """A record: its header lines in order, then its bins."""
        found = tolerant.aerospike_record(self)
        bins = tuple(map(_bin_of, found["bins"]))
        return _record_of(found, bins, found["generation"], found["expiration"])

    def head(self) -> Record:
        """The header of a record up to its set, without its bins: enough to tell a record from similar text.

        Resynchronisation tries it wherever a record may start, so its cost is bounded by the longest names of a header.
        """
        rest, self.text = self.text, self.text[: min(len(self.text), self.pos + LONGEST_RAW)]
        self.longest = LONGEST_TOKEN + 1
        try:
            return _record_of(tolerant.aerospike_record_head(self))
        finally:
            self.text, self.longest = rest, LONGEST_RAW

    def skip_bins(self, count: int) -> None:
        """Skip `count` bins; `Broken` if more bins follow, or no tool reads one of them."""
        for turn in range(count):
            tolerant.aerospike_record_bin(self, turn, count)
        self.close(AEROSPIKE_RECORD_BIN_LEAD, self.pos, "more than {} bins follow", count)

    def index(self) -> Index:
        """A secondary index."""
        found = tolerant.aerospike_index(self)
        names = (found["namespace"], found["set"], found["name"])
        expression = (found["expression"] or b"") if chr(found["kind"]) == "e" else None
        types = chr(found["index_type"]), found["path"], chr(found["data_type"])
        return Index(*names, *types, found["context"], expression)

    def udf(self) -> Udf:
        """A file of user-defined functions."""
        found = tolerant.aerospike_udf(self)
        return Udf(found["name"], found["content"], chr(found["udf_type"]))


def _record_of(
    found: Mapping[str, Any], bins: tuple[Bin, ...] = (), generation: int = 1, expiration: int = 0
) -> Record:
    key = None if found["key"] is None else _key_of(found["key"])
    return Record(found["namespace"], found["digest"], bins, found["set"], key, generation, expiration)


def _key_of(found: Mapping[str, Any]) -> Key:
    letter = chr(found["type"])
    return Key(letter, _value_of(found), found["after_type"] == BANG and letter == "B")


def _bin_of(found: Mapping[str, Any]) -> Bin:
    value = found["boolean"]["letter"] == TRUE if found["boolean"] else _value_of(found)
    return Bin(chr(found["type"]), found["name"], value, found["after_type"] == BANG)


def _value_of(found: Mapping[str, Any]) -> Value:
    """The value of a key or a bin, in the field that its type has."""
    if found["sized"]:
        data: bytes = found["sized"]["data"]
        return data
    number: int | bytes | None = found["integer"] if found["double"] is None else found["double"]
    return number


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
