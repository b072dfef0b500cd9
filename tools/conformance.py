"""What Kaitai's own tests say of the compiler, by feature, into the README and `docs/kaitai.md`.

`python -m tools.conformance`, or `make conformance`.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
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

README, PAGE = ROOT / "README.md", ROOT / "docs" / "kaitai.md"
Outcomes = list[tuple[Case, list[str]]]
"""Each test, and what does not hold in it."""
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
    """Run all tests, and write what holds."""
    vectors = Path(os.environ.get("THAWLINE_VECTORS", ROOT.parent / "shared" / "vectors"))
    register("my_custom_fx", moved)
    found = [(case, outcome(case)) for case in cases(vectors / "kaitai")]
    for page, text in ((README, short(vectors, found)), (PAGE, table(vectors, found))):
        before, _, rest = page.read_text(encoding="utf-8").partition(START)
        page.write_text(before + START + text + END + rest.partition(END)[2], encoding="utf-8")
        print(f"wrote {page.relative_to(ROOT)}")


def short(vectors: Path, found: Outcomes) -> str:
    """The table of the README: how many of how many, and by feature in one line."""
    (compile_, specs), (open_, gallery) = counts(vectors)
    holding = sum(not lines for _, lines in found)
    return "\n".join(
        [
            "| | |",
            "| --- | --: |",
            f"| specs of Kaitai's tests that compile | {compile_} of {specs} |",
            f"| tests of Kaitai whose assertions all hold | {holding} of {len(found)} |",
            f"| specs of the format gallery that compile | {open_} of {gallery} |",
            "",
            fill(f"By feature: {', '.join(f'{name} {hold}/{uses}' for name, uses, hold in by_feature(found))}.", 120),
            "",
        ]
    )


def table(vectors: Path, found: Outcomes) -> str:
    """The table of the page, and what does not hold."""
    (compile_, specs), (open_, gallery) = counts(vectors)
    head = [
        f"* Specs of Kaitai's tests that compile: **{compile_} of {specs}**.",
        f"* Tests whose assertions all hold: **{sum(not lines for _, lines in found)} of {len(found)}**.",
        f"* Specs of the format gallery that compile: **{open_} of {gallery}**.",
    ]
    rows = [f"| {name} | {uses} | {holds} |" for name, uses, holds in by_feature(found)]
    wrong = [f"* `{case.id}`: {_plain(lines[0], vectors)}" for case, lines in found if lines]
    missing = [
        f"* `{spec.stem}`: {', '.join(sorted({it.reason for it in refused}))}"
        for spec in sorted((vectors / "kaitai-gallery").rglob("*.ksy"))
        if (refused := check(spec))
    ]
    of_tests = ["", "Tests that do not hold:", "", *wrong]
    of_gallery = ["", "Specs of the gallery that do not compile:", "", *missing, ""]
    return "\n".join([*head, "", "| feature | tests | hold |", "| --- | --: | --: |", *rows, *of_tests, *of_gallery])


def _plain(line: str, vectors: Path) -> str:
    """A reason without the folder of the vectors, and without what follows from it."""
    return line.replace(f"{vectors / 'kaitai'}/", "").partition(" [")[0]


def counts(vectors: Path) -> tuple[tuple[int, int], tuple[int, int]]:
    """How many specs compile of how many: of Kaitai's tests, and of its gallery."""
    tests = sorted((vectors / "kaitai" / "formats").glob("*.ksy"))
    gallery = sorted((vectors / "kaitai-gallery").rglob("*.ksy"))
    return (compiling(tests), len(tests)), (compiling(gallery), len(gallery))


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


def by_feature(found: Outcomes) -> Iterator[tuple[str, int, int]]:
    """Each feature: in how many tests it is, and how many of these hold."""
    uses, holds = Counter[str](), Counter[str]()
    for case, lines in found:
        keys = set(_keys(load_spec(case.spec).data))
        for feature, (key, value) in FEATURES.items():
            if any(key == one and value in (None, other) for one, other in keys):
                uses[feature] += 1
                holds[feature] += not lines
    for feature in FEATURES:
        if uses[feature]:
            yield feature, uses[feature], holds[feature]


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
