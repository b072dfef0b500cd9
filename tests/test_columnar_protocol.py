"""How a kernel is called: room, ranges, state, and columns that are not requested."""

from __future__ import annotations

from array import array

import pytest
from workshop import SAMPLES, Workshop, many_nested, nested, run

from thawline.engine.chunks import LEFT_OVER, Break, Chunk, Ranges
from thawline.engine.tables import arrays
from thawline.native.constants.kernels import (
    COPY_STEP,
    SCAN_DONE,
    SCAN_FAILED,
    SCAN_FULL,
    SCAN_LIST_FULL,
    STATE_AT,
    STATE_FAILURE,
    STATE_LISTS,
    STATE_ROWS,
)


def test_a_kernel_stops_at_the_start_of_the_row_that_has_no_room(shop: Workshop) -> None:
    data = bytes(range(18))
    assert len(data) == 3 * shop.tables["calculated"].least_size
    found = run(shop, "calculated", data, [(0, 18, -1)], rows=2)
    assert found.status == SCAN_FULL
    assert found.state[: STATE_ROWS + 1] == [0, 2, 12, 2]
    assert found.arrays["starts"] == [0, 6]
    assert found.arrays["ends"] == [6, 12]
    assert run(shop, "calculated", data, [(0, 18, -1)], rows=3).status == SCAN_DONE


def test_a_kernel_stops_at_the_start_of_the_row_whose_items_have_no_room(shop: Workshop) -> None:
    first, second = nested([b"a"])[0], nested([b"b"], [b"c", b"d"])[0]
    stretch = [(0, len(first + second), -1)]
    found = run(shop, "nested", first + second, stretch, rows=9, items=2)
    assert found.status == SCAN_LIST_FULL
    assert found.state[: STATE_ROWS + 1] == [0, 1, len(first), 1]
    assert found.state[STATE_LISTS:] == [1, 1]
    found = run(shop, "nested", first + second, stretch, rows=9, items=3)
    assert found.status == SCAN_LIST_FULL + 1
    assert found.state[: STATE_ROWS + 1] == [0, 1, len(first), 1]
    assert run(shop, "nested", first + second, stretch, rows=9, items=4).status == SCAN_DONE


def test_a_kernel_stops_at_the_start_of_the_row_whose_bytes_have_no_room(shop: Workshop) -> None:
    first, second = nested([b"abc"])[0], nested([b"defgh"])[0]
    stretch = [(0, len(first + second), -1)]
    found = run(shop, "nested", first + second, stretch, rows=9, items=9, size=8 + COPY_STEP - 1)
    assert found.status == SCAN_LIST_FULL + 2  # after the two lists
    assert found.state[: STATE_ROWS + 1] == [0, 1, len(first), 1]
    assert found.state[STATE_AT] == len(b"abcdefgh")
    whole = run(shop, "nested", first + second, stretch, rows=9, items=9, size=8 + COPY_STEP)
    assert whole.status == SCAN_DONE
    assert whole.arrays["groups__items__text__offset"][:3] == [0, 3, 8]
    assert bytes(whole.arrays["groups__items__text__data"][:8]) == b"abcdefgh"


@pytest.mark.parametrize("name", SAMPLES)
def test_a_column_alone_is_what_it_is_among_all(shop: Workshop, name: str) -> None:
    whole, *_ = shop.chunks(name, SAMPLES[name])
    for column in shop.tables[name].columns:
        chunk, *_ = shop.chunks(name, SAMPLES[name], only=column.name)
        assert chunk.batch.equals(whole.batch.select([column.name]))


def test_arrays_of_columns_that_are_not_requested_may_be_empty(shop: Workshop) -> None:
    table, data = shop.tables["nested"], many_nested()[0]
    state = array("q", bytes(8 * (STATE_LISTS + 2)))
    rows, nothing = [array(code, [0] * 99) for code in "qqi"], [array(it.typecode) for it in arrays(table)]
    rooms = array("q", [1 << 62, 1 << 62])
    ranges = Ranges.of([(0, len(data), -1)])
    status = shop.scans["nested"](
        data, ranges.starts, ranges.ends, ranges.counts, 1 << 40, state, rooms, *rows, *nothing
    )
    assert (status, state[STATE_ROWS]) == (SCAN_DONE, len(many_nested()[1]))


def test_a_failure_leaves_its_code_its_byte_and_the_start_of_its_row(shop: Workshop) -> None:
    data = SAMPLES["rules"]
    found = run(shop, "rules", data[:6] + b"\0" + data[7:], [(0, len(data), -1)], rows=2)
    assert found.status == SCAN_FAILED
    range_index, range_rows, pos, row, code, at, _first = found.state
    assert (range_index, range_rows, pos, row, at) == (0, 0, 0, 0, 6)
    assert shop.tables["rules"].failures[code].reason == "valid/min"


def test_ranges_are_read_one_after_the_other_with_their_counts(shop: Workshop) -> None:
    stretches = [(1, 13, -1), (13, 13, -1), (20, 26, 1), (30, 42, 2), (54, 54, 0)]
    found = run(shop, "calculated", bytes(range(60)), stretches, rows=9)
    assert found.status == SCAN_DONE
    assert found.state[STATE_ROWS] == 5
    assert found.arrays["starts"][:5] == [1, 7, 20, 30, 36]
    assert found.arrays["ranges"][:5] == [0, 0, 2, 3, 3]


@pytest.mark.parametrize("rows", [1, 2, 50])
def test_a_broken_range_ends_there_and_the_next_is_read(shop: Workshop, rows: int) -> None:
    data = bytes(range(60))
    found = shop.chunks("calculated", data, (0, 8, -1), (10, 16, -1), (20, 40, 2), (48, 60, 3), rows=rows)
    breaks = [(end.failure.reason, end.start, end.at, end.range_index) for end in found if isinstance(end, Break)]
    assert breaks == [("end of data", 6, 8, 0), (LEFT_OVER, 32, 32, 2), ("end of data", 60, 60, 3)]
    starts = [start for chunk in found if isinstance(chunk, Chunk) for start in chunk.starts.to_pylist()]
    assert starts == [0, 10, 20, 26, 48, 54]


class Endless:
    """A buffer of many gigabytes that holds a few bytes: lengths at their places, zeros elsewhere."""

    def __init__(self, **lengths: int) -> None:
        self.bytes = {
            int(at[1:]) + index: byte
            for at, length in lengths.items()
            for index, byte in enumerate(length.to_bytes(4, "little"))
        }

    def __getitem__(self, at: int) -> int:
        return self.bytes.get(at, 0)


LONGEST = (1 << 31) - 1


def test_a_value_longer_than_a_column_can_hold_fails(shop: Workshop) -> None:
    found = run(shop, "huge", Endless(p0=LONGEST + 1), [(0, 1 << 40, 1)], rows=1, size=0)
    assert found.status == SCAN_FAILED
    assert shop.tables["huge"].failures[found.state[STATE_FAILURE]].reason == "longer than a column can hold"
    assert run(shop, "huge", Endless(p0=LONGEST), [(0, 4 + LONGEST, 1)], rows=1, size=0).status == SCAN_DONE


def test_a_chunk_ends_before_its_bytes_are_more_than_a_column_can_hold(shop: Workshop) -> None:
    buf = Endless(p0=LONGEST // 2, **{f"p{4 + LONGEST // 2}": LONGEST})
    found = run(shop, "huge", buf, [(0, 1 << 40, 2)], rows=9, size=0)
    assert found.status == SCAN_FULL
    assert found.state[: STATE_ROWS + 1] == [0, 1, 4 + LONGEST // 2, 1]


def test_a_row_whose_list_has_more_bytes_than_a_column_can_hold_fails(shop: Workshop) -> None:
    buf = Endless(p1=LONGEST // 2, **{f"p{5 + LONGEST // 2}": LONGEST // 2 + 1})
    buf.bytes[0] = 2
    found = run(shop, "huge_lists", buf, [(0, 1 << 40, 1)], rows=9, items=9, size=0)
    assert found.status == SCAN_FAILED
    assert shop.tables["huge_lists"].failures[found.state[STATE_FAILURE]].reason == "longer than a batch can hold"
    assert found.state[STATE_AT] == 0
