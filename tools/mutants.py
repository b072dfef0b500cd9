"""Seeded mutants of a parser's input: what a damaged or hostile file may hand to it.

Every kind of mutation is a function of a random generator and the bytes; `mutants` draws from
all of them. The same seed gives the same mutants. Damage as it befalls whole files, which
tests of the verbs need, is not made here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random

Mutation = Callable[[Random, bytes], bytes]

HEAD = 64
"""Half of all places lie in this many first bytes, where most lengths and magics are."""
WIDTHS = (1, 2, 4, 8)
LONGEST_BLOCK = 32
DIGITS, LETTERS = b"0123456789", b"BCDEGHIJKLMNPRSXYZabdeghiknostuvTF"
MARKS = b" \n\\+-*!_#=."
DECIMALS = (
    b"", b"-", b"0", b"-0", b"1", b"-1", b"007", b"+5", b"1_0", b" 7", b"7 ", b"\t7", b"7\r", b"0x7", b"1e3", b"1.5",
    b"65535", b"65536", b"2147483647", b"2147483648", b"4294967295", b"4294967296",
    b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"-9223372036854775809",
    b"18446744073709551615", b"18446744073709551616", b"99999999999999999999999",
)  # fmt: skip
"""Numbers at the edges of their fields, and what only a careless reader takes for a number."""


def flip_bit(random: Random, data: bytes) -> bytes:
    """One bit turned over."""
    at = _place(random, data)
    return patched(data, at, bytes(byte ^ 1 << random.randrange(8) for byte in data[at : at + 1]))


def flip_byte(random: Random, data: bytes) -> bytes:
    """One byte replaced by another."""
    at = _place(random, data)
    return patched(data, at, bytes(byte ^ random.randrange(1, 256) for byte in data[at : at + 1]))


def cut(random: Random, data: bytes) -> bytes:
    """The end missing."""
    return data[: random.randrange(len(data) + 1)]


def cut_front(random: Random, data: bytes) -> bytes:
    """The beginning missing."""
    return data[_place(random, data) :]


def insert(random: Random, data: bytes) -> bytes:
    """Some random bytes put in."""
    at = _place(random, data)
    return data[:at] + random.randbytes(random.choice((1, 1, 2, 3, 4, 8, LONGEST_BLOCK))) + data[at:]


def delete(random: Random, data: bytes) -> bytes:
    """Some bytes taken out."""
    at, end = _block(random, data)
    return data[:at] + data[end:]


def overwrite_number(random: Random, data: bytes) -> bytes:
    """A window of 1, 2, 4 or 8 bytes overwritten with a number that makes an interesting length."""
    width = random.choice(WIDTHS)
    at = _place(random, data)
    number = random.choice(_edges(8 * width, len(data), len(data) - at))
    order = random.choice(("little", "big"))
    return patched(data, at, (number % (1 << 8 * width)).to_bytes(width, order))  # type: ignore[arg-type]


def overwrite_varint(random: Random, data: bytes) -> bytes:
    """A zig-zag varint of an interesting length, some with more bytes than they need, put in for one byte."""
    at = _place(random, data)
    number = random.choice(_edges(random.choice((32, 64)), len(data), len(data) - at))
    groups = varint(number % (1 << random.choice((32, 64, 70))))
    if not random.randrange(4):
        groups = groups[:-1] + bytes((groups[-1] | 0x80, *random.choice(((0,), (0x80, 0), (1,), (0x7F,)))))
    return data[:at] + groups + data[at + 1 :]


def zero_block(random: Random, data: bytes) -> bytes:
    """A stretch of zeros, as a torn write leaves it."""
    at, end = _block(random, data)
    return patched(data, at, bytes(end - at))


def swap_blocks(random: Random, data: bytes) -> bytes:
    """Two neighbouring stretches in each other's place."""
    at, middle = _block(random, data)
    end = min(len(data), middle + random.randint(1, LONGEST_BLOCK))
    return data[:at] + data[middle:end] + data[at:middle] + data[end:]


def duplicate_block(random: Random, data: bytes) -> bytes:
    """A stretch twice."""
    at, end = _block(random, data)
    return data[:end] + data[at:]


def swap_character(random: Random, data: bytes) -> bytes:
    """A character of a text format replaced by another that means something to it."""
    at = _place(random, data)
    return patched(data, at, bytes([random.choice(random.choice((DIGITS, LETTERS, MARKS)))]))


def overwrite_decimal(random: Random, data: bytes) -> bytes:
    """A decimal number replaced by another, or by what looks like one; the bytes as they are if there is none."""
    numbers = list(re.finditer(rb"-?[0-9]+", data))
    if not numbers:
        return data
    found = random.choice(numbers)
    number = random.choice((*DECIMALS, *(b"%d" % edge for edge in _edges(32, len(data), len(data) - found.end()))))
    return data[: found.start()] + number + data[found.end() :]


MUTATIONS: tuple[Mutation, ...] = (
    flip_bit, flip_byte, cut, cut_front, insert, delete, overwrite_number, overwrite_varint, zero_block, swap_blocks,
    duplicate_block, swap_character, overwrite_decimal,
)  # fmt: skip


def mutants(data: bytes, seed: int, count: int) -> Iterator[bytes]:
    """Mutants of some bytes: most with one mutation, every fourth with two or three."""
    random = Random(seed)  # noqa: S311 - mutants are no secrets
    for _ in range(count):
        mutant = data
        for _ in range(random.choice((1, 1, 1, 1, 1, 1, 2, 3))):
            mutant = random.choice(MUTATIONS)(random, mutant)
        yield mutant


def varint(number: int) -> bytes:
    """Groups of seven bits, least significant first, without the zig-zag.

    >>> varint(300).hex()
    'ac02'
    """
    groups = bytearray()
    while number > 0x7F:  # noqa: PLR2004 - seven bits
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*groups, number))


def _edges(bits: int, size: int, left: int) -> list[int]:
    """Numbers at which lengths of `bits` bits go wrong, given the size of all bytes and of those that are left."""
    limits = [0, 1, -1, -2, 1 << bits - 1, (1 << bits - 1) - 1, 1 << bits - 2]
    near = [base + by for base in (size, left, 2 * left) for by in (-8, -4, -2, -1, 0, 1, 2, 4)]
    return limits + near


def _place(random: Random, data: bytes) -> int:
    """A byte of the data; 0 if there is none."""
    return random.randrange(random.choice((len(data), min(len(data), HEAD)))) if data else 0


def _block(random: Random, data: bytes) -> tuple[int, int]:
    """Start and end of a short stretch."""
    at = _place(random, data)
    return at, min(len(data), at + random.choice((1, 2, 4, 8, random.randint(1, LONGEST_BLOCK))))


def patched(data: bytes, at: int, patch: bytes) -> bytes:
    """The data with a patch over it, which does not make it longer."""
    return (data[:at] + patch + data[at + len(patch) :])[: len(data)]


def splice(random: Random, data: bytes, other: bytes) -> bytes:
    """Parts of two files in one: the start of one and the end of the other, one inside the other, or both in a row."""
    at, end = sorted((_anywhere(random, data), _anywhere(random, data)))
    first, last = sorted((_anywhere(random, other), _anywhere(random, other)))
    return random.choice(
        (
            data[:at] + other[first:],
            data[:at] + other[first:last] + data[end:],
            data + other,
            data[:at] + other + data[at:],
        )
    )


def _anywhere(random: Random, data: bytes) -> int:
    """A place between two bytes, or either end."""
    return random.randrange(len(data) + 1)
