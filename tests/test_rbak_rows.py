"""Records are the same whether compiled code decodes them, the same code uncompiled, or Python's json."""

from __future__ import annotations

import json
import random
from typing import Any

import orjson
import pyarrow as pa
import pytest
import rbak_documents
from engines import calling, plainly
from hypothesis import given, settings
from hypothesis import strategies as st
from rbak_segments import document, records, rows, segment, stored, verified

from thawline.engine import columns
from thawline.engine.chunks import Chunk
from thawline.engine.decoding import Decoded
from thawline.formats.rbak import records as wire
from thawline.formats.rbak.records import WIRE
from thawline.native import plain as native_plain
from thawline.native.constants.documents import NOT_A_BYTE, NOT_JSON, WRONG_TYPE
from tools.samples.rbak import ALL_PROPERTIES, HEADER_SHAPES, RECORD
from tools.sanitize import exactly

fast = pytest.importorskip("thawline.native.fast")
KINDS = {NOT_JSON, NOT_A_BYTE, WRONG_TYPE}


def framed(documents: list[bytes]) -> bytes:
    return b"".join(len(item).to_bytes(4, "little") + item for item in documents)


def chunks(payload: bytes) -> list[Chunk]:
    return [item for item in columns.scan("rbak_records", payload, columns=()) if isinstance(item, Chunk)]


def decoded(module: Any, documents: list[bytes]) -> Decoded:
    payload = framed(documents)
    (chunk,) = chunks(payload)
    found: Decoded = module.decode(memoryview(payload), chunk, WIRE.names)
    found.batch.validate(full=True)
    return found


def agree(one: Decoded, other: Decoded) -> None:
    assert one.batch.equals(other.batch)
    assert [(fault.index, fault.kind, fault.field) for fault in one.faults] == [
        (fault.index, fault.kind, fault.field) for fault in other.faults
    ]
    assert (one.incomplete, one.odd_headers) == (other.incomplete, other.odd_headers)


SAMPLES = [
    *(document(headers=headers) for headers in HEADER_SHAPES.values()),
    *(
        document(properties=ALL_PROPERTIES, body=body)
        for body in (None, [], list(range(256)), [0] * 99, [7, 77, 177] * 50)
    ),
    json.dumps(RECORD | {"properties": ALL_PROPERTIES, "body": [0, 10, 200] * 40}, indent=1).encode(),
    json.dumps(RECORD | {"properties": ALL_PROPERTIES}).encode(),
    b"{}",
    b"[]",
    b"",
    b'{"body":[1],"body":null}',
    b'{"body":[1],"body":[2,3]}',
    b'{"bo\\u0064y":[1],"headers":{"a":1,"a":2}}',
    b'{"properties":{"app_id":"x"},"properties":{}}',
    b'{"properties":{"app_id":"x"},"properties":null}',
    b'{"headers":[["a",1],null]}',
    b'{"headers":[{"key":"a"},{"value":1,"key":"\\n"}]}',
    b'{"a":' + b"[" * 127 + b"]" * 127 + b"}",
    b'{"a":' + b"[" * 128 + b"]" * 128 + b"}",
    b'{"delivery_tag":18446744073709551615,"backed_up_at":-9223372036854775808}',
    b'{"delivery_tag":-0}',
    b'{"exchange":"\\ud83d\\ude00\\u00e9\\/\\b\\f\\n\\r\\t"}',
    b'{"exchange":"\\ude00"}',
]
PIECES = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b'"',
    b"\\",
    b"\\u00e9",
    b"\\ud83d",
    b"\xc3\xa9",
    b"\xed\xa0\x80",
    b"\xff",
    b"\0",
    b"0",
    b"00",
    b"255",
    b"256",
    b"-",
    b".5",
    b"e1",
    b"null",
    b"true",
    b" ",
    b"\n",
    b'"body":[1,2],',
    b'"headers":{},',
    b'"key"',
]


def mutant(chance: random.Random) -> bytes:
    data = bytearray(chance.choice(SAMPLES))
    for _ in range(chance.randrange(1, 4)):
        at, kind = chance.randrange(len(data) + 1), chance.randrange(4)
        if kind == 0 and at < len(data):
            data[at] = chance.randrange(256)
        elif kind == 1:
            data[at:at] = chance.choice(PIECES)
        elif kind == 2:
            del data[at : at + chance.randrange(6)]
        else:
            start = chance.randrange(len(data) + 1)
            data[at:at] = data[start : start + chance.randrange(30)]
    return bytes(data)


@pytest.mark.parametrize("most", [0, 1, 2], ids=["plain arithmetic", "ssse3", "bmi2"])
def test_the_readers_agree_on_samples_and_mutants(most: int) -> None:
    fast.read_numbers_with(most)
    try:
        chance = random.Random(5)
        for _ in range(60):
            documents = [*SAMPLES, *(mutant(chance) for _ in range(40))]
            agree(decoded(wire, documents), decoded(rbak_documents, documents))
    finally:
        fast.read_numbers_with(2)


def test_nothing_is_read_behind_the_buffer() -> None:
    """What says so is `make sanitize`; here only nothing may go wrong."""
    chance = random.Random(7)
    for number in range(400):
        documents = [mutant(chance) for _ in range(3)]
        payload = framed([*documents, documents[0][: number % (len(documents[0]) + 1)]])
        (chunk,) = chunks(payload)
        with exactly(payload) as view:
            assert wire.decode(view, chunk, WIRE.names).batch.num_rows <= 4


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(8))
def test_the_readers_agree_on_many_mutants(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(1000):
        documents = [mutant(chance) for _ in range(100)]
        agree(decoded(wire, documents), decoded(rbak_documents, documents))


def test_compiled_and_uncompiled_give_the_same() -> None:
    chance = random.Random(6)
    documents = [*SAMPLES, *(mutant(chance) for _ in range(60))]
    compiled = decoded(wire, documents)
    with calling(native_plain):
        agree(compiled, decoded(wire, documents))


def test_without_the_native_module_rows_are_the_same() -> None:
    data = [segment(records(20)), stored(document(), b"{", document(body=[300])), segment([])]
    before = [(rows(item), [finding.code.id for finding in verified(item).findings]) for item in data]
    with plainly():
        assert [(rows(item), [finding.code.id for finding in verified(item).findings]) for item in data] == before


TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda children: st.lists(children, max_size=4) | st.dictionaries(TEXT, children, max_size=4),
    max_leaves=12,
)
BODY = st.none() | st.binary(max_size=300)
HEADERS = (
    st.lists(st.tuples(TEXT, JSON), max_size=4)
    | st.lists(st.fixed_dictionaries({"key": TEXT, "value": JSON}), max_size=4)
    | st.dictionaries(TEXT, JSON, max_size=4)
)
DUMPS: list[Any] = [
    lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(),
    lambda value: json.dumps(value, ensure_ascii=True).encode(),
    lambda value: json.dumps(value, indent="\t").encode(),
]


@settings(max_examples=200, deadline=None)
@given(
    body=BODY,
    text=TEXT,
    tag=st.integers(0, 2**64 - 1),
    at=st.integers(-(2**63), 2**63 - 1),
    headers=HEADERS,
    extra=JSON,
    key=TEXT.filter(lambda key: key not in RECORD),
    dump=st.sampled_from(DUMPS),
)
def test_whatever_json_writes_is_read_back(
    body: bytes | None, text: str, tag: int, at: int, headers: Any, extra: Any, key: str, dump: Any
) -> None:
    given_record = RECORD | {
        "body": None if body is None else list(body),
        "exchange": text,
        "delivery_tag": tag,
        "backed_up_at": at,
        "headers": headers,
        key: extra,
        "properties": {"message_id": text, "priority": tag % 256, key: extra},
    }
    found = decoded(wire, [dump(given_record)])
    (row,) = found.batch.to_pylist()
    assert (row["body"], row["exchange"], int(row["delivery_tag"]), row["backed_up_at"]) == (body, text, tag, at)
    assert (row["message_id"], row["priority"]) == (text, tag % 256)
    pairs = headers.items() if isinstance(headers, dict) else [_pair(entry) for entry in headers]
    expected = [(name, json.loads(json.dumps(value))) for name, value in pairs]
    assert [(entry["key"], json.loads(entry["value"])) for entry in row["headers"]] == expected
    assert json.loads(row["headers_json"]) == json.loads(json.dumps(headers))


def _pair(entry: Any) -> tuple[str, Any]:
    return (entry["key"], entry["value"]) if isinstance(entry, dict) else (entry[0], entry[1])


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60) | st.builds(orjson.dumps, st.dictionaries(TEXT, st.text(max_size=9))))
def test_what_orjson_refuses_is_refused_and_nothing_crashes(data: bytes) -> None:
    found = decoded(wire, [data])
    try:
        is_json = isinstance(orjson.loads(data), dict)
    except orjson.JSONDecodeError:
        is_json = False
    assert (found.batch.num_rows == 1) <= is_json
    assert {fault.kind for fault in found.faults} <= KINDS


@pytest.mark.parametrize("size", [*range(70), 127, 128, 129, 1000, 65_536])
def test_bodies_of_every_length_and_every_byte(size: int) -> None:
    body = random.Random(size).randbytes(size)
    found = decoded(wire, [document(body=list(body)), document(body=list(body[::-1]))])
    assert found.batch["body"].to_pylist() == [body, body[::-1]]


@pytest.mark.parametrize(
    "element", [b"", b"256", b"999", b"00", b"01", b"-1", b"1 1", b"\x001", b"1.0", b"1e1", b'"1"', b"0x1"]
)
@pytest.mark.parametrize("place", [0, 1, 15, 16, 17, 40, 99])
def test_an_element_that_is_no_byte_is_found_wherever_it_stands(element: bytes, place: int) -> None:
    elements = [b"%d" % (number * 7 % 256) for number in range(100)]
    elements[place] = element
    found = decoded(wire, [b'{"body":[' + b",".join(elements) + b'],"exchange":"' + b"x" * 80 + b'"}'])
    assert (found.batch.num_rows, len(found.faults)) == (0, 1)


def test_types_are_those_that_spark_takes() -> None:
    for field in WIRE:
        assert not pa.types.is_large_string(field.type), field
        assert not pa.types.is_uint64(field.type), field
