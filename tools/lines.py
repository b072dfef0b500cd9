"""Who says what about a format: `python -m tools.lines [--show] [FOLDER]` counts the lines of specs and of code.

For each format: lines of its specs, lines that are generated from them, and handwritten lines, of which some are texts
of findings, some restate the layout that a spec describes, and the rest is logic. Blank lines, comments and docstrings
do not count. `--show` lists the lines that restate a layout. FOLDER is another checkout, to compare with.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.shares import Share, direction, functions, is_generated

ROOT = Path(__file__).parents[1]
PREFIXES = {"kafka": "kafka", "borg": "borg", "rbf": "rbf", "rbak": "rbak", "aerospike": "asb"}
"""Formats, and how modules of native code about them are named; modules may have the format's name, too."""
SHARED = "shared"
ABOUT = re.compile(rf"^(?:def _?(?:\w+?_)?|    '|class |[A-Z_]*?)({'|'.join(PREFIXES)})_", re.IGNORECASE)
"""How a function, a table or a constant of one format starts in a generated file."""
MAGIC = re.compile(r"^\s*(?:-\s+)?contents:\s*(.+)$", re.MULTILINE)
SHORTEST_MAGIC = 3
PACKING = frozenset({"Struct", "pack", "unpack", "pack_into", "unpack_from", "iter_unpack"})
SCHEMAS = frozenset({"schema", "struct"})
LEAST_COLUMNS = 2
BUFFERS = frozenset({"buf", "view", "data", "head", "raw", "block", "text", "out", "fields"})
"""Names of what holds the bytes of a file."""


@dataclass(slots=True)
class Count:
    """Lines about one format."""

    spec: int = 0
    generated: int = 0
    texts: int = 0
    layout: list[str] = field(default_factory=list)
    """Places that restate a layout, with their lines."""
    logic: int = 0
    reading: Share = field(default_factory=Share)
    writing: Share = field(default_factory=Share)

    @property
    def handwritten(self) -> int:
        """All lines of handwritten code."""
        return self.texts + len(self.layout) + self.logic


def main() -> None:
    """Count, and print a table."""
    options = _options()
    counts = counted(options.folder)
    print(f"{'format':<11}{'spec':>7}{'generated':>11}{'handwritten':>13}{'layout':>8}{'texts':>7}{'logic':>8}")
    for name, count in (counts | {"all": _sum(counts.values())}).items():
        print(
            f"{name:<11}{count.spec:>7,}{count.generated:>11,}{count.handwritten:>13,}{len(count.layout):>8,}"
            f"{count.texts:>7,}{count.logic:>8,}"
        )
    _print_shares(counts)
    if options.show:
        print(*(place for count in counts.values() for place in count.layout), sep="\n")


def _print_shares(counts: Mapping[str, Count]) -> None:
    """How much of what reads and writes bytes comes from the specs, in lines of code and in lines of specs."""
    print(f"\n{'format':<11}{'read by specs':>15}{'by hand':>9}{'share':>7}{'or':>7}", end="")
    print(f"{'written by specs':>19}{'by hand':>9}{'share':>7}{'or':>7}")
    for name, count in ((name, count) for name, count in counts.items() if name != SHARED):
        read, written = count.reading, count.writing
        print(
            f"{name:<11}{read.generated:>15,}{read.handwritten:>9,}{read.of(read.generated):>7}{read.of(count.spec):>7}"
            f"{written.generated:>19,}{written.handwritten:>9,}{written.of(written.generated):>7}"
            f"{written.of(count.spec):>7}"
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.lines", description="Lines of specs and of code.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT, help="a checkout (this one)")
    parser.add_argument("--show", action="store_true", help="list the lines that restate a layout")
    return parser.parse_args()


def counted(root: Path) -> dict[str, Count]:
    """The counts of each format, and of what they share."""
    counts = {name: Count() for name in (*PREFIXES, SHARED)}
    for path in (root / "schemas").rglob("*"):
        if path.suffix in {".ksy", ".yaml"}:
            counts[_format_of(path.relative_to(root))].spec += _filled(path.read_text("utf-8"))
    for path in (root / "generated").rglob("*.py"):
        text = path.read_text("utf-8")
        for name, lines in _by_format(path.relative_to(root), text):
            counts[name].generated += lines
        if way := is_generated(path):
            for function, lines in functions(text):
                found = ABOUT.match(f"def {function.name}")
                getattr(counts[found[1].lower() if found else SHARED], way).generated += lines
    magics = _magics(root)
    for path in _handwritten(root):
        _add(counts[_format_of(path.relative_to(root))], path, path.relative_to(root), magics)
    return counts


def _sum(counts: Iterable[Count]) -> Count:
    total = Count()
    for count in counts:
        total.spec += count.spec
        total.generated += count.generated
        total.texts += count.texts
        total.layout += count.layout
        total.logic += count.logic
    return total


def _handwritten(root: Path) -> Iterator[Path]:
    source = root / "src" / "thawline"
    for folder in ("formats", "native", "verbs/rewrite"):
        yield from (path for path in sorted((source / folder).rglob("*")) if path.suffix in {".py", ".h"})


def _format_of(path: Path) -> str:
    """The format that a file is about, by its path."""
    for part in reversed(path.parts):
        for name, prefix in PREFIXES.items():
            if part.split(".")[0] == name or part.startswith((f"{name}_", f"{prefix}_", f"{name}.")):
                return name
    return SHARED


def _by_format(path: Path, text: str) -> Iterator[tuple[str, int]]:
    """Generated lines of each format: a file is of one, or its functions and tables are."""
    name = _format_of(path)
    if name != SHARED:
        yield name, _filled(text)
        return
    current = SHARED
    for line in text.splitlines():
        if found := ABOUT.match(line):
            current = found[1].lower()
        elif line and not line[0].isspace() and not line.startswith((")", "@", "#", "}")):
            current = SHARED
        yield current, int(bool(line.strip()))


def _filled(text: str) -> int:
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in text.splitlines())


def _magics(root: Path) -> frozenset[bytes]:
    """The fixed contents that specs name, but for very short ones."""
    found: set[bytes] = set()
    for path in (root / "schemas").rglob("*.ksy"):
        for written in MAGIC.findall(path.read_text("utf-8")):
            value = ast.literal_eval(written.strip()) if written.strip()[0] in "'\"[" else written.strip()
            found.add(bytes(value) if isinstance(value, list) else str(value).encode())
    return frozenset(magic for magic in found if len(magic) >= SHORTEST_MAGIC)


def _add(count: Count, path: Path, shown: Path, magics: frozenset[bytes]) -> None:
    text = path.read_text("utf-8")
    lines = text.splitlines()
    if path.suffix == ".h":
        count.logic += _filled(text)
        return
    for function, size in functions(text):
        if way := direction(function, path):
            getattr(count, way).handwritten += size
    tree = ast.parse(text)
    docs = set(_docstrings(tree))
    code = [
        number
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#") and number not in docs
    ]
    texts, layout = set(_texts(tree)), set(_layout(tree, magics))
    count.texts += sum(number in texts for number in code)
    count.layout += [f"{shown}:{number}: {lines[number - 1].strip()}" for number in code if number in layout - texts]
    count.logic += sum(number not in texts | layout for number in code)


def _docstrings(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from _span(node)


def _texts(tree: ast.Module) -> Iterator[int]:
    """Lines of declared codes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Code":
            yield from _span(node)


def _layout(tree: ast.Module, magics: frozenset[bytes]) -> Iterator[int]:
    """Lines that state an offset, a width, a magic or a column."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, bytes) and node.value in magics:
            yield node.lineno
        elif isinstance(node, ast.Call) and _states_layout(node):
            yield from _span(node)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in BUFFERS:
            bounds = [node.slice.lower, node.slice.upper] if isinstance(node.slice, ast.Slice) else [node.slice]
            if any(_is_offset(bound) for bound in bounds):
                yield node.lineno


def _states_layout(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    first = call.args[0] if call.args else None
    if name in PACKING:
        return isinstance(first, ast.Constant) and isinstance(first.value, str | bytes)
    if name in SCHEMAS and isinstance(first, ast.List):
        return len(first.elts) >= LEAST_COLUMNS and all(isinstance(element, ast.Tuple) for element in first.elts)
    if name == "to_bytes":
        return _is_number(first)
    if name == "from_bytes":
        return isinstance(first, ast.Subscript) and any(_is_number(node) for node in ast.walk(first.slice))
    if name == "view" and len(call.args) > 1:
        return any(_is_offset(bound) for bound in call.args)
    return False


def _is_offset(bound: ast.expr | None) -> bool:
    """Whether an expression is a position plus a number that is written out, or that number itself."""
    if isinstance(bound, ast.BinOp) and isinstance(bound.op, ast.Add | ast.Sub):
        return any(_is_number(side, least=2) for side in (bound.left, bound.right))
    return _is_number(bound, least=2)


def _is_number(node: ast.AST | None, least: int = 1) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value >= least


def _span(node: ast.expr | ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


if __name__ == "__main__":
    main()
