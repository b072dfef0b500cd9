"""Coverage-guided fuzzing of the native scans: `python -m tools.fuzz.native [--formats kafka,rbf] [--seconds N]`.

Builds the native module with clang for libFuzzer, AddressSanitizer, UndefinedBehaviorSanitizer and Cython's bounds
checks into build/, proves that an out-of-bounds read ends the process, and lets atheris feed it. An input
is read as every table of its format and, every so often, verified and read as a file. New inputs are merged into
tests/corpus, of which each is there for code that no other reaches.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from thawline.formats import FORMATS
from tools import sanitize
from tools.fuzz.samples import samples

CORPUS = sanitize.ROOT / "tests" / "corpus"
LONGEST = 1024
"""Bytes of an input: what a scan does wrong it does with few."""
LONGEST_KEPT = 600
"""Bytes of an input that is kept in the repository."""
MOST_KEPT = 60_000
"""Bytes that are kept of a format."""
COMPILERS = ("clang", *(f"clang-{version}" for version in range(22, 13, -1)))


def main() -> int:
    """Build, prove, fuzz each format in turn; 1 if any input ends the process."""
    options = _options()
    environment, failed = built(options.build.absolute()), 0
    for name in options.formats:
        with tempfile.TemporaryDirectory(prefix="thawline-fuzz-native-") as folder:
            failed |= fuzz(name, environment, Path(folder), options)
    return failed


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz.native", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--formats", type=lambda text: text.split(","), default=list(FORMATS), help="some of the formats"
    )
    parser.add_argument("--seconds", type=int, default=600, help="for each format (%(default)s)")
    parser.add_argument("--runs", type=int, default=-1, help="executions of each format at most")
    parser.add_argument(
        "--keep", type=Path, default=Path("build/fuzz"), help="where to keep inputs that end the process"
    )
    parser.add_argument("--build", type=Path, default=Path("build/fuzz-native"), help="where the module is built")
    parser.add_argument("--merge", action="store_true", help="put inputs that reach new code into tests/corpus")
    return parser.parse_args()


def built(folder: Path) -> dict[str, str]:
    """The environment in which Python reads with the native module that was built for the fuzzer."""
    compiler = next((name for name in COMPILERS if shutil.which(name)), "")
    preload = find_spec("atheris") and _beside_atheris("asan_with_fuzzer.so")
    if not compiler or not preload:
        sys.exit("fuzzing the native module needs clang and atheris: apt-get install clang; pip install atheris")
    os.environ |= {"CC": compiler, "CFLAGS": "-fsanitize=fuzzer-no-link"}
    package = _package(folder)
    environment = sanitize.sanitized(package, 0) | {
        "LD_PRELOAD": f"{preload} {sanitize.library('libstdc++.so.6')}",
        "PYTHONPATH": os.pathsep.join([str(package), str(sanitize.ROOT), str(Path(str(preload)).parent)]),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:handle_segv=1",
    }
    sanitize.prove(environment, package)
    return environment


def _package(folder: Path) -> Path:
    """Where to import the package from; built again only if what it is made of has changed: that takes minutes."""
    digest = hashlib.sha256()
    for name in sanitize.SOURCES:
        for path in sorted([sanitize.ROOT / name, *(sanitize.ROOT / name).rglob("*")]):
            if path.is_file() and path.suffix not in {".so", ".pyc", ".c"}:
                digest.update(path.read_bytes())
    place = folder / digest.hexdigest()[:16]
    if not list(place.glob("src/thawline/native/fast*.so")):
        shutil.rmtree(folder, ignore_errors=True)
        place.mkdir(parents=True)
        sanitize.build(place)
    return place / "src"


def _beside_atheris(name: str) -> Path | None:
    found = find_spec("atheris")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parents[1] / name
    return path if path.exists() else None


def fuzz(name: str, environment: dict[str, str], folder: Path, options: argparse.Namespace) -> int:
    """Fuzz one format; 1 if an input ended the process, which is then kept."""
    corpus, keep = folder / f"corpus-{name}", options.keep.absolute() / name
    for place in (corpus, keep, CORPUS / name):
        place.mkdir(parents=True, exist_ok=True)
    for number, sample in enumerate(samples(name)):
        (corpus / f"golden-{number}").write_bytes(sample.data[:LONGEST])
    limits = [f"-max_total_time={options.seconds}", f"-runs={options.runs}", f"-max_len={LONGEST}", "-timeout=20"]
    output = f"-artifact_prefix={keep}/"
    run = _python(environment, name, [*limits, output, "-print_final_stats=1", str(corpus), str(CORPUS / name)])
    executed = re.findall(r"stat::number_of_executed_units: (\d+)", run.stderr)
    covered = re.findall(r"cov: (\d+)", run.stderr)
    print(
        f"{name}: {executed[-1] if executed else '?'} executions, {covered[-1] if covered else '?'} edges", flush=True
    )
    if run.returncode:
        print(run.stderr[-3000:], f"\nkept in {keep}")
    elif options.merge:
        _merge(environment, name, corpus)
    return int(bool(run.returncode))


def _merge(environment: dict[str, str], name: str, corpus: Path) -> None:
    """Keep the short inputs that reach code which no shorter one reaches."""
    kept = CORPUS / name
    with tempfile.TemporaryDirectory() as fresh:
        _python(environment, name, ["-merge=1", f"-max_len={LONGEST_KEPT}", fresh, str(kept), str(corpus)])
        shutil.rmtree(kept)
        kept.mkdir()
        size = 0
        for path in sorted(Path(fresh).iterdir(), key=lambda path: path.stat().st_size):
            size += path.stat().st_size
            if size > MOST_KEPT:
                break
            shutil.copy(path, kept)


def _python(environment: dict[str, str], name: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.fuzz.harness", name, *arguments]
    return subprocess.run(
        command, env=environment, cwd=sanitize.ROOT, capture_output=True, text=True, check=False, errors="replace"
    )


if __name__ == "__main__":
    sys.exit(main())
