"""Lists that kernels read, and lists in them."""

from __future__ import annotations

import pytest
from workshop import SAMPLES, Workshop, many_nested, nested


def test_lists_in_lists_hold_their_items(shop: Workshop) -> None:
    data, row = nested([b"ab", b"c"], [], [b""])
    assert shop.rows("nested", data) == [row]


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 64])
def test_lists_are_the_same_whatever_the_chunks_are(shop: Workshop, rows: int) -> None:
    data, expected = many_nested()
    assert shop.rows("nested", data, rows=rows) == expected


def test_a_list_of_plain_values_is_a_list_of_structures_with_one_field(shop: Workshop) -> None:
    assert shop.rows("plain_lists", SAMPLES["plain_lists"]) == [
        {
            "numbers": [{"numbers": 1}, {"numbers": 2}],
            "pairs": [{"pairs": b"\x02a"}],
            "varints": [{"varints": 1}, {"varints": 0}],
            "end": 2,
        }
    ]


def test_a_rule_of_a_repeated_field_is_one_for_every_item(shop: Workshop) -> None:
    assert shop.failure("plain_lists", bytes.fromhex("02 0100 e903")) == ("/seq/1", "valid/max", 3)


def test_a_negative_count_is_no_items(shop: Workshop) -> None:
    assert shop.rows("plain_lists", bytes.fromhex("00 00 6161 05"))[0]["end"] == 5


def test_an_item_knows_the_structures_around_it(shop: Workshop) -> None:
    assert shop.rows("parents", SAMPLES["parents"]) == [
        {
            "len_body": 6,
            "num_items": 2,
            "items": [{"number": 1, "data": b"\x05"}, {"number": 2, "data": b"\x06\x07"}],
            "after": 0xFF,
        }
    ]
    assert shop.failure("parents", bytes.fromhex("06 01 06 05 02 06 07 ff")) == ("/types/item/seq/0", "valid/max", 2)
    assert shop.failure("parents", bytes.fromhex("05 01 03 05 02 06")) == ("/seq/2", "end of data", 6)
