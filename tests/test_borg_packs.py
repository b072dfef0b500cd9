"""Borg packs: what borg lists is what we list, damage costs what it hit, and nothing is taken for more than it is."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from accounts import GOLDEN, golden_files
from blake3 import blake3
from borg_repositories import KITCHEN, PACKED, account, damaged_packs, unpacked
from thawline.generated.kernels.tables import SYNCS

import thawline
from thawline import codecs, specs
from thawline.engine.starts import Starts
from thawline.formats.borg import Borg
from thawline.formats.borg.blobs import header_at, mode_of, pack_header
from thawline.formats.borg.index import IndexKind
from thawline.formats.contract import Depth, Reading, read
from thawline.model import Finding, Run
from thawline.source import open_source

HEADER = 49
DOUBTFUL = {"nested", "uncertain"}
UNSEEN = {"payload-flip", "meta-flip", "chunkid-flip"}
"""Damage to encrypted blobs that only a name or the key shows."""


def rows_of(data: bytes | Path, **options: Any) -> list[dict[str, Any]]:
    with thawline.open(data, "borg", **options) as cold:
        return [row for batch in cold.batches() for row in batch.to_pylist()]


def rows_in(reading: Reading) -> list[dict[str, Any]]:
    pairs = [item for item in reading if not isinstance(item, Finding)]
    return [row for _, batches in pairs for batch in batches for row in batch.to_pylist()]


def codes_of(data: bytes | Path) -> list[str]:
    with thawline.open(data, "borg") as cold:
        return [finding.code.id for finding in cold.findings() if finding.severity != "note"]


def golden(name: str) -> bytes:
    return (GOLDEN / "borg" / name).read_bytes()


def place(row: dict[str, Any]) -> tuple[int, int, str]:
    return row["offset"], row["size"], row["chunk_id"].hex()


@pytest.mark.parametrize("name", PACKED)
def test_the_listing_is_that_of_borg(vectors: Path, tmp_path: Path, name: str) -> None:
    repo, told = unpacked(vectors, name, tmp_path), account(vectors, name)
    version = str(told["repo_version"])
    for pack in told["packs"]:
        rows = rows_of(repo / pack["path"], repository_version=version)
        assert len(rows) == len(pack["blobs"])
        for row, blob in zip(rows, pack["blobs"], strict=True):
            assert place(row) == (blob["offset"], blob["size"], blob["chunk_id"])
            assert (row["version"], row["pack_id"].hex()) == (blob["version"], pack["pack_id"])
            assert (row["len_meta"], row["len_data"]) == (blob["meta_size"], blob["data_size"])
            if "aes256" not in name:
                meta = blob["meta"]
                listed = (meta["type"], meta["ctype"], meta["clevel"], meta["csize"], blob["plaintext_size"])
                assert tuple(row[key] for key in ("type", "ctype", "clevel", "csize", "plain_size")) == listed


@pytest.mark.parametrize("name", [name for name in PACKED if "aes256" not in name])
def test_chunks_decompress_to_what_borg_decompressed(vectors: Path, tmp_path: Path, name: str) -> None:
    repo, told = unpacked(vectors, name, tmp_path), account(vectors, name)
    for pack in told["packs"]:
        with thawline.open(repo / pack["path"], repository_version=str(told["repo_version"])) as cold:
            plaintexts = [one for batch in cold.batches(["plaintext"]) for one in batch["plaintext"].to_pylist()]
        hashes = [hashlib.sha256(plaintext).hexdigest() for plaintext in plaintexts]
        assert hashes == [blob["plaintext_sha256"] for blob in pack["blobs"]]


@pytest.mark.parametrize(
    "name, mode, rule, verdict, by",
    [
        ("dev20260613-none", "none", "chunk_id", "verified", "chunk_id"),
        ("b22-none", "none", "sha256", "verified", "chunk_id+pack_name"),
        ("b23-none-sha256", "none-sha256", "sha256", "verified", "tag+chunk_id+pack_name"),
        ("b22-authenticated-sha256", "authenticated-sha256", "sha256", "verified", "pack_name"),
        ("b25-authenticated-blake3", "authenticated-blake3", "blake3", "verified", "pack_name"),
        ("b22-aes256-ocb", "aes256-ocb", "sha256", "verified", "pack_name"),
        ("b25-aes256-ocb", "aes256-ocb", "blake3", "verified", "pack_name"),
    ],
)
def test_a_verdict_claims_what_mode_and_name_allow(
    vectors: Path, tmp_path: Path, name: str, mode: str, rule: str, verdict: str, by: str
) -> None:
    repo, told = unpacked(vectors, name, tmp_path), account(vectors, name)
    row = rows_of(repo / told["packs"][0]["path"])[0]
    assert (row["mode"], row["name_rule"], row["verdict"], row["verified_by"]) == (mode, rule, verdict, by)


@pytest.mark.parametrize(
    "file, verdict, by",
    [
        ("none-types.pack", "verified", "chunk_id"),
        ("none-sha256.pack", "verified", "tag+chunk_id"),
        ("none-blake3.pack", "verified", "tag+chunk_id"),
        ("none-manifest.pack", "readable", "structure"),
        ("authenticated.pack", "readable", "structure"),
        ("aes256-ocb-shape.pack", "sealed", "structure"),
    ],
)
def test_without_a_name_only_unkeyed_hashes_verify(file: str, verdict: str, by: str) -> None:
    assert {(row["verdict"], row["verified_by"]) for row in rows_of(golden(file))} == {(verdict, by)}


@pytest.mark.parametrize("file, is_told", [("none-types.pack", False), ("aes256-ocb-shape.pack", True)])
def test_a_clean_pack_says_what_was_not_proven(file: str, is_told: bool) -> None:  # noqa: FBT001 - a table of cases
    with thawline.open(golden(file)) as cold:
        report = cold.verify()
    assert report.ok
    assert [finding.code.id for finding in report.findings] == (["BRG304"] if is_told else [])
    assert all("who_can_tell" in finding.detail for finding in report.findings)


@pytest.mark.parametrize(
    "version, repository, key_type, name",
    [
        (1, 4, 0x02, "none"),
        (1, 4, 0x07, "authenticated-sha256"),
        (1, 4, 0x50, "authenticated-blake3"),
        (2, 4, 0x80, "none-sha256"),
        (2, 4, 0x90, "none-blake3"),
        (2, 4, 0x60, "authenticated-sha256"),
        (2, 4, 0x70, "authenticated-blake3"),
        (2, 5, 0x50, "authenticated-sha256"),
        (2, 5, 0x60, "authenticated-blake3"),
        (1, 4, 0x10, "aes256-ocb"),
        (2, 5, 0x20, "chacha20-poly1305"),
        (2, None, 0x60, "authenticated"),
        (2, 5, 0x80, "unknown"),
    ],
)
def test_a_key_type_means_what_its_generation_says(
    version: int, repository: int | None, key_type: int, name: str
) -> None:
    assert mode_of(version, key_type, repository).name == name


def expected_places(entry: dict[str, Any]) -> set[tuple[int, int, str]]:
    blobs = {blob["n"]: blob for blob in entry["surviving"]}
    found = {(blob["offset_now"], blob["size"], blob["chunk_id"]) for blob in entry["surviving"]}
    copies = {(copy["offset_now"], copy["size"], blobs[copy["n"]]["chunk_id"]) for copy in entry["copies"]}
    return found | copies


def test_no_surviving_blob_of_a_damaged_pack_is_missed_and_no_other_goes_unmarked(vectors: Path) -> None:
    for entry in damaged_packs(vectors):
        rows = rows_of(vectors / "borg/damaged" / entry["file"])
        surviving, found = expected_places(entry), {place(row) for row in rows}
        assert surviving <= found, entry["file"]
        others = [row for row in rows if place(row) not in surviving and row["verdict"] not in DOUBTFUL]
        is_unseen = entry["base"] == "b25-aes256-ocb" and entry["damage"] in UNSEEN
        assert len(others) == is_unseen, entry["file"]
        if entry["base"] == "b22-none":
            assert all(row["verdict"] == "verified" for row in rows), entry["file"]


def test_what_is_lost_is_reported_where_it_lies(vectors: Path) -> None:
    for entry in damaged_packs(vectors):
        with thawline.open(vectors / "borg/damaged" / entry["file"]) as cold:
            errors = [finding for finding in cold.findings() if finding.severity == "error"]
        has_hole = entry["damage"] not in {"intact", "swap-blobs", "dup-blob", "trunc-at-boundary"}
        if has_hole and not (entry["base"] == "b25-aes256-ocb" and entry["damage"] in UNSEEN):
            (error,) = errors
            # Stray bytes behind an encrypted blob may be its own end: then it is that blob's size that is wrong.
            assert "either" in error.detail or error.span.start <= entry["at"] <= error.span.end, entry["file"]
        else:
            assert not errors, entry["file"]


def test_the_name_shows_what_nothing_else_does(vectors: Path, tmp_path: Path) -> None:
    for entry in damaged_packs(vectors):
        named = tmp_path / entry["base_pack"]
        shutil.copy(vectors / "borg/damaged" / entry["file"], named)
        with thawline.open(named) as cold:
            report = cold.verify()
        assert report.ok == entry["name_hash_ok"], entry["file"]


MAGIC_PLACES = [0, 3, 7]


@pytest.mark.parametrize("at", [*MAGIC_PLACES, 8, 9, 40, 41, 44, 45, 48, 49, 60])
def test_a_flipped_header_byte_costs_one_blob(at: int) -> None:
    data = bytearray(golden("none-compressions.pack"))
    rows = rows_of(bytes(data))
    start = rows[3]["offset"]
    data[start + at] ^= 0xFF
    found = rows_of(bytes(data))
    assert [place(row) for row in found] == [place(row) for row in rows[:3] + rows[4:]]
    assert len(codes_of(bytes(data))) == 1


def test_blobs_inside_a_broken_blob_are_not_taken_for_its_neighbours() -> None:
    """pack-in-data: the second of three blobs holds a pack of two perfect ones."""
    data = golden("pack-in-data.pack")
    _, owner, _ = rows_of(data)
    for at in range(owner["offset"], owner["offset"] + HEADER + owner["len_meta"]):
        broken = data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]
        inner = [row for row in rows_of(broken) if owner["offset"] < row["offset"] < owner["offset"] + owner["size"]]
        assert all(row["verdict"] in DOUBTFUL for row in inner), at


def test_a_claimed_extent_that_nothing_confirms_marks_what_lies_in_it() -> None:
    data = bytearray(golden("pack-in-data.pack"))
    before, owner, after = rows_of(bytes(data))
    data[owner["offset"] + 45] += 7  # data_size, and the meta map cannot tell the right one
    data[owner["offset"] + HEADER + 1] = 0xC1
    rows = rows_of(bytes(data))
    assert [row["verdict"] for row in rows] == ["verified", "nested", "nested", "verified"]
    assert (place(rows[0]), place(rows[-1])) == (place(before), place(after))


def test_blobs_of_another_key_behind_damage_are_not_taken_for_the_packs_own() -> None:
    """A file in an unencrypted repository may be a pack of an encrypted one."""
    inner = golden("aes256-ocb-shape.pack")
    owner = hostile(meta_map(csize=len(inner), size=len(inner)), inner)
    data = golden("none-one-blob.pack") + bytes(60) + owner[60:] + golden("none-empty-file.pack")
    assert [row["verdict"] for row in rows_of(data)] == ["verified", "nested", "nested", "nested", "verified"]


def test_a_size_that_spans_the_next_blobs_does_not_hide_them() -> None:
    data = bytearray(golden("none-compressions.pack"))
    rows = rows_of(bytes(data))
    whole = rows[1]["len_data"] + rows[2]["size"] + rows[3]["size"]
    data[rows[1]["offset"] + 45 : rows[1]["offset"] + 49] = whole.to_bytes(4, "little")
    found = rows_of(bytes(data))
    assert [place(row) for row in found] == [place(row) for row in rows[:1] + rows[2:]]
    assert codes_of(bytes(data)) == ["BRG104"]


def test_a_chunk_whose_content_changed_is_not_returned_with_its_id() -> None:
    data = bytearray(golden("none-large.pack"))
    data[-5] ^= 1
    assert (rows_of(bytes(data)), codes_of(bytes(data))) == ([], ["BRG109"])


@pytest.mark.parametrize("file", ["none-sha256.pack", "none-blake3.pack"])
def test_a_changed_byte_of_a_slot_breaks_its_tag(file: str) -> None:
    data = bytearray(golden(file))
    row = rows_of(bytes(data))[0]
    data[row["offset"] + HEADER + 5] ^= 1  # in the tag itself
    assert codes_of(bytes(data)) == ["BRG108"]


def test_slots_of_two_sessions_are_no_blob() -> None:
    data = bytearray(golden("aes256-ocb-shape.pack"))
    rows = rows_of(bytes(data))
    data[rows[1]["offset"] + HEADER + 20] ^= 1
    assert codes_of(bytes(data)) == ["BRG105"]
    assert len(rows_of(bytes(data))) == len(rows) - 1


def test_an_object_may_have_twenty_megabytes_and_not_a_byte_more() -> None:
    def blob(len_data: int) -> bytes:
        sealed = b"\x10\0" + (1).to_bytes(6, "big") + bytes(24) + bytes(16)
        data = b"\x10\0" + bytes(6) + bytes(24) + bytes(16)
        header = pack_header(1, bytes(32), len(sealed), len(data))[:-4] + len_data.to_bytes(4, "little")
        return header + sealed + data + bytes(len_data - len(data))

    most = 20_971_479 - HEADER - 48
    assert len(rows_of(blob(most))) == 1
    assert (rows_of(blob(most + 1)), codes_of(blob(most + 1))) == ([], ["BRG104"])


def meta_map(**values: object) -> bytes:
    import msgpack  # noqa: PLC0415 - only the makers of hostile blobs need it

    packed: bytes = msgpack.packb({"type": "F", "ctype": 0, "clevel": 255, "csize": 0, **values})
    return packed


def hostile(meta: bytes, data: bytes = b"") -> bytes:
    slots = (b"\x02" + meta, b"\x02" + data)
    return pack_header(1, hashlib.sha256(b"").digest(), *map(len, slots)) + b"".join(slots)


@pytest.mark.parametrize(
    "meta",
    [
        b"",
        b"\xc1",
        b"\x80",
        b"\x91" * 5000,
        meta_map(size=-1),
        meta_map(size=1 << 40),
        meta_map(csize="0"),
        meta_map(ctype=4),
        meta_map(psize=1),
        meta_map(type=b"F"),
    ],
)
def test_a_meta_map_that_makes_no_sense_is_a_finding(meta: bytes) -> None:
    data = hostile(meta)
    assert rows_of(data) == []
    assert codes_of(data)[0] in {"BRG106", "BRG107"}


def test_a_chunk_never_decompresses_to_more_than_it_says() -> None:
    bomb = bytes.fromhex("28b52ffd a4 00000008 5b000048 0000")  # claims 128 MiB of one byte
    assert codes_of(hostile(meta_map(ctype=3, csize=len(bomb), size=10), bomb)) == ["BRG107"]
    zeros = codecs_zlib(1 << 24)
    assert codes_of(hostile(meta_map(ctype=5, csize=len(zeros), size=100), zeros)) == ["BRG107"]


def codecs_zlib(size: int) -> bytes:
    import zlib  # noqa: PLC0415 - as above

    assert codecs.decompress("zlib", zlib.compress(b"")) == b""
    return zlib.compress(bytes(size))


@pytest.mark.parametrize(
    "pattern",
    [
        b"BORG_OBJ",
        b"BORG_OBJ\x01",
        pack_header(1, bytes(32), 1, 1),
        pack_header(1, bytes(32), 1, 1) + b"\x02\x02",
        hostile(b"\x80") + b"!",
        pack_header(2, bytes(32), 1 << 20, 1 << 20),
    ],
)
def test_a_hostile_pack_costs_linear_time(pattern: bytes) -> None:
    def seconds(size: int) -> float:
        data = pattern * (size // len(pattern))
        start = time.process_time()
        with thawline.open(data, "borg") as cold:
            assert cold.verify().size == len(data)
        return time.process_time() - start

    small, large = seconds(1 << 14), seconds(1 << 17)
    assert large < 40 * small + 2


@pytest.mark.parametrize("seed", range(4))
def test_any_bytes_are_accounted_for(seed: int) -> None:
    random = Random(seed)
    pieces = [
        random.randbytes(random.randrange(200)),
        *(g.data for g in golden_files("borg") if g.file.suffix == ".pack"),
    ]
    for _ in range(30):
        data = b"".join(_cut(random, random.choice(pieces)) for _ in range(4))
        with thawline.open(data, "borg") as cold:
            report = cold.verify()
            assert report.rows == sum(batch.num_rows for batch in cold.batches())


def _cut(random: Random, data: bytes) -> bytes:
    return data[random.randrange(len(data) + 1) :][: random.randrange(2000)]


def test_heads_tell_the_same_blobs_as_contents_where_nothing_is_damaged() -> None:
    for file in golden_files("borg"):
        with thawline.open(file.data, "borg") as cold:
            full, heads = cold.verify(), cold.verify(heads_only=True)
        assert (full.units, full.rows, full.intact_bytes) == (heads.units, heads.rows, heads.intact_bytes), file.name


def test_rows_of_a_run_are_those_of_the_whole_read() -> None:
    for file in golden_files("borg"):
        source = open_source(file.data)
        kind = Borg().kind_of(source)
        table = "index" if file.file.suffix == ".index" else "blobs"
        names = [*kind.tables[table].schema.names, *kind.tables[table].extras.names]
        runs = [item.portable() for item in kind.walk(source, Depth.UNITS) if isinstance(item, Run)]
        again = rows_in(kind.rows(source, runs, table, names))
        assert again == rows_in(read(kind, source, table, names)), file.name


def test_units_are_the_blobs() -> None:
    file = next(file for file in golden_files("borg") if file.file.name == "versions-mixed.pack")
    source, kind = open_source(file.data), Borg().kinds[0]
    runs = [item for item in kind.walk(source, Depth.EVERYTHING) if isinstance(item, Run)]
    spans = [span for run in runs for span in kind.units(source, run)]
    assert [(span.start, span.end) for span in spans] == [
        (unit["start"], unit["end"]) for unit in file.account["units"]
    ]


def test_a_damaged_header_is_read_as_the_spec_reads_a_whole_one() -> None:
    for file in golden_files("borg"):
        for unit, data in file.units() if file.file.suffix == ".pack" else ():
            parsed, read = specs.parse(unit["spec"], data), header_at(memoryview(data), 0)
            assert read is not None
            same = (parsed.version, parsed.chunk_id, parsed.len_meta, parsed.len_data)
            assert (read.version, read.chunk_id, read.len_meta, read.len_data) == same
            assert pack_header(*same) == data[:HEADER]
            assert read.end == len(data)


def test_a_blob_is_found_wherever_it_starts() -> None:
    blob = pack_header(1, bytes(32), 2, 3) + b"\x02m" + b"\x02da"
    for size in (0, 1, 1023, 1024, 1025, 5000, 1 << 21):
        starts = Starts(SYNCS["borg_blobs"], memoryview(bytes(size) + blob + b"BORG_OBJ"))
        assert (starts.following(0), starts.following(size)) == (size, size)
        assert starts.following(size + 1) == len(starts.view)


def names_of(data: bytes) -> Iterator[str]:
    yield from (hashlib.sha256(data).hexdigest(), blake3(data).hexdigest())


@pytest.mark.parametrize("rule", ["sha256", "blake3"])
def test_the_rule_that_a_name_follows_is_told(tmp_path: Path, rule: str) -> None:
    data = golden("none-archive.pack")
    path = tmp_path / dict(zip(("sha256", "blake3"), names_of(data), strict=True))[rule]
    path.write_bytes(data)
    assert {row["name_rule"] for row in rows_of(path)} == {rule}


@pytest.mark.parametrize("table", ["blobs", "index"])
def test_ids_are_columns_of_bytes(table: str) -> None:
    name = "index-archive.index" if table == "index" else "none-archive.pack"
    listed = json.loads((GOLDEN / "borg" / f"{name}.json").read_bytes())["units"]
    told = listed[0]["fields"]["entries"] if table == "index" else [unit["fields"] for unit in listed]
    with thawline.open(GOLDEN / "borg" / name, "borg") as cold:
        (batch,) = cold.batches()
    assert {batch.schema.field(column).type for column in ("chunk_id", "pack_id")} == {pa.binary()}
    assert batch["chunk_id"].to_pylist() == [bytes.fromhex(one["chunk_id"]) for one in told]


def test_an_index_is_read_as_a_table(tmp_path: Path) -> None:
    path = tmp_path / KITCHEN["index"]
    path.write_bytes(golden("index-archive.index"))
    places = [(row["chunk_id"], row["offset"], row["length"]) for row in rows_of(path)]
    blobs = rows_of(golden("none-archive.pack"))
    assert places == [(row["chunk_id"], row["offset"], row["size"]) for row in blobs]


@pytest.mark.parametrize(
    "change, code",
    [
        (lambda data: data[:-1], "BRG112"),
        (lambda data: data[:-80], "BRG112"),
        (lambda data: data[:4] + b"X" + data[5:], "BRG111"),
        (lambda data: data.replace(b'"value_size": 48', b'"value_size": 40'), "BRG111"),
        (lambda data: data[:30], "BRG111"),
        (lambda data: data[:-1] + b"\xff", "BRG113"),
    ],
)
def test_a_damaged_index_is_told(tmp_path: Path, change: Any, code: str) -> None:
    path = tmp_path / KITCHEN["index"]
    path.write_bytes(change(golden("index-archive.index")))
    found = [
        item.code.id for item in IndexKind(4).walk(open_source(path), Depth.EVERYTHING) if isinstance(item, Finding)
    ]
    assert code in found


def test_counters_tell_how_many_encrypted_blobs_are_gone(vectors: Path, tmp_path: Path) -> None:
    repo = unpacked(vectors, "b22-aes256-ocb", tmp_path)
    pack = max(account(vectors, "b22-aes256-ocb")["packs"], key=lambda pack: len(pack["blobs"]))
    data, blobs = (repo / pack["path"]).read_bytes(), pack["blobs"]
    start, end = blobs[4]["offset"], blobs[9]["offset"]
    with thawline.open(data[:start] + bytes(end - start) + data[end:], "borg") as cold:
        (lost,) = [finding for finding in cold.findings() if finding.severity == "error"]
    assert (lost.span.start, lost.span.end, lost.detail["lost"][:7]) == (start, end, "5 blobs")


def test_where_counters_jump_is_told_of_a_pack_that_is_not_its_name(vectors: Path, tmp_path: Path) -> None:
    entry = next(one for one in damaged_packs(vectors) if one["file"] == "b25-aes256-ocb__dup-blob.pack")
    named = tmp_path / entry["base_pack"]
    shutil.copy(vectors / "borg/damaged" / entry["file"], named)
    with thawline.open(named) as cold:
        (finding,) = [finding for finding in cold.findings() if finding.severity == "error"]
    assert (finding.code.id, finding.detail["counters_jump_at"]) == ("BRG110", hex(entry["at"]))


def test_a_pack_behind_a_url_is_read_as_one_on_disk(tmp_path: Path) -> None:
    import fsspec  # noqa: PLC0415 - only here

    data = golden("none-archive.pack")
    filesystem = fsspec.filesystem("memory")
    filesystem.pipe(f"/packs/{KITCHEN['pack']}", data)
    (tmp_path / KITCHEN["pack"]).write_bytes(data)
    with thawline.open(f"memory://packs/{KITCHEN['pack']}") as cold:
        rows = [row for batch in cold.batches() for row in batch.to_pylist()]
    assert rows == rows_of(tmp_path / KITCHEN["pack"])
