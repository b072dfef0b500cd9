"""What Kaitai's own tests say of the compiler, by feature, into `docs/kaitai.md`: `python -m tools.conformance`."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from conformance.assertions import (  # type: ignore[import-not-found] # noqa: E402 - it is among the tests
    Case,
    broken,
    cases,
    moved,
)

from thawline.compiler.language import Failure, check, load, register  # noqa: E402 - as above
from thawline.errors import ThawlineError  # noqa: E402 - as above
from thawline.ksy.documents import load_spec  # noqa: E402 - as above

PAGE = ROOT / "docs" / "kaitai.md"
START, END = "<!-- conformance -->\n", "<!-- end of conformance -->\n"
FEATURES = {
    "`repeat: eos`": ("repeat", "eos"),
    "`repeat: expr`": ("repeat", "expr"),
    "`repeat: until`": ("repeat", "until"),
    "`switch-on`": ("switch-on", None),
    "strings (`encoding`)": ("encoding", None),
    "`terminator`, `include`, `consume`, `eos-error`": ("terminator", None),
    "`pad-right`": ("pad-right", None),
    "`process`": ("process", None),
    "`enum`": ("enum", None),
    "`params`": ("params", None),
    "`instances`": ("instances", None),
    "`pos`, `io`": ("pos", None),
    "`if`": ("if", None),
    "`valid`, `contents`": ("valid", None),
    "`bit-endian`": ("bit-endian", None),
    "`imports`": ("imports", None),
    "`parent`": ("parent", None),
}


def main() -> None:
    """Run all tests, and write the table."""
    vectors = Path(os.environ.get("THAWLINE_VECTORS", ROOT.parent / "shared" / "vectors"))
    register("my_custom_fx", moved)
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    after = rest.partition(END)[2]
    PAGE.write_text(before + START + table(vectors) + END + after, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


def table(vectors: Path) -> str:
    """The table in Markdown."""
    found = [(case, outcome(case)) for case in cases(vectors / "kaitai")]
    specs = sorted((vectors / "kaitai" / "formats").glob("*.ksy"))
    gallery = sorted((vectors / "kaitai-gallery").rglob("*.ksy"))
    head = [
        f"* Specs of Kaitai's tests that compile: **{compiling(specs)} of {len(specs)}**.",
        f"* Tests whose assertions all hold: **{sum(not lines for _, lines in found)} of {len(found)}**.",
        f"* Specs of the format gallery that compile: **{compiling(gallery)} of {len(gallery)}**.",
    ]
    return "\n".join([*head, "", "| feature | tests | hold |", "| --- | --: | --: |", *rows(found), ""])


def compiling(specs: list[Path]) -> int:
    """How many specs compile."""
    return sum(not check(spec) for spec in specs)


def outcome(case: Case) -> list[str]:
    """What does not hold in a test."""
    try:
        items = list(load(case.spec).read(case.data.read_bytes()))
    except ThawlineError as error:
        return [str(error)]
    rows = [row for item in items if not isinstance(item, Failure) for row in item.to_pylist()]
    lines: list[str] = broken(case, rows[0] if rows else None, [it for it in items if isinstance(it, Failure)])
    return lines


def rows(found: list[tuple[Case, list[str]]]) -> Iterator[str]:
    """A line for each feature: in how many tests it is, and how many of these hold."""
    uses, holds = Counter[str](), Counter[str]()
    for case, lines in found:
        keys = set(_keys(load_spec(case.spec).data))
        for feature, (key, value) in FEATURES.items():
            if any(key == one and value in (None, other) for one, other in keys):
                uses[feature] += 1
                holds[feature] += not lines
    for feature in FEATURES:
        if uses[feature]:
            yield f"| {feature} | {uses[feature]} | {holds[feature]} |"


def _keys(data: Any) -> Iterator[tuple[str, str]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield str(key), str(value)
            yield from _keys(value)
    elif isinstance(data, list):
        for value in data:
            yield from _keys(value)


if __name__ == "__main__":
    main()
