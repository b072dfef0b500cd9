"""Values of keys and bins: hashed, decoded and shown the same with and without the native module."""

from __future__ import annotations

import hashlib
import math
import struct
from array import array
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgpack
import orjson
import pytest
from accounts import Golden, golden_files
from backups import HEADER, numbered, text_bin
from engines import plainly
from hypothesis import given, settings
from hypothesis import strategies as st

import thawline
from thawline import ripemd160
from thawline.formats.aerospike import rows
from thawline.formats.aerospike.rows import contexts_json
from thawline.native import fast

PAPER = {
    b"": "9c1185a5c5e9fc54612808977ee8f548b2258d31",
    b"a": "0bdc9d2d256b3ee9daae347be6f4dc835a467ffe",
    b"abc": "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc",
    b"message digest": "5d0689ef49d2fae572b881b123a85ffa21595f36",
    b"abcdefghijklmnopqrstuvwxyz": "f71c27109c692c1b56bbdceb5b9d2865b3708dbc",
    b"1234567890" * 8: "9b752e45573d4b39f4dbd3323cab82bf63326bfb",
}
"""Test values of the paper that defines the hash."""


@pytest.mark.parametrize("message", PAPER)
def test_ripemd160_has_the_values_of_its_paper(message: bytes) -> None:
    assert ripemd160.by_steps(message).hex() == PAPER[message]
    assert ripemd160.ripemd160(message).hex() == PAPER[message]


@pytest.fixture(params=[True, False], ids=["wide", "narrow"])
def registers(request: pytest.FixtureRequest) -> Iterator[None]:
    """The hash with the CPU's wide registers, where it has them, and without."""
    fast.use_avx2(request.param)
    yield
    fast.use_avx2(True)  # noqa: FBT003 - Cython takes it by place


@pytest.mark.usefixtures("registers")
def test_hashes_of_many_ranges_are_those_of_each() -> None:
    random = Random(1)
    data = random.randbytes(5000)
    starts, ends = array("q"), array("q")
    for size in (0, 1, 8, 54, 55, 56, 57, 63, 64, 65, 119, 120, 121, 1000) * 3:
        starts.append(random.randrange(4000))
        ends.append(starts[-1] + size)
    out = bytearray(20 * len(starts))
    fast.ripemd160_ranges(memoryview(data), starts, ends, len(starts), memoryview(out))
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        assert out[20 * index : 20 * index + 20] == ripemd160.by_steps(data[start:end])


def test_without_openssls_hash_digests_are_checked_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, *_: bytes) -> None:
        raise ValueError(f"unsupported hash type {name}")

    monkeypatch.setattr(hashlib, "new", refuse)
    ripemd160._best.cache_clear()
    try:
        assert ripemd160.ripemd160(b"abc").hex() == PAPER[b"abc"]
        keys = next(golden for golden in golden_files("aerospike") if golden.name.endswith("keys.asb"))
        with plainly():
            report = thawline.open(keys.data).verify()
            assert (report.ok, report.rows) == (True, 14)
            assert not thawline.open(keys.data.replace(b"key1", b"key2")).verify().ok
    finally:
        ripemd160._best.cache_clear()


SHORT = [golden for golden in golden_files("aerospike") if len(golden.data) < 1500]
"""Others take too long to be read object by object."""


@pytest.mark.parametrize("golden", SHORT, ids=lambda golden: golden.name)
def test_without_the_native_module_rows_are_the_same(golden: Golden) -> None:
    native = [str(batch.to_pylist()) for batch in thawline.open(golden.data).batches()]
    with plainly():
        assert [str(batch.to_pylist()) for batch in thawline.open(golden.data).batches()] == native


SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
TREES = st.recursive(
    SCALARS | st.text() | st.binary(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


def packed(value: object) -> bytes:
    """msgpack of the server's kind: text and bytes with their particle type before them."""
    match value:
        case str():
            return msgpack.packb(b"\x03" + value.encode(), use_bin_type=False)
        case bytes():
            return msgpack.packb(b"\x04" + value, use_bin_type=False)
        case list():
            head = msgpack.Packer().pack_array_header(len(value))
            return head + b"".join(map(packed, value))
        case dict():
            head = msgpack.Packer().pack_map_header(len(value))
            return head + b"".join(packed(key) + packed(item) for key, item in value.items())
    return bytes(msgpack.packb(value))


def expected(value: object) -> object:
    match value:
        case bytes():
            import base64  # noqa: PLC0415

            return {"$bytes": base64.b64encode(value).decode()}
        case list():
            return [expected(item) for item in value]
        case dict():
            return {key: expected(item) for key, item in value.items()}
    return value


@settings(max_examples=60, deadline=None)
@given(st.lists(TREES) | st.dictionaries(st.text(), TREES))
def test_lists_and_maps_become_the_json_that_they_are(value: object) -> None:
    found = rows.json_of(packed(value))
    assert found is not None
    assert orjson.loads(found) == expected(value)


@settings(max_examples=60, deadline=None)
@given(st.lists(TREES), st.data())
def test_broken_msgpack_is_never_read_beyond_its_end(value: object, data: st.DataObject) -> None:
    whole = packed(value)
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert rows.json_of(whole[:cut]) is None
    mutant = bytearray(whole)
    mutant[cut] = data.draw(st.integers(0, 255))
    found = rows.json_of(bytes(mutant))
    if found is not None:
        orjson.loads(found)


def test_doubles_that_json_has_no_number_for_are_words() -> None:
    doubles = [math.nan, math.inf, -math.inf, 0.1, 1e300, -0.0, 5e-324]
    data = bytes([0x90 + len(doubles)]) + b"".join(b"\xcb" + struct.pack(">d", double) for double in doubles)
    assert rows.json_of(data) == '["nan", "inf", "-inf", 0.1, 1e+300, -0, 4.94065645841247e-324]'


def test_deep_nesting_has_an_end() -> None:
    assert rows.json_of(b"\x91" * 63 + b"\x90") == "[" * 64 + "]" * 64
    assert rows.json_of(b"\x91" * 64 + b"\x90") is None


@pytest.mark.parametrize(
    "text, data",
    [("", b""), ("YQ==", b"a"), ("YWI=", b"ab"), ("YWJj", b"abc"), ("YQ", None), ("Y*==", None), ("====", None),
     ("YQ=a", None), ("A===", None), ("YQ==YQ==", None)],
)  # fmt: skip
def test_base64_is_read_strictly(text: str, data: bytes | None) -> None:
    assert rows.bytes_of([b"YQ==", text.encode()]) == [b"a", data]


def test_contexts_of_indexes_are_shown_as_steps() -> None:
    steps = '[{"list_index": 1}, {"map_value": 200}, {"map_key": "id"}]'
    assert contexts_json(["lhABI8zIIqMDaWQ=", "nonsense", None, "", "lhABI8zIIqMDaWQ="]) == [
        steps,
        None,
        None,
        None,
        steps,
    ]


def bins_as_columns(data: bytes) -> list[dict[str, object]]:
    return [row for batch in thawline.open(data, bins="columns").batches() for row in batch.to_pylist()]


def test_bins_become_columns_of_their_type() -> None:
    data = HEADER + numbered(1, b"- I a 1", text_bin(b"b", b"x"), b"- Z set T") + numbered(2, b"- D c 0.5", b"- N a")
    schema = thawline.open(data, bins="columns").schema
    assert {name: str(schema.field(name).type) for name in ("a", "b", "c", "bin_set")} == {
        "a": "int64", "b": "string", "c": "double", "bin_set": "bool",
    }  # fmt: skip
    first, second = bins_as_columns(data)
    assert (first["a"], first["b"], first["c"], first["bin_set"], first["set"]) == (1, "x", None, True, "demo")
    assert (second["a"], second["b"], second["c"], second["bin_set"]) == (None, None, 0.5, None)


def test_a_bin_of_several_types_becomes_text_and_the_last_of_a_repeated_name_counts() -> None:
    data = (
        HEADER + numbered(1, b"- I a 1", b"- I a 2") + numbered(2, text_bin(b"a", b"two")) + numbered(3, b"- D a 1e9")
    )
    assert [row["a"] for row in bins_as_columns(data)] == ["2", "two", "1e9"]


def test_bins_as_columns_are_the_same_for_all_files_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.asb").write_bytes(HEADER + numbered(1, b"- I a 1"))
    (tmp_path / "b.asb").write_bytes(HEADER + numbered(2, b"- I b 2"))
    schemas = [cold.schema for cold in thawline.open_folder(tmp_path, bins="columns").files()]
    assert schemas[0].equals(schemas[1])
    assert {"a", "b"} <= set(schemas[0].names)
