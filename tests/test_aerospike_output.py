"""What thawline writes is read by both tools, by a recogniser that agrees with the verdicts of the real decoders."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from random import Random
from typing import Any

import both_tools
import pytest
import zstandard
from accounts import Golden, golden_files
from backups import HEADER, Lines, keyed, numbered
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import thawline
from thawline.filters import EVERY
from thawline.formats.aerospike.write import AsbWriter, BadEntry, Bin, Index, Key, Record, Udf, digest_of
from thawline.verbs.rewrite.aerospike import rewrite
from thawline.verbs.salvage import salvage

EACH = [pytest.param(golden, id=golden.name) for golden in golden_files("aerospike")]
NOT_AS_SUGGESTED = {"go-encode/writeVersionText/positive_simple": "version 3.2, which the issue wants accepted"}
MUTANTS = 40


@pytest.fixture
def files(vectors: Path) -> dict[str, tuple[bytes, str]]:
    """The bytes of each file among the vectors, and whether both real decoders take it."""
    cases: list[dict[str, Any]] = json.loads((vectors / "aerospike" / "vectors.json").read_text())
    return {
        case["name"]: (b64decode(case.get("file_input") or case["input"]), case["suggest_strict"])
        for case in cases
        if "suggest_strict" in case
    }


def test_the_recogniser_agrees_with_both_real_decoders(files: dict[str, tuple[bytes, str]]) -> None:
    wrong = {
        name for name, (data, verdict) in files.items() if both_tools.is_read_by_both(data) != (verdict == "accept")
    }
    assert wrong == set(NOT_AS_SUGGESTED)
    assert {verdict for _, verdict in files.values()} == {"accept", "reject"}


def outputs(data: bytes, folder: Path) -> list[bytes]:
    """What is salvaged of a file, and what is left of it when it is rewritten."""
    paths = [folder / "salvaged.asb", folder / "rewritten.asb"]
    with thawline.open(data, "aerospike") as cold:
        salvage(cold, paths[0], overwrite=True)
        rewrite(cold, paths[1], EVERY, overwrite=True)
    return [path.read_bytes() for path in paths]


def test_what_is_salvaged_of_any_vector_is_read_by_both_tools(
    files: dict[str, tuple[bytes, str]], tmp_path: Path
) -> None:
    for name, (data, _) in files.items():
        for written in outputs(data, tmp_path):
            try:
                both_tools.check(written)
            except both_tools.Refused as refused:
                pytest.fail(f"{name}: {refused}")


@pytest.mark.parametrize("golden", EACH)
def test_what_is_salvaged_of_a_damaged_file_is_read_by_both_tools(golden: Golden, tmp_path: Path) -> None:
    random = Random(golden.name)
    for _ in range(MUTANTS):
        data = bytearray(golden.data)
        for _ in range(random.randrange(1, 4)):
            data[random.randrange(12, len(data)) if len(data) > 12 else 11] = random.choice(b"\0 \n\\=+-09Az\xff")
        for written in outputs(bytes(data), tmp_path):
            both_tools.check(written)


@pytest.mark.parametrize(
    "entry, records",
    [
        (Lines(found_set=rb"a\b", generation=b"").data(), 3),
        (numbered(1, rb"- D a\ 1E5"), 3),
        (b"* u L a 1 x\n", 2),
        (b"* i test demo i N 1 b N\n", 2),
    ],
)
def test_what_one_tool_reads_of_version_3_0_is_written_without_escapes(
    entry: bytes, records: int, tmp_path: Path
) -> None:
    data = b"Version 3.0\n# namespace test\n" + numbered(5) + entry + numbered(6)
    for written in outputs(data, tmp_path):
        both_tools.check(written)
        assert written.count(b"\n+ d ") == records
        assert b"\\\\" not in written


def test_an_odd_record_of_version_3_0_that_both_tools_read_stays_as_it_is(tmp_path: Path) -> None:
    data = b"Version 3.0\n" + Lines((rb"- I a\b 007",), generation=b"01").data()
    assert outputs(data, tmp_path) == [data, data]


def test_what_is_salvaged_of_a_compressed_file_is_read_by_both_tools(tmp_path: Path) -> None:
    data = HEADER + b"".join(map(keyed, range(40))) + Lines(generation=b"").data() + b"".join(map(numbered, range(9)))
    packed = bytearray(
        zstandard.ZstdCompressor().compress(data[:900]) + zstandard.ZstdCompressor().compress(data[900:])
    )
    for at in range(0, len(packed), 37):
        mutant = packed[:at] + bytes([packed[at] ^ 0x55]) + packed[at + 1 :]
        for written in outputs(bytes(mutant), tmp_path):
            both_tools.check(written)


NAMES = st.binary(max_size=20) | st.sampled_from([b"", b" ", b"\n", b"\\", b"a\\", b"\0", b"n" * 999, b"n" * 1000])
NUMBERS = st.integers(-(2**63) - 1, 2**64) | st.sampled_from([0, 65535, 65536, 2**32 - 1, 2**32])
TEXTS_OF_DOUBLES = st.sampled_from([b"1.50", b"-nan", b"nan", b"1E5", b"0x1p3", b"", b"1e400", b"+5", b"\\5", b" 1"])
VALUES = {
    "I": NUMBERS, "D": st.floats() | TEXTS_OF_DOUBLES, "Z": st.booleans(), "N": st.none(),
    **dict.fromkeys("SGXBJCPRHEYML", st.binary(max_size=30)),
}  # fmt: skip
BINS = st.sampled_from(sorted(VALUES)).flatmap(
    lambda letter: st.builds(Bin, st.just(letter), NAMES, VALUES[letter], st.booleans())
)
KEYS = st.sampled_from("IDSXB").flatmap(lambda letter: st.builds(Key, st.just(letter), VALUES[letter], st.booleans()))
RECORDS = st.builds(
    Record, NAMES, st.binary(min_size=19, max_size=21), st.lists(BINS, max_size=4).map(tuple), st.none() | NAMES,
    st.none() | KEYS, NUMBERS, NUMBERS,
)  # fmt: skip
INDEXES = st.builds(
    Index, NAMES, NAMES, NAMES, st.sampled_from("NLKVIS"), NAMES, st.sampled_from("NSGBIE"),
    st.none() | st.sampled_from([b"", b"lhABI8zIIqMDaWQ=", b"a b", b"a\nb"]), st.none() | st.just(b"AQ=="),
)  # fmt: skip
UDFS = st.builds(Udf, NAMES, st.binary(max_size=30), st.sampled_from("LX"))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(RECORDS | INDEXES | UDFS, max_size=5), st.none() | NAMES, st.sampled_from(["3.0", "3.1", "3.2"]))
def test_what_is_written_is_read_by_both_tools_or_refused(
    tmp_path: Path, entries: list[Any], namespace: bytes | None, version: Any
) -> None:
    path = tmp_path / "out.asb"
    try:
        with AsbWriter(path, namespace, version=version, overwrite=True) as writer:
            for entry in entries:
                _write(writer, entry)
    except BadEntry:
        return  # of the namespace, before anything is written
    both_tools.check(path.read_bytes())


def _write(writer: AsbWriter, entry: Any) -> None:
    """Write an entry, a record with a key also under the digest that is right for it."""
    try:
        writer.write(entry)
    except BadEntry:
        if isinstance(entry, Record) and entry.key:
            try:
                writer.write(Record(entry.namespace, digest_of(entry.set, entry.key), entry.bins, entry.set, entry.key))
            except BadEntry:
                return
