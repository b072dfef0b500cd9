"""What holds for every input, held against mutants whose checksums are right and against worst cases.

`tools/fuzz` makes the mutants and knows the promises. A run makes new ones; it tells the seed that makes them again.
"""

from __future__ import annotations

import importlib
import os
import struct
import time
import zlib
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from crc32c import crc32c
from seeds import SEED

import thawline
from thawline.cold import ColdFile
from thawline.formats import FORMATS
from tools.bench import hostile
from tools.bench.hostile_files import HOSTILE
from tools.bench.hostile_kafka import batch as kafka_batch
from tools.bench.hostile_kafka import record
from tools.bench.worst_cases import Hostile
from tools.fuzz import judging, native
from tools.fuzz.entries import entries
from tools.fuzz.harness import HEAD, read_as_file, touch
from tools.fuzz.judging import broken, kind_of
from tools.fuzz.making import HOW, mutant
from tools.fuzz.repairs import REPAIRS, unchanged
from tools.fuzz.samples import samples
from tools.fuzz.shrinking import shrunk

IN_CI = 200
"""Mutants of each format."""
LONG_RUN = 100_000
"""Mutants in all."""
SHARDS = range(8)

each_format = pytest.mark.parametrize("format_name", FORMATS)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    return tmp_path


def check(format_name: str, numbers: range, scratch: Path) -> None:
    """No mutant of these numbers breaks a promise; if some do, one of each kind is named."""
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for number in numbers:
        made = mutant(samples(format_name), SEED, number)
        if what := broken(format_name, made.data, scratch):
            counts[kind_of(what)] += 1
            first.setdefault(kind_of(what), f"{what} [{made.how}]")
    told = [f"{times} x {first[kind]}" for kind, times in counts.most_common()]
    assert not told, f"THAWLINE_SEED={SEED}\n" + "\n".join(told)


@each_format
def test_no_mutant_breaks_a_promise(format_name: str, scratch: Path) -> None:
    check(format_name, range(IN_CI), scratch)


@pytest.mark.fuzz
@pytest.mark.parametrize("shard", SHARDS)
@each_format
def test_none_of_many_mutants_breaks_a_promise(format_name: str, shard: int, scratch: Path) -> None:
    size = int(os.environ.get("THAWLINE_MUTANTS_IN_ALL", LONG_RUN)) // len(FORMATS) // len(SHARDS)
    check(format_name, range(IN_CI + shard * size, IN_CI + (shard + 1) * size), scratch)


# That the mutants and the judge are worth something.


NOT_THE_SAME = {"hostile-values.asb", "lenient-forms.asb"}
"""Values hold lines that look like those of a record, by which a repair counts; counts are written in odd ways."""


@each_format
def test_a_file_that_is_intact_needs_no_repair(format_name: str) -> None:
    for sample in [sample for sample in samples(format_name) if sample.name not in NOT_THE_SAME]:
        repaired = REPAIRS[format_name](sample.data, unchanged)
        assert repaired == sample.data, sample.name


@each_format
def test_mutants_are_the_same_for_the_same_seed_and_differ_for_another(format_name: str) -> None:
    found = [[mutant(samples(format_name), seed, number).data for number in range(50)] for seed in (7, 7, 8)]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("how", HOW)
def test_every_way_to_make_a_mutant_changes_files(how: str) -> None:
    random = Random(5)
    changed = [HOW[how](random, sample, sample.data) != sample.data for sample in samples() for _ in range(3)]
    assert sum(changed) > len(changed) / 10


def test_a_repaired_batch_has_the_checksum_of_its_bytes() -> None:
    damaged = bytearray(kafka_batch(0, record(b"value"), 1))
    damaged[-3] ^= 0xFF
    repaired = REPAIRS["kafka"](bytes(damaged), unchanged)
    assert repaired[21:] == damaged[21:]
    assert struct.unpack_from(">I", repaired, 17)[0] == crc32c(repaired[21:])


def test_a_payload_that_is_changed_inside_is_compressed_again() -> None:
    sample = next(sample for sample in samples("rbak") if sample.name == "codec-zstd.zst")
    repaired = REPAIRS["rbak"](sample.data, lambda payload: payload.replace(b"orders", b"ORDERS"))
    assert struct.unpack_from("<I", repaired, len(repaired) - 8)[0] == zlib.crc32(repaired[:-8])
    with thawline.open(repaired, "rbak") as cold:
        assert {row["queue"] for batch in cold.batches() for row in batch.to_pylist()} == {"ORDERS", "ORDERS.dlq"}


GOOD = b"RBF1"


def test_the_judge_passes_what_is_intact(scratch: Path) -> None:
    assert [broken(sample.format, sample.data, scratch) for sample in samples()] == [""] * len(samples())


def test_the_judge_sees_an_error_that_is_none_of_ours(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ColdFile, "verify", lambda *_, **__: {}["nothing"])
    assert broken("rbf", GOOD, scratch).startswith("KeyError")


def test_the_judge_sees_a_file_that_takes_too_long(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(_self: ColdFile, **_options: object) -> None:
        while True:
            pass

    monkeypatch.setattr(ColdFile, "verify", busy)
    monkeypatch.setattr(judging, "HANGS", 0.1)
    assert broken("rbf", GOOD, scratch).startswith("hangs")


def test_the_judge_sees_a_salvaged_file_that_is_damaged(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from thawline.formats.rbf import Log  # noqa: PLC0415 - only here

    monkeypatch.setattr(Log, "salvage", lambda *_: iter([b"RBF1torn"]))
    assert "salvage" in broken("rbf", GOOD, scratch)


def test_the_judge_sees_rows_that_verify_does_not_count(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = next(sample for sample in samples("rbf") if sample.name == "payload-4.rbf").data
    before = ColdFile.batches
    monkeypatch.setattr(ColdFile, "batches", lambda *given: [*before(*given)] * 2)
    assert broken("rbf", frames, scratch) == "verify counts 1 rows, cat gives 2"


def test_what_breaks_a_promise_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.fuzz.shrinking.broken", lambda _name, data, _folder: "found" if b"bad" in data else "")
    assert shrunk("rbf", b"x" * 500 + b"bad" + b"y" * 300, "found") == b"bad"


# Worst cases.

SMALL = 250_000
ALLOWED = 10.0
"""Seconds of CPU for a quarter of a megabyte, after which a file hangs: what is quadratic takes longer. How long a
worst case really takes is measured by `python -m tools.bench --only hostile`."""


def cpu_seconds(worst: Hostile, folder: Path) -> float:
    for name, data in worst.build(SMALL).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    start = time.process_time()
    with judging.stopped(cpu=2 * ALLOWED):
        if worst.is_folder:
            for _ in thawline.open_folder(folder / worst.at, worst.format).reports():
                pass
        else:
            thawline.verify(folder / worst.at, worst.format)
    return time.process_time() - start


@pytest.mark.parametrize(
    "worst", [case for case in HOSTILE if case.decoded < 10], ids=lambda case: f"{case.format}: {case.name}"
)
def test_no_worst_case_hangs(worst: Hostile, tmp_path: Path) -> None:
    assert cpu_seconds(worst, tmp_path) < ALLOWED


def test_the_table_of_worst_cases_flags_what_is_slow_steep_or_large() -> None:
    case = HOSTILE[0]
    costs = {1: hostile.Cost(0.5, 1), 2: hostile.Cost(1.0, 1), 4: hostile.Cost(2.0, 1)}
    assert hostile.Row(case, "verify", costs).flags() == []
    assert hostile.Row(case, "verify", costs | {4: hostile.Cost(3.0, 1)}).flags() == ["grows > 2.5 x"]
    assert hostile.Row(case, "verify", costs | {1: hostile.Cost(2.1, 1)}).flags() == ["> 2 s/MB"]
    assert hostile.Row(case, "verify", costs | {1: hostile.Cost(0.5, 301_000_000)}).flags() == ["> 300 MB"]


def test_a_command_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "x.rbf").write_bytes(GOOD)
    found = hostile.cost(["verify", str(tmp_path / "x.rbf")])
    assert found.ended
    assert 0 < found.seconds < 5
    assert 20_000_000 < found.memory < 300_000_000
    assert not hostile.cost(["verify", "--nosuch-option"]).seconds > 5


# What the native fuzzer has found worth keeping.


@each_format
def test_the_corpus_of_the_native_fuzzer_is_read_without_an_error(format_name: str) -> None:
    inputs = [path.read_bytes() for path in sorted((native.CORPUS / format_name).iterdir())]
    assert inputs
    for data in inputs:
        touch(format_name, memoryview(data))
        read_as_file(format_name, memoryview(data)[HEAD:])


@each_format
def test_the_corpus_of_the_native_fuzzer_knows_every_way_into_the_module(format_name: str) -> None:
    ways = {path.read_bytes()[0] for path in (native.CORPUS / format_name).iterdir()}
    assert ways == set(range(len(entries(format_name))))


@each_format
def test_the_corpus_of_the_native_fuzzer_is_small(format_name: str) -> None:
    sizes = [path.stat().st_size for path in (native.CORPUS / format_name).iterdir()]
    assert max(sizes) <= native.LONGEST_KEPT
    assert sum(sizes) <= native.MOST_KEPT


# The page about security.

PAGE = (native.CORPUS.parents[1] / "SECURITY.md").read_text(encoding="utf-8")
STATED = {
    "a chunk of a Borg pack, decompressed | 32 MiB": ("borg.blobs", "LARGEST_PLAINTEXT", 32 << 20),
    "300 times the pack": ("borg.blobs", "EASY_RATIO", 300),
    "and 192 MiB | what is beyond": ("borg.blobs", "MOST_EXCESS", 192 << 20),
    "64 MiB an item": ("borg.archives", "LONGEST_ITEM", 64 << 20),
    "configuration files of a Borg repository | 1 MiB": ("borg.folder", "LARGEST_CONFIG", 1 << 20),
    "80 times the pack hashed, 256 MiB": ("borg.salvage", "HASHED_ANYWAY", 256 << 20),
    "16 MiB | each entry": ("aerospike.text", "LONGEST_ENTRY", 16 << 20),
    "`metadata.yaml` of an Aerospike backup | 16 KiB": ("aerospike.folder", "LARGEST_METADATA", 16 << 10),
    "65 536 headers": ("rbak.records", "MOST_HEADERS", 1 << 16),
    "a manifest of an RBAK backup | 64 MiB": ("rbak.manifest", "LARGEST", 64 << 20),
    "2 097 152 values": ("rbak.manifest", "MOST_VALUES", 2_097_152),
    "the definitions of an RBAK backup | 32 MiB": ("rbak.folder", "LARGEST_DEFINITIONS", 32 << 20),
    "64 MiB an index": ("kafka.walk", "LARGEST_INDEX", 64 << 20),
    "16 MiB a checkpoint": ("kafka.sidecars", "LARGEST_TEXT", 16 << 20),
}
"""What the page says, and the constant that makes it so."""


@pytest.mark.parametrize("text", STATED)
def test_the_page_about_security_states_the_bounds_of_the_code(text: str) -> None:
    module, name, value = STATED[text]
    assert text in PAGE
    assert getattr(importlib.import_module(f"thawline.formats.{module}"), name) == value


def test_the_page_about_security_states_how_many_mutants_are_made() -> None:
    in_ci, in_all = (f"{count:,}".replace(",", " ") for count in (IN_CI * len(FORMATS), LONG_RUN))
    assert f"{in_ci} with `make test`, {in_all} with `make fuzz`" in PAGE
