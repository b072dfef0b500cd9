"""The output of `make generate` for both versions, compared: columns of tables, kernels, layouts."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

from thawline.review.model import ColumnChange, Derived
from thawline.review.toolchain import Made
from thawline.wording import counted

MAX_CHECKS = 4
"""The most checks that are named of those that a kernel gains or loses."""


def compare(old: Made, new: Made) -> Derived:
    """Everything that differs."""
    if reason := old.no_kernels:
        return Derived(skipped=reason)
    if new.no_kernels:
        return Derived(refused=new.no_kernels)
    names = sorted(old.tables.keys() | new.tables.keys())
    columns = tuple(change for name in names for change in _columns(name, old, new))
    kernels = tuple(line for name in names if (line := _kernel(name, old, new)))
    return Derived("", "", columns, kernels, tuple(_layouts(old.folder, new.folder)))


def _columns(table: str, old: Made, new: Made) -> Iterator[ColumnChange]:
    before, after = (made.tables.get(table, {"columns": {}})["columns"] for made in (old, new))
    for name in [*before, *(name for name in after if name not in before)]:
        if before.get(name) != after.get(name):
            yield ColumnChange(table, name, before.get(name, ""), after.get(name, ""))


def _kernel(table: str, old: Made, new: Made) -> str:
    """The difference in the kernel of a table; empty if there is none."""
    if table not in old.tables or table not in new.tables:
        return f"`{table}`: {'new' if table in new.tables else 'gone'}"
    before, after = (_text(made.folder / "kernels" / f"{table}.py") for made in (old, new))
    if before == after and old.tables[table] == new.tables[table]:
        return ""
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines())) if before != after else []
    added, gone = (sum(line.startswith(f"{mark} ") for line in lines) for mark in "+-")
    return "; ".join([f"`{table}`: {counted(added, 'line')} added, {gone} removed", *_checks(table, old, new)])


def _checks(table: str, old: Made, new: Made) -> Iterator[str]:
    before, after = (made.tables[table] for made in (old, new))
    for word, first, second in (("new", after, before), ("dropped", before, after)):
        found = [check for check in first["checks"] if check not in second["checks"]]
        if found:
            more = f" and {len(found) - MAX_CHECKS} more" if len(found) > MAX_CHECKS else ""
            yield f"{word} checks: {', '.join(found[:MAX_CHECKS])}{more}"
    if before["checksum"] != after["checksum"]:
        yield f"checksum: {before['checksum'] or 'none'} → {after['checksum'] or 'none'}"


def _layouts(old: Path, new: Path) -> Iterator[str]:
    names = {path.name for folder in (old, new) for path in (folder / "layouts").glob("*.md")}
    for name in sorted(names):
        if _text(old / "layouts" / name) != _text(new / "layouts" / name):
            yield name.removesuffix(".md")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
