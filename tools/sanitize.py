"""The kernels under AddressSanitizer and with bounds checks: `python -m tools.sanitize`.

Builds the native module that way in a temporary folder, proves that both guards work, and runs tests of the kernels
with it: golden files, vectors and mutants in blocks of memory without a byte to spare. Fresh memory is filled with each
of `filled.PATTERNS` in turn, so that a read of a slot that was never written shows.

Neither guard sees all. AddressSanitizer sees what C code does with addresses (checksums, memcpy), but only at the end
of a block, and Arrow rounds its blocks up. Cython's bounds checks see every index into a buffer or an array, but raise
an exception that a kernel cannot pass on: it is written to stderr, which counts as a failed test.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tools.filled import PATTERNS

ROOT = Path(__file__).parents[1]
SOURCES = ("src", "generated", "setup.py", "pyproject.toml", "README.md")
KERNELS = ("tests/test_engine_bounds.py", "tests/test_engine_chunks.py", "tests/test_engine_values.py")
TESTS = "exact_size or ranges or range or outgrows or native_checksums"
"""Tests that read only with compiled kernels, or that make them read in uncommon ways."""
QUICK_LOOK = ("tests/test_aerospike_memory.py", "tests/test_aerospike_soundness.py")
"""Tests of functions that work on the arrays of kernels."""
MUTANTS = 5_000

_PYBUF_READ = 0x100


@contextmanager
def exactly(data: bytes) -> Iterator[memoryview]:
    """The bytes in a block of memory of exactly their size. Python's own objects have a zero byte more."""
    libc = ctypes.CDLL(None)
    libc.malloc.argtypes, libc.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    make_view = ctypes.pythonapi.PyMemoryView_FromMemory
    make_view.argtypes, make_view.restype = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int], ctypes.py_object
    block = libc.malloc(len(data))
    ctypes.memmove(block, data, len(data))
    view: memoryview = make_view(block, len(data), _PYBUF_READ)
    try:
        yield view
    finally:
        view.release()
        libc.free(block)


def main() -> int:
    """Build, prove and run; returns the exit code of the tests."""
    arguments = argparse.ArgumentParser(prog="python -m tools.sanitize", description=__doc__.partition("\n")[0])
    arguments.add_argument(
        "--mutants",
        type=int,
        default=MUTANTS,
        help="of each table's golden files, and as many of its vectors, over all patterns (%(default)s)",
    )
    arguments.add_argument("tests", nargs="*", help="more test files, run whole")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        package = build(Path(folder))
        environment = sanitized(package, options.mutants // len(PATTERNS) + 1)
        prove(environment, package)
        return max(run_tests(environment | {"THAWLINE_FILL": name}, options.tests) for name in PATTERNS)


def build(folder: Path, more: str = "") -> Path:
    """A copy of the package with the native module, and more source in it, built for sanitizers; returns its folder."""
    copy(folder)
    with (folder / "src" / "thawline" / "native" / "sources" / "fast.pyx").open("a", encoding="utf-8") as module:
        module.write(more)
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    # CPython's own flags let integers wrap around; with other compilers, overflow is undefined.
    environment = os.environ | {"THAWLINE_SANITIZE": "1", "CFLAGS": f"{os.environ.get('CFLAGS', '')} -fno-wrapv"}
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    package = folder / "src"
    if not list(package.glob("thawline/native/fast*.so")):  # it is optional, so the build succeeds without it
        sys.exit(f"the native module could not be built:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    (package / "thawline" / "generated").symlink_to(folder / "generated")
    return package


def copy(folder: Path) -> None:
    """Copy what the package is made of, over an earlier copy if there is one."""
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignored, dirs_exist_ok=True)
        else:
            shutil.copy(ROOT / name, folder / name)


def sanitized(package: Path, mutants: int) -> dict[str, str]:
    """The environment in which Python runs with the sanitizer and imports the package from a folder."""
    # The sanitizer has to be loaded first, and needs the C++ library that throws in pyarrow before it starts.
    libraries = [library("libasan.so"), library("libstdc++.so.6")]
    return os.environ | {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",  # CPython leaks on purpose when it ends
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "PYTHONMALLOC": "malloc",  # Python's own allocator would hide blocks from the sanitizer,
        "ARROW_DEFAULT_MEMORY_POOL": "system",  # and so would Arrow's
        "PYTHONPATH": str(package),
        "THAWLINE_MUTANTS": str(mutants),
    }


def library(name: str) -> str:
    """Path of a library of the compiler."""
    compiler = os.environ.get("CC", "gcc")
    found = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def prove(environment: Mapping[str, str], package: Path) -> None:
    """Exit unless each guard sees a read of one byte too many."""
    overflow = "heap-buffer-overflow"
    expected = {"checksum": overflow, "checksum of an array": overflow, "kernel": "Out of bounds on buffer access"}
    for part, message in expected.items():
        code = f"from tools import sanitize; sanitize.read_one_byte_too_many({part!r}, {str(package)!r})"
        command = [sys.executable, "-c", code]
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if message not in run.stderr:
            sys.exit(f"a {part} that reads one byte too many goes unnoticed:\n{run.stderr[-2000:]}")
        print(f"a {part} that reads one byte too many is seen: {message}")


def read_one_byte_too_many(part: str, package: str) -> None:
    """Read one byte too many. Functions of the module trust their caller about positions in a buffer."""
    from thawline.generated.kernels.tables import TABLES  # noqa: PLC0415

    from thawline.engine import kernels  # noqa: PLC0415 - the sanitized ones
    from thawline.engine.chunks import Ranges  # noqa: PLC0415
    from thawline.native import fast  # noqa: PLC0415 - the sanitized one

    if not str(fast.__file__).startswith(package):
        sys.exit(f"{fast.__file__} is not the sanitized module")
    with exactly(bytes(15)) as view:
        if part.startswith("checksum"):
            data = view if part == "checksum" else array("B", bytes(15))[:]  # a slice has no room for more
            fast.crc32c_ranges(data, array("q", [0]), array("q", [16]), 1, array("q", [0]))
        else:
            table = TABLES["kafka_offset_index"]
            list(kernels.read(table, view, Ranges.of([(0, 16, -1)]), table.columns, (9, 99)))


def run_tests(environment: Mapping[str, str], more: list[str]) -> int:
    """Run the tests in filled memory; an exception that a kernel cannot pass on is an error."""
    print(f"fresh memory holds the pattern {environment['THAWLINE_FILL']}", flush=True)
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tools.filled", "--durations=3"]
    pytest += ["-W", "error::pytest.PytestUnraisableExceptionWarning"]
    pytest += ["--capture=sys"]  # the last words of the sanitizer must not be captured
    kernels = [*KERNELS, "-m", "fuzz or not fuzz", "-k", TESTS]
    codes = [
        subprocess.run([*pytest, *selection], cwd=ROOT, env=environment, check=False).returncode
        for selection in (kernels, [*QUICK_LOOK, *more])
    ]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
