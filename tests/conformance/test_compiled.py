"""Kaitai's own tests over compiled readers: the same rows and failures as uncompiled, and every assertion holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conformance.assertions import Case, cases
from conformance.test_kaitai import ABSENT, BEYOND_ROWS, kaitai, outcome

from thawline.compiler import kernel_cache
from thawline.compiler.language import Failure, Program, load
from thawline.compiler.language.c.emission import translation_unit
from thawline.compiler.language.c.kernel import Kernel
from thawline.compiler.native_module import compile_module

__all__ = ["kaitai"]
pytestmark = pytest.mark.skipif(bool(kernel_cache.missing()), reason="needs a C compiler")


def rows_and_failures(program: Program, case: Case) -> tuple[list[Any], list[Failure]]:
    items = list(program.read(case.data.read_bytes()))
    for item in items:
        if not isinstance(item, Failure):
            item.validate(full=True)
    batches = [item.to_pylist() for item in items if not isinstance(item, Failure)]
    return batches, [item for item in items if isinstance(item, Failure)]


def places(failures: list[Failure]) -> list[Any]:
    """What failures say, but for the words, which are C's or Python's."""
    return [(one.kind, one.path, one.position, one.is_fatal) for one in failures]


def compare(chosen: Sequence[Case], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold compiled readers of some cases to their assertions, and to the uncompiled ones."""
    monkeypatch.setattr("thawline.compiler.native_module.QUICK", "-O0")
    monkeypatch.setattr("thawline.compiler.native_module.LARGE", "-O0")
    programs = [load(case.spec, prefix=f"c{index}_") for index, case in enumerate(chosen)]
    assert [case.id for case, program in zip(chosen, programs, strict=True) if program.compiled is None] == []
    texts = [program.compiled.text for program in programs if program.compiled]
    kernel = Kernel(compile_module(translation_unit(*texts), folder, "readers"))
    wrong = {}
    for index, case in enumerate(chosen):
        compiled = load(case.spec, kernel=kernel, prefix=f"c{index}_")
        lines = [] if case.id in BEYOND_ROWS else outcome(compiled, case)
        fast, plain = rows_and_failures(compiled, case), rows_and_failures(load(case.spec), case)
        if repr(fast[0]) != repr(plain[0]):  # NaN is not equal to itself
            lines.append(f"{fast[0]} compiled, {plain[0]} uncompiled")
        if places(fast[1]) != places(plain[1]):
            lines.append(f"{fast[1]} compiled, {plain[1]} uncompiled")
        if lines:
            wrong[case.id] = lines
    assert not wrong


def test_every_assertion_of_every_test_of_kaitai_holds_compiled(
    kaitai: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare([case for case in cases(kaitai) if case.id not in ABSENT], tmp_path, monkeypatch)
