"""A quick check of Aerospike records in place. Only a chunk that fails it is decoded and checked row by row.

The scan kernel gives numbers, and the places of text and bytes. A length of -1 is a null. A lower length is that of a
token with escapes, which has -2 - length bytes.
"""

import cython

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
        DIGEST_SHARES,
        DIGEST_SIZE,
        HASHED,
        LONGEST_MESSAGE,
        MESSAGE_MARGIN,
    )
    from thawline.native.constants.characters import BACKSLASH
    from thawline.native.constants.kernels import NULL_LENGTH
    from thawline.native.sources.asb_json import JSON_TEXTS, JSON_WORDS, _is_collection
    from thawline.native.sources.asb_scalars import (
        SEXTET_OF,
        _copied,
        _decode_base64,
        _is_sketch,
        _is_sound_head,
        _is_sound_name,
        _is_usual_double,
        _token_end,
    )
    from thawline.native.sources.asb_values import KEY_PARTICLES, _put_key_number
    from thawline.native.sources.checksums import _first_byte
    from thawline.native.sources.utf8 import _is_utf8
    from thawline.ripemd160 import ripemd160


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _put_token(
    buf: cython.const[cython.uchar][::1],
    start: cython.longlong,
    length: cython.longlong,
    out: cython.uchar[::1],
    at: cython.longlong,
) -> cython.longlong:
    """Copy a token without its backslashes, nothing for a null; returns the place after it."""
    end: cython.longlong
    if length == NULL_LENGTH:
        return at
    end = _token_end(start, length)
    while start < end:
        if length < 0 and buf[start] == BACKSLASH:
            start += 1
        out[at] = buf[start]
        start += 1
        at += 1
    return at


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _put_usual_key(
    sextet_of: cython.const[cython.uchar][::1],
    buf: cython.const[cython.uchar][::1],
    letter: cython.longlong,
    is_compact: cython.bint,
    integer: cython.longlong,
    start: cython.longlong,
    length: cython.longlong,
    out: cython.uchar[::1],
    at: cython.longlong,
) -> cython.longlong:
    """Write a key as the digest has it; returns the place after it, or -1 if the quick check does not cover it."""
    if is_compact and letter != KEY_TYPE_BYTES:
        return -1
    if letter == KEY_TYPE_INTEGER:
        return _put_key_number(integer, out, at)
    if letter == KEY_TYPE_DOUBLE or length < 0 or length > LONGEST_MESSAGE - MESSAGE_MARGIN:
        return -1
    if letter == KEY_TYPE_STRING or is_compact:
        return _copied(buf, start, length, out, at)
    return _decode_base64(sextet_of, buf, start, start + length, out, at)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_sound_data(
    sextet_of: cython.const[cython.uchar][::1],
    names: cython.const[cython.uchar][::1],
    words: cython.const[cython.uchar][::1],
    buf: cython.const[cython.uchar][::1],
    letter: cython.longlong,
    is_compact: cython.bint,
    start: cython.longlong,
    length: cython.longlong,
    room: cython.uchar[::1],
    place: cython.longlong[::1],
) -> cython.bint:
    """Whether text is UTF-8, base-64 is valid, and the bytes are what the letter says."""
    after: cython.longlong
    if length < 0:
        return False
    if letter in (BIN_TYPE_STRING, BIN_TYPE_GEOJSON):
        return _is_utf8(_first_byte(buf), start, start + length)
    if is_compact and letter != BIN_TYPE_BASE64_STRING:
        if letter in (BIN_TYPE_LIST, BIN_TYPE_MAP):
            return _is_collection(names, words, buf, start, start + length, letter, room, place)
        return letter != BIN_TYPE_HLL or _is_sketch(buf, start, start + length)
    if length > room.shape[0]:
        return False
    after = _decode_base64(sextet_of, buf, start, start + length, room, 0)
    if letter in (BIN_TYPE_LIST, BIN_TYPE_MAP):
        return after >= 0 and _is_collection(names, words, room, 0, after, letter, room, place)
    if letter == BIN_TYPE_BASE64_STRING:
        return after >= 0 and _is_utf8(_first_byte(room), 0, after)
    return after >= 0 and (letter != BIN_TYPE_HLL or _is_sketch(room, 0, after))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _are_hashes(
    messages: cython.const[cython.uchar][::1],
    places: cython.longlong[::1],
    count: cython.longlong,
    digests: cython.const[cython.uchar][::1],
    hashes: cython.uchar[::1],
) -> cython.bint:
    """Whether digests are the hashes of messages; `places` has the starts, the ends and the rows of these."""
    index: cython.longlong = 0
    if cython.compiled:
        if count > 0:
            rmd_hash(
                cython.address(messages[0]),
                cython.address(places[0]),
                cython.address(places[HASHED]),
                cython.cast(cython.int, count),
                cython.address(hashes[0]),
            )
    else:
        for index in range(count):
            hashes[DIGEST_SIZE * index : DIGEST_SIZE * (index + 1)] = ripemd160(
                bytes(messages[places[index] : places[HASHED + index]])
            )
        index = 0
    while index < DIGEST_SIZE * count:
        if hashes[index] != digests[DIGEST_SIZE * places[2 * HASHED + index // DIGEST_SIZE] + index % DIGEST_SIZE]:
            return False
        index += 1
    return True


def are_sound_heads(
    rows: cython.longlong,
    buf: cython.const[cython.uchar][::1],
    namespace_starts: cython.const[cython.longlong][::1],
    namespace_lengths: cython.const[cython.int][::1],
    digest_starts: cython.const[cython.longlong][::1],
    digest_lengths: cython.const[cython.int][::1],
    set_starts: cython.const[cython.longlong][::1],
    set_lengths: cython.const[cython.int][::1],
    has_key: cython.const[cython.uchar][::1],
    letters: cython.const[cython.longlong][::1],
    compact: cython.const[cython.uchar][::1],
    integers: cython.const[cython.longlong][::1],
    key_starts: cython.const[cython.longlong][::1],
    key_lengths: cython.const[cython.int][::1],
    expirations: cython.const[cython.longlong][::1],
    digests: cython.uchar[::1],
    messages: cython.uchar[::1],
    places: cython.longlong[::1],
    hashes: cython.uchar[::1],
):
    """Whether both tools accept the headers of all records, and digests are those of the keys.

    `digests` gets 20 bytes for each row, and has room for one byte more.
    """
    row: cython.longlong = 0
    count: cython.longlong = 0
    at: cython.longlong
    size: cython.longlong
    is_sound: cython.bint = True
    sextet_of: cython.const[cython.uchar][::1] = SEXTET_OF
    particles: cython.const[cython.uchar][::1] = KEY_PARTICLES
    with cython.nogil:
        while is_sound and row < rows:
            is_sound = _is_sound_head(
                buf, namespace_starts[row], namespace_lengths[row], buf, set_starts[row], set_lengths[row],
                expirations[row],
            )  # fmt: skip
            at = digest_starts[row]
            size = _decode_base64(sextet_of, buf, at, at + digest_lengths[row], digests, DIGEST_SIZE * row)
            is_sound = is_sound and size == DIGEST_SIZE * (row + 1)
            if is_sound and has_key[row]:
                at = count * LONGEST_MESSAGE
                places[count] = at
                at = _put_token(buf, set_starts[row], set_lengths[row], messages, at)
                messages[at] = particles[letters[row] & 255]
                at = _put_usual_key(
                    sextet_of, buf, letters[row], compact[row] != 0, integers[row], key_starts[row],
                    key_lengths[row], messages, at + 1,
                )  # fmt: skip
                places[HASHED + count] = at
                places[2 * HASHED + count] = row
                is_sound = at >= 0
                count += 1
                if is_sound and count == HASHED:
                    is_sound = _are_hashes(messages, places, count, digests, hashes)
                    count = 0
            row += 1
        if is_sound:
            is_sound = _are_hashes(messages, places, count, digests, hashes)
    return is_sound


def are_sound_bins(
    bins: cython.longlong,
    buf: cython.const[cython.uchar][::1],
    letters: cython.const[cython.longlong][::1],
    compact: cython.const[cython.uchar][::1],
    name_starts: cython.const[cython.longlong][::1],
    name_lengths: cython.const[cython.int][::1],
    double_starts: cython.const[cython.longlong][::1],
    double_lengths: cython.const[cython.int][::1],
    data_starts: cython.const[cython.longlong][::1],
    data_lengths: cython.const[cython.int][::1],
    room: cython.uchar[::1],
    place: cython.longlong[::1],
):
    """Whether no bin has a problem. Base-64 is decoded into `room`; a value that does not fit counts as a problem."""
    item: cython.longlong = 0
    letter: cython.longlong
    start: cython.longlong
    is_sound: cython.bint = True
    sextet_of: cython.const[cython.uchar][::1] = SEXTET_OF
    names: cython.const[cython.uchar][::1] = JSON_TEXTS
    words: cython.const[cython.uchar][::1] = JSON_WORDS
    with cython.nogil:
        while is_sound and item < bins:
            letter = letters[item]
            is_sound = _is_sound_name(buf, letter, name_starts[item], name_lengths[item])
            if letter == BIN_TYPE_DOUBLE:
                start = double_starts[item]
                is_sound = is_sound and _is_usual_double(buf, start, start + double_lengths[item])
            elif letter not in (BIN_TYPE_INTEGER, BIN_TYPE_NIL, BIN_TYPE_BOOLEAN):
                is_sound = is_sound and _is_sound_data(
                    sextet_of,
                    names,
                    words,
                    buf,
                    letter,
                    compact[item] != 0,
                    data_starts[item],
                    data_lengths[item],
                    room,
                    place,
                )
            item += 1
    return is_sound


def have_one_namespace(
    rows: cython.longlong,
    buf: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    lengths: cython.const[cython.int][::1],
):
    """Whether all rows have the namespace of the first, with the same escapes."""
    row: cython.longlong = 1
    i: cython.longlong
    size: cython.longlong = _token_end(0, lengths[0])
    is_same: cython.bint = True
    with cython.nogil:
        while is_same and row < rows:
            is_same = lengths[row] == lengths[0]
            i = 0
            while is_same and i < size:
                is_same = buf[starts[row] + i] == buf[starts[0] + i]
                i += 1
            row += 1
    return is_same


def share_digests(
    count: cython.longlong,
    digests: cython.const[cython.uchar][::1],
    tail: cython.const[cython.uchar][::1],
    ends: cython.longlong[::1],
    out: cython.uchar[::1],
):
    """Put digests into shares by their first byte, each followed by `tail`; `ends` is where shares end."""
    row: cython.longlong = 0
    i: cython.longlong
    at: cython.longlong
    before: cython.longlong = 0
    entry: cython.longlong = DIGEST_SIZE + tail.shape[0]
    with cython.nogil:
        while row < count:
            ends[digests[DIGEST_SIZE * row]] += entry
            row += 1
        i = 0
        while i < DIGEST_SHARES:
            at = ends[i]
            ends[i] = before
            before += at
            i += 1
        row = 0
        while row < count:
            at = ends[digests[DIGEST_SIZE * row]]
            ends[digests[DIGEST_SIZE * row]] = at + entry
            i = 0
            while i < DIGEST_SIZE:
                out[at + i] = digests[DIGEST_SIZE * row + i]
                i += 1
            while i < entry:
                out[at + i] = tail[i - DIGEST_SIZE]
                i += 1
            row += 1
