"""Random Arrow tables for the writers of text: every type, nulls everywhere, and text that is hard to write."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

TEXTS = (
    "", "plain", "a longer text of ASCII that takes several steps of sixteen bytes", '"', "\\", '"quoted", twice "',
    "\x00\x01\x1f\x7f", "\b\t\n\f\r", "\x80\x9f\xa0\xad", "\u061c\u180e\u200b\u200f\u2010\u2028\u202e\u202f\u2060",
    "\ufeff\ufff8\ufff9\ufffb\ufffc\ufffd", "\U000e0000\U000e007f\U000e0080\U0010ffff", "naïve 日本語 ελ 🎉",
    "\u206f", "=1+1", "+1", "-1", "@a", "\tx", "\rx", "\nx", "＝1", "＋", "－", "＠", "'x", "＜", "x=1",  # noqa: RUF001
    "a,b", '0123456789abcde"',
)  # fmt: skip
BROKEN = (
    b"\xff", b"ok\xff", b"\xc3", b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf0\x8f\xbf\xbf",
    b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xf0\x9f\x8e", b"\xf0\x9f", b"a\xe2\x82b\xf0\x9f\x8ec\xf5", b"\x80",
    b"x" * 40 + b"\xfe", b"\xf8\x88\x80\x80\x80",
    b"\xfb\xef\xbe",
)  # fmt: skip
DOUBLES = (
    0.0, -0.0, 1.0, -1.5, 0.1, 1e15, 1e16, 1e17, 123456789012345680.0, 1e-4, 1e-5, 1e-6, 1.5e-7, 1e21, 1e23, 5e-324,
    2.2250738585072014e-308, 1.7976931348623157e308, 2.0**-44, 9007199254740993.0, 0.3, float("nan"), float("inf"),
    float("-inf"), 1234567890123456.0, 12345678901234567.0, 4.35, 2.0**-1074 * 3, 8.5, 100.0, 1e100,
)  # fmt: skip
INTEGERS = {f"{sign}int{bits}": (0 if sign else -(1 << (bits - 1)), (1 << (bits if sign else bits - 1)) - 1)
            for sign in ("", "u") for bits in (8, 16, 32, 64)}  # fmt: skip
UNITS = ("s", "ms", "us", "ns")
NAMES = ("a", "b", "value", "value_b64", "=x", 'quo"te', "tab\t", "naïve", "\u202e", "日本", "c\\d", "")


def text(random: Random) -> str:
    return "".join(random.choice(TEXTS) for _ in range(random.choice((0, 1, 1, 1, 2, 5))))


def bytes_(random: Random) -> bytes:
    parts = (
        text(random).encode() if random.random() < 0.7 else random.choice(BROKEN) for _ in range(random.randint(0, 3))
    )
    return b"".join(parts) if random.random() < 0.9 else random.randbytes(random.randint(0, 50))


def double(random: Random) -> float:
    if random.random() < 0.5:
        return random.choice(DOUBLES)
    found = (
        struct.unpack("<d", random.randbytes(8))[0] if random.random() < 0.5 else round(random.uniform(-1e6, 1e6), 3)
    )
    return float(found)


def ticks(random: Random) -> int:
    """A time: around 1970, around the years 0 and 10000, or any number of 64 bits."""
    edges = (0, -1, 1, -62167219200, 253402300800, -(1 << 63), (1 << 63) - 1, 951782400, 1 << 40)
    number = random.choice(edges) * random.choice((1, 1000, 1_000_000, 1_000_000_000)) + random.randint(-2, 2)
    return (
        min(max(number, -(1 << 63)), (1 << 63) - 1)
        if random.random() < 0.8
        else random.randint(-(1 << 63), (1 << 63) - 1)
    )


def column(random: Random, kind: pa.DataType, rows: int) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return pa.array([maybe(random, ticks) for _ in range(rows)], pa.int64()).cast(kind)
    return pa.array([maybe(random, maker(random, kind)) for _ in range(rows)], kind)


def maybe(random: Random, make: Callable[[Random], Any]) -> Any:
    return None if random.random() < 0.15 else make(random)


def maker(random: Random, kind: pa.DataType) -> Callable[[Random], Any]:
    """What makes values of a type."""
    name = str(kind)
    if name in INTEGERS:
        low, high = INTEGERS[name]
        return lambda random: random.choice((low, high, 0, random.randint(low, high), random.randint(0, 100)))
    if pa.types.is_struct(kind):
        fields = [(field.name, maker(random, field.type)) for field in kind]
        return lambda random: {name: maybe(random, make) for name, make in fields}
    if pa.types.is_map(kind):
        item = maker(random, kind.item_type)
        return lambda random: [(text(random), maybe(random, item)) for _ in range(random.randint(0, 3))]
    if pa.types.is_fixed_size_list(kind):
        item, size = maker(random, kind.value_type), kind.list_size
        return lambda random: [maybe(random, item) for _ in range(size)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        item = maker(random, kind.value_type)
        return lambda random: [maybe(random, item) for _ in range(random.choice((0, 1, 2, 5)))]
    return LEAVES[name]


def fixed(random: Random) -> bytes:
    return random.choice((b"abcd", b"\xff\0\0\0", "ü+".encode() + b"a", random.randbytes(4)))


LEAVES: dict[str, Callable[[Random], Any]] = {
    "bool": lambda random: random.random() < 0.5,
    "null": lambda _: None,
    "float": double,
    "double": double,
    "halffloat": lambda random: random.choice((0.5, 1.0, 65504.0, float("nan"))),
    "string": text,
    "large_string": text,
    "string_view": text,
    "binary": bytes_,
    "large_binary": bytes_,
    "fixed_size_binary[4]": fixed,
    "decimal128(20, 0)": lambda random: Decimal(random.choice((0, 7, (1 << 64) - 1, -5, random.getrandbits(60)))),
    "decimal128(10, 2)": lambda random: Decimal(random.randint(-9999, 9999)) / 100,
    "date32[day]": lambda random: date(1970, 1, 1) + timedelta(random.randint(-9999, 9999)),
    "duration[s]": lambda random: timedelta(seconds=random.randint(-9999, 9999)),
}
SIMPLE = (
    *(getattr(pa, name)() for name in INTEGERS), pa.bool_(), pa.null(), pa.float32(), pa.float64(), pa.string(),
    pa.large_string(), pa.binary(), pa.large_binary(), pa.binary(4), pa.decimal128(20, 0),
)  # fmt: skip
TIMES = tuple(pa.timestamp(unit, zone) for unit in UNITS for zone in (None, "UTC"))
SELDOM = (pa.decimal128(10, 2), pa.date32(), pa.map_(pa.string(), pa.binary()), pa.map_(pa.string(), pa.int32()))


def nested(random: Random, depth: int) -> pa.DataType:
    kinds = (*SIMPLE, *(SELDOM if random.random() < 0.1 else ()))
    if depth == 0 or random.random() < 0.4:
        return random.choice(kinds)
    inner = nested(random, depth - 1)
    match random.randrange(5):
        case 0:
            return pa.list_(inner)
        case 1:
            return pa.large_list(inner)
        case 2:
            return pa.list_(inner, 2)
        case _:
            names = random.sample(NAMES, random.randint(1, 3))
            return pa.struct([(name, nested(random, depth - 1)) for name in names])


def table(random: Random) -> pa.RecordBatch:
    """A batch of a few columns and rows, which may be a slice of a longer one."""
    rows, before = random.choice((0, 1, 3, 8, 20)), random.choice((0, 0, 1, 9))
    names = random.sample(NAMES, random.randint(1, 6))
    kinds = [random.choice((random.choice((*SIMPLE, *TIMES)), nested(random, 3), random.choice(SELDOM))) for _ in names]
    columns = [column(random, kind, rows + before) for kind in kinds]
    return pa.RecordBatch.from_arrays(columns, names=names).slice(before)
