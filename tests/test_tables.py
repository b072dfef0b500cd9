"""Public tables: what a declaration may say, what follows from it, and how a change of it is reviewed."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pyarrow as pa
import pytest

from thawline.compiler.tables import load_tables, tables_of
from thawline.formats import FORMATS, get
from thawline.formats.building import Origins, batch_of
from thawline.formats.rbak.records import WIRE
from thawline.ksy.documents import SCHEMAS, SpecError, load_specs, parse_spec
from thawline.ksy.versions import TABLES_SUFFIX, load_version
from thawline.review import compared, review
from thawline.review.model import Change, Verdict
from thawline.tables import PublicTable, arrow_type

SOURCES = Path(__file__).parents[1] / "src"
SPEC = """
meta: {id: toy_entry, endian: le}
-columnar: {rows: toy_entries}
seq:
  - {id: number, type: u2}
  - {id: seen, type: s8}
  - {id: len_name, type: u1}
  - {id: name, size: len_name, -columnar: {text: true}}
"""
COLUMNS = """
      - {id: count, field: number, null: -1, doc: how many}
      - {id: seen, field: seen, timestamp: ms, doc: when}
      - {id: name, field: name, doc: its name}
      - {id: place, file: place, type: string, doc: where}
"""
EXTRAS = "    extras:\n      - {id: letters, made: from the name, of: [name], type: int32, doc: letters of the name}\n"


def declaration(columns: str = COLUMNS, extras: str = EXTRAS, head: str = "rows: toy_entries") -> str:
    return f"format: toy\ntables:\n  entries:\n    doc: Entries.\n    {head}\n    columns:{columns}{extras}"


def write(folder: Path, tables: str | None, spec: str = SPEC) -> Path:
    folder.mkdir()
    (folder / "toy_entry.ksy").write_text(spec, encoding="utf-8")
    if tables is not None:
        (folder / f"toy{TABLES_SUFFIX}").write_text(tables, encoding="utf-8")
    return folder


def entries(folder: Path, tables: str, spec: str = SPEC) -> PublicTable:
    write(folder / "schemas", tables, spec)
    return load_tables(load_specs(folder / "schemas"), folder / "schemas")["toy"]["entries"]


# What follows from a declaration.


def test_the_type_of_a_column_that_is_a_field_follows_from_the_spec(tmp_path: Path) -> None:
    table = entries(tmp_path, declaration())
    assert table.schema == pa.schema(
        [("count", pa.int32()), ("seen", pa.timestamp("us", "UTC")), ("name", pa.string()), ("place", pa.string())]
    )
    assert table.extras == pa.schema([("letters", pa.int32())])
    assert table.fields({"count", "letters", "place"}) == {"number", "name"}


def test_rows_are_built_as_their_columns_are_declared(tmp_path: Path) -> None:
    wire = {"number": pa.array([3, -1], pa.int32()), "seen": pa.array([1, 1 << 62]), "name": pa.array(["a", "b"])}
    origins = Origins(
        2, lambda column: wire[column.source], lambda _: pa.array([1, 1], pa.int32()), file={"place": "x"}
    )
    batch = batch_of(entries(tmp_path, declaration()), ["letters", "place", "seen", "count"], origins)
    assert batch.schema.names == ["count", "seen", "place", "letters"]
    assert batch["count"].to_pylist() == [3, None]
    assert batch["seen"].cast(pa.int64()).to_pylist() == [1000, None], "a time that does not fit is null"
    assert batch["place"].to_pylist() == ["x", "x"]


def test_times_count_from_the_declared_day_and_a_text_can_stand_for_none(tmp_path: Path) -> None:
    columns = """
      - {id: seen, field: seen, timestamp: s, since: 2010-01-01, null: 0, doc: when}
      - {id: name, field: name, null: "", doc: its name}
"""
    wire = {"seen": pa.array([0, 1, (1 << 63) // 10**6 - 1_262_304_000 + 1]), "name": pa.array(["", "a", "b"])}
    batch = batch_of(
        entries(tmp_path, declaration(columns, "")), ["seen", "name"], Origins(3, lambda column: wire[column.source])
    )
    assert batch["seen"].cast(pa.int64()).to_pylist() == [None, 1_262_304_001_000_000, None], "the last does not fit"
    assert batch["name"].to_pylist() == [None, "a", "b"]


def test_rows_without_columns_are_counted(tmp_path: Path) -> None:
    batch = batch_of(entries(tmp_path, declaration()), [], Origins(7, lambda _: pa.nulls(7)))
    assert (batch.num_rows, batch.num_columns) == (7, 0)


def test_times_outside_of_the_calendar_are_null_where_that_is_declared(tmp_path: Path) -> None:
    column = "\n      - {id: seen, field: seen, timestamp: ms, null: -1, years: 1 to 9999, doc: when}\n"
    times = pa.array([-1, 0, 253_402_300_799_999, 253_402_300_800_000, -62_135_596_800_000, -62_135_596_800_001])
    batch = batch_of(entries(tmp_path, declaration(column, "")), ["seen"], Origins(6, lambda _: times))
    assert batch["seen"].cast(pa.int64()).to_pylist() == [
        None, 0, 253_402_300_799_999_000, None, -62_135_596_800_000_000, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("field: number", "field: nothing", "there is no nothing in toy_entries"),
        ("rows: toy_entries", "rows: nowhere", "there is no table and no spec nowhere"),
        ("rows: toy_entries", "rows: entries", "entries refers to entries"),
        ("field: number,", "field: number, type: int32,", "int32 follows from the field; leave it out"),
        ("timestamp: ms", "timestamp: us", "a timestamp counts ms or s"),
        ("timestamp: ms", "timestamp: ms, since: once", "since is a day, such as 2010-01-01"),
        ("field: name", "field: name, since: 2010-01-01", "only a timestamp without years counts from another day"),
        ("null: -1", "null: [0]", "null is the number or the text that stands for none"),
        ("file: place, type: string", "file: place", "needs a type: none follows from it"),
        ("file: place", "file: place, field: name", "place must have one of field, unit, file, value, made"),
        ("of: [name]", "of: [nothing]", "there is no nothing in toy_entries"),
        ("of: [name], type: int32", "of: [name], type: text", "text is none of bool, int8"),
        (
            "made: from the name, of: [name], type: int32",
            "value: number + nothing",
            "there is no nothing in toy_entries",
        ),
        (", doc: where", "", "place needs a doc"),
        ("id: place", "id: name", "the table has a column name already"),
        ("doc: how many", "doc: how many, unit_of: x", "unit_of is none of"),
        ("format: toy", "format: other", "format must be the file's name, toy"),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused_at_its_place(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    assert before in declaration()
    with pytest.raises(SpecError, match=rf"toy\.tables\.yaml:\d+:\d+: {re.escape(message)}"):
        entries(tmp_path, declaration().replace(before, after))


def test_any_declaration_is_read_or_refused_with_a_place() -> None:
    specs, seeds = load_specs(), random.Random(19)
    for file in SCHEMAS.glob(f"*{TABLES_SUFFIX}"):
        words = re.split(r"(\W+)", file.read_text(encoding="utf-8"))
        for _ in range(30):
            changed = list(words)
            for _ in range(seeds.randint(1, 3)):
                changed[seeds.randrange(len(changed))] = seeds.choice(
                    ["", "1", "[]", "{}", "null", "a: b", *words[40:80]]
                )
            try:
                tables_of(parse_spec("".join(changed).encode(), file), specs)
            except SpecError as error:
                assert re.match(r".*\.tables\.yaml:\d+:\d+: ", str(error))  # noqa: PT017 - most are refused, not all


# The tables of the formats.


@pytest.mark.parametrize("name", FORMATS)
def test_the_tables_of_a_format_are_the_declared_ones(name: str) -> None:
    declared = load_tables(load_specs())[name]
    assert list(get(name).tables) == list(declared)
    for table, public in declared.items():
        given = get(name).tables[table]
        assert given.schema.equals(public.schema, check_metadata=True)
        assert given.extras.equals(public.extras, check_metadata=True)
        assert all(given.meanings[column] for column in (*public.schema.names, *public.extras.names))


def test_kafka_records_have_the_columns_of_the_kafka_source_of_spark() -> None:
    """https://spark.apache.org/docs/latest/structured-streaming-kafka-integration.html#reading-data-from-kafka."""
    assert [(field.name, str(field.type)) for field in get("kafka").tables["records"].schema] == [
        ("key", "binary"), ("value", "binary"), ("topic", "string"), ("partition", "int32"), ("offset", "int64"),
        ("timestamp", "timestamp[us, tz=UTC]"), ("timestampType", "int32"),
        ("headers", "list<element: struct<key: string, value: binary>>"),
    ]  # fmt: skip


def test_what_rbak_declares_of_the_json_is_what_its_reader_gives() -> None:
    for column in load_tables(load_specs())["rbak"]["messages"].columns:
        if column.origin == "field" and not column.timestamp:
            assert arrow_type(column.type) == WIRE.field(column.source).type, column.name


def test_no_code_states_the_columns_of_a_public_table() -> None:
    literal = re.compile(r"pa\.schema\(\s*\[\s*\(\"")
    stated = [path for path in (SOURCES / "thawline" / "formats").rglob("*.py") if literal.search(path.read_text())]
    assert stated == []


# Reviews.


def changes(folder: Path, before: str | None, after: str | None, specs: tuple[str, str] = (SPEC, SPEC)) -> list[Change]:
    old, new = write(folder / "old", before, specs[0]), write(folder / "new", after, specs[1])
    return [it for it in compared(load_version(str(old)), load_version(str(new))).changes if it.path.startswith("toy ")]


@pytest.mark.parametrize(
    ("before", "after", "kind", "path", "verdict"),
    [
        ("id: count", "id: number", "renamed", "toy entries.number", Verdict.API),
        ("      - {id: name, field: name, doc: its name}\n", "", "removed", "toy entries.name", Verdict.API),
        ("file: place, type: string", "file: place, type: binary", "retyped", "toy entries.place", Verdict.API),
        ("null: -1", "null: 0", "values", "toy entries.count", Verdict.API),
        ("timestamp: ms", "timestamp: s", "values", "toy entries.seen", Verdict.API),
        ("file: place", "file: folder", "origin", "toy entries.place", Verdict.API),
        ("    extras:\n", "      - {id: more, file: more, type: bool, doc: m}\n    extras:\n", "added",
         "toy entries.more", Verdict.ADDITION),
        ("    extras:\n", "", "given", "toy entries.letters", Verdict.ADDITION),
        ("doc: its name", "doc: what it is called", "documentation", "toy entries.name", Verdict.DOCUMENTATION),
        ("doc: Entries.", "doc: All entries.", "documentation", "toy entries", Verdict.DOCUMENTATION),
        ("made: from the name", "made: by counting", "documentation", "toy entries.letters", Verdict.DOCUMENTATION),
        ("field: number", "field: nothing", "refused", "toy tables", Verdict.API),
    ],
)  # fmt: skip
def test_a_change_of_a_public_column_has_its_verdict(
    tmp_path: Path, before: str, after: str, kind: str, path: str, verdict: Verdict
) -> None:
    assert before in declaration()
    (change,) = changes(tmp_path, declaration(), declaration().replace(before, after))
    assert (change.kind, change.path, change.verdict) == (kind, path, verdict)
    assert change.breaks_api is (verdict is Verdict.API)
    assert re.match(rf"{tmp_path}/(old|new)/toy\.tables\.yaml:\d+:\d+$", change.place)


def test_columns_in_another_order_break_who_takes_them_by_number(tmp_path: Path) -> None:
    first, second = COLUMNS.splitlines(keepends=True)[1:3]
    (change,) = changes(tmp_path, declaration(), declaration().replace(first + second, second + first))
    assert (change.kind, change.before[:11], change.after[:11]) == ("moved", "count, seen", "seen, count")
    assert change.breaks_api


def test_a_column_whose_type_follows_from_a_spec_is_retyped_with_it(tmp_path: Path) -> None:
    wider = SPEC.replace("{id: number, type: u2}", "{id: number, type: u4}")
    (change,) = changes(tmp_path, declaration(), declaration(), (SPEC, wider))
    assert (change.kind, change.path, change.before, change.after) == ("retyped", "toy entries.count", "int32", "int64")


def test_a_column_keeps_its_origin_where_only_the_field_has_another_name(tmp_path: Path) -> None:
    renamed = SPEC.replace("id: number", "id: amount"), declaration().replace("field: number", "field: amount")
    assert changes(tmp_path, declaration(), renamed[1], (SPEC, renamed[0])) == []


def test_tables_that_the_base_does_not_declare_are_additions(tmp_path: Path) -> None:
    (change,) = changes(tmp_path, None, declaration())
    assert (change.kind, change.path, change.verdict) == ("added", "toy entries", Verdict.ADDITION)


def test_a_table_that_is_gone_breaks_the_api(tmp_path: Path) -> None:
    (change,) = changes(tmp_path, declaration(), None)
    assert (change.kind, change.verdict, change.breaks_api) == ("removed", Verdict.API, True)


def test_a_review_of_tables_alone_compiles_nothing_and_changes_no_wire(tmp_path: Path) -> None:
    old = write(tmp_path / "old", declaration())
    new = write(tmp_path / "new", declaration().replace("id: count", "id: number"))
    found = review(load_version(str(old)), load_version(str(new)))
    assert (found.exit_code, found.breaks_api, found.behaviour.skipped) == (0, True, "no .ksy file differs")


def test_a_single_spec_is_reviewed_without_tables(tmp_path: Path) -> None:
    old, new = write(tmp_path / "old", declaration()), write(tmp_path / "new", None)
    assert compared(load_version(str(old / "toy_entry.ksy")), load_version(str(new / "toy_entry.ksy"))).changes == ()


# What identifies a row.


def test_a_key_is_columns_of_the_table_and_facts_of_files_say_where_a_row_lies(tmp_path: Path) -> None:
    identity = entries(tmp_path, declaration(head="rows: toy_entries\n    key: [count]\n    place: [seen]")).identity
    assert (identity.key, identity.place, identity.facts) == (("count",), {"seen", "place"}, {"place"})


@pytest.mark.parametrize("head", ["key: [nothing]", "key: count", "place: [letters]"])
def test_a_key_that_is_no_list_of_columns_is_refused(tmp_path: Path, head: str) -> None:
    with pytest.raises(SpecError, match="must list columns of the table that are no lists or extras"):
        entries(tmp_path, declaration(head=f"rows: toy_entries\n    {head}"))


def test_every_table_of_a_format_says_what_identifies_a_row() -> None:
    for name in FORMATS:
        for table in get(name).tables.values():
            assert table.identity.key, (name, table.doc)
