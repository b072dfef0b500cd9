"""Coverage-guided fuzzing of the native module: `python -m tools.fuzz.native [--formats kafka,rbf] [--runs N]`.

Builds the native module with clang for libFuzzer, AddressSanitizer, UndefinedBehaviorSanitizer and Cython's bounds
checks into build/, proves that an out-of-bounds read ends the process, and lets libFuzzer feed it by the ways into it
that `tools.fuzz.entries` lists. It starts with the golden files, with tests/corpus and with what earlier runs found,
which is kept in build/. With `--merge`, inputs that reach new code go to tests/corpus, of which each is there for
code that no shorter one reaches.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from random import Random

from thawline.formats import FORMATS
from tools import sanitize
from tools.fuzz.samples import samples
from tools.fuzz.scans import LONGEST

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
HOLDING = '''

def fuzz_hold(str typecode, view):
    """An array as it is handed over, so that this is done once and not with every call."""
    cdef long long[::1] longs
    cdef int[::1] ints
    cdef short[::1] shorts
    cdef signed char[::1] chars
    cdef unsigned char[::1] bytes_
    if typecode == "q":
        longs = view
        return longs
    if typecode == "i":
        ints = view
        return ints
    if typecode == "h":
        shorts = view
        return shorts
    if typecode == "b":
        chars = view
        return chars
    bytes_ = view
    return bytes_
'''
"""What the module that is built here has besides."""
AS_A_WHOLE = 0x38
"""How a golden file is read: in one range."""


def main() -> int:
    """Build, prove, fuzz each format in turn; 1 if any input ends the process."""
    options = _options()
    environment = built(options.build.absolute())
    return max(fuzz(name, environment, options) for name in options.formats)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz.native", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--formats", type=lambda text: text.split(","), default=list(FORMATS), help="some of the formats"
    )
    parser.add_argument("--seconds", type=int, default=0, help="for each format at most (no limit)")
    parser.add_argument("--runs", type=int, default=10_000_000, help="executions of each format (%(default)s)")
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
    os.environ |= {"CC": compiler, "CFLAGS": "-fsanitize=fuzzer-no-link"}
    package = _package(folder)
    driver = package.parent / "libfuzzer.so"
    if not driver.exists():
        whole = ["-Wl,--whole-archive", str(fuzzer), "-Wl,--no-whole-archive", "-lstdc++", "-lm", "-lpthread"]
        subprocess.run([compiler, "-shared", "-o", str(driver), *whole], check=True)
    environment = sanitize.sanitized(package, 0) | {
        "LD_PRELOAD": f"{driver} {asan} {sanitize.library('libstdc++.so.6')}",
        "PYTHONPATH": os.pathsep.join([str(package), str(sanitize.ROOT)]),
        # AddressSanitizer has functions for coverage, too, that do nothing: libFuzzer comes before it.
        # What was freed is watched for a while only: memory that comes from the cache is ten times as fast.
        "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0:allocator_may_return_null=1:quarantine_size_mb=4:"
        + _symbols(package.parent),
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


def _package(folder: Path) -> Path:
    """Where to import the package from; built again only if what it is made of has changed: that takes minutes."""
    digest = hashlib.sha256(HOLDING.encode())
    for name in sanitize.SOURCES:
        for path in sorted([sanitize.ROOT / name, *(sanitize.ROOT / name).rglob("*")]):
            if path.is_file() and path.suffix not in {".so", ".pyc", ".c"}:
                digest.update(path.read_bytes())
    place = folder / digest.hexdigest()[:16]
    if not list(place.glob("src/thawline/native/fast*.so")):
        shutil.rmtree(folder, ignore_errors=True)
        place.mkdir(parents=True)
        sanitize.build(place, HOLDING)
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
    found, keep = options.found.absolute() / name, options.keep.absolute() / name
    for place in (found, keep, CORPUS / name):
        place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="thawline-fuzz-native-") as folder:
        for number, seed in enumerate(seeds(name)):
            Path(folder, f"seed-{number}").write_bytes(seed)
        limits = [
            f"-max_total_time={options.seconds}",
            f"-runs={options.runs}",
            f"-max_len={LONGEST}",
            "-timeout=20",
            "-entropic=0",
        ]
        output = [f"-artifact_prefix={keep}/", "-print_final_stats=1", "-verbosity=1"]
        run = _python(environment, name, [*limits, *output, str(found), str(CORPUS / name), folder])
    executed = re.findall(r"stat::number_of_executed_units: (\d+)", run.stderr)
    rate = re.findall(r"stat::average_exec_per_sec: +(\d+)", run.stderr)
    covered = re.findall(r"cov: (\d+)", run.stderr)
    told = (numbers[-1] if numbers else "?" for numbers in (executed, rate, covered))
    print("{}: {} executions, {} a second, {} edges".format(name, *told), flush=True)
    if run.returncode:
        print(run.stderr[-6000:], f"\nkept in {keep}")
    elif options.merge:
        merge(environment, name, found)
    return int(bool(run.returncode))


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
        _python(environment, name, ["-merge=1", *by_edges, f"-max_len={LONGEST_KEPT}", str(fresh), str(offered)])
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


def _python(environment: dict[str, str], name: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run libFuzzer, which runs itself again to merge: by a script, since it takes its own name for a program."""
    command = [sys.executable, "-m", "tools.fuzz.harness", name]
    with tempfile.TemporaryDirectory(prefix="thawline-fuzz-native-") as folder:
        script = Path(folder, name)
        script.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
        return subprocess.run(
            [*command, *arguments], env=environment | {"THAWLINE_FUZZER": str(script)}, cwd=sanitize.ROOT,
            capture_output=True, text=True, check=False, errors="replace",
        )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
