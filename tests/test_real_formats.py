"""Specs of Kaitai's gallery on real files: every value is the one that ksc's own parser reads."""

from __future__ import annotations

import importlib
import math
import random
import shutil
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import kaitaistruct
import pytest
from real_files import MAKERS, gallery_spec
from seeds import SEED

from thawline.compiler.kernel_cache import missing
from thawline.compiler.language import Failure, Program, load
from thawline.compiler.native_module import compile_module
from tools.generate import ksc

PACKAGE = "gallery_parsers"
MUTANTS, MANY = 12, 1000
"""Of each file; and, with `make fuzz`, of all files of a format."""


@pytest.fixture(scope="module")
def gallery(vectors: Path) -> Path:
    return vectors / "kaitai-gallery"


@pytest.fixture(scope="module")
def parsers(gallery: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Any]]:
    """The classes that ksc makes of the specs."""
    folder = tmp_path_factory.mktemp("gallery")
    specs, made = folder / "specs", folder / "parsers"
    specs.mkdir()
    made.mkdir()
    for name in [*MAKERS, "common/riff", "common/dos_datetime"]:
        spec = gallery_spec(gallery, name, specs)
        if spec.parent != specs:
            shutil.copyfile(spec, specs / spec.name)
    try:
        ran = ksc.run(specs, made)
    except ksc.Unavailable as error:
        pytest.skip(str(error))
    assert ran.returncode == 0, ran.stderr
    package = folder / PACKAGE
    package.mkdir()
    for file in made.glob("*.py"):
        text = file.read_text(encoding="utf-8").replace("thawline.generated.parsers", PACKAGE)
        (package / file.name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(folder)
        yield lambda name: getattr(
            importlib.import_module(f"{PACKAGE}.{name}"), "".join(map(str.capitalize, name.split("_")))
        )


@pytest.fixture(scope="module")
def compiled(gallery: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Program]:
    """Readers of the specs: native ones where there is a C compiler."""

    @cache
    def made(name: str) -> Program:
        folder = tmp_path_factory.mktemp("reader")
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("thawline.compiler.native_module.QUICK", "-O0")
            patched.setattr("thawline.compiler.native_module.LARGE", "-O0")
            native = (lambda text: compile_module(text, folder, "reader")) if not missing() else (lambda _: None)
            return load(gallery_spec(gallery, name, folder), native=native)

    return made


def parsed(parser: Any, data: bytes) -> Any:
    """What ksc's parser makes of some bytes; None if it refuses them."""
    try:
        return parser(kaitaistruct.KaitaiStream(kaitaistruct.BytesIO(data)))
    except Exception:  # noqa: BLE001 - ksc's parsers raise what Python raises
        return None


def read(program: Program, data: bytes) -> dict[str, Any] | None:
    """The row that we make of them; None if the structure is broken."""
    found = list(program.read(data))
    if any(isinstance(item, Failure) and item.is_fatal for item in found):
        return None
    (row,) = [row for item in found if not isinstance(item, Failure) for row in item.to_pylist()]
    return dict(row)


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """The paths of values that are not the same."""
    match ours:
        case None if isinstance(theirs, int) and not -(1 << 63) <= theirs < 1 << 63:
            pass  # the column has 64 bits, and a failure says that this number has more
        case dict() if "_type" in ours and not hasattr(theirs, "_type"):
            yield from _of_alternative(ours, theirs, path)
        case dict():
            for name, value in ours.items():
                yield from _of_field(name, value, ours, theirs, f"{path}.{name}")
        case list():
            if len(ours) != len(theirs):
                yield f"{path}: {len(ours)} items, not {len(theirs)}"
            for index, (one, other) in enumerate(zip(ours, theirs, strict=False)):
                yield from differences(one, other, f"{path}[{index}]")
        case bytes() if isinstance(theirs, kaitaistruct.KaitaiStruct):
            pass  # cut at its depth
        case _:
            if not (ours == theirs or (isinstance(ours, float) and math.isnan(ours) and math.isnan(theirs))):
                yield f"{path}: {ours!r} is not {theirs!r}"


def _of_alternative(ours: dict[str, Any], theirs: Any, path: str) -> Iterator[str]:
    if ours["_type"] is not None:
        yield from differences(ours[ours["_type"]], theirs, path)
    elif theirs is not None:
        yield f"{path}: nothing is not {theirs!r}"


def _of_field(name: str, value: Any, row: dict[str, Any], theirs: Any, path: str) -> Iterator[str]:
    is_label = f"{name}_number" in row and not hasattr(type(theirs), f"{name}_number")
    is_label = is_label and f"{name}_number" not in vars(theirs)
    if name.endswith("_number") and name not in vars(theirs) and not hasattr(type(theirs), name):
        return  # compared with its label
    try:
        other = getattr(theirs, name)
    except Exception:  # noqa: BLE001 - an instance that cannot be computed
        other = None
    if is_label:
        value, other = row[f"{name}_number"], _numbers(other)
    if value is None and other is not None and not isinstance(other, int):
        yield f"{path}: nothing is not {other!r}"
    elif value is not None or other is not None:
        yield from differences(value, other, path)


def _numbers(value: Any) -> Any:
    """The numbers of enums."""
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return value.value if isinstance(value, Enum) else value


@pytest.mark.parametrize("name", MAKERS)
def test_every_field_is_what_kaitais_own_parser_reads(
    name: str, compiled: Callable[[str], Program], parsers: Callable[[str], Any]
) -> None:
    program, parser, count = compiled(name), parsers(Path(name).name), 0
    for data in MAKERS[name]():
        count += 1
        theirs, ours = parsed(parser, data), read(program, data)
        assert (ours is None) == (theirs is None)
        assert ours is None or list(differences(ours, theirs)) == []
    assert count


def mutants(data: bytes, chance: random.Random, count: int) -> Iterator[bytes]:
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            changed[chance.randrange(min(len(changed), 400))] = chance.randrange(256)
        yield bytes(changed[: chance.randint(1, len(changed))] if chance.random() < 0.2 else changed)


def compare(program: Program, parser: Any, data: bytes) -> None:
    """Hold what we read of some bytes to what ksc's parser reads: refused by both, or the same values."""
    theirs, ours = parsed(parser, data), read(program, data)
    assert (ours is None) == (theirs is None), data.hex()
    assert ours is None or list(differences(ours, theirs)) == [], data.hex()


@pytest.mark.parametrize("name", MAKERS)
def test_mutants_are_accepted_refused_and_read_as_by_kaitais_own_parser(
    name: str, compiled: Callable[[str], Program], parsers: Callable[[str], Any]
) -> None:
    program, parser, chance = compiled(name), parsers(Path(name).name), random.Random(name)
    for data in list(MAKERS[name]())[:3]:
        for changed in mutants(data, chance, MUTANTS):
            compare(program, parser, changed)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", MAKERS)
def test_a_thousand_mutants_are_read_as_by_kaitais_own_parser(
    name: str, compiled: Callable[[str], Program], parsers: Callable[[str], Any]
) -> None:
    program, parser, chance = compiled(name), parsers(Path(name).name), random.Random(f"{name} {SEED}")
    files = list(MAKERS[name]())
    for data in files:
        for changed in mutants(data, chance, -(-MANY // len(files))):
            compare(program, parser, changed)
