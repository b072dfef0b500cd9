"""RIPEMD-160 from OpenSSL, or in Python where OpenSSL does not offer it.

OpenSSL 3 has it in its legacy provider, which many systems disable. The Python steps follow the paper:
https://homes.esat.kuleuven.be/~bosselae/ripemd160/pdf/AB-9601/AB-9601.pdf
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Sequence
from functools import cache

__all__ = ["ripemd160"]

SIZE = 20
MASK = 0xFFFFFFFF
START = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0)
LEFT_CONSTANTS = (0, 0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xA953FD4E)
RIGHT_CONSTANTS = (0x50A28BE6, 0x5C4DD124, 0x6D703EF3, 0x7A6D76E9, 0)
FIRST_TURN = (7, 4, 13, 1, 10, 6, 15, 3, 12, 0, 9, 5, 2, 14, 11, 8)
"""The permutation from one round's order of words to the next."""
SHIFTS = (
    (11, 14, 15, 12, 5, 8, 7, 9, 11, 13, 14, 15, 6, 7, 9, 8),
    (12, 13, 11, 15, 6, 9, 9, 7, 12, 15, 11, 13, 7, 8, 7, 7),
    (13, 15, 14, 11, 7, 7, 6, 8, 13, 14, 13, 12, 5, 5, 6, 9),
    (14, 11, 12, 14, 8, 6, 5, 5, 15, 12, 15, 14, 9, 9, 8, 6),
    (15, 12, 13, 13, 9, 5, 8, 6, 14, 11, 12, 11, 8, 6, 5, 5),
)
"""The rotation for each word, in each round; the same for both lines."""


def ripemd160(data: bytes) -> bytes:
    """The RIPEMD-160 hash of a message, 20 bytes.

    >>> ripemd160(b"abc").hex()
    '8eb208f7e05d987a9b044a8e98c6b087f15a0bfc'
    """
    return _best()(data)


@cache
def _best() -> Callable[[bytes], bytes]:
    try:
        hashlib.new("ripemd160")
    except ValueError:
        return by_steps
    return lambda data: hashlib.new("ripemd160", data).digest()


def by_steps(data: bytes) -> bytes:
    """The hash in pure Python."""
    state: Sequence[int] = START
    padded = data + b"\x80" + bytes(-(len(data) + 9) % 64) + struct.pack("<Q", 8 * len(data))
    for at in range(0, len(padded), 64):
        state = _compressed(state, struct.unpack_from("<16I", padded, at))
    return struct.pack("<5I", *state)


def _compressed(state: Sequence[int], words: Sequence[int]) -> tuple[int, ...]:
    left = _line(state, words, tuple(range(16)), LEFT_CONSTANTS, is_right=False)
    order = tuple((9 * index + 5) % 16 for index in range(16))
    right = _line(state, words, order, RIGHT_CONSTANTS, is_right=True)
    return tuple((state[(i + 1) % 5] + left[(i + 2) % 5] + right[(i + 3) % 5]) & MASK for i in range(5))


def _line(
    state: Sequence[int], words: Sequence[int], order: tuple[int, ...], constants: Sequence[int], *, is_right: bool
) -> tuple[int, ...]:
    a, b, c, d, e = state
    for number in range(5):
        mixed = 4 - number if is_right else number
        for word in order:
            total = (a + _mix(mixed, b, c, d) + words[word] + constants[number]) & MASK
            a, e, d, c, b = e, d, _turned(c, 10), b, (_turned(total, SHIFTS[number][word]) + e) & MASK
        order = tuple(FIRST_TURN[word] for word in order)
    return a, b, c, d, e


def _mix(number: int, x: int, y: int, z: int) -> int:
    match number:
        case 0:
            return x ^ y ^ z
        case 1:
            return (x & y) | (~x & MASK & z)
        case 2:
            return (x | (~y & MASK)) ^ z
        case 3:
            return (x & z) | (y & ~z & MASK)
    return x ^ (y | (~z & MASK))


def _turned(word: int, by: int) -> int:
    return ((word << by) | (word >> (32 - by))) & MASK
