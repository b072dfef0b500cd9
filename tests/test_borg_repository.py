"""Borg repositories: packs, index and archives held against each other, and read without borg."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from accounts import GOLDEN
from borg_repositories import KITCHEN, PACKED, READABLE, account, item, kitchen, made, pack_of, unpacked
from click.testing import CliRunner

import thawline
from thawline import specs
from thawline.cli import commands
from thawline.errors import SourceError
from thawline.formats.borg.archives import Archive, Encrypted, Gap, Item, LostChunk, read_items
from thawline.formats.borg.blobs import Content, Meta
from thawline.formats.borg.folder import Catalogue, LostArchive, NoSuchArchive, read_packs, repository_at
from thawline.formats.borg.index import encode_index
from thawline.formats.borg.rows import Ledger
from thawline.formats.borg.write import BadPath, NeedsKey, PackWriter, place_of
from thawline.formats.contract import Depth
from thawline.model import Report

EMPTY_INDEX = "f7c384a6"
"""How the name of the index without entries starts that borg 2.0.0b22 to b24 wrote to every repository."""


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(commands, [str(argument) for argument in arguments], standalone_mode=False)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.return_value or done.exit_code, done.stdout


def reports(repo: Path) -> dict[str, Report]:
    return {report.file: report for report in thawline.open_folder(repo).reports()}


def findings(repo: Path, *, notes: bool = False) -> list[str]:
    """Codes of all that is found in a repository, but for what the check proves."""
    found = [finding for report in reports(repo).values() for finding in report.findings]
    return [one.code.id for one in found if one.code.id != "BRG304" and (notes or one.severity != "note")]


def detail(repo: Path, code: str) -> dict[str, Any]:
    found = [finding for report in reports(repo).values() for finding in report.findings if finding.code.id == code]
    return dict(found[0].detail)


@pytest.mark.parametrize("name", PACKED)
def test_a_repository_of_borg_is_clean_and_all_of_it_is_seen(vectors: Path, tmp_path: Path, name: str) -> None:
    repo, told = unpacked(vectors, name, tmp_path), account(vectors, name)
    found = reports(repo)
    assert all(report.ok for report in found.values())
    assert findings(repo, notes=True) == (["BRG306"] if name == "b25-aes256-ocb" else [])
    proven = detail(repo, "BRG304")
    assert (proven["packs"], proven["blobs"]) == (len(told["packs"]), told["blob_count"])
    assert proven["archives"] == len(told["archives"])
    assert f"version {told['repo_version']} " in proven["repository"]
    packs = {str(repo / pack["path"]): len(pack["blobs"]) for pack in told["packs"]}
    assert {file: report.units for file, report in found.items() if file in packs} == packs


@pytest.mark.parametrize(
    "name, words",
    [
        ("b22-none", "hashes to its id"),
        ("b25-authenticated-blake3", "stored under their names"),
        ("b25-aes256-ocb", "stored under their names"),
    ],
)
def test_the_check_says_what_it_proves_and_what_not(vectors: Path, tmp_path: Path, name: str, words: str) -> None:
    proven = detail(unpacked(vectors, name, tmp_path), "BRG304")
    assert words in proven["proven"]
    assert ("key" in proven["not_proven"]) == (name != "b22-none")
    assert "who wrote it" in proven["not_proven"]


def test_a_repository_from_before_packs_is_named(vectors: Path, tmp_path: Path) -> None:
    repo = unpacked(vectors, "b21-none-prepack", tmp_path)
    assert findings(repo) == ["BRG123"]
    with pytest.raises(SourceError, match="before packs"):
        Catalogue(repo)


@pytest.mark.parametrize("name", PACKED)
def test_every_intact_repository_passes_with_all_of_its_files_known(vectors: Path, tmp_path: Path, name: str) -> None:
    repo = unpacked(vectors, name, tmp_path)
    has_key = (repo / "keys").is_dir() and any((repo / "keys").iterdir())
    assert has_key == ("none" not in name)
    assert_its_own_files_are_known(repo)


def test_keys_and_locks_are_files_of_their_repository(tmp_path: Path) -> None:
    repo = kitchen(tmp_path)
    for folder, text in (("keys", f"BORG_KEY {'0f' * 32}\nialhbGdvcml0aG2m\n"), ("locks", '{"exclusive": true}')):
        (repo / folder).mkdir()
        (repo / folder / hashlib.sha256(text.encode()).hexdigest()).write_text(text)
    assert_its_own_files_are_known(repo)


def assert_its_own_files_are_known(repo: Path) -> None:
    """Every verb that speaks of all files calls none of them damaged or unknown."""
    code, text = run("verify", repo, "--format", "jsonl")
    assert (code, {json.loads(line)["status"] for line in text.splitlines()}) == (0, {"ok"})
    code, text = run("info", repo, "--format", "jsonl")
    told = [json.loads(line) for line in text.splitlines()]
    left = {each["file"]: each["reason"] for each in told if "reason" in each}
    assert (code, {each["status"] for each in told if "reason" in each}) == (0, {"left out"})
    keys = {str(path) for folder in ("keys", "locks") for path in (repo / folder).glob("*")}
    assert {left[key] for key in keys} <= {"part of its folder, which verify looks at"}
    code, text = run("report", repo, "--format", "json")
    assert (code, json.loads(text)["unread"]) == (0, [])


def test_a_key_that_stands_alone_is_called_a_key(tmp_path: Path) -> None:
    key = tmp_path / ("0f" * 32)
    key.write_text(f"BORG_KEY {'0f' * 32}\nialhbGdvcml0aG2m\n")
    code, text = run("verify", tmp_path, "--format", "jsonl")
    (told,) = map(json.loads, text.splitlines())
    assert (code, told["status"]) == (3, "unknown")  # nothing else is there to read
    assert "a key of Borg" in told["reason"]
    assert "--input-format" not in told["reason"]


def test_the_small_repository_of_the_golden_files_is_clean(tmp_path: Path) -> None:
    assert findings(kitchen(tmp_path), notes=True) == []


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)


def remove_pack(repo: Path) -> None:
    pack_of(repo, KITCHEN["pack"]).unlink()


def remove_index(repo: Path) -> None:
    (repo / "index" / KITCHEN["index"]).unlink()


def table_of(places: list[Any]) -> pa.Table:
    """Places as the columns of an index."""
    types = {"chunk_id": pa.binary(), "pack_id": pa.binary(), "offset": pa.int64(), "length": pa.int64()}
    return pa.Table.from_pylist([dict(zip(types, place, strict=True)) for place in places], schema=pa.schema(types))


def rewrite_index(repo: Path, change: Callable[[list[Any]], list[Any]]) -> None:
    """Replace the index by one of other entries, rightly named."""
    path = repo / "index" / KITCHEN["index"]
    entries = specs.parse("borg_index", path.read_bytes()).entries
    places = [(entry.chunk_id, entry.pack_id, entry.ofs_blob, entry.len_blob) for entry in entries]
    data = encode_index(table_of(change(places)))
    path.unlink()
    (path.parent / hashlib.sha256(data).hexdigest()).write_bytes(data)


@pytest.mark.parametrize(
    "what, codes",
    [
        (remove_pack, ["BRG120", "BRG122"]),
        (remove_index, ["BRG305"]),
        (lambda repo: flip(repo / "index" / KITCHEN["index"], -1), ["BRG113", "BRG121"]),
        (lambda repo: flip(repo / "index" / KITCHEN["index"], 0), ["BRG111", "BRG305"]),
        (lambda repo: rewrite_index(repo, lambda places: places[:-1]), ["BRG202"]),
        (lambda repo: rewrite_index(repo, lambda p: [(*p[0][:2], 1, 113), *p[1:]]), ["BRG121"]),
        (lambda repo: (repo / "config/version").write_text("four"), ["BRG124"]),
        (lambda repo: (repo / "archives" / ("ab" * 32)).touch(), ["BRG122"]),
        (lambda repo: (repo / "packs/f4/notes.txt").write_text("?"), ["BRG201"]),
        (lambda repo: flip(pack_of(repo, KITCHEN["pack"]), 0x6F), ["BRG109", "BRG125", "BRG301"]),
        (lambda repo: flip(pack_of(repo, KITCHEN["pack"]), -1), ["BRG109", "BRG122", "BRG301"]),
    ],
)
def test_each_break_of_a_repository_has_its_name(tmp_path: Path, what: Callable[[Path], Any], codes: list[str]) -> None:
    repo = kitchen(tmp_path)
    what(repo)
    found = findings(repo, notes=True)
    assert sorted(set(found)) == codes


def test_a_flipped_chunk_names_the_files_that_are_hit(tmp_path: Path) -> None:
    repo = kitchen(tmp_path)
    flip(pack_of(repo, KITCHEN["pack"]), 0xCE + 0x5B)  # content of the third chunk, the end of numbers.txt
    hit = detail(repo, "BRG125")
    assert (hit["archive"], hit["files"], hit["lost"]) == ("kitchen", "docs/numbers.txt", "1 file")


def add_pack(repo: Path, name: str = "none-one-blob") -> str:
    from accounts import GOLDEN  # noqa: PLC0415 - only here

    data = (GOLDEN / f"borg/{name}.pack").read_bytes()
    pack_id = hashlib.sha256(data).hexdigest()
    path = pack_of(repo, pack_id)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return pack_id


def test_a_crash_between_pack_and_index_leaves_an_orphan_that_is_called_so(tmp_path: Path) -> None:
    repo = kitchen(tmp_path)
    pack_id = add_pack(repo)
    assert findings(repo, notes=True) == ["BRG302"]
    assert detail(repo, "BRG302")["pack_id"] == pack_id
    assert all(report.ok for report in reports(repo).values())


def test_a_crash_between_index_and_archive_is_called_so(tmp_path: Path) -> None:
    repo = kitchen(tmp_path)
    pack_id = add_pack(repo, "none-types")
    rows = [row for batch in thawline.open(pack_of(repo, pack_id)).batches() for row in batch.to_pylist()]
    places = [(row["chunk_id"], bytes.fromhex(pack_id), row["offset"], row["size"]) for row in rows]
    rewrite_index(repo, lambda old: old + places)
    assert findings(repo, notes=True) == ["BRG303"]
    assert (detail(repo, "BRG303")["chunks"], detail(repo, "BRG303")["whole_packs"]) == (len(rows), 1)


def test_a_deleted_archive_is_noted_and_not_listed(tmp_path: Path) -> None:
    repo = kitchen(tmp_path)
    (repo / "archives" / KITCHEN["archive"]).rename(repo / "archives" / f"{KITCHEN['archive']}.del")
    assert findings(repo, notes=True) == ["BRG307"]
    with Catalogue(repo) as catalogue:
        assert list(catalogue.archives()) == []


def test_verify_on_the_command_line_reads_a_repository_as_a_whole(tmp_path: Path) -> None:
    repo = kitchen(tmp_path)
    code, out = run("verify", repo, "--format", "jsonl")
    files = [json.loads(line)["file"] for line in out.splitlines()]
    assert (code, files[-1], len(files)) == (0, str(repo), 3)
    remove_pack(repo)
    assert run("verify", repo, "--format", "jsonl")[0] == 1


# Archives.


@pytest.mark.parametrize("name", READABLE)
def test_archives_are_those_that_borg_lists(vectors: Path, tmp_path: Path, name: str) -> None:
    told = account(vectors, name)
    with Catalogue(unpacked(vectors, name, tmp_path)) as catalogue:
        found = [(archive.name, archive.id, str(archive.time)) for archive in catalogue.archives()]  # type: ignore[union-attr]
    assert sorted(found) == sorted((one["name"], one["id"], one["ts"]) for one in told["archives"])


@pytest.mark.parametrize("name", READABLE)
def test_extracted_files_are_the_chunks_that_borg_decompressed(vectors: Path, tmp_path: Path, name: str) -> None:
    repo, told = unpacked(vectors, name, tmp_path), account(vectors, name)
    blobs = [blob for pack in told["packs"] for blob in pack["blobs"]]
    hashes = {blob["chunk_id"]: blob["plaintext_sha256"] for blob in blobs}
    written = set()
    for archive in told["archives"]:
        out = tmp_path / archive["id"]
        assert run("borg", "extract", repo, archive["id"], "-o", out) == (0, "")
        with Catalogue(repo) as catalogue:
            items = [item for item in catalogue.items(catalogue.find(archive["id"])) if isinstance(item, Item)]
        files = {item.path: item for item in items if item.kind == "file"}
        assert {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()} == set(files)
        for path, file in files.items():
            (chunk_id,) = [chunk_id for chunk_id, _ in file.chunks] or [hashlib.sha256(b"").hexdigest()]
            data = (out / path).read_bytes()
            assert hashlib.sha256(data).hexdigest() == hashes.get(chunk_id, hashlib.sha256(b"").hexdigest())
            assert (len(data), (out / path).stat().st_mtime_ns) == (file.size, file.mtime)
            written.add(chunk_id)
    file_chunks = {blob["chunk_id"] for blob in blobs if blob["meta"]["type"] == "F"}
    assert file_chunks <= written


def test_every_generation_extracts_the_same_trees(vectors: Path, tmp_path: Path) -> None:
    trees = {}
    for name in READABLE:
        repo = unpacked(vectors, name, tmp_path / name)
        oldest = min((one for one in account(vectors, name)["archives"]), key=lambda one: one["ts"])
        out = tmp_path / name / "out"
        run("borg", "extract", repo, oldest["id"], "-o", out)
        files = [path for path in out.rglob("*") if path.is_file()]
        trees[name] = {str(path.relative_to(out)): path.read_bytes() for path in files}
    assert len(trees["b22-none"]) == 21
    assert all(tree == trees["b22-none"] for tree in trees.values())


def test_an_encrypted_repository_is_refused_in_a_sentence(vectors: Path, tmp_path: Path) -> None:
    with pytest.raises(Encrypted, match="needs the key"):
        Catalogue(unpacked(vectors, "b25-aes256-ocb", tmp_path))


def test_an_archive_is_found_by_name_or_the_start_of_its_id(vectors: Path, tmp_path: Path) -> None:
    with Catalogue(unpacked(vectors, "b22-none", tmp_path)) as catalogue:
        assert catalogue.find("compr-lz4").id.startswith("979c15b2")
        assert catalogue.find("979c15b2").name == "compr-lz4"
        with pytest.raises(NoSuchArchive, match="2 archives are called 'first'; name one by its id: b4084c9d1783"):
            catalogue.find("first")
        with pytest.raises(NoSuchArchive, match="there is no archive 'second'; there are first, compr-none"):
            catalogue.find("second")


def test_nothing_is_written_outside_of_the_target(tmp_path: Path) -> None:
    repo, out = kitchen(tmp_path), tmp_path / "deep" / "out"
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(out)}
    assert run("borg", "extract", repo, "kitchen", "-o", out)[0] == 0
    after = {path for path in tmp_path.rglob("*") if not path.is_relative_to(out)}
    assert after - before == {out.parent}
    assert {str(path.relative_to(out)) for path in out.rglob("*")} == {"docs", "docs/kettle.txt", "docs/numbers.txt"}
    assert not Path("/rooted.txt").exists()
    assert (out / "docs/numbers.txt").read_bytes() == b"one, two\n"
    assert stat.S_IMODE((out / "docs/numbers.txt").stat().st_mode) == 0o600


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "//x", "a/..", "..", "C:\\x", "\\x", "a\0b"])
def test_a_path_that_leads_elsewhere_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(BadPath):
        place_of(tmp_path, path)


def test_no_file_is_written_through_a_link_that_stands_in_the_target(tmp_path: Path) -> None:
    repo, out, elsewhere = kitchen(tmp_path), tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    out.mkdir()
    (out / "docs").symlink_to(elsewhere)
    assert run("borg", "extract", repo, "kitchen", "-o", out)[0] == 0
    assert list(elsewhere.iterdir()) == []


def test_a_file_with_a_lost_chunk_is_not_written_and_the_others_are(tmp_path: Path) -> None:
    repo, out = kitchen(tmp_path), tmp_path / "out"
    flip(pack_of(repo, KITCHEN["pack"]), 0xCE + 0x5B)
    assert run("borg", "extract", repo, "kitchen", "-o", out)[0] == 1
    assert [path.name for path in out.rglob("*.txt")] == ["kettle.txt"]


def test_an_existing_file_is_kept_unless_it_may_be_overwritten(tmp_path: Path) -> None:
    repo, out = kitchen(tmp_path), tmp_path / "out"
    (out / "docs").mkdir(parents=True)
    (out / "docs/kettle.txt").write_text("mine")
    with pytest.raises(SourceError, match="not overwritten"):
        run("borg", "extract", repo, "kitchen", "-o", out)
    assert (out / "docs/kettle.txt").read_text() == "mine"
    run("borg", "extract", repo, "kitchen", "-o", out, "--overwrite")
    assert (out / "docs/kettle.txt").read_text() == "the kettle is on the hob\n"


def test_only_the_paths_that_are_named_are_extracted(tmp_path: Path) -> None:
    run("borg", "extract", kitchen(tmp_path), "kitchen", "docs/kettle.txt", "-o", tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").rglob("*.txt")] == ["kettle.txt"]


def test_a_lost_part_of_the_item_stream_costs_the_items_in_it() -> None:
    class Chunks:
        """A store of an item stream in three chunks, cut inside of items, of which one is lost."""

        items = tuple(
            {"path": f"file-{number:02}", "mode": 0o100644, "user": "x" * 40, "chunks": []} for number in range(30)
        )
        stream = b"".join(map(msgpack.packb, items))
        parts = (stream[:700], stream[700:1500], stream[1500:])
        size = len(stream)

        def get(self, chunk_id: str) -> Any:
            if chunk_id == "01" * 32:
                raise LostChunk("gone")
            ids = [bytes([number]) * 32 for number in range(3)]
            data = msgpack.packb(ids) if chunk_id == "ff" * 32 else self.parts[int(chunk_id[:2], 16)]
            return Content(Meta("S", 0, 255, 0, None, None), data, ())

    archive = Archive("", "a", None, "", "", "", None, None, ("ff" * 32,))
    found = list(read_items(Chunks(), archive))  # type: ignore[arg-type]
    paths = [item.path for item in found if isinstance(item, Item)]
    assert [type(item) for item in found].count(Gap) == 1
    assert paths == sorted(set(paths))
    assert len(paths) >= 30 - 2 - 800 // 60
    assert (paths[0], paths[-1]) == ("file-00", "file-29")


def test_an_archive_that_cannot_be_read_is_listed_as_lost(tmp_path: Path) -> None:
    repo = kitchen(tmp_path)
    (repo / "archives" / ("ab" * 32)).touch()
    with Catalogue(repo) as catalogue:
        assert [type(archive) for archive in catalogue.archives()][-1] is LostArchive
    assert run("borg", "archives", repo, "--format", "jsonl")[0] == 1


def test_items_are_listed_with_what_they_are(tmp_path: Path) -> None:
    code, out = run("borg", "items", kitchen(tmp_path), "kitchen", "--format", "jsonl")
    items = {row["path"]: row for row in map(json.loads, out.splitlines())}
    assert code == 0
    assert {path: row["kind"] for path, row in items.items()} == {
        "docs": "folder", "docs/kettle.txt": "file", "docs/numbers.txt": "file", "docs/way-out": "link",
        "../climbed.txt": "file", "/rooted.txt": "file",
    }  # fmt: skip
    numbers = items["docs/numbers.txt"]
    facts = (numbers["size"], numbers["chunks"], numbers["mode"], numbers["mtime"], numbers["intact"])
    assert facts == (9, 2, "0600", "2023-11-14T22:13:20Z", True)


def test_heads_alone_prove_less_and_say_so(tmp_path: Path) -> None:
    repo = kitchen(tmp_path)
    flip(pack_of(repo, KITCHEN["pack"]), 0x6F)
    folder = thawline.open_folder(repo)
    assert all(cold.verify(heads_only=True).ok for cold in folder.files())
    *_, whole = folder.format.accounts(folder.folder)
    (proven,) = [finding.detail for finding in whole.findings if finding.code.id == "BRG304"]
    assert "--heads-only" in str(proven["not_proven"])


def test_names_that_are_no_utf8_can_be_listed_and_told_exactly(tmp_path: Path) -> None:
    name = b"caf\xe9-\xc3\xa9"
    text = name.decode("utf-8", "surrogateescape")
    repo = made(tmp_path, [msgpack.packb(item(text), unicode_errors="surrogateescape")])
    (row,) = [json.loads(line) for line in run("borg", "items", repo, "arc", "--format", "jsonl")[1].splitlines()]
    assert (row["path"], base64.b64decode(row["path_b64"])) == ("caf\\udce9-é", name)


# The index.


@pytest.mark.parametrize("name", PACKED)
def test_a_rebuilt_index_locates_what_borg_located(vectors: Path, tmp_path: Path, name: str) -> None:
    repo, out = unpacked(vectors, name, tmp_path), tmp_path / "index.parquet"
    assert run("borg", "index", repo, "--rebuild", out)[0] == 0
    told = account(vectors, name)
    listed = {
        (bytes.fromhex(blob["chunk_id"]), bytes.fromhex(pack["pack_id"]), blob["offset"], blob["size"])
        for pack in told["packs"]
        for blob in pack["blobs"]
        if blob["in_index"]
    }
    rows = pq.read_table(out).to_pylist()
    assert {tuple(row.values()) for row in rows} == listed
    assert len(rows) == told["index_entries"]


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_a_rebuilt_index_as_text_has_ids_the_way_borg_writes_them(tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"index.{suffix}"
    assert run("borg", "index", kitchen(tmp_path), "--rebuild", out)[0] == 0
    lines = out.read_text().splitlines()
    rows = [*csv.DictReader(lines)] if suffix == "csv" else [json.loads(line) for line in lines]
    told = json.loads((GOLDEN / "borg/index-archive.index.json").read_bytes())["units"][0]["fields"]["entries"]
    assert [(row["chunk_id"], row["pack_id"]) for row in rows] == [(one["chunk_id"], one["pack_id"]) for one in told]
    assert list(rows[0]) == ["chunk_id", "pack_id", "offset", "length"]


def test_places_of_large_blobs_take_no_more_memory_than_they_need(tmp_path: Path) -> None:
    repo, ledger = kitchen(tmp_path), Ledger()
    (tmp_path / "new").mkdir()
    with PackWriter(tmp_path / "new", rule="sha256", version=1) as pack:
        for number in range(20):
            pack.add(bytes([number]) * 32, b"\x02" + bytes(60), b"\x02" + bytes(1 << 20))
    (path,) = (tmp_path / "new").iterdir()
    target = pack_of(repo, path.name)
    target.parent.mkdir(exist_ok=True)
    path.rename(target)
    read_packs(repository_at(repo), ledger, Depth.HEADS)
    places = ledger.table()
    assert places.num_rows == 26
    assert places.get_total_buffer_size() < 26 * 200


@pytest.mark.parametrize("name", ["b22-none", "b22-aes256-ocb", "b24-none-sha256", "b22-none-count1"])
def test_a_rebuilt_index_file_is_one_that_borg_takes(vectors: Path, tmp_path: Path, name: str) -> None:
    repo, out = unpacked(vectors, name, tmp_path), tmp_path / "index"
    assert run("borg", "index", repo, "--rebuild", out)[0] == 0
    (file,) = out.iterdir()
    assert file.name == hashlib.sha256(file.read_bytes()).hexdigest()
    for old in (repo / "index").iterdir():
        old.unlink()
    file.rename(repo / "index" / file.name)
    assert findings(repo) == []


def test_an_index_is_written_byte_for_byte_as_borg_writes_it(vectors: Path, tmp_path: Path) -> None:
    for path in (unpacked(vectors, "b22-none", tmp_path) / "index").iterdir():
        parsed = specs.parse("borg_index", path.read_bytes())
        places = [(entry.chunk_id, entry.pack_id, entry.ofs_blob, entry.len_blob) for entry in parsed.entries]
        assert encode_index(table_of(places)) == path.read_bytes()
    assert hashlib.sha256(encode_index(table_of([]))).hexdigest().startswith(EMPTY_INDEX)


@pytest.mark.parametrize("name", ["b25-aes256-ocb", "b25-authenticated-blake3"])
def test_an_index_that_needs_the_key_is_not_forged(vectors: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(NeedsKey, match="borg check"):
        run("borg", "index", unpacked(vectors, name, tmp_path), "--rebuild", tmp_path / "index")


def test_an_index_is_not_written_into_the_repository(tmp_path: Path) -> None:
    repo = kitchen(tmp_path)
    with pytest.raises(SourceError, match="never written to"):
        run("borg", "index", repo, "--rebuild", repo / "index")


def test_the_index_is_shown_as_rows(tmp_path: Path) -> None:
    code, out = run("borg", "index", kitchen(tmp_path), "--format", "jsonl")
    assert (code, len(out.splitlines()), json.loads(out.splitlines()[0])["pack_id"]) == (0, 6, KITCHEN["pack"])


def test_a_repository_is_read_where_it_must_not_be_written(tmp_path: Path) -> None:
    repo = kitchen(tmp_path)
    times = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in repo.rglob("*")}
    for folder, _, _ in os.walk(repo):
        Path(folder).chmod(0o555)
    try:
        run("verify", repo, "--format", "jsonl")
        run("borg", "extract", repo, "kitchen", "-o", tmp_path / "out")
        run("borg", "index", repo, "--rebuild", tmp_path / "index")
    finally:
        for folder, _, _ in os.walk(repo):
            Path(folder).chmod(0o755)
    assert times == {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in repo.rglob("*")}
