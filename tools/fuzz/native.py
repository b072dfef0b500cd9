"""Coverage-guided fuzzing of the native module: `python -m tools.fuzz.native [--formats kafka,rbf] [--runs N]`.

Builds the native module with clang for libFuzzer, AddressSanitizer, UndefinedBehaviorSanitizer and Cython's bounds
checks into build/, proves that an out-of-bounds read ends the process, and lets libFuzzer feed it by the ways into it
that `tools.fuzz.entries` lists. It starts with the golden files, with tests/corpus and with what earlier runs found,
which is kept in build/fuzz-corpus. Executions of the same native code add up over runs, in build/fuzz-corpus/tally;
libFuzzer's own lines go to build/fuzz-corpus/<format>.log while it runs. With `--merge`, inputs that reach new code go
to tests/corpus, of which each is there for code that no shorter one reaches.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import IO

from thawline.formats import FORMATS
from tools import sanitize
from tools.fuzz.samples import samples
from tools.fuzz.scans import LONGEST
from tools.fuzz.tally import Tally, Told

CORPUS = sanitize.ROOT / "tests" / "corpus"
LONGEST_KEPT = 400
"""Bytes of an input that is kept in the repository."""
MOST_KEPT = 60_000
"""Bytes that are kept of a format."""
VERSIONS = ("", *(f"-{version}" for version in range(22, 13, -1)))
COMPILERS = tuple(f"clang{version}" for version in VERSIONS)
SYMBOLIZERS = tuple(f"llvm-symbolizer{version}" for version in VERSIONS)
RUNTIMES = ("libclang_rt.asan-{}.so", "libclang_rt.fuzzer_no_main-{}.a")
"""What comes with clang, in a package of its own on some systems."""
ADDED = Path(__file__).with_name("added.pyx")
"""What the module that is built here has besides."""
NOT_OURS = (
    "__Pyx_*", "__pyx_memoryview*", "__pyx_memslice*", "__pyx_tp_*", "__pyx_array*", "__pyx_sq_*", "__pyx_pymod*",
    "__pyx_check_*", "__pyx_verify_*", "__pyx_typeinfo_*", "Py_*", "Py[A-Z]*", "_Py*", "*fuzz_*",
)  # fmt: skip
"""Functions of Cython and CPython in the module: to watch what they do takes most of the time of a short input."""
KERNELS = (
    *(f"generated/kernels/{name}.py" for name in ("scans", "probes", "readers")),
    "generated/encoders/encodings.py",
    "setup.py",
)
ROUND = 2_000_000
"""Executions of one process, after which they are added to the tally."""
SLACK = 1_000
"""Executions more than are missing: libFuzzer counts some that are no new inputs."""
LENGTHS = (128, LONGEST, 128, 128, 256)
"""Bytes of an input at most, by turns: short ones are quick, and most of what can go wrong takes few bytes."""
AS_A_WHOLE = 0x38
"""How a golden file is read: in one range."""


def main() -> int:
    """Build, prove, fuzz each format in turn; 1 if any input ends the process."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    environment = built(options.build.absolute())
    return max(fuzz(name, environment, options) for name in options.formats)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz.native", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--formats", type=lambda text: text.split(","), default=list(FORMATS), help="some of the formats"
    )
    parser.add_argument("--seconds", type=int, default=0, help="for each format at most (no limit)")
    parser.add_argument(
        "--runs",
        type=int,
        default=10_000_000,
        help="executions of each format, with those of earlier runs (%(default)s)",
    )
    parser.add_argument(
        "--keep", type=Path, default=Path("build/fuzz"), help="where to keep inputs that end the process"
    )
    parser.add_argument("--build", type=Path, default=Path("build/fuzz-native"), help="where the module is built")
    parser.add_argument("--found", type=Path, default=Path("build/fuzz-corpus"), help="where to keep what is found")
    parser.add_argument("--merge", action="store_true", help="put inputs that reach new code into tests/corpus")
    return parser.parse_args()


# The module.


def built(folder: Path) -> dict[str, str]:
    """The environment in which Python reads with the native module that was built for the fuzzer."""
    compiler, asan, fuzzer = tools()
    folder.mkdir(parents=True, exist_ok=True)
    ignored = folder / "not-ours"
    ignored.write_text("".join(f"fun:{name}\n" for name in NOT_OURS), encoding="utf-8")
    lists = f"-fsanitize-ignorelist={ignored} -fsanitize-coverage-ignorelist={ignored}"
    os.environ |= {"CC": compiler, "CFLAGS": f"-fsanitize=fuzzer-no-link {lists}"}
    package = _package(folder)
    driver = package.parent / "libfuzzer.so"
    if not driver.exists():
        whole = ["-Wl,--whole-archive", str(fuzzer), "-Wl,--no-whole-archive", "-lstdc++", "-lm", "-lpthread"]
        subprocess.run([compiler, "-shared", "-o", str(driver), *whole], check=True)
    environment = sanitize.sanitized(package, 0) | {
        "LD_PRELOAD": f"{driver} {asan} {sanitize.library('libstdc++.so.6')}",
        "PYTHONPATH": os.pathsep.join([str(package), str(sanitize.ROOT)]),
        "PYTHONMALLOC": "pymalloc",  # arrays are blocks of their own all the same: added.pyx
        # AddressSanitizer has functions for coverage, too, that do nothing: libFuzzer comes before it.
        # What was freed is watched for a while only: memory that comes from the cache is ten times as fast.
        "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0:allocator_may_return_null=1:quarantine_size_mb=1:"
        "thread_local_quarantine_size_kb=64:malloc_context_size=0:" + _symbols(package.parent),
    }
    environment["UBSAN_OPTIONS"] += f":{_symbols(package.parent)}"
    sanitize.prove(environment, package)
    return environment


def _symbols(folder: Path) -> str:
    """How sanitizers find the lines of what they tell about: by a program that hangs if it has to load them, too."""
    program = next((name for name in SYMBOLIZERS if shutil.which(name)), None)
    if program is None:
        return "symbolize=0"
    script = folder / "llvm-symbolizer"
    script.write_text(f'#!/bin/sh\nunset LD_PRELOAD\nexec {program} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return f"external_symbolizer_path={script}"


def tools() -> tuple[str, Path, Path]:
    """Clang, its AddressSanitizer and its libFuzzer; exits with what is missing."""
    compiler = next((name for name in COMPILERS if shutil.which(name)), "")
    if not compiler:
        sys.exit("fuzzing the native module needs clang, which is not installed: apt-get install clang")
    found = [Path(_printed(compiler, f"-print-file-name={name.format(os.uname().machine)}")) for name in RUNTIMES]
    for path in found:
        if not path.exists():
            version = _printed(compiler, "-dumpversion").partition(".")[0]
            sys.exit(f"{compiler} has no {path.name}, which fuzzing needs: apt-get install libclang-rt-{version}-dev")
    asan, fuzzer = found
    return compiler, asan, fuzzer


def _printed(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def code() -> str:
    """A name for the native code."""
    digest = hashlib.sha256()
    sources = sanitize.ROOT / "src" / "thawline" / "native" / "sources"
    for path in (*sorted(sources.glob("*")), *(sanitize.ROOT / name for name in KERNELS)):
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _package(folder: Path) -> Path:
    """Where to import the package from; compiled again only if the native code has changed: that takes minutes."""
    added = ADDED.read_text(encoding="utf-8")
    place = folder / hashlib.sha256(repr((code(), added, NOT_OURS)).encode()).hexdigest()[:16]
    if not list(place.glob("src/thawline/native/fast*.so")):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        return sanitize.build(place, added)
    sanitize.copy(place)
    return place / "src"


# The inputs.


def seeds(name: str) -> Iterator[bytes]:
    """Golden files and what they end with, for each of the ways into the module."""
    from tools.fuzz.entries import entries  # noqa: PLC0415 - it needs the native module

    for way in range(len(entries(name))):
        random = Random(way)  # noqa: S311 - no secrets
        for sample in samples(name):
            lines = [found.end() for found in re.finditer(rb"\n", sample.data)]
            for at in (0, random.randrange(len(sample.data) + 1), random.choice(lines or [0])):
                yield bytes([way, AS_A_WHOLE]) + sample.data[at : at + LONGEST - 2]


def fuzz(name: str, environment: dict[str, str], options: argparse.Namespace) -> int:
    """Fuzz one format; 1 if an input ended the process, which is then kept."""
    found, tally = options.found.absolute() / name, Tally(options.found.absolute() / "tally", code())
    end, status, log = time.monotonic() + (options.seconds or float("inf")), 0, found.with_suffix(".log")
    while not status and (left := options.runs - tally.executions(name)) > 0 and (rest := end - time.monotonic()) > 0:
        start = time.monotonic()
        longest = LENGTHS[tally.executions(name) // ROUND % len(LENGTHS)]
        log.unlink(missing_ok=True)
        try:
            status = fuzz_once(name, environment, options, (min(left, ROUND), rest, longest))
        finally:  # a run that is stopped counts as far as it came
            lines = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
            tally.add(name, Told.of(lines), time.monotonic() - start)
            print(tally.text(name), flush=True)
    if options.merge and not status and found.exists():
        merge(environment, name, found)
    return int(bool(status))


def fuzz_once(name: str, environment: dict[str, str], options: argparse.Namespace, most: tuple[int, float, int]) -> int:
    """Run one process for some executions, seconds and bytes at most; its exit code."""
    found, keep = options.found.absolute() / name, options.keep.absolute() / name
    for place in (found, keep, CORPUS / name):
        place.mkdir(parents=True, exist_ok=True)
    log = found.with_suffix(".log")
    with tempfile.TemporaryDirectory(prefix="thawline-fuzz-native-") as folder:
        known = [str(found), str(CORPUS / name), folder]
        for number, seed in enumerate(seeds(name)):
            Path(folder, f"seed-{number}").write_bytes(seed)
        files = sum(1 for place in known for _ in Path(place).iterdir())
        runs, seconds, longest = most
        limits = [
            f"-runs={runs + files + SLACK}",
            f"-max_total_time={0 if seconds == float('inf') else max(1, int(seconds))}",
            f"-max_len={longest}",
            "-timeout=60",
            "-entropic=0",
        ]
        output = [f"-artifact_prefix={keep}/", "-print_final_stats=1", "-verbosity=1"]
        with log.open("w", encoding="utf-8") as stderr:
            status = _python(environment, name, [*limits, *output, *known], stderr)
    if status:
        print(log.read_text(encoding="utf-8", errors="replace")[-6000:], f"\nkept in {keep}")
    return status


def merge(environment: dict[str, str], name: str, found: Path) -> None:
    """Keep the short inputs that reach code which no shorter one reaches, and one of each way into the module."""
    kept = CORPUS / name
    with tempfile.TemporaryDirectory(prefix="thawline-fuzz-native-") as folder:
        fresh, offered = Path(folder, "fresh"), Path(folder, "offered")
        for place in (fresh, offered):
            place.mkdir()
        short = {seed for seed in seeds(name) if len(seed) <= LONGEST_KEPT}
        for number, data in enumerate({*_plain(name, kept), *_plain(name, found), *short}):
            (offered / str(number)).write_bytes(data)
        by_edges = ["-use_counters=0", "-use_cmp=0"]  # how often code runs is no reason to keep an input
        _python(environment, name, ["-merge=1", *by_edges, f"-max_len={LONGEST_KEPT}", str(fresh), str(offered)],
                subprocess.DEVNULL)  # fmt: skip
        chosen = sorted((path.read_bytes() for path in fresh.iterdir()), key=_by_size)
        ways = {data[0] for data in chosen}
        for data in sorted((path.read_bytes() for path in offered.iterdir()), key=_by_size):
            if data[0] not in ways:
                ways.add(data[0])
                chosen.insert(0, data)
    shutil.rmtree(kept)
    kept.mkdir()
    for data, size in zip(chosen, accumulate(map(len, chosen)), strict=True):
        if size <= MOST_KEPT:
            (kept / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)


def _by_size(data: bytes) -> tuple[int, bytes]:
    return len(data), data


def _plain(name: str, folder: Path) -> Iterator[bytes]:
    """The inputs of a folder that are short, each with the lowest number of the way that it takes."""
    from tools.fuzz.entries import entries  # noqa: PLC0415 - it needs the native module

    ways = len(entries(name))
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        if 0 < len(data) <= LONGEST_KEPT:
            yield bytes([data[0] % ways]) + data[1:]


def _python(environment: dict[str, str], name: str, arguments: list[str], stderr: IO[str] | int) -> int:
    """Run libFuzzer, which runs itself again to merge: by a script, since it takes its own name for a program."""
    command = [sys.executable, "-m", "tools.fuzz.harness", name]
    with tempfile.TemporaryDirectory(prefix="thawline-fuzz-native-") as folder:
        script = Path(folder, name)
        script.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
        return subprocess.run(
            [*command, *arguments], env=environment | {"THAWLINE_FUZZER": str(script)}, cwd=sanitize.ROOT,
            stdout=subprocess.DEVNULL, stderr=stderr, check=False,
        ).returncode  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
