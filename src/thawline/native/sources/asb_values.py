"""Keys and bins of Aerospike records, decoded and checked.

The functions work on the buffers of the Arrow columns that the scan kernel leaves.
"""

import cython

from thawline.generated.kernels.constants import KEY_TYPE_NAMES, PARTICLE_TYPE_NAMES

if not cython.compiled:
    from thawline.generated.kernels.constants import (
        BIN_TYPE_BASE64_STRING,
        BIN_TYPE_BOOLEAN,
        BIN_TYPE_DOUBLE,
        BIN_TYPE_GEOJSON,
        BIN_TYPE_HLL,
        BIN_TYPE_INTEGER,
        BIN_TYPE_LIST,
        BIN_TYPE_MAP,
        BIN_TYPE_NIL,
        BIN_TYPE_STRING,
        KEY_TYPE_BYTES,
        KEY_TYPE_DOUBLE,
        KEY_TYPE_INTEGER,
        KEY_TYPE_STRING,
    )
    from thawline.native.constants.aerospike import (
        BAD_BASE64,
        BAD_DOUBLE,
        BAD_MSGPACK,
        BAD_NAME,
        BAD_SKETCH,
        BAD_TEXT,
        BYTES_END,
        COLLECTIONS,
        DEEPEST_COLLECTION,
        DIGEST_SIZE,
        MOST_JSON,
        PARTITION_BYTES,
        PARTITION_MASK,
        TEXTS_END,
    )
    from thawline.native.sources.asb_json import JSON_TEXTS, JSON_WORDS, _is_collection, _put_integer, _put_value
    from thawline.native.sources.asb_scalars import (
        SEXTET_OF,
        _copied,
        _decode_base64,
        _is_set,
        _is_sketch,
        _is_sound_head,
        _is_sound_name,
        _is_usual_double,
    )
    from thawline.native.sources.checksums import _first_byte
    from thawline.native.sources.utf8 import _is_utf8

PARTICLES = {name: particle_type for particle_type, name in PARTICLE_TYPE_NAMES.items()}
KEY_PARTICLES = bytes(PARTICLES.get(KEY_TYPE_NAMES.get(letter, "").removeprefix("base64_"), 0) for letter in range(256))
"""The particle type that digests have for the type of a key, by its letter (as_key.c)."""
PROBLEMS = (BAD_NAME, BAD_DOUBLE, BAD_BASE64, BAD_TEXT, BAD_MSGPACK, BAD_SKETCH)
"""The problems of a bin, a bit each."""


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _mark(bitmap: cython.uchar[::1], row: cython.longlong) -> cython.void:
    """Set the bit of a row."""
    bitmap[row >> 3] |= cython.cast(cython.uchar, 1 << (row & 7))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_text(letter: cython.longlong) -> cython.bint:
    """Whether a bin of this type holds text."""
    return letter in (BIN_TYPE_STRING, BIN_TYPE_GEOJSON, BIN_TYPE_BASE64_STRING)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _decode_text(
    sextet_of: cython.const[cython.uchar][::1],
    letter: cython.longlong,
    data: cython.const[cython.uchar][::1],
    start: cython.longlong,
    end: cython.longlong,
    text: cython.uchar[::1],
    out: cython.uchar[::1],
    totals: cython.longlong[::1],
) -> cython.int:
    """Add a string to the texts, or to the bytes if it is not UTF-8; returns its problems."""
    before: cython.longlong = totals[TEXTS_END]
    after: cython.longlong
    if letter == BIN_TYPE_BASE64_STRING:
        after = _decode_base64(sextet_of, data, start, end, text, before)
        if after < 0:
            return BAD_BASE64
        if not _is_utf8(_first_byte(text), before, after):
            totals[BYTES_END] = _copied(text, before, after - before, out, totals[BYTES_END])
            return BAD_TEXT
        totals[TEXTS_END] = after
        return 0
    if not _is_utf8(_first_byte(data), start, end):
        totals[BYTES_END] = _copied(data, start, end - start, out, totals[BYTES_END])
        return BAD_TEXT
    totals[TEXTS_END] = _copied(data, start, end - start, text, before)
    return 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _decode_bytes(
    sextet_of: cython.const[cython.uchar][::1],
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
    """Add a value to the bytes; returns its problems."""
    before: cython.longlong = totals[BYTES_END]
    after: cython.longlong
    if is_compact:
        after = _copied(data, start, end - start, out, before)
    else:
        after = _decode_base64(sextet_of, data, start, end, out, before)
    if after < 0:
        return BAD_BASE64
    totals[BYTES_END] = after
    if letter == BIN_TYPE_HLL:
        return 0 if _is_sketch(out, before, after) else BAD_SKETCH
    if letter not in (BIN_TYPE_LIST, BIN_TYPE_MAP):
        return 0
    if not _is_collection(names, words, out, before, after, letter, out, totals[MOST_JSON:]):
        return BAD_MSGPACK
    totals[COLLECTIONS] += 1
    return 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _decode_data(
    sextet_of: cython.const[cython.uchar][::1],
    names: cython.const[cython.uchar][::1],
    words: cython.const[cython.uchar][::1],
    letter: cython.longlong,
    is_compact: cython.bint,
    data: cython.const[cython.uchar][::1],
    start: cython.longlong,
    end: cython.longlong,
    text: cython.uchar[::1],
    out: cython.uchar[::1],
    totals: cython.longlong[::1],
) -> cython.int:
    """Add a value to the texts or to the bytes, by the type of its bin; returns its problems."""
    if _is_text(letter):
        return _decode_text(sextet_of, letter, data, start, end, text, out, totals)
    return _decode_bytes(sextet_of, names, words, letter, is_compact, data, start, end, out, totals)


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
    """Decode the values of bins into text and bytes, and check them.

    `problems` gets the problems of each bin. Returns the number of bins that have one.
    """
    row: cython.longlong = 0
    start: cython.longlong
    end: cython.longlong
    wrong: cython.int
    found: cython.longlong = 0
    letter: cython.longlong
    sextet_of: cython.const[cython.uchar][::1] = SEXTET_OF
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
            if letter == BIN_TYPE_DOUBLE:
                if not _is_usual_double(doubles, double_offsets[row], double_offsets[row + 1]):
                    wrong = BAD_DOUBLE
            elif letter not in (BIN_TYPE_INTEGER, BIN_TYPE_NIL, BIN_TYPE_BOOLEAN):
                wrong = _decode_data(
                    sextet_of, json_names, words, letter, _is_set(compact, row), data, start, end, text, out, totals
                )
                if wrong == 0 and _is_text(letter):
                    _mark(text_valid, row)
                elif wrong != BAD_BASE64:
                    _mark(bytes_valid, row)
            if not _is_sound_name(names, letter, name_offsets[row], name_offsets[row + 1] - name_offsets[row]):
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
    """Write the lists and maps among decoded bins as JSON."""
    row: cython.longlong = 0
    places: cython.longlong[::1] = _json_place()
    names: cython.const[cython.uchar][::1] = JSON_TEXTS
    words: cython.const[cython.uchar][::1] = JSON_WORDS
    offsets[0] = 0
    with cython.nogil:
        while row < bins:
            if letters[row] in (BIN_TYPE_LIST, BIN_TYPE_MAP) and not problems[row] & (BAD_MSGPACK | BAD_BASE64):
                _put_value(
                    names, words, data, bytes_offsets[row], bytes_offsets[row + 1], DEEPEST_COLLECTION, out, places,
                    True, False,
                )  # fmt: skip
                _mark(valid, row)
            row += 1
            offsets[row] = cython.cast(cython.int, places[0])


def _json_place():
    """The slot in which `_put_value` counts."""
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
    """Mark rows with a namespace, set, digest or expiration that not every tool accepts; returns their number."""
    row: cython.longlong = 0
    found: cython.longlong = 0
    start: cython.longlong
    set_start: cython.longlong
    with cython.nogil:
        while row < rows:
            start = namespace_offsets[row]
            set_start = set_offsets[row]
            if digest_offsets[row + 1] - digest_offsets[row] != DIGEST_SIZE or not _is_sound_head(
                namespaces, start, namespace_offsets[row + 1] - start,
                sets, set_start, set_offsets[row + 1] - set_start, expirations[row],
            ):  # fmt: skip
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
    """Write keys as bytes: numbers in digits, text and bytes decoded.

    Marks rows with a key that not every tool accepts; returns their number.
    """
    row: cython.longlong = 0
    at: cython.longlong = 0
    after: cython.longlong
    found: cython.longlong = 0
    letter: cython.longlong
    is_odd: cython.bint
    sextet_of: cython.const[cython.uchar][::1] = SEXTET_OF
    offsets[0] = 0
    with cython.nogil:
        while row < rows:
            if _is_set(has_key, row):
                letter = letters[row]
                is_odd = letter != KEY_TYPE_BYTES and _is_set(compact, row)
                if letter == KEY_TYPE_INTEGER:
                    at = _put_integer(integers[row], out, at, True)
                elif letter == KEY_TYPE_DOUBLE:
                    is_odd = is_odd or not _is_usual_double(doubles, double_offsets[row], double_offsets[row + 1])
                    at = _copied(doubles, double_offsets[row], double_offsets[row + 1] - double_offsets[row], out, at)
                elif letter == KEY_TYPE_STRING or (letter == KEY_TYPE_BYTES and _is_set(compact, row)):
                    at = _copied(data, data_offsets[row], data_offsets[row + 1] - data_offsets[row], out, at)
                else:
                    after = _decode_base64(sextet_of, data, data_offsets[row], data_offsets[row + 1], out, at)
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
def _put_key_number(bits: cython.longlong, out: cython.uchar[::1], at: cython.longlong) -> cython.longlong:
    """Write a number in eight bytes, big-endian; returns the place after them."""
    i: cython.int = 7
    while i >= 0:
        out[at + i] = cython.cast(cython.uchar, bits & 255)
        bits >>= 8
        i -= 1
    return at + 8


def key_particle(letter: cython.longlong):
    """The particle type that digests have for the type of a key (as_key.c)."""
    return KEY_PARTICLES[letter]


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
    """Write what the digests of records are hashes of: the set, the type of the key, and the key (as_key.c).

    `starts` and `ends` leave out rows without a key; returns the number of rows that have one.
    """
    row: cython.longlong = 0
    at: cython.longlong = 0
    count: cython.longlong = 0
    letter: cython.longlong
    particles: cython.const[cython.uchar][::1] = KEY_PARTICLES
    with cython.nogil:
        while row < rows:
            if _is_set(has_key, row):
                letter = letters[row]
                starts[count] = at
                at = _copied(sets, set_offsets[row], set_offsets[row + 1] - set_offsets[row], out, at)
                out[at] = particles[letter & 255]
                at += 1
                if letter == KEY_TYPE_INTEGER:
                    at = _put_key_number(integers[row], out, at)
                elif letter == KEY_TYPE_DOUBLE:
                    at = _put_key_number(double_bits[row], out, at)
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
    """Mark rows whose digest is not in `hashes`, which leaves out rows without a key; returns their number."""
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
                if digest_offsets[row + 1] - start == DIGEST_SIZE:
                    while i < DIGEST_SIZE and digests[start + i] == hashes[DIGEST_SIZE * count + i]:
                        i += 1
                if i < DIGEST_SIZE:
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
    """Partitions of digests: the low twelve bits of their first two bytes (as_partition.h)."""
    row: cython.longlong = 0
    start: cython.longlong
    with cython.nogil:
        while row < rows:
            start = digest_offsets[row]
            out[row] = 0
            if digest_offsets[row + 1] - start >= PARTITION_BYTES:
                out[row] = (digests[start] | (digests[start + 1] << 8)) & PARTITION_MASK
            row += 1


def find_bins(
    rows: cython.longlong,
    bin_offsets: cython.const[cython.int][::1],
    name_offsets: cython.const[cython.int][::1],
    names: cython.const[cython.uchar][::1],
    wanted: cython.const[cython.uchar][::1],
    out: cython.longlong[::1],
):
    """Find the bin of a name in each row: its index, the last one of several, or -1."""
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
