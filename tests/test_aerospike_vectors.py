"""Every case that the real tools were run on: what both read we read alike, and strictly we refuse what one refuses."""

from __future__ import annotations

import json
import math
from base64 import b64decode
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import thawline
from thawline.formats.aerospike.rows import json_of
from thawline.formats.aerospike.write import LETTERS

REFUSED = {"ASB101", "ASB102", "ASB103", "ASB104", "ASB108", "ASB111"}
"""Findings that mean that one of the tools does not read the file."""

STRICT_DIFFERENCES = {
    "go-encode/writeVersionText/positive_simple": "a header of version 3.2, which the issue wants accepted",
}
MADE_UP = "the tool that takes it makes a value up"
LENIENT_DIFFERENCES = {
    "edge/scalars/int min-1": f"{MADE_UP}: backup-go wraps the number",
    "edge/bytes-strings-names/b64 ====": f"{MADE_UP}: asrestore decodes padding",
    "edge/bytes-strings-names/b64 A===": f"{MADE_UP}: asrestore decodes padding",
    "edge/record-header/t 2^64": f"{MADE_UP}: backup-go wraps the number",
}
"""Files that one tool takes and we refuse leniently, too; files that are cut, which backup-go takes, come on top."""
BEYOND_THE_TOOLS = {
    "ASB105": "digests in the vectors are made up",
    "ASB106": "maps in the vectors have bytes behind their end, or are no msgpack",
    "ASB107": "sketches in the vectors are made up",
}
"""Findings about things that no tool looks at, so that the vectors have none of it right."""


@cache
def _cases(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())
    return found


@pytest.fixture
def cases(vectors: Path) -> list[dict[str, Any]]:
    return _cases(vectors / "aerospike" / "vectors.json")


def files(cases: list[dict[str, Any]]) -> list[tuple[dict[str, Any], bytes]]:
    return [(case, b64decode(case.get("file_input") or case["input"])) for case in cases if "suggest_strict" in case]


def codes(data: bytes, *, strict: bool) -> set[str]:
    return {finding.code.id for finding in thawline.open(data, "aerospike", strict=strict).verify().findings}


def test_strictly_a_file_is_refused_unless_both_tools_take_it(cases: list[dict[str, Any]]) -> None:
    found = {}
    for case, data in files(cases):
        verdict = "reject" if codes(data, strict=True) & REFUSED else "accept"
        if verdict != case["suggest_strict"]:
            found[case["name"]] = verdict
    assert set(found) == set(STRICT_DIFFERENCES)


def test_leniently_a_file_is_taken_if_one_tool_takes_it(cases: list[dict[str, Any]]) -> None:
    found, cut = set(), set()
    for case, data in files(cases):
        union = "accept" in (case["go"]["verdict"], case["c"]["verdict"])
        given = codes(data, strict=False)
        if bool(given & REFUSED) == union:
            (cut if "ASB101" in given else found).add(case["name"])
    assert found == set(LENIENT_DIFFERENCES)
    by_name = {case["name"]: case for case, _ in files(cases)}
    assert all(by_name[name]["c"].get("category") in ("truncated", "bad_digest", "bad_float", None) for name in cut)
    assert len(cut) > 10


def test_beyond_the_tools_only_what_they_do_not_look_at_is_found(cases: list[dict[str, Any]]) -> None:
    found = set()
    for case, data in files(cases):
        if case["suggest_strict"] == "accept" and case["name"] not in STRICT_DIFFERENCES:
            found |= {code for code in codes(data, strict=True) if code.startswith("ASB1")}
    assert found == set(BEYOND_THE_TOOLS)


def tables(data: bytes) -> dict[str, list[dict[str, Any]]]:
    return {
        table: [row for batch in thawline.open(data, "aerospike", table=table).batches() for row in batch.to_pylist()]
        for table in ("records", "indexes", "udfs")
    }


def test_what_both_tools_read_alike_has_the_same_values_for_us(cases: list[dict[str, Any]]) -> None:
    checked = 0
    for case, data in files(cases):
        tokens = case.get("c_tokens") or case.get("go_tokens")
        if case["suggest_strict"] == "accept" and case["agree"] and tokens:
            checked += same_entries(tables(data), tokens, case["name"])
    assert checked > 150


def test_leniently_values_are_those_of_a_tool_that_takes_the_file(cases: list[dict[str, Any]]) -> None:
    checked, different = 0, set()
    for case, data in files(cases):
        found = tables(data)
        takers = [case.get(f"{tool}_tokens") or [] for tool in ("go", "c") if case[tool]["verdict"] == "accept"]
        if takers and not any(is_same(found, tokens, case["name"]) for tokens in takers):
            different.add(case["name"])
        checked += bool(takers)
    assert different == set(LENIENT_DIFFERENCES)
    assert checked > 230


def is_same(found: dict[str, list[dict[str, Any]]], tokens: list[dict[str, Any]], name: str) -> bool:
    try:
        same_entries(found, tokens, name)
    except AssertionError:
        return False
    return True


def same_entries(found: dict[str, list[dict[str, Any]]], tokens: list[dict[str, Any]], name: str) -> int:
    for table, kind, same in (
        ("records", "record", same_record), ("indexes", "sindex", same_index), ("udfs", "udf", same_udf)
    ):  # fmt: skip
        wanted = [token for token in tokens if token["type"] == kind]
        assert len(found[table]) == len(wanted), name
        for row, token in zip(found[table], wanted, strict=True):
            same(row, token, name)
    return len(tokens)


def text(hexes: str) -> str:
    return bytes.fromhex(hexes).decode()


def same_record(row: dict[str, Any], token: dict[str, Any], name: str) -> None:
    assert row["namespace"] == text(token["namespace_hex"]), name
    assert (row["set"] or "") == text(token["set_hex"]), name
    assert row["digest"].hex() == token["digest_hex"], name
    assert row["generation"] == token["generation"], name
    expires = row["expiration"]
    if "void_time" in token:  # asrestore's tokens have none
        assert (0 if expires is None else int(expires.timestamp()) - 1_262_304_000) == token["void_time"], name
    if "key" in token:
        same_key(row, token["key"], name)
    else:
        assert row["key"] is None
    last = {item["name"]: item for item in row["bins"]}  # both tools keep the last of a repeated name
    assert set(last) == {text(bin_[0]) for bin_ in token["bins"]}, name
    for hexes, letter, value in token["bins"]:
        item = last[text(hexes)]
        same_value(item, letter, value, name)


def same_key(row: dict[str, Any], key: list[Any], name: str) -> None:
    letter, value = key
    assert LETTERS[row["key_type"]].replace("X", "S") == letter, name
    if letter == "D":
        assert float(row["key"]) == float(value), name
    else:
        assert row["key"] == (str(value).encode() if letter == "I" else bytes.fromhex(value)), name


def same_value(item: dict[str, Any], letter: str, value: Any, name: str) -> None:
    assert LETTERS[item["type"]].replace("X", "S") == letter, name
    match letter:
        case "N":
            assert {item[part] for part in ("integer", "double", "text", "bytes", "boolean")} == {None}, name
        case "I":
            assert item["integer"] == value, name
        case "Z":
            assert item["boolean"] is value, name
        case "D":
            same = item["double"] == float(value) or (math.isnan(item["double"]) and "nan" in value.lower())
            assert same, name
        case _:
            stored = item["bytes"] if item["bytes"] is not None else item["text"].encode()
            assert stored == bytes.fromhex(value), name


def same_index(row: dict[str, Any], token: dict[str, Any], name: str) -> None:
    assert (row["namespace"], row["set"] or "", row["name"]) == tuple(text(token[key]) for key in ("ns", "set", "name"))
    ((path, data_type),) = token["paths"]
    assert (row["bin"] or "") == text(path), name
    letters = {"numeric": "N", "string": "S", "geo2dsphere": "G", "blob": "B"}
    assert letters[row["data_type"]] == data_type, name
    letters = {"bin": "N", "list_elements": "L", "map_keys": "K", "map_values": "V"}
    assert letters[row["index_type"]] == token["itype"], name


def same_udf(row: dict[str, Any], token: dict[str, Any], name: str) -> None:
    assert (row["name"], row["content"].hex()) == (text(token["name"]), token["content"]), name


def test_msgpack_reads_as_the_c_library_shows_it(cases: list[dict[str, Any]]) -> None:
    checked = 0
    for case in cases:
        shown = case["expect"].get("c_tostring") if case["kind"] == "msgpack" else None
        if shown is not None and "blob" not in case["name"]:  # which it shows as hexadecimal digits
            found = json_of(b64decode(case["input"]))
            assert found is not None, case["name"]
            assert squeezed(found) == squeezed(shown.replace("NIL", "null")), case["name"]
            checked += 1
    assert checked >= 10


def squeezed(shown: str) -> str:
    """JSON and the C library's notation differ in blanks and in the quotes around keys that are numbers."""
    return shown.replace(" ", "").replace('"', "")


def test_broken_msgpack_is_refused(cases: list[dict[str, Any]]) -> None:
    broken = ("bad ", "padding", "non-storage")
    for case in cases:
        if case["kind"] == "msgpack":
            is_broken = any(word in case["name"] for word in broken)
            assert (json_of(b64decode(case["input"])) is None) == is_broken, case["name"]


def test_sketches_of_the_server_have_a_size_that_is_possible(cases: list[dict[str, Any]]) -> None:
    from backups import HEADER, numbered  # noqa: PLC0415

    for case in cases:
        if case["kind"] == "hll":
            data = b64decode(case["input"])
            assert len(data) == case["expect"]["decoded"]["size"]
            assert codes(HEADER + numbered(1, b"- Y! y %d %s" % (len(data), data)), strict=True) == set()
            longer = HEADER + numbered(1, b"- Y! y %d %s" % (len(data) + 1, data + b"\0"))
            assert codes(longer, strict=True) == {"ASB107"}


def test_xdr_backups_of_the_vectors_are_named(cases: list[dict[str, Any]], tmp_path: Path) -> None:
    case = next(case for case in cases if case["name"] == "asbx/one-record")
    path = tmp_path / "0_source-ns1_1.asbx"
    path.write_bytes(b64decode(case["input"]))
    with thawline.open(path) as cold:
        assert [finding.code.id for finding in cold.findings()] == ["ASB112"]


def test_every_column_of_the_tables_has_a_type_that_spark_takes() -> None:
    for table in ("records", "indexes", "udfs"):
        schema = thawline.open(b"Version 3.1\n", table=table).schema
        assert not any(pa.types.is_large_string(field.type) or pa.types.is_dictionary(field.type) for field in schema)
