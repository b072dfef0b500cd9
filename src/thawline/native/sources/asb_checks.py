"""Records of Aerospike backups, checked where they lie: a quick look that tells whether a closer one is needed.

It works on what the scan kernel leaves: numbers, and where text and bytes lie. Lengths of -1 stand for what is not
there, those below for tokens with backslashes, as the kernels count them.
"""

import cython

if not cython.compiled:
    from thawline.native.sources.asb_json import JSON_TEXTS, JSON_WORDS, _is_collection
    from thawline.native.sources.asb_scalars import (
        SIXES,
        _copied,
        _decode_base64,
        _has_byte,
        _is_sketch,
        _is_usual_double,
        _is_utf8,
    )
    from thawline.native.sources.asb_values import _put_key_number, _put_key_type
    from thawline.ripemd160 import ripemd160

HASHED = cython.declare(cython.longlong, 8)
"""How many digests are computed together."""
LONGEST_MESSAGE = cython.declare(cython.longlong, 1024)
"""Bytes of a set and a key; records with more get the closer look."""


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _token_size(
    buf: cython.const[cython.uchar][::1], start: cython.longlong, length: cython.longlong
) -> cython.longlong:
    """How many bytes a token has without its backslashes, 0 if it is not there; -1 if one of them is NUL."""
    size: cython.longlong = 0
    end: cython.longlong
    if length == -1:
        return 0
    end = start + length if length >= 0 else start - 2 - length
    while start < end:
        if length < 0 and buf[start] == 92:
            start += 1
        if buf[start] == 0:
            return -1
        start += 1
        size += 1
    return size


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
    """Copy a token without its backslashes, if it is there; where it ends."""
    end: cython.longlong
    if length == -1:
        return at
    end = start + length if length >= 0 else start - 2 - length
    while start < end:
        if length < 0 and buf[start] == 92:
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
    sixes: cython.const[cython.uchar][::1],
    buf: cython.const[cython.uchar][::1],
    letter: cython.longlong,
    is_compact: cython.bint,
    integer: cython.longlong,
    start: cython.longlong,
    length: cython.longlong,
    out: cython.uchar[::1],
    at: cython.longlong,
) -> cython.longlong:
    """A key as it goes into the digest; where it ends, -1 for one that needs a closer look, such as a double."""
    if is_compact and letter != 66:
        return -1
    if letter == 73:
        return _put_key_number(integer, out, at)
    if letter == 68 or length < 0 or length > LONGEST_MESSAGE - 64:
        return -1
    if letter == 83 or is_compact:
        return _copied(buf, start, length, out, at)
    return _decode_base64(sixes, buf, start, start + length, out, at)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_sound_name(
    buf: cython.const[cython.uchar][::1], letter: cython.longlong, start: cython.longlong, length: cython.longlong
) -> cython.bint:
    """Whether both tools take the name of a bin."""
    size: cython.longlong = _token_size(buf, start, length)
    if size < 0 or size > 15:
        return False
    if letter != 78:
        return True
    # A space that is no part of the name would be a value behind a bin that has none.
    return not _has_byte(buf, start, start + length if length >= 0 else start - 2 - length, 32)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_sound_data(
    sixes: cython.const[cython.uchar][::1],
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
    """Whether text is UTF-8, base-64 is right, and what is in it is what the letter says."""
    after: cython.longlong
    if length < 0:
        return False
    if letter == 83 or letter == 71:
        return _is_utf8(buf, start, start + length)
    if is_compact and letter != 88:
        if letter == 76 or letter == 77:
            return _is_collection(names, words, buf, start, start + length, letter, room, place)
        return letter != 89 or _is_sketch(buf, start, start + length)
    if length > room.shape[0]:
        return False
    after = _decode_base64(sixes, buf, start, start + length, room, 0)
    if letter == 76 or letter == 77:
        return after >= 0 and _is_collection(names, words, room, 0, after, letter, room, place)
    if letter == 88:
        return after >= 0 and _is_utf8(room, 0, after)
    return after >= 0 and (letter != 89 or _is_sketch(room, 0, after))


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
    """Whether digests are the hashes of messages; `places` has where these start, where they end, and the rows."""
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
            hashes[20 * index : 20 * index + 20] = ripemd160(bytes(messages[places[index] : places[HASHED + index]]))
        index = 0
    while index < 20 * count:
        if hashes[index] != digests[20 * places[2 * HASHED + index // 20] + index % 20]:
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
    """Whether the headers of all records are fine for both tools and their digests are those of their keys.

    `digests` becomes 20 bytes for each row, and has one more to spare.
    """
    row: cython.longlong = 0
    count: cython.longlong = 0
    at: cython.longlong
    size: cython.longlong
    is_sound: cython.bint = True
    sixes: cython.const[cython.uchar][::1] = SIXES
    with cython.nogil:
        while is_sound and row < rows:
            size = _token_size(buf, namespace_starts[row], namespace_lengths[row])
            is_sound = 0 <= size <= 31 and expirations[row] >> 32 == 0
            size = _token_size(buf, set_starts[row], set_lengths[row])
            is_sound = is_sound and 0 <= size <= 63
            at = digest_starts[row]
            size = _decode_base64(sixes, buf, at, at + digest_lengths[row], digests, 20 * row)
            is_sound = is_sound and size == 20 * row + 20
            if is_sound and has_key[row]:
                at = count * LONGEST_MESSAGE
                places[count] = at
                at = _put_token(buf, set_starts[row], set_lengths[row], messages, at)
                at = _put_key_type(letters[row], messages, at)
                at = _put_usual_key(
                    sixes,
                    buf,
                    letters[row],
                    compact[row] != 0,
                    integers[row],
                    key_starts[row],
                    key_lengths[row],
                    messages,
                    at,
                )
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
    """Whether nothing is wrong with any bin. Values in base-64 are decoded into `room`; longer ones count as wrong."""
    item: cython.longlong = 0
    letter: cython.longlong
    start: cython.longlong
    is_sound: cython.bint = True
    sixes: cython.const[cython.uchar][::1] = SIXES
    names: cython.const[cython.uchar][::1] = JSON_TEXTS
    words: cython.const[cython.uchar][::1] = JSON_WORDS
    with cython.nogil:
        while is_sound and item < bins:
            letter = letters[item]
            is_sound = _is_sound_name(buf, letter, name_starts[item], name_lengths[item])
            if letter == 68:
                start = double_starts[item]
                is_sound = is_sound and _is_usual_double(buf, start, start + double_lengths[item])
            elif letter != 73 and letter != 78 and letter != 90:
                is_sound = is_sound and _is_sound_data(
                    sixes,
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
    """Whether all rows have the namespace of the first, spelled the same."""
    row: cython.longlong = 1
    i: cython.longlong
    size: cython.longlong = lengths[0] if lengths[0] >= 0 else -2 - lengths[0]
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
    """Put digests into 256 shares by their first byte, each with a tail behind it; `ends` is where shares end."""
    row: cython.longlong = 0
    i: cython.longlong
    at: cython.longlong
    before: cython.longlong = 0
    entry: cython.longlong = 20 + tail.shape[0]
    with cython.nogil:
        while row < count:
            ends[digests[20 * row]] += entry
            row += 1
        i = 0
        while i < 256:
            at = ends[i]
            ends[i] = before
            before += at
            i += 1
        row = 0
        while row < count:
            at = ends[digests[20 * row]]
            ends[digests[20 * row]] = at + entry
            i = 0
            while i < 20:
                out[at + i] = digests[20 * row + i]
                i += 1
            while i < entry:
                out[at + i] = tail[i - 20]
                i += 1
            row += 1
