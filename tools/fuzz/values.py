"""Hostile values in the place of those that a JSON, YAML or msgpack document has: what a side file may say."""

from __future__ import annotations

from random import Random
from typing import Any

import msgpack

LONG = 5_000
DEEP = 300


def _nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


def hostile_value(random: Random) -> Any:
    """A value that most readers do not expect: of another type, beyond its bounds, long, or deep."""
    return random.choice(
        (
            None, True, False, 0, -1, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, -(1 << 63), 0.5,
            float("nan"), float("inf"), 1e300, "", "0", "x" * LONG, "a/" * LONG, "..", "../../etc", "/",
            "\0", "\x1b[31m", "\u202eevil", "=1+1", "nul\0byte", "\ud7ff", "9" * 40, [], {}, [[]], [None],
            {"": None}, [1, "two", {"three": 3}], {str(number): number for number in range(50)}, _nested(DEEP),
            list(range(200)),
        )
    )  # fmt: skip


def changed(random: Random, value: Any) -> Any:
    """A document with one of its values, keys or branches replaced, taken out, repeated or put elsewhere."""
    if isinstance(value, dict) and value and random.randrange(8):
        return _changed_map(random, value)
    if isinstance(value, list) and value and random.randrange(8):
        at = random.randrange(len(value))
        return [*value[:at], *random.choice(([], [value[at]] * 2, [changed(random, value[at])])), *value[at + 1 :]]
    return hostile_value(random)


def _changed_map(random: Random, value: dict[Any, Any]) -> dict[Any, Any]:
    name = random.choice(list(value))
    kept = {key: held for key, held in value.items() if key != name}
    match random.randrange(8):
        case 0:
            return kept
        case 1:
            return {**kept, random.choice(("", "x" * LONG, f"{name} ", str(name).upper())): value[name]}
        case 2:
            return {**value, name: random.choice(list(value.values()))}
        case _:
            return {**kept, name: changed(random, value[name])}


ODD_MSGPACK = tuple(
    bytes.fromhex(text)
    for text in (
        "8190c0", "8180c0", "82a161c0a161c0", "c1", "d4ff00", "d6ff00000000", "c70cff" + "ff" * 12, "df" + "ff" * 4,
        "dd" + "ff" * 4, "c6" + "ff" * 4, "81c0c0", "81c3c3", "81cb" + "7ff8" + "00" * 6 + "c0", "a2c328",
        "91" * 600 + "c0", "81c40161c0",
    )
)  # fmt: skip
"""Maps with lists, maps or nothing for keys, types that Python lacks, sizes without end, text that is not UTF-8."""


def changed_msgpack(random: Random, data: bytes) -> bytes:
    """Documents of msgpack that follow one another, with one value changed; as they are if they are none."""
    unpacker = msgpack.Unpacker(strict_map_key=False, max_buffer_size=1 << 20)
    unpacker.feed(data)
    try:
        found = list(unpacker)
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException):
        return data
    if not found or not all(isinstance(item, dict | list) for item in found):
        return data
    if not random.randrange(4):
        return random.choice(ODD_MSGPACK) + random.choice((b"", data))
    at = random.randrange(len(found))
    found[at] = changed(random, found[at])
    return b"".join(_packed(item) for item in found)


def _packed(value: Any) -> bytes:
    try:
        packed: bytes = msgpack.packb(value)
    except (ValueError, OverflowError, RecursionError):
        return b"\xc0"
    return packed
