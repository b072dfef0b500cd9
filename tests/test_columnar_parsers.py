"""Kernels of toy specs against ksc's parsers of the same specs, over mutants."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from workshop import SAMPLES, Workshop, mutants, told

from thawline import specs
from thawline.engine import parsed
from thawline.engine.chunks import Break, Chunk, Ranges

KSC = Path(__file__).parents[1] / "tools" / "generate" / "ksc.js"


@pytest.fixture(scope="session")
def parsers(shop: Workshop) -> Path:
    """Folder of what ksc makes of the toys."""
    if not (shutil.which("node") and (KSC.parent / "node_modules").is_dir()):
        pytest.skip("the Kaitai Struct compiler runs on Node.js and is installed by `make generate`")
    target = shop.folder / "out"
    for build in ("parsers", "structures"):
        (target / build).mkdir(parents=True)
    command = ["node", KSC, shop.folder, target / "parsers", target / "structures"]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr
    return target


def parsed_chunks(shop: Workshop, folder: Path, name: str, data: bytes) -> list[Chunk | Break]:
    """What the plain engine yields with ksc's parser of a toy."""

    def load(build: str, spec: str) -> Any:
        module = importlib.util.spec_from_file_location(f"toys.{spec}", folder / build / f"{spec}.py")
        assert module is not None
        assert module.loader is not None
        loaded: ModuleType = importlib.util.module_from_spec(module)
        module.loader.exec_module(loaded)
        return getattr(loaded, specs.class_name(spec))

    table = shop.tables[name]
    with mock.patch.object(specs, "_load", load):
        return list(
            parsed.read(table, memoryview(data), Ranges.of([(0, len(data), -1)]), table.columns, (100, 1 << 25))
        )


STRICTER = {
    "no decimal number": "ksc's parser takes what Python's int() takes",
    "outside the structure": "ksc's parser looks at the bytes of a checksum only when it is asked for them",
}
"""Where the kernel refuses more than the parser does, and why."""


@pytest.mark.parametrize("name", SAMPLES)
def test_a_kernel_reads_what_the_parser_of_the_same_spec_reads(shop: Workshop, parsers: Path, name: str) -> None:
    for data in mutants(name, 60):
        found = shop.chunks(name, data)
        if not any(isinstance(end, Break) and end.failure.reason in STRICTER for end in found):
            assert told(found) == told(parsed_chunks(shop, parsers, name, data)), data.hex()


@pytest.mark.parametrize("name", SAMPLES)
def test_no_row_is_smaller_than_the_least_that_was_computed(shop: Workshop, name: str) -> None:
    for data in mutants(name, 60):
        rows, _ = told(shop.chunks(name, data))
        assert all(end - start >= shop.tables[name].least_size for start, end, *_ in rows)
