"""Salvage of Borg packs: an original is proven by its name or not claimed, and a new pack is named by its content."""

from __future__ import annotations

import hashlib
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from accounts import GOLDEN, golden_files
from blake3 import blake3
from borg_repositories import KITCHEN, damaged_packs, kitchen, pack_of, unpacked
from click.testing import CliRunner

import thawline
from thawline.cli import commands
from thawline.formats.borg import Borg
from thawline.formats.borg.write import BadBlob, PackWriter
from thawline.formats.contract import ContentNamed
from thawline.model import Salvage
from thawline.source import open_source
from thawline.verbs.salvage import salvage

LARGEST_OBJECT = 20_971_479
PROVEN_KINDS = {
    "intact", "datasize-plus7", "datasize-minus3", "datasize-huge", "metasize-huge", "slot-shift", "magic-flip",
    "version-7f", "tail-garbage-10", "tail-garbage-100", "head-garbage-13", "insert-13", "swap-blobs", "dup-blob",
}  # fmt: skip
"""Damage that leaves everything there that the pack was made of; and chunkid-flip, where something knows the id."""


def salvaged(path: Path, **options: Any) -> Salvage:
    source, borg = open_source(path), Borg(**options)
    kind = borg.kind_of(source)
    assert isinstance(kind, ContentNamed)
    return kind.salvaged(source, include_suspects=False)


def whole(found: Salvage) -> bytes:
    return b"".join(found.parts)


def names(data: bytes) -> set[str]:
    return {hashlib.sha256(data).hexdigest(), blake3(data).hexdigest()}


@pytest.mark.parametrize("in_repository", [False, True])
def test_header_damage_is_undone_and_proven_by_the_name(
    vectors: Path,
    tmp_path: Path,
    in_repository: bool,  # noqa: FBT001 - a table of cases
) -> None:
    repos = {base: unpacked(vectors, base, tmp_path / base) for base in ("b22-none", "b25-aes256-ocb")}
    for entry in damaged_packs(vectors):
        pack_id = entry["base_pack"]
        path = pack_of(repos[entry["base"]], pack_id) if in_repository else tmp_path / pack_id
        shutil.copy(vectors / "borg/damaged" / entry["file"], path)
        found = salvaged(path)
        knows_id = entry["damage"] == "chunkid-flip" and entry["base"] == "b22-none"
        is_proven = entry["damage"] in PROVEN_KINDS or knows_id
        assert (found.name == pack_id) == is_proven, entry["file"]
        assert found.name in names(whole(found)), entry["file"]
        assert bool(found.repaired) == (is_proven and entry["damage"] != "intact"), entry["file"]
        assert bool(found.lost) != is_proven, entry["file"]


def test_what_cannot_be_restored_leaves_a_pack_of_the_surviving_blobs(vectors: Path, tmp_path: Path) -> None:
    base = {name: (unpacked(vectors, name, tmp_path / name)) for name in ("b22-none", "b25-aes256-ocb")}
    for entry in damaged_packs(vectors):
        if entry["damage"] in PROVEN_KINDS | {"payload-flip", "meta-flip", "chunkid-flip"}:
            continue
        original = pack_of(base[entry["base"]], entry["base_pack"]).read_bytes()
        blobs = [original[one["offset_was"] : one["offset_was"] + one["size"]] for one in entry["surviving"]]
        path = tmp_path / entry["base_pack"]
        shutil.copy(vectors / "borg/damaged" / entry["file"], path)
        assert whole(salvaged(path)) == b"".join(blobs), entry["file"]


def test_content_that_changed_is_never_given_a_new_id(vectors: Path, tmp_path: Path) -> None:
    """The id of a chunk is the hash of its content, so a changed content would seem to prove an id of its own."""
    entry = next(one for one in damaged_packs(vectors) if one["file"] == "b22-none__payload-flip.pack")
    path = tmp_path / entry["base_pack"]
    shutil.copy(vectors / "borg/damaged" / entry["file"], path)
    found = salvaged(path)
    assert (found.units, found.repaired, len(found.lost)) == (len(entry["surviving"]), (), 1)


def test_a_pack_of_unproven_blobs_comes_with_a_word_of_caution(vectors: Path, tmp_path: Path) -> None:
    for file, is_cautious in (("b25-aes256-ocb__payload-flip", True), ("b22-none__payload-flip", False)):
        entry = next(one for one in damaged_packs(vectors) if one["file"] == f"{file}.pack")
        path = tmp_path / entry["base_pack"]
        shutil.copy(vectors / "borg/damaged" / entry["file"], path)
        found = salvaged(path)
        assert any("verify-data" in line for line in found.advice) == is_cautious
        assert found.lost


def test_every_flipped_byte_of_a_header_is_restored(tmp_path: Path) -> None:
    data = (GOLDEN / "borg/none-archive.pack").read_bytes()
    path = tmp_path / KITCHEN["pack"]
    start = 113  # the second of six blobs
    for at in range(start, start + 49):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :])
        found = salvaged(path)
        assert (found.name, whole(found)) == (KITCHEN["pack"], data), at


@pytest.mark.parametrize("file", ["aes256-ocb-shape.pack", "chacha20-poly1305-shape.pack"])
def test_headers_of_encrypted_blobs_are_restored_but_for_the_id(tmp_path: Path, file: str) -> None:
    data = (GOLDEN / "borg" / file).read_bytes()
    path = tmp_path / hashlib.sha256(data).hexdigest()
    start = len(data) // 3
    for at in range(start, start + 49):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :])
        is_id = 9 <= at - start < 41
        assert (salvaged(path).name == path.name) != is_id, at - start


def test_the_index_of_the_repository_gives_lost_ids_back(vectors: Path, tmp_path: Path) -> None:
    repo = unpacked(vectors, "b22-aes256-ocb", tmp_path)
    path = max((path for path in (repo / "packs").rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    data = path.read_bytes()
    path.write_bytes(data[:20] + bytes(10) + data[30:])
    found = salvaged(path)
    assert (found.name, whole(found)) == (path.name, data)
    assert "from the index" in found.repaired[0]


def test_a_blob_that_its_own_hashes_prove_is_restored_although_another_is_lost(tmp_path: Path) -> None:
    data = bytearray((GOLDEN / "borg/none-archive.pack").read_bytes())
    rows = [row for batch in thawline.open(bytes(data)).batches() for row in batch.to_pylist()]
    data[rows[1]["offset"]] ^= 1
    data[rows[3]["offset"] + rows[3]["size"] - 1] ^= 1
    path = tmp_path / KITCHEN["pack"]
    path.write_bytes(data)
    found = salvaged(path)
    assert (found.units, len(found.lost), found.repaired) == (5, 1, ("magic of the blob at 0x71 restored",))


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(commands, [str(argument) for argument in arguments], standalone_mode=False)
    if done.exception:
        raise done.exception
    return done.return_value, done.stderr


def test_salvage_names_the_pack_and_prints_how_to_put_it_back(tmp_path: Path, monkeypatch: Any) -> None:
    repo, out = kitchen(tmp_path), tmp_path / "out"
    out.mkdir()
    pack = pack_of(repo, KITCHEN["pack"])
    data = bytearray(pack.read_bytes())
    data[-1] ^= 1
    pack.write_bytes(data)
    monkeypatch.chdir(out)
    code, said = run("salvage", pack)
    (file,) = out.iterdir()
    assert (code, file.name) == (1, hashlib.sha256(file.read_bytes()).hexdigest())
    for words in (f"{repo}/packs/{file.name[:2]}/{file.name}", f"mv {pack}", f"rm -f {repo}/index/*", "borg check"):
        assert words in said
    assert pack.read_bytes() == data


def test_a_restored_pack_takes_the_place_of_the_damaged_one(tmp_path: Path) -> None:
    repo, out = kitchen(tmp_path), tmp_path / "out"
    out.mkdir()
    pack = pack_of(repo, KITCHEN["pack"])
    data = pack.read_bytes()
    pack.write_bytes(b"?" + data[1:])
    assert run("salvage", pack, "-o", out)[0] == 0
    shutil.copy(out / KITCHEN["pack"], pack)
    assert all(report.ok for report in thawline.open_folder(repo).reports())


def test_the_recipe_for_a_pack_of_survivors_leaves_a_clean_repository(tmp_path: Path) -> None:
    repo, out = kitchen(tmp_path), tmp_path / "out"
    out.mkdir()
    pack = pack_of(repo, KITCHEN["pack"])
    data = bytearray(pack.read_bytes())
    data[0xCE + 0x5B] ^= 1  # the end of numbers.txt
    pack.write_bytes(data)
    run("salvage", pack, "-o", out)
    (file,) = out.iterdir()
    target = pack_of(repo, file.name)
    target.parent.mkdir(exist_ok=True)
    shutil.copy(file, target)
    pack.unlink()
    shutil.rmtree(repo / "index")
    codes = [one.code.id for report in thawline.open_folder(repo).reports() for one in report.findings]
    assert codes == ["BRG305", "BRG125", "BRG304"]


def test_an_input_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / KITCHEN["pack"]
    path.write_bytes((GOLDEN / "borg/none-archive.pack").read_bytes())
    with pytest.raises(thawline.errors.SourceError, match="never written to"):
        run("salvage", path, "-o", tmp_path)


def test_a_torn_index_is_salvaged_as_an_index_of_its_whole_entries(tmp_path: Path) -> None:
    data = (GOLDEN / "borg/index-archive.index").read_bytes()
    torn = tmp_path / "torn.index"
    torn.write_bytes(data[:-30])
    with thawline.open(torn) as cold:
        done = salvage(cold, tmp_path)
    with thawline.open(done.target) as cold:
        assert (cold.verify().ok, cold.verify().rows, done.rows) == (True, 5, 5)


def test_a_pack_with_damage_everywhere_is_salvaged_in_time(tmp_path: Path) -> None:
    blob = (GOLDEN / "borg/none-one-blob.pack").read_bytes()
    path = tmp_path / ("ab" * 32)
    path.write_bytes((blob + b"?") * 300)
    start = time.process_time()
    found = salvaged(path)
    assert (found.units, whole(found)) == (300, blob * 300)
    assert time.process_time() - start < 20


# The writer.


def slots(path: Path) -> list[tuple[int, bytes, bytes, bytes]]:
    """Version, id and slots of the blobs of a golden pack, by its account."""
    data, found = path.read_bytes(), []
    account = next(file for file in golden_files("borg") if file.file == path).account
    for unit in account["units"]:
        fields, start = unit["fields"], unit["start"] + 49
        middle = start + fields["len_meta"]
        found.append(
            (fields["version"], bytes.fromhex(fields["chunk_id"]), data[start:middle], data[middle : unit["end"]])
        )
    return found


@pytest.mark.parametrize("rule", ["sha256", "blake3", "none"])
@pytest.mark.parametrize("file", ["none-compressions.pack", "none-sha256.pack", "aes256-ocb-shape.pack"])
def test_a_written_pack_is_the_golden_one_under_its_name(tmp_path: Path, file: str, rule: Any) -> None:
    golden = GOLDEN / "borg" / file
    blobs = slots(golden)
    with PackWriter(tmp_path, rule=rule, version=blobs[0][0], name="a.pack" if rule == "none" else None) as pack:
        placed = [pack.add(*blob[1:]) for blob in blobs]
    (path,) = tmp_path.iterdir()
    data = golden.read_bytes()
    assert path.read_bytes() == data
    right = {"sha256": hashlib.sha256(data).hexdigest(), "blake3": blake3(data).hexdigest(), "none": "a.pack"}
    assert path.name == right[rule]
    assert [data[one.offset : one.offset + 8] for one in placed] == [b"BORG_OBJ"] * len(blobs)


def test_a_pack_named_by_its_chunk_holds_one_blob(tmp_path: Path) -> None:
    with PackWriter(tmp_path, rule="chunk_id", version=1) as pack:
        pack.add(b"\xab" * 32, b"\x02m", b"\x02d")
        with pytest.raises(BadBlob, match="one blob"):
            pack.add(bytes(32), b"\x02m", b"\x02d")
    assert [path.name for path in tmp_path.iterdir()] == ["ab" * 32]


def test_a_pack_that_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    with suppress(KeyError), PackWriter(tmp_path) as pack:
        pack.add(bytes(32), b"\x10m", b"\x10d")
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_the_same_pack_may_be_written_twice(tmp_path: Path) -> None:
    for _ in range(2):
        with PackWriter(tmp_path) as pack:
            pack.add(bytes(32), b"\x10m", b"\x10d")
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "chunk_id, meta, data, words",
    [
        (bytes(31), b"m", b"d", "32 bytes"),
        (bytes(32), b"", b"d", "at least"),
        (bytes(32), b"m", bytes(LARGEST_OBJECT - 49), "may have 20971479"),
    ],
)
def test_what_no_pack_can_hold_is_refused(
    tmp_path: Path, chunk_id: bytes, meta: bytes, data: bytes, words: str
) -> None:
    pack = PackWriter(tmp_path)
    with pytest.raises(BadBlob, match=words):
        pack.add(chunk_id, meta, data)
    pack.discard()


@pytest.mark.parametrize("options", [{"version": 3}, {"rule": "none"}, {"name": "x"}])
def test_a_writer_that_makes_no_sense_is_refused(tmp_path: Path, options: Any) -> None:
    with pytest.raises(BadBlob):
        PackWriter(tmp_path, **options)


def test_what_verify_refuses_by_the_name_of_a_pack_is_not_called_undamaged(tmp_path: Path) -> None:
    """Repositories whose packs are named by BLAKE3 have no key type 0x80."""
    data = (GOLDEN / "borg/none-sha256.pack").read_bytes()
    path = tmp_path / blake3(data).hexdigest()
    path.write_bytes(data)
    assert not thawline.verify(path).ok
    found = salvaged(path)
    assert found.lost
    assert not any("not damaged" in line for line in found.advice)
