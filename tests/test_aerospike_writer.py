"""Backups that are written: salvaged, rewritten, or new; byte for byte what was read, and fit for both tools."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import zstandard
from accounts import Golden, golden_files
from backups import HEADER, digest_of, keyed, numbered, text_bin
from click.testing import CliRunner

import thawline
from thawline.cli import commands, run
from thawline.filters import EVERY, Filter
from thawline.formats.aerospike.entries import EntryReader
from thawline.formats.aerospike.write import AsbWriter, BadEntry, Bin, Index, Key, Meta, Record, Udf, encode
from thawline.formats.aerospike.write import digest_of as our_digest
from thawline.verbs.rewrite.aerospike import rewrite
from thawline.verbs.salvage import salvage

DIGEST = bytes(range(20))
WRITTEN_BY_NOBODY = {"odd-names.asb", "lenient-forms.asb", "numbers.asb", "version-3.0.asb"}
"""Golden files with spellings that both tools read and no tool writes, such as numbers with zeros before them."""
GOLDEN = golden_files("aerospike")


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.name)
def test_rewriting_an_intact_file_gives_the_same_bytes(golden: Golden, tmp_path: Path) -> None:
    target = tmp_path / "out.asb"
    with thawline.open(golden.data) as cold:
        rewrite(cold, target, EVERY)
        salvaged = tmp_path / "salvaged.asb"
        salvage(cold, salvaged)
    if golden.name.endswith("odd-names.asb"):  # a namespace that asrestore cannot read is left out
        assert b"# namespace" not in target.read_bytes()
    else:
        assert target.read_bytes() == salvaged.read_bytes() == golden.data


@pytest.mark.parametrize(
    "golden", [golden for golden in GOLDEN if not golden.name.endswith(tuple(WRITTEN_BY_NOBODY))], ids=lambda g: g.name
)
def test_entries_that_were_read_are_written_byte_for_byte(golden: Golden, tmp_path: Path) -> None:
    version = golden.data[8:11].decode()
    units, at = [], 12
    while at < len(golden.data):
        look = EntryReader(memoryview(golden.data), at, version)
        units.append(look.meta() if golden.data[at : at + 1] == b"#" else look.entry())
        at = look.pos
    assert golden.data[:12] + b"".join(map(encode, units)) == golden.data
    entries = [unit for unit in units if not isinstance(unit, Meta)]
    with AsbWriter(tmp_path / "out.asb", version=version) as writer:
        for unit in entries:
            writer.write(unit)
    assert (tmp_path / "out.asb").read_bytes() == golden.data[:12] + b"".join(map(encode, entries))


def test_a_new_backup_is_read_back_and_passes_strictly(tmp_path: Path) -> None:
    path = tmp_path / "new.asb"
    key = Key("S", b"key1")
    record = Record(
        b"test",
        our_digest(b"demo", key),
        (
            Bin("I", b"int bin", -5),
            Bin("D", b"double", 0.1),
            Bin("D", b"as written", b"1.50"),
            Bin("S", b"text", b"two\nlines"),
            Bin("B", b"raw", b"\0\n", is_compact=True),
            Bin("J", b"java", b"\xac\xed"),
            Bin("Z", b"flag", value=True),
            Bin("N", b"nothing"),
        ),
        b"demo",
        key,
        expiration=10,
    )
    with AsbWriter(path, "test", first_file=True) as writer:
        writer.write(Index(b"test", b"demo", b"idx", "N", b"int bin", "N"))
        writer.write(Udf(b"a.lua", b"-- nothing\n"))
        writer.write(record)
    assert path.read_bytes().startswith(
        b"Version 3.1\n# namespace test\n# first-file\n* i test demo idx N 1 int\\ bin N\n"
    )
    assert b"- D as\\ written 1.50\n- S text 9 two\nlines\n- B! raw 2 \0\n\n- J java 4 rO0=\n" in path.read_bytes()
    with thawline.open(path) as cold:
        assert cold.verify().findings == []
        ((row,),) = [batch.to_pylist() for batch in cold.batches()]
    assert row["key"] == b"key1"
    assert [item["double"] for item in row["bins"] if item["type"] == "double"] == [0.1, 1.5]


def test_rows_that_were_read_can_be_written(tmp_path: Path) -> None:
    data = HEADER + keyed(1, b"- I n 1", text_bin(b"t", b"x"), b"- D d 0.5", b"- B b 4 YQ==", b"- N nil") + keyed(2)
    with thawline.open(data) as cold, AsbWriter(tmp_path / "out.asb", "test") as writer:
        for batch in cold.batches():
            writer.write_rows(batch)
    assert (tmp_path / "out.asb").read_bytes() == data


@pytest.mark.parametrize(
    "entry, tool",
    [
        (Record(b"test", DIGEST, (Bin("I", b"a" * 16, 1),)), "asrestore would refuse"),
        (Record(b"n" * 32, DIGEST), "asrestore would refuse"),
        (Record(b"test", DIGEST, (Bin("D", b"d", b"1E5"),)), "asrestore would refuse"),
        (Record(b"test", DIGEST, (Bin("D", b"d", b"many"),)), "no tool would read"),
        (Record(b"test", DIGEST[1:]), "no tool would read"),
        (Record(b"test", DIGEST, (), b"demo", Key("S", b"key1")), "is not that of set and key"),
        (Record(b"test", DIGEST, generation=70_000), "no tool would read"),
        (Index(b"test", b"", b"idx", "N", b"a", "N", expression=b"AQ=="), "asrestore would refuse"),
        (Index(b"test", b"", b"idx", "N", b"a", "N", b"AQ==", b"AQ=="), "no tool would read"),
        (Index(b"test", b"", b"idx", "Q", b"a", "N"), "no tool would read"),
        (Record(b"test", DIGEST, (Bin("I", b"a", 1 << 63),)), "no tool would read"),
        (Record(b"test", DIGEST, (Bin("I", b"a", b"1"),)), "type I cannot be b'1'"),
        (Record(b"test", DIGEST, (Bin("N", b"a", 1),)), "type N cannot be 1"),
        (Record(b"test", DIGEST, (Bin("S", b"a", None),)), "type S cannot be None"),
        (Record(b"test", DIGEST, (Bin("Q", b"a", b""),)), "no tool would read"),
    ],
)
def test_the_writer_refuses_what_a_tool_would_refuse(entry: Record | Index, tool: str, tmp_path: Path) -> None:
    with AsbWriter(tmp_path / "out.asb") as writer, pytest.raises(BadEntry, match=tool):
        writer.write(entry)
    assert (tmp_path / "out.asb").read_bytes() == b"Version 3.1\n"


def test_the_writer_refuses_names_that_version_3_0_has_no_words_for(tmp_path: Path) -> None:
    with AsbWriter(tmp_path / "out.asb", version="3.0") as writer:
        for name in (b"a b", b"a\\b", b"a\nb"):
            with pytest.raises(BadEntry, match="has no escapes"):
                writer.write(Record(b"test", DIGEST, (Bin("I", name, 1),)))
        writer.write(Record(b"test", DIGEST, (Bin("I", b"a", 1),)))


def test_a_version_that_no_tool_knows_is_refused_before_there_is_a_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="version does not hold to its rule"):
        AsbWriter(tmp_path / "out.asb", version="9.9")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_writer_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), AsbWriter(tmp_path / "out.asb"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_digests_are_those_of_openssl() -> None:
    assert our_digest(b"demo", Key("S", b"key1")) == digest_of(b"demo", "S", b"key1")
    assert our_digest(None, Key("I", -1)) == hashlib.new("ripemd160", b"\1" + b"\xff" * 8).digest()


def sets() -> bytes:
    other = numbered(7).replace(b"+ s demo", b"+ s users")
    return HEADER + b"* i test users idx N 1 a N\n" + numbered(1) + other + numbered(2) + other


def test_rewrite_keeps_the_records_that_are_asked_for_as_they_are(tmp_path: Path) -> None:
    source, target = tmp_path / "in.asb", tmp_path / "users.asb"
    source.write_bytes(sets())
    done = CliRunner().invoke(
        commands, ["aerospike", "rewrite", str(source), "-o", str(target), "--where", "set=users"]
    )
    assert done.exit_code == 0, done.output
    other = numbered(7).replace(b"+ s demo", b"+ s users")
    assert target.read_bytes() == HEADER + b"* i test users idx N 1 a N\n" + other + other
    assert source.read_bytes() == sets()


def test_rewrite_of_a_compressed_file_gives_a_plain_one(tmp_path: Path) -> None:
    compressor = zstandard.ZstdCompressor()
    data = compressor.compress(sets()[:70]) + compressor.compress(sets()[70:])
    with thawline.open(data, "aerospike") as cold:
        rewrite(cold, tmp_path / "out.asb", Filter(("set=demo",)))
    assert (tmp_path / "out.asb").read_bytes() == HEADER + b"* i test users idx N 1 a N\n" + numbered(1) + numbered(2)


def test_salvage_mends_what_only_one_tool_reads(tmp_path: Path) -> None:
    odd = numbered(1, b"- I i ", b"- Z z \\T", b"- B b 5 YQ\n==", b"- D d 1E5", b"- S s \\3 abc")
    with thawline.open(HEADER + numbered(0) + odd) as cold:
        salvage(cold, tmp_path / "out.asb")
    mended = numbered(1, b"- I i 0", b"- Z z T", b"- B b 4 YQ==", b"- D d 100000.0", b"- S s 3 abc")
    assert (tmp_path / "out.asb").read_bytes() == HEADER + numbered(0) + mended
    assert thawline.open(tmp_path / "out.asb").verify().findings == []


def test_salvage_leaves_out_what_cannot_be_mended_or_trusted(tmp_path: Path) -> None:
    long_name = numbered(1, b"- I a-name-of-17-byte 1")
    wrong_digest = keyed(2).replace(b"+ s demo", b"+ s demi")
    with thawline.open(HEADER + numbered(0) + long_name + wrong_digest + keyed(3)) as cold:
        done = salvage(cold, tmp_path / "out.asb")
    assert (done.suspects, (tmp_path / "out.asb").read_bytes()) == (2, HEADER + numbered(0) + keyed(3))


@pytest.mark.parametrize("command", [["salvage"], ["aerospike", "rewrite"]])
def test_what_is_left_out_of_a_new_file_shows_in_the_exit_code(command: list[str], tmp_path: Path) -> None:
    source, target = tmp_path / "in.asb", tmp_path / "out.asb"
    source.write_bytes(HEADER + keyed(1).replace(b"+ s demo", b"+ s demi") + keyed(2))
    assert run([*command, str(source), "-o", str(target)]) == 1
    assert target.read_bytes() == HEADER + keyed(2)


def test_salvage_writes_a_header_where_the_old_one_is_lost(tmp_path: Path) -> None:
    data = HEADER + numbered(1) + numbered(2)
    with thawline.open(data[5:], "aerospike") as cold:
        salvage(cold, tmp_path / "out.asb")
    assert (tmp_path / "out.asb").read_bytes() == b"Version 3.1\n" + numbered(1) + numbered(2)


def test_salvage_of_a_cut_compressed_file_keeps_what_was_whole(tmp_path: Path) -> None:
    plain = HEADER + b"".join(numbered(index, b"- I n %d" % (index**5)) for index in range(5000))
    data = zstandard.ZstdCompressor().compress(plain)
    with thawline.open(data[: len(data) * 2 // 3], "aerospike") as cold:
        salvage(cold, tmp_path / "out.asb")
    written = (tmp_path / "out.asb").read_bytes()
    assert plain.startswith(written)
    assert len(written) > len(plain) // 3
    assert thawline.open(tmp_path / "out.asb").verify().findings == []
