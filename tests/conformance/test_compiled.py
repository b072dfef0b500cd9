"""Kaitai's own tests over compiled readers: the same rows and failures as uncompiled, and every assertion holds."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conformance.assertions import Case, cases
from conformance.test_kaitai import ABSENT, BEYOND_ROWS, kaitai, outcome

from thawline.compiler.language import Failure, Program, load
from thawline.compiler.language.emission import module

__all__ = ["kaitai"]
SOME = {"switch_manual_int", "bits_seq_endian_combo", "process_xor_value", "recursive_one", "valid_fail_expr"}
"""A few of what differs most between C and Python."""
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def built(texts: Sequence[str], folder: Path) -> dict[str, Any]:
    """What a module of these readers defines, compiled without optimisation."""
    if COMPILER is None:
        pytest.skip("there is no C compiler")
    from Cython.Compiler.Main import CompilationOptions, compile_single, default_options  # noqa: PLC0415 - only here

    source = folder / "readers.py"
    source.write_text(module(*texts), encoding="utf-8")
    how = CompilationOptions(default_options, output_file=str(folder / "readers.c"))
    assert compile_single(str(source), how, full_module_name="readers").num_errors == 0
    library = folder / "readers.so"
    include = sysconfig.get_paths()["include"]
    command = [
        COMPILER,
        "-O0",
        "-g0",
        "-w",
        "-fPIC",
        "-shared",
        f"-I{include}",
        source.with_suffix(".c"),
        "-o",
        library,
    ]
    subprocess.run(command, check=True, timeout=900)
    spec = importlib.util.spec_from_file_location("readers", library)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return vars(made)


def rows_and_failures(program: Program, case: Case) -> tuple[list[Any], list[Failure]]:
    items = list(program.read(case.data.read_bytes()))
    batches = [item.to_pylist() for item in items if not isinstance(item, Failure)]
    return batches, [item for item in items if isinstance(item, Failure)]


def places(failures: list[Failure]) -> list[Any]:
    """What failures say, but for the words, which are C's or Python's."""
    return [(one.kind, one.path, one.position, one.is_fatal) for one in failures]


def compare(chosen: Sequence[Case], folder: Path) -> None:
    """Hold compiled readers of some cases to their assertions, and to the uncompiled ones."""
    texts = [load(case.spec, prefix=f"c{index}_").text for index, case in enumerate(chosen)]
    kernel = built(texts, folder)
    wrong = {}
    for index, case in enumerate(chosen):
        compiled = load(case.spec, kernel=kernel, prefix=f"c{index}_")
        lines = [] if case.id in BEYOND_ROWS else outcome(compiled, case)
        fast, plain = rows_and_failures(compiled, case), rows_and_failures(load(case.spec), case)
        if repr(fast[0]) != repr(plain[0]):  # NaN is not equal to itself
            lines.append(f"{fast[0]} compiled, {plain[0]} uncompiled")
        places = [
            [(one.kind, one.path, one.position, one.is_fatal) for one in failures] for _, failures in (fast, plain)
        ]
        if places[0] != places[1]:
            lines.append(f"{fast[1]} compiled, {plain[1]} uncompiled")
        if lines:
            wrong[case.id] = lines
    assert not wrong


def test_compiled_readers_give_what_uncompiled_ones_give(kaitai: Path, tmp_path: Path) -> None:
    compare([case for case in cases(kaitai) if case.id in SOME], tmp_path)


@pytest.mark.fuzz
def test_every_assertion_of_every_test_of_kaitai_holds_compiled(kaitai: Path, tmp_path: Path) -> None:
    compare([case for case in cases(kaitai) if case.id not in ABSENT], tmp_path)
