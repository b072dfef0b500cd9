"""Values that a scan found in a buffer, copied into the buffers of Arrow columns.

Cython in pure Python mode, like the scan kernels: compiled with them into `thawline._native`,
and importable as it is for tests. Arrays are Arrow's: `offsets` has one item more than there
are rows, `valid` is a bitmap that starts out as zeros.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.string import memcpy


def measure(lengths: cython.const[cython.int][::1], rows: cython.longlong, totals: cython.longlong[::1]):
    """Add up lengths: `totals[0]` becomes the bytes of all values, `totals[1]` the number of nulls."""
    total: cython.longlong = 0
    nulls: cython.longlong = 0
    row: cython.longlong = 0
    with cython.nogil:
        while row < rows:
            if lengths[row] >= 0:
                total += lengths[row]
            else:
                nulls += 1
            row += 1
    totals[0] = total
    totals[1] = nulls


def gather_plain(
    buf: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    lengths: cython.const[cython.int][::1],
    rows: cython.longlong,
    offsets: cython.int[::1],
    data: cython.uchar[::1],
    valid: cython.uchar[::1],
    has_nulls: cython.bint,
):
    """Copy values as they are; lengths below zero are nulls. Short values are copied quicker with room behind them."""
    row: cython.longlong = 0
    at: cython.longlong = 0
    length: cython.longlong
    start: cython.longlong
    i: cython.longlong
    buf_size: cython.longlong = buf.shape[0]
    data_size: cython.longlong = data.shape[0]
    offsets[0] = 0
    with cython.nogil:
        while row < rows:
            length = lengths[row]
            if length > 0:
                start = starts[row]
                if cython.compiled:
                    i = 0
                    if length <= 128 and start + length + 32 <= buf_size and at + length + 32 <= data_size:
                        # Copies of a fixed size need no call; what they copy too much is written over by the next.
                        while i < length:
                            memcpy(cython.address(data[at + i]), cython.address(buf[start + i]), 32)
                            i += 32
                    else:
                        memcpy(cython.address(data[at]), cython.address(buf[start]), length)
                else:
                    i = 0
                    while i < length:
                        data[at + i] = buf[start + i]
                        i += 1
                at += length
            if has_nulls and length >= 0:
                valid[row >> 3] |= cython.cast(cython.uchar, 1 << (row & 7))
            row += 1
            offsets[row] = cython.cast(cython.int, at)


def gather_escaped(
    buf: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    lengths: cython.const[cython.int][::1],
    rows: cython.longlong,
    offsets: cython.int[::1],
    data: cython.uchar[::1],
    valid: cython.uchar[::1],
    has_nulls: cython.bint,
):
    """Copy tokens without their escaping backslashes; lengths below zero are nulls."""
    row: cython.longlong = 0
    at: cython.longlong = 0
    pos: cython.longlong
    end: cython.longlong
    offsets[0] = 0
    with cython.nogil:
        while row < rows:
            pos = starts[row]
            end = pos + lengths[row]
            while pos < end:
                if buf[pos] == 92 and pos + 1 < end:
                    pos += 1
                data[at] = buf[pos]
                at += 1
                pos += 1
            if has_nulls and lengths[row] >= 0:
                valid[row >> 3] |= cython.cast(cython.uchar, 1 << (row & 7))
            row += 1
            offsets[row] = cython.cast(cython.int, at)


BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
SEXTETS = bytes(BASE64.find(byte) if byte in BASE64 else 64 for byte in range(256))
"""Values of base-64 characters, 64 for every other byte."""


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

    Returns the number of nulls. Bits beyond the last byte are not looked at, as nobody who reads these formats does.
    """
    row: cython.longlong = 0
    at: cython.longlong = 0
    nulls: cython.longlong = 0
    pos: cython.longlong
    end: cython.longlong
    first: cython.longlong
    padding: cython.int
    is_good: cython.bint
    a: cython.int
    b: cython.int
    c: cython.int
    d: cython.int
    sextets: cython.const[cython.uchar][::1] = SEXTETS
    offsets[0] = 0
    with cython.nogil:
        while row < rows:
            pos = starts[row]
            end = pos + lengths[row]
            first = at
            is_good = lengths[row] >= 0 and lengths[row] % 4 == 0
            while is_good and pos < end:
                a = sextets[buf[pos]]
                b = sextets[buf[pos + 1]]
                c = sextets[buf[pos + 2]]
                d = sextets[buf[pos + 3]]
                padding = 0
                if pos + 4 == end and buf[pos + 3] == 61:
                    padding = 1
                    d = 0
                    if buf[pos + 2] == 61:
                        padding = 2
                        c = 0
                is_good = (a | b | c | d) < 64
                if is_good:
                    data[at] = cython.cast(cython.uchar, (a << 2 | b >> 4) & 255)
                    at += 1
                    if padding < 2:
                        data[at] = cython.cast(cython.uchar, (b << 4 | c >> 2) & 255)
                        at += 1
                    if padding < 1:
                        data[at] = cython.cast(cython.uchar, (c << 6 | d) & 255)
                        at += 1
                pos += 4
            if is_good:
                valid[row >> 3] |= cython.cast(cython.uchar, 1 << (row & 7))
            else:
                nulls += 1
                at = first
            row += 1
            offsets[row] = cython.cast(cython.int, at)
    return nulls


def is_ascii(data: cython.const[cython.uchar][::1]):
    """Whether no byte has its highest bit set."""
    seen: cython.uchar = 0
    at: cython.longlong = 0
    size: cython.longlong = data.shape[0]
    with cython.nogil:
        while at < size:
            seen |= data[at]
            at += 1
    return seen < 128


def pack_bits(flags: cython.const[cython.uchar][::1], rows: cython.longlong, bitmap: cython.uchar[::1]):
    """Pack one byte a row into a bitmap of zeros; returns how many of the bytes are zero."""
    row: cython.longlong = 0
    zeros: cython.longlong = 0
    with cython.nogil:
        while row < rows:
            if flags[row]:
                bitmap[row >> 3] |= cython.cast(cython.uchar, 1 << (row & 7))
            else:
                zeros += 1
            row += 1
    return zeros


def find_labels(
    label_starts: cython.const[cython.longlong][::1],
    codes: cython.const[cython.short][::1],
    rows: cython.longlong,
    starts: cython.longlong[::1],
    lengths: cython.int[::1],
):
    """Look up where the label of each code lies, as starts and lengths to gather by."""
    row: cython.longlong = 0
    code: cython.longlong
    with cython.nogil:
        while row < rows:
            code = codes[row]
            starts[row] = label_starts[code]
            lengths[row] = cython.cast(cython.int, label_starts[code + 1] - label_starts[code])
            row += 1
