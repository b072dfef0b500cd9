"""Streams of bytes, and what one reading has in common. Every length is checked, and every step is counted."""

from __future__ import annotations

import struct
import zlib

import cython

if cython.compiled:
    from cython.cimports.libc.string import memchr, memcpy

MAX_DEPTH = cython.declare(cython.longlong, 100)
MAX_NOTES = cython.declare(cython.longlong, 100)
MAX_BITS = cython.declare(cython.longlong, 4096)
MAX_TEXT = cython.declare(cython.longlong, 1 << 26)
MAX_OUTPUT = cython.declare(cython.longlong, 1 << 28)


class Stop(Exception):
    """Why reading cannot go on, and where in the bytes of the unit; -1 where the field began."""

    def __init__(self, kind, reason, position=-1):
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.position = position


@cython.final
@cython.cclass
class Context:
    """One reading: the field that is read, where it began, the work that is left, and what could not be computed."""

    at: cython.int
    began: cython.longlong
    left: cython.longlong
    depth: cython.int
    notes: list
    processes: dict
    tracer: object

    def state(self):
        """The field that is read now, and where it began."""
        return self.at, self.began

    def noted(self):
        """What could not be computed since this was asked last."""
        notes = self.notes
        self.notes = []
        return notes


def context(work, processes):
    """A new reading with a bound on its steps."""
    made: Context = Context.__new__(Context)
    made.at = 0
    made.began = 0
    made.left = work
    made.depth = 0
    made.notes = []
    made.processes = processes
    return made


@cython.cfunc
@cython.exceptval(-1)
def spend(ctx: Context, steps: cython.longlong) -> cython.int:
    ctx.left -= steps
    if ctx.left < 0:
        raise Stop("work", "the spec reads the same bytes again and again, or loops without reading any")
    return 0


@cython.cfunc
@cython.exceptval(-1)
def note(ctx: Context, at: cython.int, began: cython.longlong, error: object) -> cython.int:
    """Keep what could not be computed; the reading goes on."""
    if len(ctx.notes) < MAX_NOTES:
        ctx.notes.append((at, began, error))
    return 0


@cython.final
@cython.no_gc
@cython.cclass
class Stream:
    """Some bytes, and the position in them. `base` is where they are in the unit."""

    p: cython.p_uchar
    plain: object
    holder: object
    pos: cython.longlong
    size: cython.longlong
    base: cython.longlong
    bits: cython.ulonglong
    bits_left: cython.int
    ctx: Context

    @cython.cfunc
    @cython.exceptval(-1)
    def short(self, n: cython.longlong) -> cython.int:
        if n < 0:
            raise Stop("size", f"requested invalid {n} amount of bytes", self.base + self.pos)
        left = max(0, self.size - self.pos)
        raise Stop("end", f"requested {n} bytes, but only {left} bytes available", self.base + self.pos)

    @cython.cfunc
    @cython.exceptval(-1)
    def need(self, n: cython.longlong) -> cython.longlong:
        """Where the next bytes begin, which are passed."""
        at: cython.longlong = self.pos
        if n < 0 or (n > self.size - at and n > 0):
            self.short(n)
        self.pos = at + n
        self.bits_left = 0
        return at

    @cython.cfunc
    def cut(self, start: cython.longlong, end: cython.longlong) -> object:
        """Bytes between two positions, which are in the stream."""
        if end <= start:
            return b""
        spend(self.ctx, (end - start) >> 6)
        if cython.compiled:
            return self.p[start:end]
        return bytes(self.plain[start:end])

    @cython.cfunc
    def take(self, n: cython.longlong) -> object:
        at: cython.longlong = self.need(n)
        return self.cut(at, at + n)

    @cython.cfunc
    def rest(self) -> object:
        return self.take(max(0, self.size - self.pos))

    @cython.cfunc
    def sub(self, n: cython.longlong) -> Stream:
        """The next bytes as a stream of their own, without a copy."""
        at: cython.longlong = self.need(n)
        made: Stream = Stream.__new__(Stream)
        if cython.compiled:
            made.p = self.p + at
        else:
            made.plain = self.plain[at : at + n]
        made.holder = self.holder
        made.pos = 0
        made.size = n
        made.base = self.base + at
        made.bits = 0
        made.bits_left = 0
        made.ctx = self.ctx
        return made

    @cython.cfunc
    @cython.exceptval(-1)
    def seek(self, at: cython.longlong) -> cython.int:
        if at < 0:
            raise Stop("seek", f"cannot seek to invalid position {at}", self.base)
        self.pos = at
        self.bits_left = 0
        return 0

    @cython.cfunc
    @cython.exceptval(check=False)
    def eof(self) -> cython.bint:
        return self.bits_left == 0 and self.pos >= self.size

    @cython.cfunc
    @cython.exceptval(-1)
    def align(self) -> cython.int:
        self.bits_left = 0
        return 0

    @cython.cfunc
    @cython.exceptval(check=False)
    def byte(self, at: cython.longlong) -> cython.ulonglong:
        if cython.compiled:
            return self.p[at]
        return self.plain[at]

    @cython.cfunc
    @cython.exceptval(-1, check=True)
    def u1(self) -> cython.longlong:
        return self.byte(self.need(1))

    @cython.cfunc
    @cython.exceptval(-1, check=True)
    def u2le(self) -> cython.longlong:
        at: cython.longlong = self.need(2)
        return self.byte(at) | self.byte(at + 1) << 8

    @cython.cfunc
    @cython.exceptval(-1, check=True)
    def u2be(self) -> cython.longlong:
        at: cython.longlong = self.need(2)
        return self.byte(at) << 8 | self.byte(at + 1)

    @cython.cfunc
    @cython.exceptval(-1, check=True)
    def u4le(self) -> cython.longlong:
        at: cython.longlong = self.need(4)
        return self.byte(at) | self.byte(at + 1) << 8 | self.byte(at + 2) << 16 | self.byte(at + 3) << 24

    @cython.cfunc
    @cython.exceptval(-1, check=True)
    def u4be(self) -> cython.longlong:
        at: cython.longlong = self.need(4)
        return self.byte(at) << 24 | self.byte(at + 1) << 16 | self.byte(at + 2) << 8 | self.byte(at + 3)

    @cython.cfunc
    @cython.exceptval(1, check=True)
    def u8le(self) -> cython.ulonglong:
        at: cython.longlong = self.need(8)
        low: cython.ulonglong = (
            self.byte(at) | self.byte(at + 1) << 8 | self.byte(at + 2) << 16 | self.byte(at + 3) << 24
        )
        high: cython.ulonglong = (
            self.byte(at + 4) | self.byte(at + 5) << 8 | self.byte(at + 6) << 16 | self.byte(at + 7) << 24
        )
        return high << 32 | low

    @cython.cfunc
    @cython.exceptval(1, check=True)
    def u8be(self) -> cython.ulonglong:
        at: cython.longlong = self.need(8)
        high: cython.ulonglong = (
            self.byte(at) << 24 | self.byte(at + 1) << 16 | self.byte(at + 2) << 8 | self.byte(at + 3)
        )
        low: cython.ulonglong = (
            self.byte(at + 4) << 24 | self.byte(at + 5) << 16 | self.byte(at + 6) << 8 | self.byte(at + 7)
        )
        return high << 32 | low

    @cython.cfunc
    @cython.exceptval(-1, check=True)
    def s1(self) -> cython.longlong:
        value: cython.longlong = self.u1()
        return value - 256 if value > 127 else value

    @cython.cfunc
    @cython.exceptval(-1, check=True)
    def s2le(self) -> cython.longlong:
        value: cython.longlong = self.u2le()
        return value - 65536 if value > 32767 else value

    @cython.cfunc
    @cython.exceptval(-1, check=True)
    def s2be(self) -> cython.longlong:
        value: cython.longlong = self.u2be()
        return value - 65536 if value > 32767 else value

    @cython.cfunc
    @cython.exceptval(-1, check=True)
    def s4le(self) -> cython.longlong:
        return signed4(self.u4le())

    @cython.cfunc
    @cython.exceptval(-1, check=True)
    def s4be(self) -> cython.longlong:
        return signed4(self.u4be())

    @cython.cfunc
    @cython.exceptval(-1, check=True)
    def s8le(self) -> cython.longlong:
        self.pos = self.need(8)
        low: cython.longlong = self.u4le()
        return signed4(self.u4le()) * 65536 * 65536 + low

    @cython.cfunc
    @cython.exceptval(-1, check=True)
    def s8be(self) -> cython.longlong:
        self.pos = self.need(8)
        high: cython.longlong = signed4(self.u4be())
        return high * 65536 * 65536 + self.u4be()

    @cython.cfunc
    @cython.exceptval(-1, check=True)
    def f4le(self) -> cython.double:
        return real4(cython.cast(cython.uint, self.u4le()))

    @cython.cfunc
    @cython.exceptval(-1, check=True)
    def f4be(self) -> cython.double:
        return real4(cython.cast(cython.uint, self.u4be()))

    @cython.cfunc
    @cython.exceptval(-1, check=True)
    def f8le(self) -> cython.double:
        return real8(self.u8le())

    @cython.cfunc
    @cython.exceptval(-1, check=True)
    def f8be(self) -> cython.double:
        return real8(self.u8be())

    @cython.cfunc
    @cython.exceptval(1, check=True)
    def bits_be(self, n: cython.int) -> cython.ulonglong:
        """The next bits, the highest of a byte first; at most 64."""
        needed: cython.int = n - self.bits_left
        left: cython.int = (8 - (needed & 7)) & 7 if needed > 0 else -needed
        value: cython.ulonglong = self.bits if self.bits_left else 0
        one: cython.ulonglong = 1
        at: cython.longlong
        last: cython.ulonglong
        if needed > 0:
            count: cython.int = (needed + 7) >> 3
            if count > self.size - self.pos:
                self.short(count)
            at = self.pos
            self.pos = at + count
            while count > 1:
                value = value << 8 | self.byte(at)
                at += 1
                count -= 1
            last = self.byte(at)
            value = value << (8 - left) | last >> left
            self.bits = last & ((one << left) - 1)
        else:
            value = value >> left
            self.bits = self.bits & ((one << left) - 1)
        self.bits_left = left
        return value

    @cython.cfunc
    @cython.exceptval(1, check=True)
    def bits_le(self, n: cython.int) -> cython.ulonglong:
        """The next bits, the lowest of a byte first; at most 64."""
        have: cython.int = self.bits_left
        needed: cython.int = n - have
        value: cython.ulonglong = self.bits if have else 0
        one: cython.ulonglong = 1
        at: cython.longlong
        byte: cython.ulonglong
        if needed > 0:
            count: cython.int = (needed + 7) >> 3
            if count > self.size - self.pos:
                self.short(count)
            at = self.pos
            self.pos = at + count
            while needed > 8:
                value = value | self.byte(at) << have
                at += 1
                have += 8
                needed -= 8
            byte = self.byte(at)
            value = value | (byte & ((one << needed) - 1)) << have
            self.bits = byte >> needed
            self.bits_left = 8 - needed
        else:
            self.bits = value >> n
            self.bits_left = have - n
            value = value & ((one << n) - 1)
        return value

    @cython.cfunc
    @cython.exceptval(-2, check=True)
    def find(self, byte: cython.int) -> cython.longlong:
        """Where a byte is next; the end of the stream if it is nowhere."""
        spend(self.ctx, 1)
        if self.pos >= self.size:
            return self.size
        if cython.compiled:
            found: cython.p_uchar = cython.cast(
                cython.p_uchar, memchr(self.p + self.pos, byte, cython.cast(cython.size_t, self.size - self.pos))
            )
            return self.size if found == cython.NULL else found - self.p
        for at in range(self.pos, self.size):
            if self.plain[at] == byte:
                return at
        return self.size

    @cython.cfunc
    def terminated(self, term: bytes, include: cython.bint, consume: cython.bint, must: cython.bint) -> object:
        """Bytes up to a terminator, aligned to its size."""
        self.bits_left = 0
        start: cython.longlong = self.pos
        width: cython.int = len(term)
        first: cython.int = term[0]
        at: cython.longlong
        if width == 1:
            at = self.find(first)
        else:
            at = start
            while at + width <= self.size and self.cut(at, at + width) != term:
                at += width
            if at + width > self.size:
                at = self.size
        if at >= self.size:
            if must:
                raise Stop("end", "end of stream reached, but no terminator found", self.base + start)
            self.pos = max(self.size, start)
            return self.cut(start, self.size)
        self.pos = at + width if consume else at
        return self.cut(start, at + width if include else at)


@cython.cfunc
@cython.exceptval(check=False)
def signed4(value: cython.longlong) -> cython.longlong:
    return value - 65536 * 65536 if value > 0x7FFFFFFF else value


@cython.cfunc
@cython.exceptval(check=False)
def real4(word: cython.uint) -> cython.double:
    if cython.compiled:
        made: cython.float = 0
        memcpy(cython.address(made), cython.address(word), 4)
        return made
    return struct.unpack("<f", struct.pack("<I", word))[0]


@cython.cfunc
@cython.exceptval(check=False)
def real8(word: cython.ulonglong) -> cython.double:
    if cython.compiled:
        made: cython.double = 0
        memcpy(cython.address(made), cython.address(word), 8)
        return made
    return struct.unpack("<d", struct.pack("<Q", word))[0]


def stream(ctx: Context, data, start: cython.longlong):
    """A stream of all of a buffer, at a position in it."""
    made: Stream = made_stream(ctx, data, 0)
    made.pos = start
    return made


@cython.cfunc
def made_stream(ctx: Context, data: object, base: cython.longlong) -> Stream:
    made: Stream = Stream.__new__(Stream)
    made.size = len(data)
    if cython.compiled:
        view: cython.const[cython.uchar][::1]
        if made.size:
            view = data
            made.p = cython.cast(cython.p_uchar, cython.address(view[0]))
            made.holder = view
    else:
        made.plain = memoryview(data)
        made.holder = data
    made.pos = 0
    made.base = base
    made.bits = 0
    made.bits_left = 0
    made.ctx = ctx
    return made


@cython.cfunc
def strip_right(data: bytes, pad: cython.int) -> bytes:
    return data.rstrip(bytes([pad]))


@cython.cfunc
def until(data: bytes, term: bytes, include: cython.bint) -> bytes:
    """Bytes up to a terminator in them, aligned to its size."""
    width: cython.Py_ssize_t = len(term)
    at: cython.Py_ssize_t = data.find(term)
    while at >= 0 and at % width:
        at = data.find(term, at + 1)
    if at < 0:
        return data
    return data[: at + width] if include else data[:at]


@cython.cfunc
def decoded(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except LookupError:
        raise Stop("encoding", f"the encoding {encoding!r} is not known") from None
    except ValueError as error:
        raise Stop("encoding", f"these bytes are not {encoding}: {error}") from None


@cython.cfunc
def decoded_utf8(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except ValueError as error:
        raise Stop("encoding", f"these bytes are not UTF-8: {error}") from None


@cython.cfunc
def decoded_ascii(data: bytes) -> str:
    try:
        return data.decode("ascii")
    except ValueError as error:
        raise Stop("encoding", f"these bytes are not ASCII: {error}") from None


@cython.cfunc
def decoded_latin1(data: bytes) -> str:
    return data.decode("latin-1")


@cython.cfunc
def xored(data: bytes, key: object) -> bytes:
    if isinstance(key, int):
        if not 0 <= key <= 255:
            raise Stop("process", f"{key} is no byte to xor with")
        return data.translate(bytes([byte ^ key for byte in range(256)]))
    size: cython.Py_ssize_t = len(key)
    if not size:
        raise Stop("process", "there is no key to xor with")
    count: cython.Py_ssize_t = len(data)
    keys = (bytes(key) * (count // size + 1))[:count]
    return (int.from_bytes(data, "little") ^ int.from_bytes(keys, "little")).to_bytes(count, "little")


@cython.cfunc
def rotated(data: bytes, amount: object) -> bytes:
    """Bits of each byte rotated left."""
    by = amount % 8
    return data.translate(bytes([(byte << by | byte >> (8 - by)) & 255 for byte in range(256)]))


@cython.cfunc
def inflated(ctx: Context, data: bytes) -> bytes:
    decoder = zlib.decompressobj()
    try:
        made = decoder.decompress(data, MAX_OUTPUT)
        if not decoder.eof:
            if len(made) >= MAX_OUTPUT:
                raise Stop("process", f"has more than {MAX_OUTPUT} bytes when decompressed")
            raise Stop("process", "the compressed data is not complete")
    except zlib.error as error:
        raise Stop("process", f"cannot be decompressed: {error}") from None
    ctx.left += len(made)
    return made


@cython.cfunc
def custom(ctx: Context, name: str, data: bytes, arguments: tuple) -> bytes:
    process = ctx.processes.get(name)
    if process is None:
        raise Stop("process", f"the process {name} is not registered")
    made = process(data, *arguments)
    if len(made) > MAX_OUTPUT:
        raise Stop("process", f"has more than {MAX_OUTPUT} bytes after {name}")
    ctx.left += len(made)
    return bytes(made)


@cython.cfunc
def stream_of(io: object) -> Stream:
    if io is None:
        raise Stop("value", "there is no stream")
    return io
