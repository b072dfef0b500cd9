"""What asrestore and backup-go both read: a recogniser of whole backups, written from their behaviour alone.

It shares nothing with thawline's reader, and `test_aerospike_output.py` holds it against the verdicts of the real
decoders over all vectors before it is used on what thawline writes. Two things that only one tool reads are let
through, as in `--strict`: version 3.2 with its expression indexes, and the signed `nan` of asbackup.
"""

from __future__ import annotations

import math
import re
from base64 import b64decode
from dataclasses import dataclass

UINT16, UINT32 = (1 << 16) - 1, (1 << 32) - 1
HEADER = re.compile(rb"Version (3\.[012])\n")
NAMESPACE_LINE = re.compile(rb"# namespace ((?:[^\\\n\0]|\\[^\n\0])*)\n")
FIRST_FILE = re.compile(rb"# first-file\n")
TO_LINE_FEED = re.compile(rb"((?:[^\\\n\0]|\\[^\0])*)\n")
TO_SPACE = re.compile(rb"((?:[^\\ \0]|\\[^\0])*) ")
RAW_TO_LINE_FEED, RAW_TO_SPACE = re.compile(rb"([^\n\0]*)\n"), re.compile(rb"([^ \0]*) ")
NIL_NAME = re.compile(rb"((?:[^\\ \n\0]|\\[^\0])*)\n")
RAW_NIL_NAME = re.compile(rb"([^ \n\0]*)\n")
UNSIGNED = re.compile(rb"(-?[0-9]+)([\n ])")
DOUBLE = re.compile(
    rb"([+-]?nan|[+-]?(?:inf(?:inity)?|(?=\.?[0-9])[0-9]*\.?[0-9]*(?:(?-i:e)[+-]?[0-9]+)?))\n", re.IGNORECASE
)
BASE64 = re.compile(rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
INDEX_TYPE, DATA_TYPE = re.compile(rb"([NLKV]) "), re.compile(rb"([NSGB])(?: ([^\n]*))?\n")
KEY_TYPE, BIN_TYPE = re.compile(rb"([IDSXB]|B!) "), re.compile(rb"([NZIDSXGBJCPRHEYML])(!?) ")


class Refused(Exception):
    """One of the tools does not read the file: where, and what it would want there."""


def check(data: bytes) -> None:
    """Raise `Refused` unless both tools read a backup to its end."""
    _Reading(data).file()


def is_read_by_both(data: bytes) -> bool:
    """Whether both tools read a backup to its end."""
    try:
        check(data)
    except Refused:
        return False
    return True


@dataclass
class _Reading:
    data: bytes
    pos: int = 0
    version: bytes = b""

    def refuse(self, wanted: str) -> Refused:
        return Refused(f"byte {self.pos}: {wanted}, not {self.data[self.pos : self.pos + 24]!r}")

    def take(self, pattern: re.Pattern[bytes], wanted: str) -> re.Match[bytes]:
        found = pattern.match(self.data, self.pos)
        if not found:
            raise self.refuse(wanted)
        self.pos = found.end()
        return found

    def starts(self, lead: bytes) -> bool:
        if not self.data.startswith(lead, self.pos):
            return False
        self.pos += len(lead)
        return True

    def expect(self, lead: bytes) -> None:
        if not self.starts(lead):
            raise self.refuse(repr(lead))

    def file(self) -> None:
        self.version = self.take(HEADER, "a header")[1]
        while self.data.startswith(b"#", self.pos):
            self.meta()
        while self.pos < len(self.data):
            if self.data.startswith(b"* ", self.pos):
                self.global_()
            else:
                self.record()

    def meta(self) -> None:
        start = self.pos
        if not FIRST_FILE.match(self.data, self.pos):
            name = self.take(NAMESPACE_LINE, "a line of meta data")[1]
            if len(name) > 999 or self.pos - start > 1001:
                raise self.refuse("a shorter line of meta data")
        else:
            self.take(FIRST_FILE, "a line of meta data")

    def global_(self) -> None:
        if self.version == b"3.0":
            raise self.refuse("no global data in version 3.0")
        if self.starts(b"* u L "):
            self.token(TO_SPACE)
            self.sized()
            return
        if not self.starts(b"* i ") and (self.version != b"3.2" or not self.starts(b"* e ")):
            raise self.refuse("an index or a UDF")
        for _ in ("namespace", "set", "name"):
            self.token(TO_SPACE)
        self.take(INDEX_TYPE, "a type of index")
        if self.number(b" ", UINT32) != 1:
            raise self.refuse("one path")
        self.token(TO_SPACE)
        self.take(DATA_TYPE, "a data type")

    def token(self, pattern: re.Pattern[bytes], most: int = 999) -> None:
        if self.version == b"3.0":
            pattern = {TO_LINE_FEED: RAW_TO_LINE_FEED, TO_SPACE: RAW_TO_SPACE, NIL_NAME: RAW_NIL_NAME}[pattern]
        raw = self.take(pattern, "a name")[1]
        name = raw if self.version == b"3.0" else re.sub(rb"\\(.)", rb"\1", raw, flags=re.DOTALL)
        if len(raw) > 999 or len(name) > most:
            raise self.refuse("a shorter name before this")

    def number(self, terminator: bytes, most: int, least: int = 0) -> int:
        found = self.take(UNSIGNED, "a number")
        if found[2] != terminator or not least <= int(found[1]) <= most:
            raise self.refuse("another number before this")
        return int(found[1])

    def sized(self, *, is_base64: bool = False) -> None:
        size = self.number(b" ", UINT32)
        data = self.data[self.pos : self.pos + size]
        if len(data) < size or (is_base64 and not BASE64.fullmatch(data)):
            raise self.refuse(f"{size} bytes of a value")
        self.pos += size
        self.expect(b"\n")

    def double(self) -> None:
        text = self.take(DOUBLE, "a double")[1]
        if math.isinf(float(text)) and b"inf" not in text.lower():
            raise self.refuse("a double in range before this")

    def value(self, letter: bytes, *, is_raw: bool) -> None:
        if letter == b"I":
            self.number(b"\n", (1 << 63) - 1, -(1 << 63))
        elif letter == b"D":
            self.double()
        elif letter == b"Z":
            self.take(re.compile(rb"[TF]\n"), "T or F")
        else:
            self.sized(is_base64=letter == b"X" or (letter not in b"SG" and not is_raw))

    def record(self) -> None:
        if self.starts(b"+ k "):
            kind = self.take(KEY_TYPE, "a type of key")[1]
            self.value(kind[:1], is_raw=kind == b"B!")
        self.expect(b"+ n ")
        self.token(TO_LINE_FEED, 31)
        self.expect(b"+ d ")
        digest = self.data[self.pos : self.pos + 28]
        if not BASE64.fullmatch(digest) or len(b64decode(digest)) != 20:
            raise self.refuse("a digest")
        self.pos += 28
        self.expect(b"\n")
        if self.starts(b"+ s "):
            self.token(TO_LINE_FEED, 63)
        self.expect(b"+ g ")
        self.number(b"\n", UINT16)
        self.expect(b"+ t ")
        self.number(b"\n", UINT32)
        self.expect(b"+ b ")
        for _ in range(self.number(b"\n", UINT16)):
            self.bin()

    def bin(self) -> None:
        self.expect(b"- ")
        kind = self.take(BIN_TYPE, "a type of bin")
        if kind[1] == b"N":
            self.token(NIL_NAME, 15)
            return
        self.token(TO_SPACE, 15)
        self.value(kind[1], is_raw=bool(kind[2]))
