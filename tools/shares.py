"""How much of reading and writing bytes comes from the specs, by format: what `python -m tools.lines` prints below.

Handwritten is every line of a function that takes bytes apart, or puts them together: it looks into a buffer, or asks
`struct` or a pattern to; it stores into a buffer, or makes bytes of numbers. Those in modules of writers write, all
others read: what a decoder stores are columns. From the specs are the functions of kernels, probes, readers of
documents and tolerant readers, and those of encoders; Kaitai's own parsers do not count, since nothing is read with
them on the usual way. Generated code is longer than what a person would write, so the share is also given in lines of
the specs in place of the generated ones.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

READERS = frozenset({"scans.py", "probes.py", "readers.py", "tolerant.py"})
WRITERS = frozenset({"encodings.py"})
PACKING = frozenset(
    {"from_bytes", "unpack", "unpack_from", "iter_unpack", "a2b_base64", "b64decode"}
    | {"to_bytes", "pack", "pack_into", "b64encode", "bytearray"}
)
WRITING = re.compile("write|salvage|encode")
"""In the name of a module that writes."""
PATTERNS = frozenset({"match", "fullmatch", "search", "finditer", "split", "partition", "startswith", "find", "index"})
BYTES = ("bytes", "memoryview", "bytearray", "uchar")
"""What the annotation of a buffer names."""
BUFFERS = frozenset({"buf", "view", "data", "head", "raw", "block", "text", "out"})
"""Names of what holds the bytes of a file."""


@dataclass(slots=True)
class Share:
    """Lines that read, or that write."""

    generated: int = 0
    handwritten: int = 0

    def of(self, lines: int) -> str:
        """The part of lines from specs in all lines, in percent."""
        total = lines + self.handwritten
        return f"{100 * lines / total:.0f} %" if lines and total else "-"


def direction(function: ast.FunctionDef, module: Path) -> str:
    """Whether a function reads bytes, writes them, or does neither."""
    if not _handles_bytes(function):
        return ""
    return "writing" if WRITING.search(module.stem) else "reading"


def _handles_bytes(function: ast.FunctionDef) -> bool:
    buffers = {name for name, note in _annotated(function) if any(word in note for word in BYTES)} | BUFFERS
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and _name(node.value) in buffers:
            return True
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else _name(node.func)
            if called in PACKING or (called in PATTERNS and {*map(_name, _operands(node))} & buffers):
                return True
        elif isinstance(node, ast.BinOp) and any(_is_bytes(side) for side in (node.left, node.right)):
            return True
    return False


def _is_bytes(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bytes)


def functions(text: str) -> Iterator[tuple[ast.FunctionDef, int]]:
    """The outermost functions and methods of a module, each with its lines but for blank ones and documentation."""
    lines = text.splitlines()
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if isinstance(node, ast.FunctionDef):
                yield node, _code(node, lines)
            elif isinstance(node, ast.ClassDef | ast.If):
                waiting.append(node)


def is_generated(path: Path) -> str:
    """Whether a generated module reads or writes."""
    return "reading" if path.name in READERS else "writing" if path.name in WRITERS else ""


def _code(node: ast.FunctionDef, lines: list[str]) -> int:
    first = node.body[0]
    is_told = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    told = range(first.lineno, (first.end_lineno or 0) + 1) if is_told else range(0)
    numbers = range(min([node.lineno, *(it.lineno for it in node.decorator_list)]), (node.end_lineno or 0) + 1)
    shown = (lines[number - 1].strip() for number in numbers if number not in told)
    return sum(bool(line) and not line.startswith("#") for line in shown)


def _annotated(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    for node in ast.walk(function):
        if isinstance(node, ast.arg) and node.annotation:
            yield node.arg, ast.unparse(node.annotation)
        elif isinstance(node, ast.AnnAssign):
            yield _name(node.target), ast.unparse(node.annotation)


def _operands(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
