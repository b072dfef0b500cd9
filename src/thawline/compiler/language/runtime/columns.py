"""Columns that grow by a value at a time. Their bytes become Arrow arrays."""

from __future__ import annotations

import cython

if cython.compiled:
    from cython.cimports.libc.stdlib import free, realloc
    from cython.cimports.libc.string import memcpy, memset

LONGEST = cython.declare(cython.longlong, 0x7FFFFFFF)
BLOB = cython.declare(cython.int, 2)
GROUP = cython.declare(cython.int, 3)
ITEMS = cython.declare(cython.int, 4)


@cython.final
@cython.cclass
class Memory:
    """Bytes that grow at the end."""

    p: cython.p_uchar
    size: cython.longlong
    room: cython.longlong
    plain: object

    def __dealloc__(self):
        if cython.compiled:
            free(self.p)

    @cython.cfunc
    @cython.exceptval(-1)
    def grow(self, more: cython.longlong) -> cython.int:
        room: cython.longlong = self.size + more + (self.size >> 1) + 64
        p: cython.p_uchar = cython.cast(cython.p_uchar, realloc(self.p, cython.cast(cython.size_t, room)))
        if p == cython.NULL:
            raise MemoryError
        self.p = p
        self.room = room
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def put(self, value: cython.longlong, width: cython.int) -> cython.int:
        """Append a number, the lowest byte first."""
        if cython.compiled:
            if self.room - self.size < 8:
                self.grow(8)
            memcpy(self.p + self.size, cython.address(value), 8)
        else:
            self.plain += (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        self.size += width
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def put_real(self, value: cython.double, width: cython.int) -> cython.int:
        if cython.compiled:
            if self.room - self.size < 8:
                self.grow(8)
            small: cython.float = cython.cast(cython.float, value)
            if width == 4:
                memcpy(self.p + self.size, cython.address(small), 4)
            else:
                memcpy(self.p + self.size, cython.address(value), 8)
        else:
            self.plain += struct.pack("<f" if width == 4 else "<d", value)
        self.size += width
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def put_bytes(self, value: bytes) -> cython.int:
        count: cython.longlong = len(value)
        if cython.compiled:
            if self.room - self.size < count:
                self.grow(count)
            if count:
                memcpy(self.p + self.size, cython.cast(cython.p_char, value), cython.cast(cython.size_t, count))
        else:
            self.plain += value
        self.size += count
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def put_stream(self, io: Stream, start: cython.longlong, end: cython.longlong) -> cython.int:
        count: cython.longlong = end - start
        if cython.compiled:
            if self.room - self.size < count:
                self.grow(count)
            if count > 0:
                memcpy(self.p + self.size, io.p + start, cython.cast(cython.size_t, count))
        else:
            self.plain += io.plain[start:end]
        self.size += count
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def fill(self, count: cython.longlong, value: cython.int) -> cython.int:
        if cython.compiled:
            if self.room - self.size < count:
                self.grow(count)
            if count:
                memset(self.p + self.size, value, cython.cast(cython.size_t, count))
        else:
            self.plain += bytes([value]) * count
        self.size += count
        return 0

    @cython.cfunc
    def taken(self, made: object) -> object:
        """All bytes, in what `made` gives for their number; there are none afterwards."""
        target: object = made(self.size)
        if self.size:
            if cython.compiled:
                view: cython.uchar[::1] = memoryview(target).cast("B")
                memcpy(cython.address(view[0]), self.p, cython.cast(cython.size_t, self.size))
            else:
                memoryview(target).cast("B")[:] = self.plain
        if not cython.compiled:
            self.plain = bytearray()
        self.size = 0
        return target


@cython.cfunc
def memory() -> Memory:
    made: Memory = Memory.__new__(Memory)
    if not cython.compiled:
        made.size = 0
        made.plain = bytearray()
    return made


@cython.cclass
class Column:
    """Values of one kind, and which of them are there: `valid` has a byte for each once one is not."""

    kind: cython.int
    width: cython.int
    rows: cython.longlong
    nulls: cython.longlong
    end: cython.longlong
    behind: cython.longlong
    low: object
    high: object
    data: Memory
    offsets: Memory
    valid: Memory
    kids: list

    @cython.cfunc
    @cython.exceptval(-1)
    def there(self) -> cython.int:
        if self.nulls:
            self.valid.put(1, 1)
        self.rows += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def null(self) -> cython.int:
        return self.more_nulls(1)

    @cython.cfunc
    @cython.exceptval(-1)
    def more_nulls(self, count: cython.longlong) -> cython.int:
        """Append nulls. The columns in a structure get theirs when they next get a value."""
        if not self.nulls:
            self.valid.fill(self.rows, 1)
        self.valid.fill(count, 0)
        self.nulls += count
        self.rows += count
        if self.kind == GROUP:
            self.behind += count
        elif self.kind == BLOB or self.kind == ITEMS:
            while count > 0:
                self.offsets.put(self.end, 4)
                count -= 1
        else:
            self.data.fill(count * self.width, 0)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def catch_up(self) -> cython.int:
        """Give the columns in a structure the nulls that they lack."""
        count: cython.longlong = self.behind
        self.behind = 0
        for kid in self.kids:
            if kid is not None:
                cython.cast(Column, kid).more_nulls(count)
        return 0

    def taken(self, make):
        """The rows, the nulls, and the bytes of validity, offsets and values, which are all empty afterwards."""
        valid, offsets, data = self.valid.taken(make), self.offsets.taken(make), self.data.taken(make)
        made = (self.rows, self.nulls, valid, offsets, data)
        self.rows = 0
        self.nulls = 0
        self.end = 0
        if self.kind == BLOB or self.kind == ITEMS:
            self.offsets.put(0, 4)
        return made

    def inner(self):
        """The columns in it, None for those that are not wanted."""
        if self.behind:
            self.catch_up()
        return self.kids

    def count(self):
        """How many values there are."""
        return self.rows

    def bytes_held(self):
        """How many bytes the values have, about."""
        held = self.data.size + self.offsets.size
        for kid in self.kids:
            if kid is not None:
                held += kid.bytes_held()
        return held


def column(kind, width, low, high, kids):
    """An empty column. Numbers are between `low` and `high`; `kids` are the columns in it, None where not wanted."""
    made: Column = Column.__new__(Column)
    made.kind = kind
    made.width = width
    made.rows = 0
    made.nulls = 0
    made.end = 0
    made.behind = 0
    made.low = low
    made.high = high
    made.data = memory()
    made.offsets = memory()
    made.valid = memory()
    made.kids = kids
    if made.kind == BLOB or made.kind == ITEMS:
        start_offsets(made)
    return made


@cython.cfunc
@cython.exceptval(-1)
def start_offsets(made: Column) -> cython.int:
    made.offsets.put(0, 4)
    return 0


@cython.cfunc
@cython.exceptval(-1)
def put_int(column: Column, value: cython.longlong) -> cython.int:
    column.data.put(value, column.width)
    column.there()
    return 0


@cython.cfunc
@cython.exceptval(-1)
def put_word(column: Column, value: cython.ulonglong) -> cython.int:
    """A number of 64 bits without a sign."""
    column.data.put(cython.cast(cython.longlong, value), 8)
    column.there()
    return 0


@cython.cfunc
@cython.exceptval(-1)
def put_number(column: Column, value: object, ctx: Context, at: cython.int) -> cython.int:
    """A number of any size; one that the column cannot hold is null, and noted."""
    if value is None:
        column.null()
        return 0
    if not column.low <= value <= column.high:
        note(ctx, at, ctx.began, Stop("value", "does not fit in 64 bits"))
        column.null()
        return 0
    if column.low >= 0:
        put_word(column, value)
    else:
        put_int(column, value)
    return 0


@cython.cfunc
@cython.exceptval(-1)
def put_real(column: Column, value: cython.double) -> cython.int:
    column.data.put_real(value, column.width)
    column.there()
    return 0


@cython.cfunc
@cython.exceptval(-1)
def ended(column: Column, end: cython.longlong) -> cython.int:
    if end > LONGEST:
        raise Stop("size", "a column has more than 2 GiB")
    column.end = end
    column.offsets.put(end, 4)
    column.there()
    return 0


@cython.cfunc
@cython.exceptval(-1)
def put_bytes(column: Column, value: object) -> cython.int:
    if value is None:
        column.null()
        return 0
    ended(column, column.end + len(value))
    column.data.put_bytes(value)
    return 0


@cython.cfunc
@cython.exceptval(-1)
def put_text(column: Column, value: object, ctx: Context, at: cython.int) -> cython.int:
    if value is None:
        column.null()
        return 0
    try:
        text: str = value
        encoded = text.encode("utf-8")
    except ValueError:
        note(ctx, at, ctx.began, Stop("encoding", "has half of a surrogate pair"))
        column.null()
        return 0
    return put_bytes(column, encoded)


@cython.cfunc
@cython.exceptval(-1)
def put_span(column: Column, io: Stream, start: cython.longlong, end: cython.longlong) -> cython.int:
    """Bytes of a stream."""
    end = min(end, io.size)
    start = min(start, end)
    ended(column, column.end + end - start)
    column.data.put_stream(io, start, end)
    return 0


@cython.cclass
class Structure:
    """One structure that was read: its stream, where it starts and ends there, and what is around it."""

    io: Stream
    ctx: Context
    start: cython.longlong
    end: cython.longlong
    parent: Structure
    root: Structure
    little: cython.int

    def read_all(self):
        """Read the fields, one after the other."""
        self.read()

    @cython.cfunc
    @cython.exceptval(-1)
    def read(self) -> cython.int:
        return 0

    def extent(self):
        """Where it starts and ends in its stream."""
        return self.start, self.end


@cython.cfunc
@cython.exceptval(-1)
def enter(made: Structure) -> cython.int:
    """Read a structure."""
    ctx: Context = made.ctx
    spend(ctx, 1)
    if ctx.depth >= MAX_DEPTH:
        raise Stop("depth", f"structures are nested more than {MAX_DEPTH} deep")
    ctx.depth += 1
    made.start = made.io.pos
    made.end = made.io.pos
    try:
        made.read()
    finally:
        ctx.depth -= 1
    made.end = made.io.pos
    return 0


@cython.cfunc
def io_of(made: Structure | None) -> Stream:
    if made is None:
        raise Stop("value", "a structure that is not there has no bytes")
    return made.io


@cython.cfunc
def parent_of(made: Structure | None) -> Structure:
    if made is None or made.parent is None:
        raise Stop("value", "there is nothing around the structure")
    return made.parent


def is_structure(value):
    """Whether a value is a structure."""
    return isinstance(value, Structure)


def read_whole(made: Structure):
    """Read a structure from Python."""
    enter(made)
