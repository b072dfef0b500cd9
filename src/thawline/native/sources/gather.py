"""Values that a scan found in a buffer, copied into the buffers of Arrow columns.

Arrays are Arrow's: `offsets` has one item more than there are rows, `valid` is a bitmap. A length of -1 is a null, and
a lower one is that of a token with escapes, which has -2 - length bytes.

Short values are copied in steps of a fixed size, which need no call. The next value overwrites what a step copies too
much; after the last there is room for it.
"""

from array import array

import cython

if cython.compiled:
    from cython.cimports.libc.string import memcpy
else:
    from thawline.native.constants.characters import BACKSLASH, EQUALS
    from thawline.native.constants.kernels import (
        BASE64_INVALID,
        COPY_STEP,
        ESCAPED_LENGTH,
        HIGHEST_BIT,
        MOST_IN_STEPS,
        NULL_LENGTH,
        SHORT_STEP,
        WORD,
    )


def measure(lengths: cython.const[cython.int][::1], rows: cython.longlong):
    """Room for all values, whether some are null or have escapes, and the size that all have, or 0."""
    total: cython.longlong = 0
    first: cython.int = lengths[0] if rows else 0
    differences: cython.int = 0
    signs: cython.int = 0
    row: cython.longlong = 0
    with cython.nogil:
        # Only sums and bits, which C compilers vectorise. A length of -1 becomes 0, one of -2 - n becomes n + 1.
        while row < rows:
            total += lengths[row] ^ (lengths[row] >> 31)
            differences |= lengths[row] ^ first
            signs |= lengths[row]
            row += 1
    return total, signs < 0, 0 if differences or signs < 0 else first


def fill_steps(offsets: cython.int[::1], size: cython.longlong):
    """Offsets of values of one size."""
    index: cython.longlong = 0
    count: cython.longlong = offsets.shape[0]
    with cython.nogil:
        while index < count:
            offsets[index] = cython.cast(cython.int, index * size)
            index += 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _copy(
    buf: cython.const[cython.uchar][::1],
    start: cython.longlong,
    length: cython.longlong,
    data: cython.uchar[::1],
    at: cython.longlong,
) -> cython.void:
    """Copy one value, which is not empty."""
    i: cython.longlong = 0
    if not cython.compiled:
        data[at : at + length] = buf[start : start + length]
    elif (
        length <= MOST_IN_STEPS
        and start + length + COPY_STEP <= buf.shape[0]
        and at + length + COPY_STEP <= data.shape[0]
    ):
        while i < length:
            memcpy(cython.address(data[at + i]), cython.address(buf[start + i]), COPY_STEP)
            i += COPY_STEP
    else:
        memcpy(cython.address(data[at]), cython.address(buf[start]), length)


def gather_equal(
    buf: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    size: cython.longlong,
    rows: cython.longlong,
    data: cython.uchar[::1],
):
    """Copy values of one size, which is not 0."""
    row: cython.longlong = 0
    with cython.nogil:
        if size <= SHORT_STEP:
            while row < rows:
                if (
                    cython.compiled
                    and starts[row] + SHORT_STEP <= buf.shape[0]
                    and (row + 1) * size + SHORT_STEP <= data.shape[0]
                ):
                    memcpy(cython.address(data[row * size]), cython.address(buf[starts[row]]), SHORT_STEP)
                else:
                    _copy(buf, starts[row], size, data, row * size)
                row += 1
        while row < rows:
            _copy(buf, starts[row], size, data, row * size)
            row += 1


def gather_plain(
    buf: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    lengths: cython.const[cython.int][::1],
    rows: cython.longlong,
    offsets: cython.int[::1],
    data: cython.uchar[::1],
):
    """Copy values, none of which is null or has escapes."""
    row: cython.longlong = 0
    at: cython.longlong = 0
    length: cython.longlong
    offsets[0] = 0
    with cython.nogil:
        while row < rows:
            length = lengths[row]
            if length > 0:
                _copy(buf, starts[row], length, data, at)
                at += length
            row += 1
            offsets[row] = cython.cast(cython.int, at)


def gather_optional(
    buf: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    lengths: cython.const[cython.int][::1],
    rows: cython.longlong,
    offsets: cython.int[::1],
    data: cython.uchar[::1],
    valid: cython.uchar[::1],
):
    """Copy values, some of which are null or have escapes, which are removed. Returns the number of nulls."""
    row: cython.longlong = 0
    at: cython.longlong = 0
    length: cython.longlong
    nulls: cython.longlong = 0
    offsets[0] = 0
    with cython.nogil:
        while row < rows:
            length = lengths[row]
            if length > 0:
                _copy(buf, starts[row], length, data, at)
                at += length
            elif length < NULL_LENGTH:
                at = _copy_escaped(buf, starts[row], starts[row] + ESCAPED_LENGTH - length, data, at)
            nulls += length == NULL_LENGTH
            row += 1
            offsets[row] = cython.cast(cython.int, at)
        if nulls:
            _mark_valid(lengths, rows, valid)
    return nulls


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mark_valid(lengths: cython.const[cython.int][::1], rows: cython.longlong, valid: cython.uchar[::1]) -> cython.void:
    """Set the bits of values that are not null."""
    row: cython.longlong = 0
    bits: cython.uint
    i: cython.longlong
    while row + WORD <= rows:
        bits = (lengths[row] != -1) | (lengths[row + 1] != -1) << 1 | (lengths[row + 2] != -1) << 2
        bits |= (lengths[row + 3] != -1) << 3 | (lengths[row + 4] != -1) << 4 | (lengths[row + 5] != -1) << 5
        bits |= (lengths[row + 6] != -1) << 6 | (lengths[row + 7] != -1) << 7
        valid[row >> 3] = cython.cast(cython.uchar, bits)
        row += WORD
    if row < rows:
        bits = 0
        i = rows
        while i > row:
            i -= 1
            bits = bits << 1 | (lengths[i] != NULL_LENGTH)
        valid[row >> 3] = cython.cast(cython.uchar, bits)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _copy_escaped(
    buf: cython.const[cython.uchar][::1],
    pos: cython.longlong,
    end: cython.longlong,
    data: cython.uchar[::1],
    at: cython.longlong,
) -> cython.longlong:
    """Copy a token without its escaping backslashes; returns the place after it."""
    while pos < end:
        if buf[pos] == BACKSLASH and pos + 1 < end:
            pos += 1
        data[at] = buf[pos]
        at += 1
        pos += 1
    return at


BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
SEXTETS = array(
    "i",
    [
        BASE64.find(byte) << 18 - 6 * place if byte in BASE64 else BASE64_INVALID
        for place in range(4)
        for byte in range(256)
    ],
)
"""What a base-64 character adds to the 24 bits of its group, by its place in the group; `BASE64_INVALID` for others."""


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _decode(
    buf: cython.const[cython.uchar][::1],
    pos: cython.longlong,
    end: cython.longlong,
    sextets: cython.const[cython.int][::1],
    data: cython.uchar[::1],
    at: cython.longlong,
) -> cython.longlong:
    """Decode one value of whole groups; returns the place after it, or -1 if characters or padding are wrong."""
    seen: cython.int = 0
    word: cython.int
    padding: cython.longlong = 0
    if pos < end and buf[end - 1] == EQUALS:
        padding = 2 if buf[end - 2] == EQUALS else 1
        end -= 4
    while pos < end:
        word = (
            sextets[buf[pos]] | sextets[256 + buf[pos + 1]] | sextets[512 + buf[pos + 2]] | sextets[768 + buf[pos + 3]]
        )
        seen |= word
        data[at] = cython.cast(cython.uchar, word >> 16 & 255)
        data[at + 1] = cython.cast(cython.uchar, word >> 8 & 255)
        data[at + 2] = cython.cast(cython.uchar, word & 255)
        at += 3
        pos += 4
    if padding:
        word = sextets[buf[pos]] | sextets[256 + buf[pos + 1]] | (sextets[512 + buf[pos + 2]] if padding == 1 else 0)
        seen |= word
        data[at] = cython.cast(cython.uchar, word >> 16 & 255)
        at += 1
        if padding == 1:
            data[at] = cython.cast(cython.uchar, word >> 8 & 255)
            at += 1
    return at if seen < BASE64_INVALID else -1


def gather_base64(
    buf: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    lengths: cython.const[cython.int][::1],
    rows: cython.longlong,
    offsets: cython.int[::1],
    data: cython.uchar[::1],
    valid: cython.uchar[::1],
):
    """Decode base-64; a value that is null, or whose length, characters or padding are wrong, becomes null.

    Returns the number of nulls. Bits beyond the last byte are ignored, as every reader of these formats does.
    """
    row: cython.longlong = 0
    at: cython.longlong = 0
    after: cython.longlong
    nulls: cython.longlong = 0
    bits: cython.uint = 0
    sextets: cython.const[cython.int][::1] = SEXTETS
    offsets[0] = 0
    with cython.nogil:
        while row < rows:
            after = -1
            if lengths[row] >= 0 and lengths[row] & 3 == 0:
                after = _decode(buf, starts[row], starts[row] + lengths[row], sextets, data, at)
            at = after if after >= 0 else at
            bits |= cython.cast(cython.uint, after >= 0) << (row & 7)
            nulls += after < 0
            if row & 7 == WORD - 1 or row == rows - 1:
                valid[row >> 3] = cython.cast(cython.uchar, bits)
                bits = 0
            row += 1
            offsets[row] = cython.cast(cython.int, at)
    return nulls


def is_ascii(data: cython.const[cython.uchar][::1], size: cython.longlong):
    """Whether the first `size` bytes are ASCII."""
    seen: cython.uchar = 0
    at: cython.longlong = 0
    with cython.nogil:
        while at < size:
            seen |= data[at]
            at += 1
    return seen < HIGHEST_BIT


def pack_bits(flags: cython.const[cython.uchar][::1], rows: cython.longlong, bitmap: cython.uchar[::1]):
    """Pack a byte for each row, 0 or 1, into a bitmap; returns the number of zeros."""
    row: cython.longlong = 0
    ones: cython.longlong = 0
    bits: cython.uint
    i: cython.longlong
    with cython.nogil:
        while row < rows:
            ones += flags[row]
            row += 1
        row = 0
        while row + WORD <= rows:
            bits = flags[row] | flags[row + 1] << 1 | flags[row + 2] << 2 | flags[row + 3] << 3
            bits |= flags[row + 4] << 4 | flags[row + 5] << 5 | flags[row + 6] << 6 | flags[row + 7] << 7
            bitmap[row >> 3] = cython.cast(cython.uchar, bits)
            row += WORD
        if row < rows:
            bits = 0
            i = rows
            while i > row:
                i -= 1
                bits = bits << 1 | flags[i]
            bitmap[row >> 3] = cython.cast(cython.uchar, bits)
    return rows - ones


def measure_labels(
    label_starts: cython.const[cython.longlong][::1], codes: cython.const[cython.short][::1], rows: cython.longlong
):
    """How many bytes the labels of all rows have."""
    row: cython.longlong = 0
    total: cython.longlong = 0
    with cython.nogil:
        while row < rows:
            total += label_starts[codes[row] + 1] - label_starts[codes[row]]
            row += 1
    return total


def gather_labels(
    labels: cython.const[cython.uchar][::1],
    label_starts: cython.const[cython.longlong][::1],
    codes: cython.const[cython.short][::1],
    rows: cython.longlong,
    offsets: cython.int[::1],
    data: cython.uchar[::1],
):
    """Copy the label of each row's code. After both the labels and the data there is room for a step."""
    row: cython.longlong = 0
    at: cython.longlong = 0
    start: cython.longlong
    length: cython.longlong
    i: cython.longlong
    offsets[0] = 0
    with cython.nogil:
        while row < rows:
            start = label_starts[codes[row]]
            length = label_starts[codes[row] + 1] - start
            i = 0
            if not cython.compiled:
                data[at : at + length] = labels[start : start + length]
                i = length
            while i < length:
                memcpy(cython.address(data[at + i]), cython.address(labels[start + i]), COPY_STEP)
                i += COPY_STEP
            at += length
            row += 1
            offsets[row] = cython.cast(cython.int, at)


def add_bases(
    bases: cython.const[cython.longlong][::1],
    ranges: cython.const[cython.int][::1],
    numbers: cython.const[cython.longlong][::1],
    rows: cython.longlong,
    sums: cython.longlong[::1],
):
    """Add to each number the base of its range. What does not fit wraps around, as in Arrow."""
    row: cython.longlong = 0
    with cython.nogil:
        while row < rows:
            sums[row] = _sum(bases[ranges[row]], numbers[row])
            row += 1


def add_bases_short(
    bases: cython.const[cython.longlong][::1],
    ranges: cython.const[cython.int][::1],
    numbers: cython.const[cython.int][::1],
    rows: cython.longlong,
    sums: cython.longlong[::1],
):
    """The same for numbers of 32 bits."""
    row: cython.longlong = 0
    with cython.nogil:
        while row < rows:
            sums[row] = _sum(bases[ranges[row]], numbers[row])
            row += 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _sum(left: cython.longlong, right: cython.longlong) -> cython.longlong:
    total: cython.longlong
    if cython.compiled:
        total = cython.cast(cython.longlong, cython.cast(cython.ulonglong, left) + cython.cast(cython.ulonglong, right))
    else:
        total = (left + right + (1 << 63)) % (1 << 64) - (1 << 63)
    return total
