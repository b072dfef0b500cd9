"""Keys and bins of Aerospike records: decoded from what is written, and checked.

Cython in pure Python mode, compiled into `thawline._native` and importable as it is. It works on the buffers of Arrow
columns as the scan kernel leaves them.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.string import memcpy
else:
    from thawline.asb_json import (
        BASE64_ALPHABET,
        DEEPEST_COLLECTION,
        JSON_TEXTS,
        JSON_WORDS,
        _is_collection,
        _is_utf8,
        _put,
        _put_integer,
        _put_value,
    )

BAD_NAME = cython.declare(cython.int, 1)
BAD_DOUBLE = cython.declare(cython.int, 2)
BAD_BASE64 = cython.declare(cython.int, 4)
BAD_TEXT = cython.declare(cython.int, 8)
BAD_MSGPACK = cython.declare(cython.int, 16)
BAD_SKETCH = cython.declare(cython.int, 32)
"""What may be wrong with a bin; the first three may keep a tool from reading it, the others nobody else looks at."""
SIXES = bytes(BASE64_ALPHABET.find(byte) if byte in BASE64_ALPHABET else 64 for byte in range(256))
"""Values of base-64 characters, 64 for every other byte."""


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_set(bitmap: cython.const[cython.uchar][::1], row: cython.longlong) -> cython.bint:
    """Whether a bit is set; an empty bitmap has all of them set."""
    return bitmap.shape[0] == 0 or (bitmap[row >> 3] >> (row & 7)) & 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _decode_base64(
    sixes: cython.const[cython.uchar][::1],
    buf: cython.const[cython.uchar][::1],
    pos: cython.longlong,
    end: cython.longlong,
    out: cython.uchar[::1],
    at: cython.longlong,
) -> cython.longlong:
    """Where decoded bytes end in `out`; -1 where length, characters or padding are wrong."""
    a: cython.int
    b: cython.int
    c: cython.int
    d: cython.int
    if (end - pos) % 4:
        return -1
    while pos < end:
        a = sixes[buf[pos]]
        b = sixes[buf[pos + 1]]
        c = sixes[buf[pos + 2]]
        d = sixes[buf[pos + 3]]
        if (a | b | c | d) >= 64:
            break
        out[at] = cython.cast(cython.uchar, (a << 2 | b >> 4) & 255)
        out[at + 1] = cython.cast(cython.uchar, (b << 4 | c >> 2) & 255)
        out[at + 2] = cython.cast(cython.uchar, (c << 6 | d) & 255)
        at += 3
        pos += 4
    if pos == end:
        return at
    if pos + 4 != end or buf[pos + 3] != 61 or (a | b) >= 64:
        return -1
    out[at] = cython.cast(cython.uchar, (a << 2 | b >> 4) & 255)
    if buf[pos + 2] == 61:
        return at + 1
    if c >= 64:
        return -1
    out[at + 1] = cython.cast(cython.uchar, (b << 4 | c >> 2) & 255)
    return at + 2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_sketch(buf: cython.const[cython.uchar][::1], pos: cython.longlong, end: cython.longlong) -> cython.bint:
    """Whether a HyperLogLog has a possible geometry and the size that it takes (particle_hll.c of the server)."""
    index_bits: cython.longlong
    minhash_bits: cython.longlong
    if end - pos < 11:
        return False
    index_bits = buf[pos + 1]
    minhash_bits = buf[pos + 2]
    if index_bits < 4 or index_bits > 16 or index_bits + minhash_bits > 64:
        return False
    if minhash_bits != 0 and (minhash_bits < 4 or minhash_bits > 51):
        return False
    one: cython.longlong = 1
    return end - pos == 11 + ((6 + minhash_bits) * (one << index_bits) + 7) // 8


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_usual_double(buf: cython.const[cython.uchar][::1], pos: cython.longlong, end: cython.longlong) -> cython.bint:
    """Whether a double is written as one of the tools writes it, in digits that both read to the same number."""
    digits: cython.longlong = 0
    first: cython.int
    if end - pos > 26 or pos >= end:
        return False
    if buf[pos] == 45 or buf[pos] == 43:
        pos += 1
    if end - pos == 3 and not (48 <= buf[pos] <= 57):
        first = buf[pos]
        if first == 110 or first == 78:  # nan and NaN; a plus or minus before it is for a closer look
            return buf[pos + 1] == 97 and (buf[pos + 2] == first)
        return (first == 105 or first == 73) and buf[pos + 1] == 110 and buf[pos + 2] == 102
    while pos < end and 48 <= buf[pos] <= 57:
        pos += 1
        digits += 1
    if pos < end and buf[pos] == 46:
        pos += 1
        while pos < end and 48 <= buf[pos] <= 57:
            pos += 1
            digits += 1
    if digits == 0:
        return False
    if pos < end and buf[pos] == 101:
        pos += 1
        if pos < end and (buf[pos] == 45 or buf[pos] == 43):
            pos += 1
        digits = 0
        while pos < end and 48 <= buf[pos] <= 57:
            pos += 1
            digits += 1
        if digits == 0 or digits > 2:  # three may be too many for a double
            return False
    return pos == end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _has_byte(
    buf: cython.const[cython.uchar][::1], pos: cython.longlong, end: cython.longlong, byte: cython.int
) -> cython.bint:
    while pos < end:
        if buf[pos] == byte:
            return True
        pos += 1
    return False


def decode_bins(
    bins: cython.longlong,
    letters: cython.const[cython.longlong][::1],
    compact: cython.const[cython.uchar][::1],
    name_offsets: cython.const[cython.int][::1],
    names: cython.const[cython.uchar][::1],
    double_offsets: cython.const[cython.int][::1],
    doubles: cython.const[cython.uchar][::1],
    data_offsets: cython.const[cython.int][::1],
    data: cython.const[cython.uchar][::1],
    text_offsets: cython.int[::1],
    text: cython.uchar[::1],
    text_valid: cython.uchar[::1],
    bytes_offsets: cython.int[::1],
    out: cython.uchar[::1],
    bytes_valid: cython.uchar[::1],
    problems: cython.uchar[::1],
    totals: cython.longlong[::1],
):
    """Split the values of bins into text and bytes, decoded, and check what can be checked.

    `problems` gets a bit for each thing that is wrong. Returns how many bins have one. `totals` becomes the number of
    texts, of bytes, of lists and maps, and the most bytes that these take as JSON.
    """
    row: cython.longlong = 0
    start: cython.longlong
    end: cython.longlong
    text_at: cython.longlong = 0
    at: cython.longlong = 0
    after: cython.longlong
    wrong: cython.int
    found: cython.longlong = 0
    texts: cython.longlong = 0
    values: cython.longlong = 0
    collections: cython.longlong = 0
    letter: cython.longlong
    place: cython.longlong[::1] = totals[3:4]
    sixes: cython.const[cython.uchar][::1] = SIXES
    texts_of_json: cython.const[cython.uchar][::1] = JSON_TEXTS
    words: cython.const[cython.uchar][::1] = JSON_WORDS
    place[0] = 0
    text_offsets[0] = 0
    bytes_offsets[0] = 0
    with cython.nogil:
        while row < bins:
            letter = letters[row]
            start = data_offsets[row]
            end = data_offsets[row + 1]
            wrong = 0
            if (
                name_offsets[row + 1] - name_offsets[row] > 15
                or _has_byte(names, name_offsets[row], name_offsets[row + 1], 0)
                or (letter == 78 and _has_byte(names, name_offsets[row], name_offsets[row + 1], 32))
            ):
                wrong = BAD_NAME
            if letter == 68:
                if not _is_usual_double(doubles, double_offsets[row], double_offsets[row + 1]):
                    wrong |= BAD_DOUBLE
            elif letter == 83 or letter == 71 or letter == 88:  # S, G and, in base-64, X
                after = -1
                if letter == 88:
                    after = _decode_base64(sixes, data, start, end, text, text_at)
                    if after < 0:
                        wrong |= BAD_BASE64
                    elif not _is_utf8(text, text_at, after):
                        wrong |= BAD_TEXT
                        at = _put(text, text_at, after - text_at, out, at, True)
                        after = -1
                elif _is_utf8(data, start, end):
                    after = _copied(data, start, end - start, text, text_at)
                else:
                    wrong |= BAD_TEXT
                    at = _copied(data, start, end - start, out, at)
                if after >= 0:
                    text_at = after
                    texts += 1
                    text_valid[row >> 3] |= cython.cast(cython.uchar, 1 << (row & 7))
                elif wrong & BAD_TEXT:
                    values += 1
                    bytes_valid[row >> 3] |= cython.cast(cython.uchar, 1 << (row & 7))
            elif letter != 73 and letter != 78 and letter != 90:  # all but I, N, Z are bytes
                after = at
                if _is_set(compact, row):
                    after = _copied(data, start, end - start, out, at)
                else:
                    after = _decode_base64(sixes, data, start, end, out, at)
                if after < 0:
                    wrong |= BAD_BASE64
                else:
                    if letter == 76 or letter == 77:
                        if _is_collection(texts_of_json, words, out, at, after, letter, out, place):
                            collections += 1
                        else:
                            wrong |= BAD_MSGPACK
                    elif letter == 89 and not _is_sketch(out, at, after):
                        wrong |= BAD_SKETCH
                    at = after
                    values += 1
                    bytes_valid[row >> 3] |= cython.cast(cython.uchar, 1 << (row & 7))
            problems[row] = cython.cast(cython.uchar, wrong)
            if wrong:
                found += 1
            row += 1
            text_offsets[row] = cython.cast(cython.int, text_at)
            bytes_offsets[row] = cython.cast(cython.int, at)
    totals[0] = texts
    totals[1] = values
    totals[2] = collections
    return found


def write_json(
    bins: cython.longlong,
    letters: cython.const[cython.longlong][::1],
    problems: cython.const[cython.uchar][::1],
    bytes_offsets: cython.const[cython.int][::1],
    data: cython.const[cython.uchar][::1],
    offsets: cython.int[::1],
    out: cython.uchar[::1],
    valid: cython.uchar[::1],
):
    """The lists and maps among decoded bins as JSON."""
    row: cython.longlong = 0
    places: cython.longlong[::1] = _json_place()
    names: cython.const[cython.uchar][::1] = JSON_TEXTS
    words: cython.const[cython.uchar][::1] = JSON_WORDS
    offsets[0] = 0
    with cython.nogil:
        while row < bins:
            if (letters[row] == 76 or letters[row] == 77) and not problems[row] & (BAD_MSGPACK | BAD_BASE64):
                _put_value(
                    names,
                    words,
                    data,
                    bytes_offsets[row],
                    bytes_offsets[row + 1],
                    DEEPEST_COLLECTION,
                    out,
                    places,
                    True,
                    False,
                )
                valid[row >> 3] |= cython.cast(cython.uchar, 1 << (row & 7))
            row += 1
            offsets[row] = cython.cast(cython.int, places[0])


def _json_place():
    return memoryview(bytearray(8)).cast("q")


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _copied(
    buf: cython.const[cython.uchar][::1],
    start: cython.longlong,
    size: cython.longlong,
    out: cython.uchar[::1],
    at: cython.longlong,
) -> cython.longlong:
    """Copy bytes; where they end."""
    i: cython.longlong = 0
    if cython.compiled:
        if size > 0:
            memcpy(cython.address(out[at]), cython.address(buf[start]), size)
    else:
        while i < size:
            out[at + i] = buf[start + i]
            i += 1
    return at + size


def check_heads(
    rows: cython.longlong,
    namespace_offsets: cython.const[cython.int][::1],
    namespaces: cython.const[cython.uchar][::1],
    set_offsets: cython.const[cython.int][::1],
    sets: cython.const[cython.uchar][::1],
    digest_offsets: cython.const[cython.int][::1],
    flags: cython.uchar[::1],
):
    """Mark rows whose namespace, set or digest has a length or a byte that not every tool takes; how many."""
    row: cython.longlong = 0
    found: cython.longlong = 0
    is_odd: cython.bint
    with cython.nogil:
        while row < rows:
            is_odd = (
                namespace_offsets[row + 1] - namespace_offsets[row] > 31
                or set_offsets[row + 1] - set_offsets[row] > 63
                or digest_offsets[row + 1] - digest_offsets[row] != 20
                or _has_byte(namespaces, namespace_offsets[row], namespace_offsets[row + 1], 0)
                or _has_byte(sets, set_offsets[row], set_offsets[row + 1], 0)
            )
            if is_odd:
                flags[row] = 1
                found += 1
            row += 1
    return found


def decode_keys(
    rows: cython.longlong,
    letters: cython.const[cython.longlong][::1],
    has_key: cython.const[cython.uchar][::1],
    integers: cython.const[cython.longlong][::1],
    compact: cython.const[cython.uchar][::1],
    double_offsets: cython.const[cython.int][::1],
    doubles: cython.const[cython.uchar][::1],
    data_offsets: cython.const[cython.int][::1],
    data: cython.const[cython.uchar][::1],
    offsets: cython.int[::1],
    out: cython.uchar[::1],
    flags: cython.uchar[::1],
):
    """Keys as bytes: numbers as they are written, text and bytes decoded. Marks the odd ones; how many."""
    row: cython.longlong = 0
    at: cython.longlong = 0
    after: cython.longlong
    found: cython.longlong = 0
    letter: cython.longlong
    is_odd: cython.bint
    sixes: cython.const[cython.uchar][::1] = SIXES
    offsets[0] = 0
    with cython.nogil:
        while row < rows:
            if _is_set(has_key, row):
                letter = letters[row]
                is_odd = letter != 66 and _is_set(compact, row)
                if letter == 73:
                    at = _put_integer(integers[row], out, at, True)
                elif letter == 68:
                    is_odd = is_odd or not _is_usual_double(doubles, double_offsets[row], double_offsets[row + 1])
                    at = _copied(doubles, double_offsets[row], double_offsets[row + 1] - double_offsets[row], out, at)
                elif letter == 83 or (letter == 66 and _is_set(compact, row)):
                    at = _copied(data, data_offsets[row], data_offsets[row + 1] - data_offsets[row], out, at)
                else:
                    after = _decode_base64(sixes, data, data_offsets[row], data_offsets[row + 1], out, at)
                    if after < 0:
                        is_odd = True
                    else:
                        at = after
                if is_odd:
                    flags[row] = 1
                    found += 1
            row += 1
            offsets[row] = cython.cast(cython.int, at)
    return found


def pack_messages(
    rows: cython.longlong,
    letters: cython.const[cython.longlong][::1],
    has_key: cython.const[cython.uchar][::1],
    integers: cython.const[cython.longlong][::1],
    double_bits: cython.const[cython.longlong][::1],
    key_offsets: cython.const[cython.int][::1],
    keys: cython.const[cython.uchar][::1],
    set_offsets: cython.const[cython.int][::1],
    sets: cython.const[cython.uchar][::1],
    starts: cython.longlong[::1],
    ends: cython.longlong[::1],
    out: cython.uchar[::1],
):
    """What the digests of records are hashes of: set, type of the key, key, numbers in big endian (as_key.c).

    Rows without a key are left out of `starts` and `ends`; returns how many there are of the others.
    """
    row: cython.longlong = 0
    at: cython.longlong = 0
    count: cython.longlong = 0
    letter: cython.longlong
    bits: cython.longlong
    i: cython.int
    with cython.nogil:
        while row < rows:
            if _is_set(has_key, row):
                letter = letters[row]
                starts[count] = at
                at = _copied(sets, set_offsets[row], set_offsets[row + 1] - set_offsets[row], out, at)
                out[at] = 1 if letter == 73 else 2 if letter == 68 else 4 if letter == 66 else 3
                at += 1
                if letter == 73 or letter == 68:
                    bits = integers[row] if letter == 73 else double_bits[row]
                    i = 7
                    while i >= 0:
                        out[at + i] = cython.cast(cython.uchar, bits & 255)
                        bits >>= 8
                        i -= 1
                    at += 8
                else:
                    at = _copied(keys, key_offsets[row], key_offsets[row + 1] - key_offsets[row], out, at)
                ends[count] = at
                count += 1
            row += 1
    return count


def compare_digests(
    rows: cython.longlong,
    has_key: cython.const[cython.uchar][::1],
    digest_offsets: cython.const[cython.int][::1],
    digests: cython.const[cython.uchar][::1],
    hashes: cython.const[cython.uchar][::1],
    flags: cython.uchar[::1],
):
    """Mark rows whose digest is not the hash of their key; how many. `hashes` has those of the rows with a key."""
    row: cython.longlong = 0
    count: cython.longlong = 0
    found: cython.longlong = 0
    i: cython.longlong
    start: cython.longlong
    with cython.nogil:
        while row < rows:
            if _is_set(has_key, row):
                start = digest_offsets[row]
                i = 0
                if digest_offsets[row + 1] - start == 20:
                    while i < 20 and digests[start + i] == hashes[20 * count + i]:
                        i += 1
                if i < 20:
                    flags[row] = 1
                    found += 1
                count += 1
            row += 1
    return found


def partition_ids(
    rows: cython.longlong,
    digest_offsets: cython.const[cython.int][::1],
    digests: cython.const[cython.uchar][::1],
    out: cython.int[::1],
):
    """Partitions of digests: the lowest twelve bits of their first two bytes (as_partition.h)."""
    row: cython.longlong = 0
    start: cython.longlong
    with cython.nogil:
        while row < rows:
            start = digest_offsets[row]
            out[row] = 0
            if digest_offsets[row + 1] - start >= 2:
                out[row] = (digests[start] | (digests[start + 1] << 8)) & 4095
            row += 1


def find_bins(
    rows: cython.longlong,
    bin_offsets: cython.const[cython.int][::1],
    name_offsets: cython.const[cython.int][::1],
    names: cython.const[cython.uchar][::1],
    wanted: cython.const[cython.uchar][::1],
    out: cython.longlong[::1],
):
    """Index of the bin of a name in each row, the last one where it is there twice; -1 where it is not there."""
    row: cython.longlong = 0
    place: cython.longlong
    start: cython.longlong
    i: cython.longlong
    size: cython.longlong = wanted.shape[0]
    with cython.nogil:
        while row < rows:
            out[row] = -1
            place = bin_offsets[row + 1] - 1
            while place >= bin_offsets[row] and out[row] < 0:
                start = name_offsets[place]
                if name_offsets[place + 1] - start == size:
                    i = 0
                    while i < size and names[start + i] == wanted[i]:
                        i += 1
                    if i == size:
                        out[row] = place
                place -= 1
            row += 1
