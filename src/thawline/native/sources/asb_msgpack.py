"""Numbers, lengths and extensions of msgpack as Aerospike's server writes it.

Every length is checked against the bytes that are left before one is read.
"""

import struct

import cython

if cython.compiled:
    from cython.cimports.libc.string import memcpy
else:
    from thawline.generated.kernels.constants import (
        EXTENSION_TYPE_REQUEST,
        MSGPACK_ARRAY_16,
        MSGPACK_ARRAY_32,
        MSGPACK_EXT_8,
        MSGPACK_EXT_32,
        MSGPACK_FIXARRAY,
        MSGPACK_FIXEXT_1,
        MSGPACK_FIXEXT_16,
        MSGPACK_FIXMAP,
        MSGPACK_FIXSTR,
        MSGPACK_MAP_16,
        MSGPACK_MAP_32,
    )
    from thawline.native.constants.kernels import WORD


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _big_endian(buf: cython.const[cython.uchar][::1], pos: cython.longlong, size: cython.longlong) -> cython.ulonglong:
    """An unsigned big-endian number of `size` bytes."""
    value: cython.ulonglong = 0
    end: cython.longlong = pos + size
    while pos < end:
        value = (value << 8) | buf[pos]
        pos += 1
    return value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _msgpack_length(
    buf: cython.const[cython.uchar][::1], pos: cython.longlong, end: cython.longlong, size: cython.longlong
) -> cython.longlong:
    """A length that is written in `size` bytes; -1 where the bytes end before."""
    if size > end - pos:
        return -1
    return cython.cast(cython.longlong, _big_endian(buf, pos, size))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _msgpack_integer(
    buf: cython.const[cython.uchar][::1], pos: cython.longlong, size: cython.longlong, signed: cython.bint
) -> cython.longlong:
    """A number of 1 to 8 bytes. The server reads one of 8 bytes as signed, however it is marked."""
    bits: cython.ulonglong = _big_endian(buf, pos, size)
    one: cython.ulonglong = 1
    if size == WORD:
        if bits >> 63:
            return -cython.cast(cython.longlong, (one << 63) - 1 - (bits - (one << 63))) - 1
        return cython.cast(cython.longlong, bits)
    if signed and bits >> (8 * size - 1):
        return cython.cast(cython.longlong, bits) - cython.cast(cython.longlong, one << (8 * size))
    return cython.cast(cython.longlong, bits)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _msgpack_double(buf: cython.const[cython.uchar][::1], pos: cython.longlong, size: cython.longlong) -> cython.double:
    """A big-endian double of 4 or 8 bytes."""
    value: cython.double = 0
    single: cython.float = 0
    bits: cython.ulonglong = _big_endian(buf, pos, size)
    bits4: cython.uint = cython.cast(cython.uint, bits)
    if cython.compiled:
        if size == WORD:
            memcpy(cython.address(value), cython.address(bits), WORD)
        else:
            memcpy(cython.address(single), cython.address(bits4), 4)
            value = single
    elif size == WORD:
        value = struct.unpack(">d", bits.to_bytes(8, "big"))[0]
    else:
        value = struct.unpack(">f", bits4.to_bytes(4, "big"))[0]
    return value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _extension(buf: cython.const[cython.uchar][::1], pos: cython.longlong, end: cython.longlong) -> cython.longlong:
    """Position after an extension with the flags of an ordered list or map; -1 if none starts here.

    A wildcard or an infinity is for requests and is never stored.
    """
    head: cython.int
    size: cython.longlong
    if pos >= end:
        return -1
    head = buf[pos]
    pos += 1
    if MSGPACK_FIXEXT_1 <= head <= MSGPACK_FIXEXT_16:
        size = 1 << (head - MSGPACK_FIXEXT_1)
    elif MSGPACK_EXT_8 <= head <= MSGPACK_EXT_32:
        size = _msgpack_length(buf, pos, end, 1 << (head - MSGPACK_EXT_8))
        if size < 0:
            return -1
        pos += 1 << (head - MSGPACK_EXT_8)
    else:
        return -1
    if size > end - pos - 1 or buf[pos] == EXTENSION_TYPE_REQUEST:
        return -1
    return pos + 1 + size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_map(head: cython.int) -> cython.bint:
    """Whether a value with this first byte is a map."""
    return MSGPACK_FIXMAP <= head < MSGPACK_FIXARRAY or head in (MSGPACK_MAP_16, MSGPACK_MAP_32)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_list(head: cython.int) -> cython.bint:
    """Whether a value with this first byte is a list."""
    return MSGPACK_FIXARRAY <= head < MSGPACK_FIXSTR or head in (MSGPACK_ARRAY_16, MSGPACK_ARRAY_32)
