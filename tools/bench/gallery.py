"""Files that specs of anybody describe: our compiled readers against the parsers that the Kaitai compiler makes.

All columns of a whole file are made, as Arrow. The other parser makes objects, and computes no instance that it does
not need itself.
"""

from __future__ import annotations

import importlib
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import kaitaistruct

from thawline.compiler.language import Failure, load
from thawline.compiler.native_module import compile_module
from tools.bench.data import DataSet
from tools.bench.measure import Contender, Read
from tools.generate import ksc

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from real_files import gallery_spec, java_class, pcap, png  # type: ignore[import-not-found] # noqa: E402 - a test's

GALLERY = ROOT.parent / "shared" / "vectors" / "kaitai-gallery"
PACKAGE = "bench_gallery_parsers"
BYTES_OF_PACKET, BYTES_OF_CHUNK = 190, 117
MOST_METHODS = 30_000


def packets(count: int) -> DataSet:
    """Captured packets of TCP and UDP."""
    return _as_one(next(pcap(count)), count)


def chunks(count: int) -> DataSet:
    """A picture of many small chunks."""
    return _as_one(next(iter(png((count,)))), count)


def methods(count: int) -> DataSet:
    """A class of many methods, each with its code and lines."""
    found = min(count, MOST_METHODS)
    return _as_one(next(java_class(found)), found)


def _as_one(data: bytes, records: int) -> DataSet:
    return DataSet(data, records, records_in_unit=records)


def contenders(name: str, records: int) -> tuple[Contender, Contender]:
    """Ours, and the Kaitai compiler's."""
    return (
        Contender("thawline", partial(_ours, name, records), note="all columns of the file"),
        Contender("ksc parser", partial(_theirs, name, records), note="objects; instances are not computed"),
    )


def _ours(name: str, records: int) -> Read:
    folder = Path(tempfile.mkdtemp())
    program = load(gallery_spec(GALLERY, name, folder), native=lambda text: compile_module(text, folder, "reader"))

    def read(data: bytes) -> int:
        for item in program.read(data):
            if isinstance(item, Failure):
                raise TypeError(item)
        return records

    return read


def _theirs(name: str, records: int) -> Read:
    folder = Path(tempfile.mkdtemp())
    specs, made = folder / "specs", folder / "parsers"
    specs.mkdir()
    made.mkdir()
    spec = gallery_spec(GALLERY, name, specs)
    if spec.parent != specs:
        shutil.copyfile(spec, specs / spec.name)
    ran = ksc.run(specs, made)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    package = folder / f"{PACKAGE}_{spec.stem}"
    package.mkdir()
    for file in made.glob("*.py"):
        text = file.read_text(encoding="utf-8").replace("thawline.generated.parsers", package.name)
        (package / file.name).write_text(text, encoding="utf-8")
    sys.path.insert(0, str(folder))
    parser: Any = getattr(importlib.import_module(f"{package.name}.{spec.stem}"), spec.stem.title().replace("_", ""))

    def read(data: bytes) -> int:
        parser(kaitaistruct.KaitaiStream(kaitaistruct.BytesIO(data)))
        return records

    return read
