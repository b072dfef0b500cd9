"""One filter language: what an expression means is what SQL says, here in DuckDB's reading of it."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from accounts import GOLDEN
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import Ran, on_pipe, on_terminal

import thawline
from thawline.filters import BadFilter, Filter
from thawline.filters.pushdown import Condition, narrowed
from thawline.formats import get
from thawline.formats.kafka import records
from thawline.formats.kafka.write import KafkaSegmentWriter
from thawline.times import moment, zone_of

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
LIMITS = [0, 1, -1, 2, 7, 100, 2**31, 2**53 + 1, 2**62, -(2**62)]
NAMES = ["", "a", "A", "ab", "user-1", "USER-2", "50%", "a_b", "ä", "line\nend", "'"]
TIMES = [dt.datetime(2026, 11, day, 12, 30, tzinfo=dt.UTC) for day in (1, 16, 17)]


def table(rows: int = 40) -> pa.RecordBatch:
    def spread(values: list[Any], step: int) -> list[Any]:
        return [None if at % 7 == step % 7 else values[at * step % len(values)] for at in range(rows)]

    return pa.record_batch(
        {
            "id": pa.array(range(rows), pa.int64()),
            "n": pa.array(spread(LIMITS, 3), pa.int64()),
            "small": pa.array(spread([0, 1, -5, 127], 5), pa.int8()),
            "f": pa.array(spread([0.0, 1.5, -2.25, 1e300], 2), pa.float64()),
            "s": pa.array(spread(NAMES, 1), pa.string()),
            "r": pa.array(spread(NAMES, 4), pa.string()),
            "flag": pa.array(spread([True, False], 1), pa.bool_()),
            "moment": pa.array(spread(TIMES, 1), pa.timestamp("us", "UTC")),
        }
    )


TABLE = table()

CHOSEN = [
    *("flag", "flag is true", "flag is not false", "flag = false", "true", "null", "s in ('a', 'ab', null)"),
    *("regexp_matches(s, '^[a-z]')", "length(s) > 2", "coalesce(n, small, 3) > 2", "starts_with(s, 'u')"),
    *("contains(r, 'b')", "abs(small) = 5", "moment > timestamptz '2026-11-17 00:00:00+00' - interval '1 day'"),
]


def said(*words: st.SearchStrategy[str] | list[str] | str) -> st.SearchStrategy[str]:
    """Words after one another, each one of some."""
    some = [
        st.just(word) if isinstance(word, str) else st.sampled_from(word) if isinstance(word, list) else word
        for word in words
    ]
    return st.tuples(*some).map(" ".join)


constants = st.sampled_from(["0", "1", "-1", "2", "7", "100", "1.5", "-2.25", "null"])
numbers = st.one_of(st.sampled_from(["n", "small", "f"]), constants)
wholes = st.sampled_from(["n", "small", "0", "1", "-5", "127", "null"])
summands = st.one_of(
    numbers,
    said("(", numbers, ["/", "%"], ["2", "0", "-3", "small"], ")"),
    said("(", wholes, "//", ["2", "0", "-3", "small"], ")"),
    said("(", ["id", "3"], ["+", "-", "*"], ["id", "4"], ")"),
)
quoted = st.sampled_from(NAMES).map(lambda it: "'" + it.replace("'", "''") + "'")
texts = st.one_of(st.sampled_from(["s", "r", "lower(s)", "upper(r)"]), quoted)
patterns = st.text(st.sampled_from("aAbuser-%_15ä"), max_size=5).map("'{}'".format)
signs = ["=", "<>", "!=", "<", "<=", ">", ">=", "is distinct from", "is not distinct from"]
simple = st.one_of(
    said(summands, signs, summands),
    said(texts, signs, texts),
    said("moment", signs, ["timestamptz '2026-11-16 12:30:00+00'", "moment", "null"]),
    said(["s", "r"], ["like", "not like", "ilike", "not ilike"], patterns),
    said(["s", "n", "flag", "moment"], ["is null", "is not null"]),
    said(["n", "small"], ["in", "not in"], "(", st.lists(wholes, min_size=1, max_size=4).map(", ".join), ")"),
    said(numbers, "between", numbers, "and", numbers),
    said(CHOSEN),
)
expressions = st.recursive(
    simple,
    lambda inner: st.one_of(
        said("(", inner, ["and", "or"], inner, ")"),
        said("not (", inner, ")"),
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.sql("set timezone = 'UTC'")
    connection.sql("set ieee_floating_point_ops = false; set error_on_division_by_zero = false")
    connection.register("rows_of_it", pa.table(TABLE))
    return connection


@settings(max_examples=250, deadline=None)
@given(expression=expressions)
def test_an_expression_chooses_the_rows_that_duckdb_chooses(
    database: duckdb.DuckDBPyConnection, expression: str
) -> None:
    ours = Filter((expression,)).bound(TABLE.schema).kept(TABLE)["id"].to_pylist()
    theirs = database.sql(f"select id from rows_of_it where {expression} order by id").fetchall()  # noqa: S608
    assert ours == [row[0] for row in theirs], expression


@settings(max_examples=100, deadline=None)
@given(expression=st.one_of(st.text(max_size=60), st.text(st.sampled_from("(')[]=n and or not,x'-\"0."), max_size=60)))
def test_any_text_is_a_filter_or_a_plain_error(expression: str) -> None:
    try:
        Filter((expression,)).bound(TABLE.schema).kept(TABLE)
    except BadFilter as error:
        assert str(error).isprintable()  # noqa: PT017 - most texts are no filter, some are


@pytest.mark.parametrize(
    "text",
    ["(" * 5000 + "1", "not " * 5000 + "flag", "- " * 5000 + "n = 1", "+".join(["n"] * 3000) + " > 1", "n[" * 500,
     "case " * 500, "n in (" + "1," * 100_000, "n = 1" + "0" * 100_000],
)  # fmt: skip
def test_what_is_too_deep_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(BadFilter):
        Filter((text,)).bound(TABLE.schema)


def test_many_conditions_in_a_row_are_no_nesting() -> None:
    chosen = Filter((" or ".join(f"n = {number}" for number in range(3000)),))
    assert chosen.bound(TABLE.schema).kept(TABLE).num_rows > 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("smal = 1", "the table has no column smal; did you mean small? It has id, n, small"),
        ("s > 5", "s is text (string), and 5 is a number"),
        ("n = 'many'", "n is int64, and 'many' is no such value"),
        ("n", "needs true or false, and n is a number (int64)"),
        ("lower(n) = 'a'", "needs text, and n is a number"),
        ("n in (select 1)", "no filter has this form"),
        ("n = 1; drop table x", "is more than one expression"),
        ("n = 1 and", "cannot be read as SQL"),
        ("read_csv('x') = 1", "is no function of filters"),
        ("regexp_matches(s, '(')", "is no regular expression"),
        ("s like r", "the pattern has to be text"),
        ("moment > 'some day'", "it is a time such as 2026-11-16T12:00:00Z"),
        ("", "the filter is empty"),
    ],
)
def test_a_mistake_is_named_with_what_would_be_right(text: str, words: str) -> None:
    with pytest.raises(BadFilter, match=r"\A[^\n]*\Z") as caught:
        Filter((text,)).bound(TABLE.schema)
    assert words in str(caught.value)


def kept(batch: pa.RecordBatch, expression: str) -> list[Any]:
    return Filter((expression,)).bound(batch.schema).kept(batch)["id"].to_pylist()


def test_bytes_compare_with_text_as_utf8_and_with_hexadecimal() -> None:
    keys = [b"user-1", "Grün".encode(), b"\x00\xff", None]
    batch = pa.record_batch({"id": [0, 1, 2, 3], "key": pa.array(keys, pa.binary())})
    assert kept(batch, "key = 'Grün'") == [1]
    assert kept(batch, "key like 'Gr_n'") == [1]
    assert kept(batch, "key = x'00ff'") == kept(batch, "key=0x00ff") == [2]
    assert kept(batch, "key <> 'user-1'") == [1, 2]


def test_headers_are_looked_up_by_key_and_the_last_of_a_key_counts() -> None:
    rows = [[("a", b"1"), ("trace", b"old"), ("trace", b"new")], [], None, [("trace", None)], [("a", b"2")]]
    lists = pa.array([row and [{"key": key, "value": value} for key, value in row] for row in rows], HEADERS)
    batch = pa.record_batch({"id": range(5), "headers": lists})
    assert kept(batch, "headers['trace'] is not null") == [0]
    assert kept(batch, "headers['trace'] = 'new'") == [0]
    assert kept(batch, "headers['a'] in ('1', '2')") == [0, 4]
    assert kept(batch.slice(3), "headers['a'] = '2'") == [4]
    assert kept(batch, "headers is null") == [2]


def test_bins_are_structures_with_fields() -> None:
    with thawline.open(GOLDEN / "aerospike/bins.asb") as backup:
        every = [row for batch in backup.batches() for row in batch.to_pylist()]
        name = next(item["name"] for row in every for item in row["bins"] if item["integer"] is not None)
        found = [
            row for batch in backup.batches(where=f"bins['{name}'].integer is not null") for row in batch.to_pylist()
        ]
    assert found == [
        row for row in every if any(it["name"] == name and it["integer"] is not None for it in row["bins"])
    ]


def test_a_literal_time_is_one_of_the_zone() -> None:
    batch = pa.record_batch(
        {"id": [0], "at": pa.array([dt.datetime(2026, 7, 1, 10, tzinfo=dt.UTC)], pa.timestamp("us", "UTC"))}
    )
    berlin = Filter(("at = '2026-07-01 12:00'",), zone=zone_of("Europe/Berlin"))
    assert berlin.bound(batch.schema).kept(batch).num_rows == 1
    assert kept(batch, "at = '2026-07-01 12:00'") == []
    assert kept(batch, "at between '2026-07-01' and '2026-07-02'") == [0]


def test_yesterday_is_the_day_before_in_the_zone() -> None:
    late = dt.datetime(2026, 11, 17, 23, 30, tzinfo=dt.UTC)
    assert moment("yesterday", dt.UTC, lambda: late).isoformat() == "2026-11-16T00:00:00+00:00"
    assert moment("yesterday", zone_of("Europe/Berlin"), lambda: late).isoformat() == "2026-11-17T00:00:00+01:00"
    assert moment("90min", now=lambda: late).isoformat() == "2026-11-17T22:00:00+00:00"


@pytest.mark.parametrize(
    ("expression", "conditions"),
    [
        ("n >= 5 and s = 'a' or n = 1", []),
        ("(n >= 5) and (7 > n and s is not null)", [Condition("n", ">=", 5), Condition("n", "<", 7)]),
        ("n between '2' and 3", [Condition("n", ">=", 2), Condition("n", "<=", 3)]),
        ("not n > 5", []),
        ("s in ('a', 'b')", [Condition("s", "in", ("a", "b"))]),
        ("n + 1 > 5", []),
    ],
)
def test_only_what_every_wanted_row_meets_is_pushed_down(expression: str, conditions: list[Condition]) -> None:
    assert list(Filter((expression,)).bound(TABLE.schema).conditions) == conditions


def test_conditions_become_the_options_of_a_format() -> None:
    kafka: Any = narrowed(get("kafka"), "records", [Condition("offset", ">=", 5), Condition("offset", "<", 2**70)])
    assert kafka.offsets == (5, 2**63 - 1)
    assert narrowed(get("kafka"), "control", [Condition("offset", ">=", 5)]) == get("kafka")
    rbf: Any = narrowed(get("rbf"), "frames", [Condition("tag", "in", (1, 2)), Condition("tag", "=", 2)])
    assert rbf.tag == (2,)


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """A thousand records in a hundred batches."""
    with KafkaSegmentWriter(tmp_path / "orders-3", compression="gzip", batch_records=10) as log:
        for offset in range(1000):
            log.append(key=f"user-{offset % 7}".encode(), value=b"x" * 20, timestamp=1_700_000_000_000 + offset)
    return tmp_path / "orders-3/00000000000000000000.log"


def test_batches_that_hold_no_wanted_row_stay_closed(segment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = [0]
    decode = records.decode

    def counted(source: Any, heads: Any, request: Any) -> Any:
        opened[0] += len(heads.positions)
        return decode(source, heads, request)

    monkeypatch.setattr(records, "decode", counted)
    where = "offset between 500 and 509 and key like 'user-%'"
    with thawline.open(segment) as cold:
        found = [row["offset"] for batch in cold.batches(["offset"], where) for row in batch.to_pylist()]
    assert found == list(range(500, 510))
    assert 1 <= opened[0] <= 3


def ran(*arguments: object) -> Ran:
    return on_pipe([str(argument) for argument in arguments], GOLDEN)


def test_the_command_line_filters_with_expressions_and_patterns(segment: Path) -> None:
    where = "offset >= 990 and key in ('user-3', 'user-4')"
    done = ran("cat", segment, "--where", where, "--format", "csv", "--columns", "offset")
    assert done.out.split() == ['"offset"', *(str(offset) for offset in range(990, 1000) if offset % 7 in {3, 4})]
    assert ran("cat", segment, "--grep", "user-[5]", "--limit", "1").out.startswith('{"key":"user-5"')


def test_a_query_that_matches_nothing_says_so_and_ends_with_0(segment: Path) -> None:
    done = ran("cat", segment, "--where", "offset > 5000")
    assert (done.out, done.code) == ("", 0)
    assert "no row meets the conditions" in done.err
    assert "no row meets the conditions" in ran("cat", segment, "--since", "1h").err
    assert ran("cat", segment, "--where", "offset = 5").err == ""


def test_a_filter_that_cannot_be_is_a_mistake_of_usage_without_a_traceback(segment: Path) -> None:
    for where in ("ofset = 5", "((((", "offset = 'x'", "offset = 1 or"):
        done = ran("cat", segment, "--where", where)
        assert (done.code, done.out) == (2, "")
        assert "Traceback" not in done.err


def test_matches_are_marked_on_a_terminal(segment: Path) -> None:
    words = ["head", str(segment), "-n", "2", "--columns", "key,offset", "--grep", "r-[12]", "--color", "always"]
    assert "use\x1b[1;31mr-1\x1b[0m" in on_terminal(words, GOLDEN).out
