"""Kaitai's own tests, run over columns: every assertion holds for the row."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance.assertions import Case, broken, cases, moved
from conftest import ROOT

from thawline.compiler.language import Failure, Program, check, load, register
from tools.conformance import END, START, counts

ABSENT = {"imports_abs_abs", "imports_abs_rel", "imports_rel_1"}
"""They import specs that are not among the vectors."""
BEYOND_ROWS = {
    "instance_io_user_earlier": "asks for the size of a stream",
    "params_pass_array_struct": "asks for a parameter that may be a structure of any type",
}
"""What no column has."""


@pytest.fixture(scope="session")
def kaitai(vectors: Path) -> Path:
    """Kaitai's tests."""
    register("my_custom_fx", moved)
    return vectors / "kaitai"


def outcome(program: Program, case: Case) -> list[str]:
    """The assertions of a case that do not hold for its row."""
    items = list(program.read(case.data.read_bytes()))
    batches = [item for item in items if not isinstance(item, Failure)]
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema == program.tables["root"], case.id
    rows = [row for batch in batches for row in batch.to_pylist()]
    return broken(case, rows[0] if rows else None, [item for item in items if isinstance(item, Failure)])


def test_every_assertion_of_every_test_of_kaitai_holds(kaitai: Path) -> None:
    wrong = {
        case.id: lines
        for case in cases(kaitai)
        if case.id not in ABSENT | BEYOND_ROWS.keys() and (lines := outcome(load(case.spec), case))
    }
    assert not wrong


def test_all_specs_of_kaitai_compile(kaitai: Path) -> None:
    specs = sorted((kaitai / "formats").glob("*.ksy"))
    assert {spec.stem for spec in specs if check(spec)} <= ABSENT


@pytest.mark.parametrize("page", ["README.md", "docs/kaitai.md"])
def test_pages_say_how_many_of_how_many_hold(page: str, kaitai: Path) -> None:
    told = (ROOT / page).read_text(encoding="utf-8").partition(START)[2].partition(END)[0]
    (compiled, specs), (opened, gallery) = counts(kaitai.parent)
    count = len(cases(kaitai))
    hold = count - len(ABSENT | BEYOND_ROWS.keys())
    for one, other in ((compiled, specs), (hold, count), (opened, gallery)):
        assert f"{one} of {other}" in told
