"""A spec-diff review as Markdown, to be pasted into a code review, and as plain data for programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from thawline.rendering.words import counted, grouped
from thawline.review.model import Behaviour, Change, Derived, Layout, Line, Reading, Review, Verdict

OUTCOMES = ("no wire change", "compatible", "breaking")
LONGEST = 160
"""Characters of a value in a table."""
MOST_FILES = 20
MOST_NAMED = 3
MOST_TABLES = 30
OUTCOME_TITLES = {
    "refused": "newly refused",
    "differs": "read differently",
    "accepted": "newly accepted",
    "calculated": "calculated differently",
}


def markdown(review: Review) -> str:
    """The review as Markdown."""
    parts = [f"# Spec diff: `{review.old}` → `{review.new}`\n", _summary(review)]
    if review.changes:
        parts += ["\n## Changes\n", *_changes(review.changes)]
    if review.layouts:
        parts += ["\n## Layout\n", *_layouts(review.layouts)]
    if review.changes:
        parts += [
            "\n## Behaviour\n",
            *_behaviour(review.behaviour),
            "\n## Derived outputs\n",
            *_derived(review.derived),
        ]
    return "\n".join(parts).rstrip() + "\n"


def _summary(review: Review) -> str:
    if not review.changes:
        return "**No wire change.** The specs say the same."
    counts = ", ".join(f"{verdict.value}: {grouped(number)}" for verdict, number in review.counts())
    outcome = OUTCOMES[review.exit_code].capitalize()
    api = " Users of the parsers or the tables have to change." if review.breaks_api else ""
    seen = _seen(review.behaviour)
    refused = " `make generate` refuses the new version." if review.derived.refused else ""
    return f"**{outcome}.** Changes by verdict: {counts}.{api}{seen}{refused}"


def _seen(behaviour: Behaviour) -> str:
    if behaviour.skipped:
        return ""
    if not behaviour.readings:
        return f" {counted(behaviour.files, 'file')} read the same with both versions." if behaviour.files else ""
    parts = [f"{grouped(number)} {title}" for title, number in _outcomes(behaviour)]
    return f" Of {counted(behaviour.files, 'file')}: {', '.join(parts)}."


def _outcomes(behaviour: Behaviour) -> Iterator[tuple[str, int]]:
    for outcome, title in OUTCOME_TITLES.items():
        if files := {reading.file for reading in behaviour.readings if reading.outcome == outcome}:
            yield title, len(files)


def _changes(changes: Sequence[Change]) -> Iterator[str]:
    order = list(reversed(Verdict))
    listed = [change for change in changes if change.verdict is not Verdict.DOCUMENTATION]
    if listed:
        yield from _heading("verdict", "change", "what", "before", "after", "why")
    for change in sorted(listed, key=lambda change: order.index(change.verdict)):
        api = ", API" if change.breaks_api and change.verdict is not Verdict.API else ""
        verdict = f"**{change.verdict.value}**" if change.verdict is Verdict.BREAKING else change.verdict.value
        shown = (code(change.path), code(change.before), code(change.after), _plain(change.reason))
        yield _row(f"{verdict}{api}", change.kind, *shown)
    if len(listed) < len(changes):
        paths = dict.fromkeys(code(change.path) for change in changes if change.verdict is Verdict.DOCUMENTATION)
        yield ("\n" if listed else "") + f"Documentation only: {', '.join(paths)}."


def _layouts(layouts: Sequence[Layout]) -> Iterator[str]:
    yield "`+` new, `-` gone, `~` another size or type, `>` moved, `=` renamed.\n"
    for layout in layouts[:MOST_TABLES]:
        yield f"### {layout.type}\n"
        yield from _heading("", "field", "offset", "size", "type", "new offset", "new size", "new type")
        yield from map(_line, layout.lines)
        yield ""
    if len(layouts) > MOST_TABLES:
        yield f"… and {counted(len(layouts) - MOST_TABLES, 'more type')}."


def _line(line: Line) -> str:
    sides = [
        ["" if side is None else code(cell) for cell in side or ("", "", "")] for side in (line.before, line.after)
    ]
    mark = f"`{line.mark}`" if line.mark else ""
    return _row(mark, code(line.name), *sides[0], *sides[1])


def _behaviour(behaviour: Behaviour) -> Iterator[str]:
    if behaviour.skipped:
        yield f"Not run: {_plain(behaviour.skipped)}."
        return
    read = f"{counted(behaviour.units, 'unit')} of {counted(behaviour.files, 'file')}"
    refused = (
        f" Neither reads {counted(behaviour.refused_by_both, 'unit')} to the end." if behaviour.refused_by_both else ""
    )
    yield f"{read} ({counted(behaviour.fields, 'field')}) were read with both versions.{refused}\n"
    if behaviour.readings:
        yield from _heading("files", "read as", "outcome", "first differing field", "before", "after")
        yield from _readings(behaviour.readings)
    elif behaviour.units:
        yield "All of them read the same" + (", apart from names." if behaviour.renames else ".")
    if behaviour.renames:
        yield "\nThe same bytes and values under another name:\n"
        yield from (
            f"* {code(before)} → {code(after)} ({counted(number, 'time')})"
            for before, after, number in behaviour.renames
        )
    if behaviour.left_out:
        yield "\nNot compared:\n"
        yield from _left_out(behaviour.left_out)


def _left_out(left_out: Sequence[tuple[str, str]]) -> Iterator[str]:
    """A line for each reason, with the first files that it applies to."""
    reasons: dict[str, list[str]] = {}
    for file, reason in left_out:
        reasons.setdefault(reason, []).append(file)
    for reason, files in reasons.items():
        more = f" and {counted(len(files) - MOST_NAMED, 'more file')}" if len(files) > MOST_NAMED else ""
        yield f"* {', '.join(map(code, files[:MOST_NAMED]))}{more}: {_plain(reason)}"


def _readings(readings: Sequence[Reading]) -> Iterator[str]:
    """A row for each group of similar readings, with its first file."""

    def likeness(reading: Reading) -> tuple[int, str, str]:
        field = "".join(letter for letter in reading.field.partition(" at ")[0] if not letter.isdigit())
        return list(OUTCOME_TITLES).index(reading.outcome), reading.unit.partition(" at ")[0], field

    groups = [list(similar) for _, similar in groupby(sorted(readings, key=likeness), key=likeness)]
    for group in groups[:MOST_FILES]:
        first = group[0]
        files = code(first.file) + (f" and {counted(len(group) - 1, 'more file')}" if len(group) > 1 else "")
        title = OUTCOME_TITLES[first.outcome]
        yield _row(files, first.unit, f"**{title}**", code(first.field), code(first.before), code(first.after))
    if len(groups) > MOST_FILES:
        more = grouped(len(groups) - MOST_FILES)
        yield f"\n… and {more} more ways in which files differ; `--format json` has them all."


def _derived(derived: Derived) -> Iterator[str]:
    if derived.skipped:
        yield f"Not made: {_plain(derived.skipped)}."
    elif derived.refused:
        yield f"Not made: `make generate` refuses the new version: {_plain(derived.refused)}."
    elif not (derived.columns or derived.kernels or derived.layouts):
        yield "No table, kernel or layout changes."
    if derived.columns:
        yield from _heading("table", "column", "", "Arrow (Spark) before", "after")
        yield from (
            _row(code(it.table), code(it.column), it.kind, code(it.before), code(it.after)) for it in derived.columns
        )
        yield ""
    elif derived.kernels:
        yield "No column changes.\n"
    yield from (f"* kernel {line}" for line in derived.kernels)
    if derived.layouts:
        yield f"* layouts that change: {', '.join(f'`{name}`' for name in derived.layouts)}"


def _heading(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield _row(*("---" for _ in names))


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    r"""Text as inline code in a cell of a table; long text is cut.

    >>> print(code("a | b"), code("`x`"), code("") == "")
    `a \| b` `` `x` `` True
    """
    text = " ".join(text.split()).replace("|", "\\|")
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    if not text:
        return ""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def record(review: Review) -> dict[str, Any]:
    """The review as plain data. Keys may be added; none is renamed or removed."""
    return {
        "old": review.old,
        "new": review.new,
        "exit_code": review.exit_code,
        "outcome": OUTCOMES[review.exit_code],
        "breaks_api": review.breaks_api,
        "changes": [{**dataclasses.asdict(change), "verdict": change.verdict.value} for change in review.changes],
        "layouts": [
            {"type": layout.type, "lines": [_line_record(line) for line in layout.lines]} for layout in review.layouts
        ],
        "behaviour": {
            **dataclasses.asdict(review.behaviour),
            "left_out": [{"file": file, "reason": reason} for file, reason in review.behaviour.left_out],
            "renames": [
                {"before": before, "after": after, "count": count} for before, after, count in review.behaviour.renames
            ],
        },
        "derived": {
            **dataclasses.asdict(review.derived),
            "columns": [{**dataclasses.asdict(it), "kind": it.kind} for it in review.derived.columns],
        },
    }


def _line_record(line: Line) -> dict[str, Any]:
    def side(cells: tuple[str, str, str] | None) -> dict[str, str] | None:
        return None if cells is None else dict(zip(("offset", "size", "type"), cells, strict=True))

    return {"mark": line.mark, "name": line.name, "before": side(line.before), "after": side(line.after)}
