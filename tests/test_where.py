from __future__ import annotations

import pyarrow as pa
import pytest
from accounts import GOLDEN

import thawline
from thawline.filters import Filter
from thawline.filters.values import value_of
from thawline.verbs.cat import cat, tail

LOG = GOLDEN / "rbf" / "many-frames.rbf"


def addresses(**where: str) -> list[int]:
    with thawline.open(LOG) as log:
        chosen = Filter(tuple(f"{column}={value}" for column, value in where.items()))
        return [address for batch in cat(log, ["address"], where=chosen) for address in batch["address"].to_pylist()]


def test_only_rows_that_meet_every_condition_are_read() -> None:
    with thawline.open(LOG) as log:
        rows = [row for batch in log.batches() for row in batch.to_pylist()]
    assert addresses(tag="0x100") == [row["address"] for row in rows if row["tag"] == 256]
    assert addresses(tag="256", tombstone="no") == [
        row["address"] for row in rows if row["tag"] == 256 and not row["tombstone"]
    ]
    assert addresses(tag="77777") == []


def test_the_tail_is_that_of_the_rows_that_meet_the_condition() -> None:
    with thawline.open(LOG) as log:
        found = [
            row["address"] for batch in tail(log, 2, ["address"], Filter(("tag=256",))) for row in batch.to_pylist()
        ]
    assert found == addresses(tag="256")[-2:]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("yes", pa.bool_(), True),
        ("-5", pa.int64(), -5),
        ("0xff00", pa.binary(), b"\xff\x00"),
        ("text", pa.binary(), b"text"),
        ("", pa.string(), ""),
    ],
)
def test_a_value_is_read_as_its_column_is_typed(text: str, kind: pa.DataType, value: object) -> None:
    assert value_of(text, pa.field("column", kind)).as_py() == value


@pytest.mark.parametrize(
    ("text", "kind"), [("x", pa.int8()), ("999", pa.int8()), ("maybe", pa.bool_()), ("0xf", pa.binary())]
)
def test_a_value_that_a_column_cannot_have_is_refused_with_both_named(text: str, kind: pa.DataType) -> None:
    with pytest.raises(ValueError, match=f"column is {kind}, and '{text}' is no such value"):
        value_of(text, pa.field("column", kind))
