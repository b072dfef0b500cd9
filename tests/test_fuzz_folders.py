"""Folders in which anything is wrong: every command ends with one of its exit codes and never with a traceback."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

import pytest
from in_process import Ran, on_pipe
from kinds import KINDS
from seeds import SEED

from tools.fuzz.folders import FolderMutant, folder_mutant
from tools.fuzz.judging import Hangs, stopped

METADATA = b"""created: 2024-05-01T12:00:00Z
finished: 2024-05-01T12:00:01Z
from: 0001-01-01T00:00:00Z
namespace: test
record-count: 5
byte-count: 781
file-count: 2
secondary-index-count: 0
udf-count: 2
"""
FOLDERS: dict[str, tuple[str, dict[str, bytes]]] = {
    kind.name.partition(" ")[0]: (kind.path, dict(kind.files))
    for kind in KINDS
    if kind.name in {"kafka partition", "rbak backup", "borg repository", "aerospike folder"}
}
FOLDERS["aerospike"][1]["dump/metadata.yaml"] = METADATA
EVERY = [
    "verify {at}",
    "verify {at} --format csv",
    "identify {at}",
    "info {at}",
    "cat {at}",
    "stats {at}",
    "glance {at}",
]
EVERY += [
    "head -n 3 {at}",
    "tail -n 2 {at}",
    "convert {at} -o {out}/x.parquet",
    "convert {at} -o {out}/x.csv",
    "verify -r .",
]
EVERY += [
    "inspect {file}",
    "salvage {file} -o {out}/salvaged",
    "verify {file} --format table",
    "verify {at} --format table",
]
COMMANDS = {
    "kafka": [
        "kafka index {file} -o {out}", "cat {at} --since 2024-01-01", "cat {at} --offsets 3..9",
        "cat {at} --isolation read-committed",
    ],
    "rbak": ["rbak manifest {at} -o {out}/manifest.json", "rbak rewrite {at} --to {out}/part",
        "cat {at} --queue orders"],
    "borg": ["borg archives {at}", "borg items {at} kitchen", "borg extract {at} kitchen -o {out}/files",
        "borg index {at}"],
    "aerospike": ["aerospike rewrite {file} -o {out}/new.asb", "cat {at} --table udfs"],
}  # fmt: skip
"""Commands that a folder may be given to, or one of its files."""
TRIED = 4
"""Commands of each mutant, the first of which is verify."""
LONGEST = 2.0
"""Seconds of CPU that a command may take for a folder of some files."""
WAITS = 30.0
"""Seconds by the clock after which a command that does nothing is stopped."""
SHARDS = range(4)
IN_CI = 30
"""Mutants of a shard."""
LONG_RUN = 2500


def contents(folder: Path) -> dict[str, bytes | str]:
    """Every file below a folder with its bytes; of what is none, where it leads."""
    found: dict[str, bytes | str] = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = Path(root, name)
            found[str(path)] = (
                str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
            )
    return found


def lines(random: Random, format_name: str, made: FolderMutant, at: str) -> Iterator[list[str]]:
    offered = [*EVERY[1:], *COMMANDS[format_name] * 3]
    # Whoever names a pipe waits for it, so only files are named.
    file = random.choice([name for name, entry in made.files.items() if isinstance(entry, bytes)] or ["nosuch"])
    for line in [EVERY[0], *random.sample(offered, TRIED - 1)]:
        yield [part.format(at=at, file=file, out="../out") for part in shlex.split(line)]


def problem(ran: Ran, taken: float, *, is_csv: bool = False) -> str:
    text = ran.out + ran.err
    if "Traceback" in text or "mistake in thawline" in text:
        places = re.findall(r'File "[^"]*/(\w+\.py)", line (\d+), in (\w+)', ran.err)
        return f"traceback: {ran.err.strip().splitlines()[-2][:150]} at {places[-1] if places else '?'}"
    if ran.code not in {0, 1, 2, 3}:
        return f"exit code {ran.code}"
    if "\x1b" in (ran.err if is_csv else text):  # CSV is data and has names as they are: SECURITY.md
        return "an escape sequence reaches the terminal"
    return f"slow: {taken:.1f} s of CPU" if taken > LONGEST else ""


def judged(line: list[str], folder: Path) -> str:
    start = time.process_time()
    try:
        with stopped(wall=WAITS):
            ran = on_pipe(line, folder)
    except Hangs:
        return "hangs"
    return problem(ran, time.process_time() - start, is_csv="csv" in line)


def broken(format_name: str, number: int, below: Path, seed: int = SEED) -> Iterator[tuple[str, str]]:
    """What is wrong with what commands do to a mutant, by kind, and how to see it again."""
    at, files = FOLDERS[format_name]
    made = folder_mutant(files, seed, number)
    shutil.rmtree(below, ignore_errors=True)
    (below / "in").mkdir(parents=True)
    made.write(below / "in")
    before = contents(below / "in")
    for line in lines(Random(f"{seed} {number}"), format_name, made, at):
        (below / "out").mkdir(exist_ok=True)
        what = judged(line, below / "in")
        if contents(below / "in") != before:
            what = what or "an input was changed"
        if what:
            yield f"{format_name}: {re.sub(r'[0-9.]+ s', '… s', what)}", f"{shlex.join(line)} [{made.how}]"
        shutil.rmtree(below / "out", ignore_errors=True)


def check(format_name: str, numbers: range, below: Path) -> None:
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for number in numbers:
        for kind, example in broken(format_name, number, below / "mutant"):
            counts[kind] += 1
            first.setdefault(kind, example)
    told = [f"{times} x {kind}: {first[kind]!a}" for kind, times in counts.most_common()]
    assert not told, f"THAWLINE_SEED={SEED}\n" + "\n".join(told)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    return tmp_path


each_folder = pytest.mark.parametrize("format_name", FOLDERS)


@each_folder
def test_a_hostile_folder_costs_a_finding_and_never_a_traceback(format_name: str, scratch: Path) -> None:
    check(format_name, range(IN_CI), scratch)


@pytest.mark.fuzz
@pytest.mark.parametrize("shard", SHARDS)
@each_folder
def test_many_hostile_folders_cost_findings_only(format_name: str, shard: int, scratch: Path) -> None:
    size = int(os.environ.get("THAWLINE_FOLDERS", LONG_RUN)) // len(SHARDS)
    check(format_name, range(1000 + shard * size, 1000 + (shard + 1) * size), scratch)


@each_folder
def test_folder_mutants_are_the_same_for_the_same_seed_and_differ_for_another(format_name: str) -> None:
    files: Mapping[str, bytes] = FOLDERS[format_name][1]
    made = [folder_mutant(files, 7, number).files for number in range(40)]
    assert made == [folder_mutant(files, 7, number).files for number in range(40)]
    assert made != [folder_mutant(files, 8, number).files for number in range(40)]
    assert sum(one != files for one in made) > 30
