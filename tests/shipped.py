"""What every command of the thawline that this Python has says about some files: `python -I shipped.py FILE…`.

It runs where nothing is installed but thawline, so it imports nothing else. A line of JSON a command, with its
arguments, its exit code, what it printed, what it remarked, and what is in the files that it wrote.
"""

from __future__ import annotations

import hashlib
import json
import os
import pkgutil
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import pyarrow.parquet

from thawline.cli import COMMANDS, GROUPS, run

OUT = Path("out")
IMPORTED = ("thawline.cli", "thawline.formats", "thawline.rendering", "thawline.verbs")
"""Imported once instead of by every command."""
ON_A_FILE = [
    "FILE",
    "identify FILE",
    "info FILE",
    "stats FILE",
    "cat --format jsonl --bytes hex FILE",
    "head -n 2 FILE",
    "tail -n 2 FILE",
    "verify --format jsonl FILE",
    "verify --format table FILE",
    "report FILE --format json",
    "inspect FILE",
    "diff FILE FILE",
    "convert FILE -o out/rows.jsonl",
    "convert FILE -o out/rows.parquet",
    "salvage FILE -o out/intact",
]
ON_A_FORMAT = ["help FORMAT", "schema FORMAT", "schema FORMAT --ksy"]
ON_NOTHING = [
    "formats",
    "explain KAF101",
    "completion bash",
    "spec lint",
    "spec show zigzag_varint",
    "kafka index kafka/00000000000000000000.log -o out",
    "aerospike --help",
    "borg --help",
    "rbak --help",
    "ingest --help",
    "lake --help",
    "sql --help",
]


def main() -> None:
    """Print the names of the commands, and what each of them does."""
    for package in map(import_module, IMPORTED):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith(".native"):
                import_module(module.name)
    _tell([*COMMANDS, *GROUPS])
    for arguments in _commands(sys.argv[1:]):
        _tell([arguments, *outcome(arguments)])


def _tell(what: list[Any]) -> None:
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()  # or else it would go where the next command prints


def _commands(files: list[str]) -> Iterator[list[str]]:
    for line in ON_NOTHING:
        yield line.split()
    for name in sorted({Path(file).parent.name for file in files}):
        yield from (line.replace("FORMAT", name).split() for line in ON_A_FORMAT)
    for file in files:
        yield from (line.replace("FILE", file).split() for line in ON_A_FILE)


def outcome(arguments: list[str]) -> tuple[int, str, str, str]:
    """Exit code, stdout, stderr of a command, and a hash of what it wrote."""
    OUT.mkdir()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with redirected(1, out), redirected(2, err):
            code = run(arguments)
            sys.stdout.flush()
            sys.stderr.flush()
        said = code, _read(out), _read(err), _written()
    shutil.rmtree(OUT)
    return said


@contextmanager
def redirected(descriptor: int, file: IO[bytes]) -> Iterator[None]:
    """What this process prints goes to a file. A process for each command would import everything each time."""
    kept = os.dup(descriptor)
    os.dup2(file.fileno(), descriptor)
    try:
        yield
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _written() -> str:
    return " ".join(f"{path.name}:{hashlib.sha256(_content(path)).hexdigest()}" for path in sorted(OUT.iterdir()))


def _content(path: Path) -> bytes:
    """Bytes of a file, or the rows of a Parquet file, whose bytes may say which machine made them."""
    if path.suffix == ".parquet":
        return repr(pyarrow.parquet.read_table(path).to_pylist()).encode()
    return path.read_bytes()


if __name__ == "__main__":
    main()
