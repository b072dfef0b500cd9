"""Hostile Borg packs and repositories: a clear word, in time, in bounded memory, and a salvage that is always clean."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgpack
import pyarrow as pa
import pytest
import zstandard
from accounts import GOLDEN, golden_files
from blake3 import blake3
from borg_repositories import blob, item, made, meta_map, pack_of, run, stream_of

import thawline
from thawline.engine import columns
from thawline.formats.borg import PackKind
from thawline.formats.borg.blobs import opened, pack_header
from thawline.formats.borg.index import encode_index
from thawline.formats.borg.rows import CONTENT_COLUMNS, slots_of
from thawline.source import open_source
from thawline.verbs.cat import tail
from thawline.verbs.salvage import salvage
from tools.mutants import mutants

SHA256, BLAKE3 = (lambda data: hashlib.sha256(data).hexdigest()), (lambda data: blake3(data).hexdigest())
HEADER = 49
SECONDS_A_MEGABYTE, MEGABYTES = 2, 300
"""What any file may cost, at most."""


def rows_of(data: bytes | Path) -> list[dict[str, Any]]:
    with thawline.open(data, "borg") as cold:
        return [row for batch in cold.batches() for row in batch.to_pylist()]


# Salvage is clean, and every verb says the same.


def packs() -> list[bytes]:
    return [file.data for file in golden_files("borg") if file.file.suffix == ".pack"]


def spliced(random: Random, pieces: list[bytes]) -> bytes:
    """Two packs, one of them put into the other somewhere, or behind it."""
    outer, inner = random.choice(pieces), random.choice(pieces)
    at = random.choice((0, len(outer), random.randrange(len(outer) + 1)))
    return outer[:at] + inner + outer[at:]


def wrapped(random: Random, pieces: list[bytes]) -> bytes:
    """A pack as the content of a blob, whose id is right or not, with something behind it or not."""
    wrong = random.choice((b"", random.randbytes(32)))
    tail_ = random.choice((b"", b"?", random.choice(pieces)))
    return random.choice((b"", random.choice(pieces))) + blob(random.choice(pieces), chunk_id=wrong) + tail_


def repaired(random: Random, _pieces: list[bytes]) -> bytes:
    """Blobs with meta maps and contents that are anything, and ids that are right all the same."""
    return b"".join(one_repaired(random) for _ in range(random.randrange(1, 5)))


def one_repaired(random: Random) -> bytes:
    plaintext = random.randbytes(random.randrange(40))
    meta: dict[str, object] = {} if random.random() < 0.5 else {random.choice(KEYS): random.choice(VALUES)}
    if random.random() < 0.5:
        return blob(plaintext, **meta)
    return blob(plaintext, zlib.compress(plaintext), **{"ctype": 5, **meta})


KEYS = ("type", "ctype", "clevel", "csize", "size", "psize", "olevel", "x")
VALUES: list[object] = [
    None, True, False, 0, 1, -1, 5, 255, 2**31, 2**63, -(2**63), 2**64 - 1, 0.5, "", "M", "F", "\x1b[31m", "x" * 300,
    b"F", b"\xff", [], {}, [[1]], {"a": 1}, {b"k": []}, msgpack.Timestamp(2**63 - 1, 0), msgpack.ExtType(5, b"x"),
]  # fmt: skip
KINDS: list[Callable[[Random, list[bytes]], bytes]] = [spliced, wrapped, repaired]


def hostile_packs(seed: int, count: int) -> Iterator[bytes]:
    """Mutants of golden packs, of splices and of packs with repaired ids."""
    random, pieces = Random(seed), packs()
    for number in range(count):
        data = random.choice((random.choice(KINDS)(random, pieces), random.choice(pieces)))
        for mutant in mutants(data, 1000 * seed + number, random.randrange(3)):
            data = mutant
        yield data


def names_for(random: Random, data: bytes) -> str:
    """A name that proves the bytes, one that does not, or none."""
    return random.choice((SHA256(data), BLAKE3(data), "ab" * 32, data[9:41].hex().ljust(64, "0"), "x.pack"))


def check_pack(data: bytes, path: Path, out: Path) -> None:
    """Hold one pack to what holds for all."""
    path.write_bytes(data)
    out.mkdir(exist_ok=True)
    with thawline.open(path, "borg") as cold:
        report = cold.verify()
        cold.verify(heads_only=True)
        batches = list(cold.batches([*cold.every_column.names]) if cold.table == "blobs" else cold.batches())
        for batch in batches:
            batch.validate(full=True)
        rows = [row for batch in batches for row in batch.to_pylist()]
        assert len(rows) == report.rows
        cut = [row for batch in tail(cold, 2, cold.schema.names) for row in batch.to_pylist()]
        assert cut == [{name: row[name] for name in cold.schema.names} for row in rows[-2:]]
        done = salvage(cold, out, overwrite=True)
    suspects = sum(row.get("verdict") in {"nested", "uncertain"} for row in rows)
    assert report.ok or done.lost or done.repaired
    assert report.ok or not any("not damaged" in line for line in done.advice)
    assert done.units + len(done.lost) + len(done.repaired) + done.suspects >= report.units - suspects
    with thawline.open(done.target, "borg") as new:
        again = new.verify()
    assert again.ok, [finding.to_dict() for finding in again.findings]
    assert again.units == done.units
    done.target.unlink()


def check_packs(seed: int, count: int, folder: Path) -> None:
    random = Random(seed)
    for number, data in enumerate(hostile_packs(seed, count)):
        path = folder / names_for(random, data)
        try:
            check_pack(data, path, folder / "out")
        except Exception as error:
            raise AssertionError(f"seed {seed}, number {number}, named {path.name}") from error
        path.unlink()


@pytest.mark.parametrize("seed", range(4))
def test_salvage_is_clean_and_every_verb_says_the_same(seed: int, tmp_path: Path) -> None:
    check_packs(seed, 60, tmp_path)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(100, 200))
def test_salvage_is_clean_over_many_mutants(seed: int, tmp_path: Path) -> None:
    check_packs(seed, 200, tmp_path)


@pytest.mark.parametrize("seed", range(2))
def test_salvage_of_an_index_is_clean(seed: int, tmp_path: Path) -> None:
    data = (GOLDEN / "borg/index-archive.index").read_bytes()
    for mutant in mutants(data, seed, 60):
        if mutant.startswith(b"BORGHASH"):
            check_pack(mutant, tmp_path / "x.index", tmp_path / "out")


def test_a_pack_that_was_stored_damaged_is_not_called_undamaged(tmp_path: Path) -> None:
    good, bad = blob(b"hello"), blob(b"hello", chunk_id=b"\x07" * 32)
    path = tmp_path / SHA256(good + bad)
    path.write_bytes(good + bad)
    (tmp_path / "out").mkdir()
    code, _, said = run("salvage", path, "-o", tmp_path / "out")
    (new,) = (tmp_path / "out").iterdir()
    assert (code, new.read_bytes()) == (1, good)
    assert "not damaged" not in said
    assert "stored damaged" in said


@pytest.mark.parametrize("file, rule", [("none-sha256.pack", SHA256), ("none-blake3.pack", SHA256)])
def test_a_repaired_blob_is_named_by_the_rule_of_its_mode(file: str, rule: Any) -> None:
    """Modes of repositories of version 4, whose packs are named by SHA-256, and nothing in the pack is intact."""
    data = bytearray((GOLDEN / "borg" / file).read_bytes())
    rows = rows_of(bytes(data))
    for row in rows:
        data[row["offset"] + 9] ^= 1
    found = PackKind().salvaged(open_source(bytes(data)), include_suspects=False)
    assert (found.name, found.units) == (rule(b"".join(found.parts)), len(rows))


def test_a_pack_of_two_generations_keeps_the_blobs_of_one(tmp_path: Path) -> None:
    old = (GOLDEN / "borg/none-sha256.pack").read_bytes()
    slots = b"\x50\0" + bytes(32)
    new = pack_header(2, bytes(32), 34 + len(meta_map(size=0)), 34) + slots + meta_map(size=0) + slots
    path = tmp_path / "x.pack"
    path.write_bytes(old + new)
    (tmp_path / "out").mkdir()
    with thawline.open(path) as cold:
        done = salvage(cold, tmp_path / "out")
    with thawline.open(done.target) as cold:
        assert cold.verify().ok
    assert (done.target.read_bytes(), len(done.lost)) == (old, 1)


def test_an_empty_pack_is_one_by_its_name(tmp_path: Path) -> None:
    for name, code in ((SHA256(b""), 0), (BLAKE3(b""), 0), ("ab" * 32, 3)):
        (tmp_path / name).touch()
        assert run("verify", tmp_path / name)[0] == code


# Blobs inside of broken blobs.


def inner_pack() -> bytes:
    return blob(b"one") + blob(b"two")


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(blob(inner_pack(), chunk_id=b"\x07" * 32) + b"?", id="wrong-id"),
        pytest.param(blob(inner_pack() + bytes(500))[:-100], id="torn"),
        pytest.param(b"?" + blob(inner_pack(), chunk_id=b"\x07" * 32)[1:] + b"?", id="no-magic"),
        pytest.param(
            blob(blob(bytes(40), chunk_id=b"\x07" * 32) + b"??" + inner_pack(), chunk_id=b"\x07" * 32) + b"?",
            id="a-broken-blob-inside",
        ),
        pytest.param(
            blob((GOLDEN / "borg/aes256-ocb-shape.pack").read_bytes(), chunk_id=b"\x07" * 32) + b"?", id="encrypted"
        ),
    ],
)
@pytest.mark.parametrize("before", [b"", blob(b"before")], ids=["first", "second"])
def test_what_a_broken_blob_holds_is_not_taken_for_blobs_of_the_pack(broken: bytes, before: bytes) -> None:
    data = before + broken
    inner = [row for row in rows_of(data) if row["offset"] >= len(before)]
    assert {row["verdict"] for row in inner} <= {"nested"}
    assert len(inner) >= 2
    found = PackKind().salvaged(open_source(data), include_suspects=False)
    assert (b"".join(found.parts), found.suspects) == (before, len(inner))


# Time and memory.


def nested(size: int) -> bytes:
    """Blobs inside of blobs inside of blobs, each of which has to be hashed to be found wrong."""
    made_, left = [], size
    while left > 200:
        meta = meta_map(csize=left - 100, size=left - 100)
        head = pack_header(1, b"\x07" * 32, 1 + len(meta), 1 + left - 100) + b"\x02" + meta + b"\x02"
        made_.append(head)
        left -= len(head) + 60
    data = b"".join(made_)
    return data + bytes(size - len(data)) + b"?"


def misled(size: int) -> bytes:
    """Small blobs whose meta maps lead into the large ones behind them, which hold the same again."""
    made_, left = [], size
    while left > 400:
        meta = meta_map(csize=max(left - 300, 1 << 17))
        large = HEADER + 1 + len(meta) + 1
        small_meta = meta_map(csize=large)
        small = pack_header(1, b"\x01" * 32, 1 + len(small_meta), 1) + b"\x02" + small_meta + b"\x02"
        rest = left - len(small) - HEADER - 1 - len(meta)
        made_.append(small + pack_header(1, b"\x01" * 32, 1 + len(meta), rest) + b"\x02" + meta + b"\x02")
        left -= len(made_[-1])
    data = b"".join(made_)
    return data + bytes(size - len(data))


def repeated(pattern: bytes) -> Callable[[int], bytes]:
    return lambda size: pattern * (size // len(pattern))


def tagged(meta: bytes, data: bytes) -> bytes:
    slots = [b"\x80\0" + bytes(32) + payload for payload in (meta, data)]
    return pack_header(2, bytes(32), *map(len, slots)) + b"".join(slots)


ZEROS = bytes(8 << 20)
WORST: dict[str, Callable[[int], bytes]] = {
    "magics": repeated(b"BORG_OBJ\x01"),
    "headers": repeated(pack_header(1, bytes(32), 1, 1)),
    "no-maps": repeated(pack_header(1, bytes(32), 1, 1) + b"\x02\x02"),
    "long-maps": repeated(pack_header(1, bytes(32), 60_000, 1) + b"\x02\x8f\xa1a\xdc\xff\xff"),
    "good-and-a-byte": repeated(blob(b"x") + b"!"),
    "wrong-ids": repeated(blob(b"x", chunk_id=b"\x07" * 32)),
    "wrong-ids-and-a-byte": repeated(blob(b"x", chunk_id=b"\x07" * 32) + b"!"),
    "wrong-tags": repeated(tagged(meta_map(csize=1), b"x") + b"?"),
    "nested": nested,
    "misled": misled,
    "zlib-bombs": repeated(blob(ZEROS, zlib.compress(ZEROS, 9), ctype=5)),
    "zstd-bombs": repeated(blob(ZEROS, zstandard.compress(ZEROS), ctype=3)),
    "unsized-bombs": repeated(blob(ZEROS, zstandard.compress(ZEROS), ctype=3, size=None)),
}
MEASURED = """
import sys, time
from pathlib import Path
import thawline
start = time.process_time()
with thawline.open(sys.argv[1], "borg") as cold:
    match sys.argv[2]:
        case "verify": cold.verify()
        case "cat": sum(batch.num_rows for batch in cold.batches())
        case "salvage": cold.kind.salvaged(cold.source, include_suspects=False)
status = Path("/proc/self/status").read_text()  # what the system counts goes on across the start of a program
print(time.process_time() - start, int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""


def cost(path: Path, verb: str) -> tuple[float, int]:
    """Seconds and megabytes that a verb takes, in a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path), verb], env=environment, capture_output=True, text=True, check=True
    )
    seconds, megabytes = done.stdout.split()
    return float(seconds), int(megabytes)


@pytest.mark.parametrize("name", WORST)
def test_a_megabyte_of_the_worst_is_read_in_time_and_in_little_memory(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.pack"
    path.write_bytes(WORST[name](1 << 20))
    for verb in ("verify", "salvage"):
        seconds, megabytes = cost(path, verb)
        assert (seconds < 2 * SECONDS_A_MEGABYTE, megabytes < MEGABYTES) == (True, True), (verb, seconds, megabytes)


@pytest.mark.fuzz
@pytest.mark.parametrize("verb", ["verify", "cat", "salvage"])
@pytest.mark.parametrize("name", WORST)
def test_the_worst_costs_time_that_grows_with_its_size(name: str, verb: str, tmp_path: Path) -> None:
    path, seconds = tmp_path / "x.pack", []
    for megabytes in (1, 2, 4, 8):
        path.write_bytes(WORST[name](megabytes << 20))
        seconds.append(cost(path, verb)[0])
    assert all(taken < 2 * SECONDS_A_MEGABYTE * size for taken, size in zip(seconds, (1, 2, 4, 8), strict=True))
    assert seconds[3] < 16 * seconds[0] + 1


def false_items(size: int) -> bytes:
    return b"\x81\xa4path" * (size // 6)


def open_items(size: int) -> bytes:
    """Items that never end: each has a list that goes on behind the end of the chunk."""
    return b"\x82\xa4path\xa0\xa1x\xdd\xff\xff\xff\xff" * (size // 14)


@pytest.mark.parametrize("stream", [false_items, open_items])
def test_the_search_for_an_item_behind_a_gap_takes_time_that_grows_with_the_stream(
    stream: Callable[[int], bytes], tmp_path: Path
) -> None:
    repo = made(tmp_path, [b"\xc1", stream(2 << 20), stream_of([item("last")])])
    start = time.process_time()
    code, out, _ = run("borg", "items", repo, "arc", "--format", "jsonl")
    assert time.process_time() - start < 4 * SECONDS_A_MEGABYTE
    assert (code, [json.loads(line)["path"] for line in out.splitlines()]) == (1, ["last"])


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(b"\x90" * (32 << 20), id="lists-of-nothing"),
        pytest.param(stream_of([{"path": ""}]) * (4 << 20), id="small-items"),
        pytest.param(b"\x81\xa4path\xa0\x82\xa4path\xa0\xa1x\xdd\x01\xff\xff\xff" + b"\x80" * (31 << 20), id="maps"),
        pytest.param(b"\x82\xa4path\xa0\xa6chunks\xdd\x01\xff\xff\xff" + b"\xc0" * (31 << 20), id="no-chunks"),
    ],
)
def test_a_small_pack_with_a_long_list_of_items_is_read_within_bounds(stream: bytes, tmp_path: Path) -> None:
    packed = zstandard.compress(stream)
    other = blob(stream, packed, ctype=3, type="S")
    ids = msgpack.packb([hashlib.sha256(stream).digest()] * 20)
    told = {"name": "arc", "time": "2026-11-16T08:00:00", "item_ptrs": [hashlib.sha256(ids).digest()] * 50}
    repo = made(tmp_path, [], msgpack.packb(told), [other, blob(ids, type="C")])
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    assert run("borg", "items", repo, "arc", "--format", "jsonl", "-q")[0] == 1
    assert time.process_time() - start < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEGABYTES << 10


# Archives and items of any types.


def anything(random: Random, depth: int = 3) -> object:
    """A value of any kind."""
    kind = random.randrange(8) if depth else 7
    if kind == 0:
        return [anything(random, depth - 1) for _ in range(random.randrange(4))]
    if kind == 1:
        return {random.choice(KEYS): anything(random, depth - 1) for _ in range(random.randrange(3))}
    return random.choice([*VALUES, 0o100644, 0o40755, 0o120777, "a", "a/b", "../x", "/x", "\udcff", b"\x01" * 32])


def packed(random: Random, value: object) -> bytes:
    """Any value as msgpack, some with a list as a key, cut or changed."""
    data = msgpack.packb(value, unicode_errors="surrogateescape")
    if random.random() < 0.2:
        data = b"\x81" + msgpack.packb([1]) + data
    return next(mutants(data, random.randrange(1 << 30), 1)) if random.random() < 0.3 else data


ITEM_NAMES = ("path", "mode", "mtime", "size", "chunks", "target", "user", "group", "uid", "gid", "xattrs", "hlid")
ARCHIVE_NAMES = ("name", "time", "item_ptrs", "hostname", "username", "comment", "nfiles", "size", "version")


def hostile_repository(random: Random, folder: Path) -> Path:
    items: list[object] = [item("a"), item("d/b"), item("d", mode=0o40755), item("l", mode=0o120777, target="a")]
    for one in random.choices(items, k=3):
        one[random.choice(ITEM_NAMES)] = anything(random)  # type: ignore[index]
    stream = b"".join(packed(random, one) for one in items)
    at = random.randrange(len(stream) + 1)
    repo = made(folder, [stream[:at], stream[at:]])
    if random.random() < 0.5:
        ids = msgpack.packb([hashlib.sha256(part).digest() for part in (stream[:at], stream[at:])])
        told = {"name": "arc", "time": "2026-11-16T08:00:00", "item_ptrs": [hashlib.sha256(ids).digest()]}
        told[random.choice(ARCHIVE_NAMES)] = anything(random)  # type: ignore[assignment]
        repo = made(folder, [stream[:at], stream[at:]], packed(random, told))
    (repo / "config/version").write_text(random.choice(("4", "4", "5", "", "x", "٤", "9" * 5000, "-1")))
    return repo


def check_repository(random: Random, folder: Path) -> None:
    """Hold one repository to what holds for all: a word and an exit code, and nothing outside of the target."""
    repo = hostile_repository(random, folder)
    code, out, _ = run("verify", repo, "--format", "jsonl")
    assert code in {0, 1}
    assert all(json.loads(line) for line in out.splitlines())
    assert run("borg", "archives", repo, "--format", "jsonl")[0] in {0, 1}
    assert run("borg", "items", repo, "arc", "--format", "jsonl")[0] in {0, 1, 2}
    run("borg", "extract", repo, "arc", "-o", folder / "out", "--links")
    assert {path.name for path in folder.iterdir()} <= {"repo", "out"}


@pytest.mark.parametrize("seed", range(40))
def test_archives_and_items_of_any_types_are_read_or_named(seed: int, tmp_path: Path) -> None:
    check_repository(Random(seed), tmp_path)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1000, 3000))
def test_many_archives_and_items_of_any_types_are_read_or_named(seed: int, tmp_path: Path) -> None:
    check_repository(Random(seed), tmp_path)


@pytest.mark.parametrize("pattern", [blob(b"x") + b"!", blob(b"x", chunk_id=b"\x07" * 32) + b"!"])
def test_a_repository_with_damage_at_every_blob_and_a_long_index_is_checked_in_time(
    pattern: bytes, tmp_path: Path
) -> None:
    repo, data = made(tmp_path, [stream_of([item("a")])]), pattern * ((1 << 18) // len(pattern))
    pack = pack_of(repo, SHA256(data))
    pack.parent.mkdir(exist_ok=True)
    pack.write_bytes(data)
    owners, size = [bytes.fromhex(pack.name), b"\x01" * 32], len(pattern)
    numbers = range(len(data) // size)
    columns = {
        "chunk_id": [n.to_bytes(32, "big") for _ in owners for n in numbers],
        "pack_id": [owner for owner in owners for _ in numbers],
        "offset": [n * size for _ in owners for n in numbers],
        "length": [size - 1 for _ in owners for _ in numbers],
    }
    index = encode_index(pa.table(columns))
    (repo / "index").mkdir()
    (repo / "index" / SHA256(index)).write_bytes(index)
    start = time.process_time()
    assert run("verify", repo, "--format", "jsonl")[0] == 1
    assert time.process_time() - start < SECONDS_A_MEGABYTE


@pytest.mark.parametrize("value", [True, "0", 0.0, None, 2**32, [0]])
def test_a_meta_map_with_values_of_other_types_is_damage_for_every_verb(value: object, tmp_path: Path) -> None:
    path = tmp_path / "x.pack"
    path.write_bytes(blob(b"hello", clevel=value))
    with thawline.open(path) as cold:
        assert [finding.code.id for finding in cold.findings()] == ["BRG106"]
        assert list(cold.batches()) == []


def test_a_key_that_is_a_list_costs_one_item(tmp_path: Path) -> None:
    bad = b"\x82" + msgpack.packb("path") + msgpack.packb("b") + msgpack.packb([1]) + b"\xc0"
    repo = made(tmp_path, [stream_of([item("a")]) + bad + stream_of([item("c")])])
    code, out, said = run("borg", "items", repo, "arc", "--format", "jsonl")
    assert (code, [json.loads(line)["path"] for line in out.splitlines()]) == (1, ["a", "c"])
    assert "a key that is no text" in said
    assert run("verify", repo)[0] == 1


def test_an_index_whose_description_has_booleans_is_none(tmp_path: Path) -> None:
    data = (GOLDEN / "borg/index-archive.index").read_bytes()
    path = tmp_path / "x.index"
    size = int.from_bytes(data[12:16], "little")
    text = data[16 : 16 + size].replace(b'"used": 6', b'"used": true')
    path.write_bytes(data[:12] + len(text).to_bytes(4, "little") + text + data[16 + size :])
    with thawline.open(path) as cold:
        assert [finding.code.id for finding in cold.findings()] == ["BRG111"]


def test_a_configuration_of_lines_that_mean_nothing_is_read_in_time(tmp_path: Path) -> None:
    repo = made(tmp_path, [stream_of([item("a")])])
    (repo / "config/version").unlink()
    (repo / "config/config").write_text("[repository]\n" + "x\n" * 400_000 + "version = 4\n")
    start = time.process_time()
    assert run("verify", repo)[0] == 0
    assert time.process_time() - start < 5


def test_a_blob_is_opened_as_the_kernel_opens_it() -> None:
    for file in golden_files("borg"):
        for unit, data in file.units() if file.file.suffix == ".pack" else ():
            found = opened(memoryview(data))
            (chunk,) = columns.scan("borg_blobs", data, columns=CONTENT_COLUMNS)
            is_sealed = chunk.batch["meta_iv"][0].as_py() is not None
            assert found == (None if is_sealed else slots_of(chunk.batch, 0)), (file.name, unit["start"])


# Text that is no text.


def test_names_that_are_no_text_are_shown_escaped(tmp_path: Path) -> None:
    lost = [[b"\x09" * 32, 5]]
    raw = msgpack.packb(item("evil\udcff\x1b[2J", chunks=lost), unicode_errors="surrogateescape")
    repo = made(tmp_path, [raw])
    code, out, said = run("verify", repo, "--format", "jsonl")
    assert code == 1
    assert "evil\\udcff\\x1b[2J" in json.loads(out.splitlines()[-1])["findings"][1]["detail"]["files"]
    assert "\x1b" not in out + said
    code, _, said = run("borg", "extract", repo, "arc", "-o", tmp_path / "out")
    assert (code, "\x1b" in said, "evil\\udcff\\x1b[2J" in said) == (1, False, True)


@pytest.mark.parametrize("kind", ["\x1b[31mRED", "\x1b]0;PWNED\x07\x1b[31mRED"])
def test_the_type_of_a_blob_cannot_colour_the_terminal(kind: str, tmp_path: Path) -> None:
    told = msgpack.packb({"name": "arc", "item_ptrs": []})
    repo = made(tmp_path, [], told)
    pack = next(path for path in (repo / "packs").rglob("*") if path.is_file())
    pack.unlink()
    pack.write_bytes(blob(told, type=kind))
    code, out, said = run("borg", "archives", repo, "--format", "jsonl")
    assert (code, "\x1b" in out + said, "\\x1b" in said) == (1, False, True)
