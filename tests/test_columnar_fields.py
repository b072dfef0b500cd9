"""What kernels read each kind of field as."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from workshop import SAMPLES, Workshop

INTEGERS = [
    (sign + size + end, size_of, sign == "s", end)
    for sign in "us"
    for size, size_of in (("1", 1), ("2", 2), ("4", 4), ("8", 8))
    for end in (("le", "be") if size != "1" else ("",))
    if sign + size != "u8"
]


def packed(number: Callable[[int, bool], int]) -> tuple[bytes, dict[str, int]]:
    numbers = {f"a_{kind}": number(size, is_signed) for kind, size, is_signed, _ in INTEGERS}
    data = b"".join(
        numbers[f"a_{kind}"].to_bytes(size, "big" if end == "be" else "little", signed=is_signed)
        for kind, size, is_signed, end in INTEGERS
    )
    return data, numbers


@pytest.mark.parametrize(
    "number",
    [
        lambda size, is_signed: -(1 << 8 * size - 1) if is_signed else 0,
        lambda size, is_signed: (1 << 8 * size - is_signed) - 1,
        lambda size, is_signed: -1 if is_signed else 1 << 8 * size - 1,
        lambda size, _: int.from_bytes(bytes(range(1, size + 1)), "big"),
    ],
    ids=["least", "most", "sign bit", "order of bytes"],
)
def test_every_integer_is_read_right_at_its_extremes(shop: Workshop, number: Callable[[int, bool], int]) -> None:
    data, numbers = packed(number)
    assert shop.rows("integers", data) == [numbers]


def test_unsigned_integers_become_the_next_wider_column(shop: Workshop) -> None:
    kinds = {column.name: column.kind for column in shop.tables["integers"].columns}
    assert [kinds[f"a_{kind}"] for kind in ("u1", "s1", "u2le", "s2le", "u4be", "s4be", "s8le")] == [
        "int16", "int8", "int32", "int16", "int64", "int32", "int64",
    ]  # fmt: skip


def test_every_byte_that_is_missing_is_noticed(shop: Workshop) -> None:
    data, _ = packed(lambda _size, _signed: 1)
    starts = [sum(size for _, size, _, _ in INTEGERS[:index]) for index in range(len(INTEGERS))]
    for size in range(1, len(data)):
        field = max(index for index, start in enumerate(starts) if start <= size)
        assert shop.failure("integers", data[:size]) == (f"/seq/{field}", "end of data", starts[field])


def test_a_type_reads_in_the_byte_order_of_its_own_meta(shop: Workshop) -> None:
    assert shop.rows("orders", bytes.fromhex("0100 0001 0001 0100")) == [
        {"as_file": 1, "as_type": 1, "as_type_around": 1, "as_suffix": 1}
    ]


def test_bit_fields_are_cut_from_their_bytes_most_significant_first(shop: Workshop) -> None:
    assert shop.rows("bits", SAMPLES["bits"]) == [
        {
            "flag": True, "three": 1, "letter": "three", "nine": 0x100, "seven": 1, "high": 5, "low": 10,
            "whole": "many", "across": 0xC0F, "rest": 0xFEE, "switch": "zero", "is_even": True,
        }
    ]  # fmt: skip


def test_a_bit_field_fails_at_the_byte_it_needs(shop: Workshop) -> None:
    data = SAMPLES["bits"]
    assert shop.failure("bits", data[:2]) == ("/seq/3", "end of data", 1)
    assert shop.failure("bits", data[:5]) == ("/seq/8", "end of data", 5)
    assert shop.failure("bits", data[:6]) == ("/seq/8", "end of data", 5)
    assert shop.failure("bits", data[:7]) == ("/seq/9", "end of data", 7)


def test_an_enum_is_its_name_and_else_its_number(shop: Workshop) -> None:
    assert shop.rows("enums", bytes([1, 255, 0x80, 2]))[0] == {
        "kind": "one", "other": "last", "rule": "two", "rest": 0, "calculated_from": 2, "calculated": "two",
    }  # fmt: skip
    assert shop.rows("enums", bytes([254, 0, 0x40, 0]))[0] == {
        "kind": "254", "other": "0", "rule": "one", "rest": 0, "calculated_from": 0, "calculated": "0",
    }  # fmt: skip
    assert shop.failure("enums", bytes([1, 1, 0xC0, 1])) == ("/seq/2", "valid/in-enum", 2)


def test_what_an_if_leaves_out_is_null(shop: Workshop) -> None:
    inner = {"inner_kind": "seven", "inner_rest": 1, "inner_doubled": 2}
    absent = dict.fromkeys([*inner, "inner_flag"])
    data = SAMPLES["optional"] + bytes.fromhex("00 05") + bytes.fromhex("01 ffff 06") + bytes.fromhex("02 07 01 ff 08")
    assert shop.rows("optional", data) == [
        {"number": 1, "data": b"ab", **inner, "inner_flag": True, "after": 0},
        {"number": None, "data": None, **absent, "after": 5},
        {"number": -1, "data": None, **absent, "after": 6},
        {"number": None, "data": None, **inner, "inner_flag": False, "after": 8},
    ]


def test_nulls_keep_their_rows_whatever_the_chunks_are(shop: Workshop) -> None:
    data = (SAMPLES["optional"] + bytes.fromhex("00 05")) * 40
    assert shop.rows("optional", data, rows=3) == shop.rows("optional", data)


WORDS = [
    "pos",
    "row",
    "end",
    "buf",
    "state",
    "byte",
    "shift",
    "count",
    "word",
    "one",
    "cython",
    "include",
    "cdef",
    "type",
]


def test_a_field_may_have_a_name_that_the_kernel_itself_uses(shop: Workshop) -> None:
    [row] = shop.rows("awkward_names", SAMPLES["awkward_names"])
    assert [row[word] for word in WORDS] == list(range(len(WORDS)))
    assert (row["starts"], row["ends"]) == ([{"starts": 3}], [{"ends": 4}])


def test_bytes_are_taken_by_size_to_the_end_and_up_to_a_terminator(shop: Workshop) -> None:
    """The fifth byte of the body is left over in its stream, and passed."""
    assert shop.rows("bytes_of_all_kinds", SAMPLES["bytes_of_all_kinds"]) == [
        {
            "sized": b"abc", "ended": "xx", "empty": b"", "short": b"a", "first": 0x62, "all_else": b"c",
            "fixed": b"efg",
        }
    ]  # fmt: skip


def test_bytes_that_do_not_fit_fail_where_they_start(shop: Workshop) -> None:
    data = SAMPLES["bytes_of_all_kinds"]
    assert shop.failure("bytes_of_all_kinds", data[:3]) == ("/seq/1", "does not fit", 1)
    assert shop.failure("bytes_of_all_kinds", data[:6]) == ("/seq/2", "terminator is missing", 4)
    assert shop.failure("bytes_of_all_kinds", data[:12]) == ("/seq/5", "does not fit", 9)
    too_long = bytes.fromhex("00 2e 00 03 0361")
    assert shop.failure("bytes_of_all_kinds", too_long + b"bcdef") == ("/types/body/seq/1", "does not fit", 5)


def test_an_instance_reads_elsewhere_and_reading_goes_on_where_it_was(shop: Workshop) -> None:
    assert shop.rows("elsewhere", SAMPLES["elsewhere"]) == [
        {
            "len_body": 8, "ofs": -1, "tail_number": 3, "len_data": 1, "data": b"a", "num_peeks": None,
            "in_middle": 0x61AA, "slice": b"\x01\x61", "peeked": 3,
        }
    ]  # fmt: skip


def test_an_instance_beyond_its_structure_fails_at_a_byte_of_the_file(shop: Workshop) -> None:
    peeked = "/types/body/instances/peeked"
    data = bytes.fromhex("08 09 01 61 aa bbccdd 03")
    assert shop.failure("elsewhere", data) == (peeked, "position outside the structure", 4)
    data = bytes.fromhex("08 08 01 61 aa bbccdd 03")
    assert shop.failure("elsewhere", data) == (peeked, "end of data", 9)
    assert shop.failure("elsewhere", bytes([0])) == ("/types/body/seq/0", "end of data", 1)
    assert shop.failure("elsewhere", bytes.fromhex("08 00 01 ffff bbccdd 03"))[:2] == (
        "/types/body/instances/in_middle", "valid/max",
    )  # fmt: skip


def test_an_instance_first_used_under_an_if_is_a_column_of_every_row(shop: Workshop) -> None:
    assert shop.rows("in_blocks", SAMPLES["in_blocks"]) == [
        {"has_more": 1, "more": 7, "picky": b"\x08", "number": 3},
        {"has_more": 0, "more": None, "picky": None, "number": 0},
    ]


def test_calculated_values_are_columns_of_numbers_and_of_flags(shop: Workshop) -> None:
    for a, b, c in [(5, -2, -128), (200, 127, 1 << 30), (0, 0, -(1 << 31)), (0, -128, (1 << 31) - 1), (100, 3, 9)]:
        [row] = shop.rows("calculated", struct.pack("<Bbi", a, b, c))
        assert row == {
            "a": a, "b": b, "c": c, "sum": a + b * 2 - (c >> 3), "rest": c % 7,
            "mixed": (a & 0xF0 | b & 0x0F) ^ 0x155, "turned": ~c << 2,
            "choice": -1 if a > 100 else 1 << 32 if b < 0 else -(1 << 63),
            "is_odd": (a % 2 != 0 and b != 3) or c == 9,
            "same": ((a % 2 != 0 and b != 3) or c == 9) == (a == 5),
        }  # fmt: skip


def zigzag(number: int) -> bytes:
    rest, groups = number << 1 if number >= 0 else (-number << 1) - 1, []
    while rest > 127:
        groups.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*groups, rest])


def numbers(small: bytes = b"\0", large: bytes = b"\0", text: bytes = b"0 0\n") -> bytes:
    return small + large + text + b"t t "


@pytest.mark.parametrize("small", [0, -1, 1, 63, 64, -64, -65, (1 << 31) - 1, -(1 << 31)])
@pytest.mark.parametrize("large", [0, -1, 8191, 8192, (1 << 63) - 1, -(1 << 63), (1 << 62), -(1 << 62) - 1])
def test_varints_are_read_right_up_to_their_limits(shop: Workshop, small: int, large: int) -> None:
    data = numbers(zigzag(small), zigzag(large))[:-1] + (b"\n" if small < 0 else b" ")
    [row] = shop.rows("numbers", data)
    assert (row["small"], row["large"]) == (small, large)


def test_a_varint_may_be_longer_than_needed_but_not_larger_than_its_type(shop: Workshop) -> None:
    assert shop.rows("numbers", numbers(b"\x82\x80\x80\x80\x00"))[0]["small"] == 1
    assert shop.rows("numbers", numbers(large=b"\x82" + b"\x80" * 8 + b"\x00"))[0]["large"] == 1
    for wrong in (b"\xff\xff\xff\xff\x10", b"\xff\xff\xff\xff\x80\x00", b"\x80", b"\xff" * 12):
        assert shop.failure("numbers", wrong) == ("/seq/0", "no varint", 0)
    for wrong in (b"\xff" * 9 + b"\x02", b"\x80" * 10 + b"\x00", b"\x80" * 3):
        assert shop.failure("numbers", b"\x00" + wrong) == ("/seq/1", "no varint", 1)


@pytest.mark.parametrize(
    "text",
    ["0", "-0", "-1", "007", "9223372036854775807", "-9223372036854775808", "00000000000000000009223372036854775807"],
)
def test_decimals_are_read_right_up_to_the_limits_of_64_bits(shop: Workshop, text: str) -> None:
    [row] = shop.rows("numbers", numbers(text=f"{text} {text}\n".encode()))
    assert (row["word"], row["line"], row["is_negative"]) == (int(text), int(text), int(text) < 0)


@pytest.mark.parametrize(
    "text",
    [
        "", "-", "+1", " 1", "1_0", "1x", "--1", "1-", "0x1", "9223372036854775808", "-9223372036854775809",
        "18446744073709551616", "99999999999999999999999999", "1\n", "1\t",
    ],
)  # fmt: skip
def test_what_is_no_decimal_number_fails_where_it_starts(shop: Workshop, text: str) -> None:
    assert shop.failure("numbers", numbers(text=f"{text} 1\n".encode())) == ("/seq/2", "no decimal number", 2)


def test_a_decimal_number_that_breaks_its_rule_fails_where_it_starts(shop: Workshop) -> None:
    assert shop.failure("numbers", numbers(text=b"13 1\n")) == ("/seq/2", "valid/expr", 2)


def test_tokens_lose_their_escapes_and_end_at_a_bare_terminator(shop: Workshop) -> None:
    head = b"\0\0" + b"1 1\n"
    [row] = shop.rows("numbers", head + b"a\\ b\\\\ \\\n ")
    assert (row["token"], row["last"]) == ("a b\\", "\n")
    [row] = shop.rows("numbers", head + b"  ")
    assert (row["token"], row["last"]) == ("", "")
    [row] = shop.rows("numbers", b"\x01\0" + b"1 1\n" + b"x y z\n")
    assert (row["token"], row["last"]) == ("x", "y z")
    for cut in (b"abc", b"abc\\", b"abc\\ "):
        assert shop.failure("numbers", head + cut) == ("/seq/4", "terminator is missing", 6)
