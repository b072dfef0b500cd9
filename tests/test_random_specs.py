"""Random specs: the Kaitai compiler accepts each, and its parser, ours in Python and ours in C read the same values."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import yaml
from random_specs import Maker, random_data
from seeds import SEED
from test_real_formats import compare

from thawline.compiler.kernel_cache import missing
from thawline.compiler.language import Program, load
from thawline.compiler.language.c.emission import translation_unit
from thawline.compiler.language.c.kernel import Kernel
from thawline.compiler.native_module import compile_module
from tools.generate import ksc

SPECS, FILES = 30, 20
MANY_SPECS, MANY_FILES = 400, 50
"""With `make fuzz`."""
Readers = list[tuple[list[Program], Callable[..., Any]]]


def made(seed: str, count: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Readers:
    """Our readers of some random specs, and the parser of the Kaitai compiler."""
    specs, parsers, package = folder / "specs", folder / "parsers", folder / f"random_{crc32(seed.encode())}"
    for path in (specs, parsers, package):
        path.mkdir()
    names = [f"random_{index}" for index in range(count)]
    for name in names:
        spec = Maker(random.Random(f"{seed} {name}"), name).spec()
        (specs / f"{name}.ksy").write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
    try:
        ran = ksc.run(specs, parsers)
    except ksc.Unavailable as error:
        pytest.skip(str(error))
    assert ran.returncode == 0, ran.stderr
    for file in parsers.glob("*.py"):
        text = file.read_text(encoding="utf-8").replace("thawline.generated.parsers", package.name)
        (package / file.name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    ours = programs([specs / f"{name}.ksy" for name in names], folder, monkeypatch)
    return [
        (of, getattr(importlib.import_module(f"{package.name}.{name}"), name.title().replace("_", "")))
        for name, of in zip(names, ours, strict=True)
    ]


def programs(specs: list[Path], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[Program]]:
    """Each spec in Python and, where there is a C compiler, in C."""
    plain = [load(spec, prefix=f"c{index}_") for index, spec in enumerate(specs)]
    assert [program.id for program in plain if program.compiled is None] == []
    if missing():
        return [[program] for program in plain]
    monkeypatch.setattr("thawline.compiler.native_module.QUICK", "-O0")
    monkeypatch.setattr("thawline.compiler.native_module.LARGE", "-O0")
    texts = [program.compiled.text for program in plain if program.compiled]
    kernel = Kernel(compile_module(translation_unit(*texts), folder, "readers"))
    native = [load(spec, kernel=kernel, prefix=f"c{index}_") for index, spec in enumerate(specs)]
    return [list(both) for both in zip(plain, native, strict=True)]


def agree(seed: str, specs: int, files: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, (ours, parser) in enumerate(made(seed, specs, folder, monkeypatch)):
        chance = random.Random(f"{seed} data {number}")
        for _ in range(files):
            data = random_data(chance)
            for program in ours:
                compare(program, parser, data)


def test_random_specs_are_read_as_by_kaitais_own_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agree("every day", SPECS, FILES, tmp_path, monkeypatch)


@pytest.mark.fuzz
def test_many_random_specs_are_read_as_by_kaitais_own_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agree(str(SEED), MANY_SPECS, MANY_FILES, tmp_path, monkeypatch)


TYPED = """\
meta: {id: typed_values, endian: le}
seq: [{id: items, type: item, repeat: eos}]
types:
  item:
    seq:
      - {id: kind, type: u1}
      - {id: value, type: {switch-on: kind, cases: {1: %s, 2: %s, 3: text}}}
  text:
    seq: [{id: body, type: strz, encoding: UTF-8}]
"""


@pytest.mark.parametrize(
    ("types", "wanted"),
    [
        (("f8", "u2"), [("float", 1.5), ("float", 258.0), ("text", {"body": "x"})]),
        (("f8", "s8"), [("float", 1.5), ("int", (1 << 53) + 1), ("text", {"body": "x"})]),
    ],
)
def test_an_integer_beside_a_float_and_a_structure_is_not_lost(
    types: tuple[str, str], wanted: list[tuple[str, object]], tmp_path: Path
) -> None:
    (tmp_path / "typed_values.ksy").write_text(TYPED % types, encoding="utf-8")
    number = (258).to_bytes(2, "little") if types[1] == "u2" else ((1 << 53) + 1).to_bytes(8, "little")
    data = b"\x01" + bytes.fromhex("000000000000f83f") + b"\x02" + number + b"\x03x\0"
    for program in programs_of(tmp_path):
        (batch,) = program.read(data)
        items = batch.to_pylist()[0]["items"]
        assert [(it["value"]["_type"], it["value"][it["value"]["_type"]]) for it in items] == wanted


def test_a_number_that_no_case_reads_is_null(tmp_path: Path) -> None:
    spec = "meta: {id: typed_values}\nseq: [{id: a, type: {switch-on: 3, cases: {0: s8be, 1: u8le}}}]\n"
    (tmp_path / "typed_values.ksy").write_text(spec, encoding="utf-8")
    for program in programs_of(tmp_path):
        (batch,) = program.read(bytes(9))
        assert batch.to_pylist() == [{"a": None}]


def programs_of(folder: Path) -> list[Program]:
    file = folder / "typed_values.ksy"
    native = [] if missing() else [load(file, native=lambda text: compile_module(text, folder, "reader"))]
    return [load(file), *native]


def test_bits_that_a_field_of_bytes_leaves_behind_are_no_part_of_the_next_bits(tmp_path: Path) -> None:
    spec = (
        "meta: {id: typed_values}\nseq: [{id: a, type: b3}, {id: b, type: u1}, {id: c, type: b1}, {id: d, type: b7}]\n"
    )
    (tmp_path / "typed_values.ksy").write_text(spec, encoding="utf-8")
    for program in programs_of(tmp_path):
        (batch,) = program.read(b"\xff\x07\x01")
        assert batch.to_pylist() == [{"a": 7, "b": 7, "c": False, "d": 1}]
