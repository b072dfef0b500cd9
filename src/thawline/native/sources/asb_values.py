"""Keys and bins of Aerospike records: decoded from what is written, and checked.

It works on the buffers of Arrow columns as the scan kernel leaves them.
"""

import cython

if not cython.compiled:
    from thawline.native.sources.asb_json import (
        DEEPEST_COLLECTION,
        JSON_TEXTS,
        JSON_WORDS,
        _is_collection,
        _put_integer,
        _put_value,
    )
    from thawline.native.sources.asb_scalars import (
        SIXES,
        _copied,
        _decode_base64,
        _has_byte,
        _is_set,
        _is_sketch,
        _is_usual_double,
        _is_utf8,
    )

PROBLEMS = (1, 2, 4, 8, 16, 32)
"""What may be wrong with a bin; the first three may keep a tool from reading it, the others nobody else looks at."""
BAD_NAME = cython.declare(cython.int, PROBLEMS[0])
BAD_DOUBLE = cython.declare(cython.int, PROBLEMS[1])
BAD_BASE64 = cython.declare(cython.int, PROBLEMS[2])
BAD_TEXT = cython.declare(cython.int, PROBLEMS[3])
BAD_MSGPACK = cython.declare(cython.int, PROBLEMS[4])
BAD_SKETCH = cython.declare(cython.int, PROBLEMS[5])
TEXTS_END = cython.declare(cython.int, 0)
BYTES_END = cython.declare(cython.int, 1)
COLLECTIONS = cython.declare(cython.int, 2)
MOST_JSON = cython.declare(cython.int, 3)
"""What is counted on the way through bins: bytes of text, other bytes, lists and maps, and the most bytes that these
take as JSON."""


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _mark(bitmap: cython.uchar[::1], row: cython.longlong) -> cython.void:
    bitmap[row >> 3] |= cython.cast(cython.uchar, 1 << (row & 7))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_text(letter: cython.longlong) -> cython.bint:
    """S, G and, in base-64, X."""
    return letter == 83 or letter == 71 or letter == 88


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _has_bytes(letter: cython.longlong) -> cython.bint:
    """All but I, D, N, Z and text."""
    return letter != 73 and letter != 68 and letter != 78 and letter != 90 and not _is_text(letter)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_odd_name(
    names: cython.const[cython.uchar][::1], start: cython.longlong, end: cython.longlong, letter: cython.longlong
) -> cython.bint:
    """Whether a tool may refuse the name of a bin: for its length, for a NUL, or for a value behind a bin without."""
    return end - start > 15 or _has_byte(names, start, end, 0) or (letter == 78 and _has_byte(names, start, end, 32))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _decode_text(
    sixes: cython.const[cython.uchar][::1],
    letter: cython.longlong,
    data: cython.const[cython.uchar][::1],
    start: cython.longlong,
    end: cython.longlong,
    text: cython.uchar[::1],
    out: cython.uchar[::1],
    totals: cython.longlong[::1],
) -> cython.int:
    """Put a string to the texts, or to the bytes if it is not UTF-8; what is wrong with it."""
    before: cython.longlong = totals[TEXTS_END]
    after: cython.longlong
    if letter == 88:
        after = _decode_base64(sixes, data, start, end, text, before)
        if after < 0:
            return BAD_BASE64
        if not _is_utf8(text, before, after):
            totals[BYTES_END] = _copied(text, before, after - before, out, totals[BYTES_END])
            return BAD_TEXT
        totals[TEXTS_END] = after
        return 0
    if not _is_utf8(data, start, end):
        totals[BYTES_END] = _copied(data, start, end - start, out, totals[BYTES_END])
        return BAD_TEXT
    totals[TEXTS_END] = _copied(data, start, end - start, text, before)
    return 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _decode_bytes(
    sixes: cython.const[cython.uchar][::1],
    names: cython.const[cython.uchar][::1],
    words: cython.const[cython.uchar][::1],
    letter: cython.longlong,
    is_compact: cython.bint,
    data: cython.const[cython.uchar][::1],
    start: cython.longlong,
    end: cython.longlong,
    out: cython.uchar[::1],
    totals: cython.longlong[::1],
) -> cython.int:
    """Put a value to the bytes; what is wrong with it."""
    before: cython.longlong = totals[BYTES_END]
    after: cython.longlong
    if is_compact:
        after = _copied(data, start, end - start, out, before)
    else:
        after = _decode_base64(sixes, data, start, end, out, before)
    if after < 0:
        return BAD_BASE64
    totals[BYTES_END] = after
    if letter == 89:
        return 0 if _is_sketch(out, before, after) else BAD_SKETCH
    if letter != 76 and letter != 77:
        return 0
    if not _is_collection(names, words, out, before, after, letter, out, totals[MOST_JSON:]):
        return BAD_MSGPACK
    totals[COLLECTIONS] += 1
    return 0


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

    `problems` gets a bit for each thing that is wrong. Returns how many bins have one.
    """
    row: cython.longlong = 0
    start: cython.longlong
    end: cython.longlong
    wrong: cython.int
    found: cython.longlong = 0
    letter: cython.longlong
    sixes: cython.const[cython.uchar][::1] = SIXES
    json_names: cython.const[cython.uchar][::1] = JSON_TEXTS
    words: cython.const[cython.uchar][::1] = JSON_WORDS
    text_offsets[0] = 0
    bytes_offsets[0] = 0
    with cython.nogil:
        while row < bins:
            letter = letters[row]
            start = data_offsets[row]
            end = data_offsets[row + 1]
            wrong = 0
            if letter == 68:
                if not _is_usual_double(doubles, double_offsets[row], double_offsets[row + 1]):
                    wrong = BAD_DOUBLE
            elif _is_text(letter):
                wrong = _decode_text(sixes, letter, data, start, end, text, out, totals)
                if not wrong:
                    _mark(text_valid, row)
                elif wrong == BAD_TEXT:
                    _mark(bytes_valid, row)
            elif _has_bytes(letter):
                wrong = _decode_bytes(
                    sixes, json_names, words, letter, _is_set(compact, row), data, start, end, out, totals
                )
                if wrong != BAD_BASE64:
                    _mark(bytes_valid, row)
            if _is_odd_name(names, name_offsets[row], name_offsets[row + 1], letter):
                wrong |= BAD_NAME
            problems[row] = cython.cast(cython.uchar, wrong)
            found += wrong != 0
            row += 1
            text_offsets[row] = cython.cast(cython.int, totals[TEXTS_END])
            bytes_offsets[row] = cython.cast(cython.int, totals[BYTES_END])
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


def check_heads(
    rows: cython.longlong,
    namespace_offsets: cython.const[cython.int][::1],
    namespaces: cython.const[cython.uchar][::1],
    set_offsets: cython.const[cython.int][::1],
    sets: cython.const[cython.uchar][::1],
    digest_offsets: cython.const[cython.int][::1],
    expirations: cython.const[cython.longlong][::1],
    flags: cython.uchar[::1],
):
    """Mark rows whose namespace, set, digest or expiration has a size or a byte that not every tool takes; how many."""
    row: cython.longlong = 0
    found: cython.longlong = 0
    is_odd: cython.bint
    with cython.nogil:
        while row < rows:
            is_odd = (
                namespace_offsets[row + 1] - namespace_offsets[row] > 31
                or set_offsets[row + 1] - set_offsets[row] > 63
                or digest_offsets[row + 1] - digest_offsets[row] != 20
                or expirations[row] >> 32
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


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _put_key_type(letter: cython.longlong, out: cython.uchar[::1], at: cython.longlong) -> cython.longlong:
    """The particle type that stands for the type of a key in its digest; where it ends."""
    out[at] = 1 if letter == 73 else 2 if letter == 68 else 4 if letter == 66 else 3
    return at + 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _put_key_number(bits: cython.longlong, out: cython.uchar[::1], at: cython.longlong) -> cython.longlong:
    """A number in eight bytes; where they end."""
    i: cython.int = 7
    while i >= 0:
        out[at + i] = cython.cast(cython.uchar, bits & 255)
        bits >>= 8
        i -= 1
    return at + 8


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
    with cython.nogil:
        while row < rows:
            if _is_set(has_key, row):
                letter = letters[row]
                starts[count] = at
                at = _copied(sets, set_offsets[row], set_offsets[row + 1] - set_offsets[row], out, at)
                at = _put_key_type(letter, out, at)
                if letter == 73 or letter == 68:
                    at = _put_key_number(integers[row] if letter == 73 else double_bits[row], out, at)
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
