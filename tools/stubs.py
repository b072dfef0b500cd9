"""The stub of the native module, derived from its sources: `python -m tools.stubs [--check]`.

Parameters have the types that the sources declare for C. The `return` statements tell what a function returns: integers
unless they show something else, or the source declares it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "thawline" / "native" / "sources"
READERS = ROOT / "generated" / "kernels" / "readers.py"
STUB = SOURCES.parent / "fast.pyi"
HEAD = """# Made by `make generate` from native/sources and the readers of documents. Never edited.
from typing_extensions import Buffer

"""


def stub() -> str:
    """The text of the stub."""
    paths = [*sorted(SOURCES.glob("*.py")), READERS]
    found = [line for path in paths for line in _of_source(path.read_text(encoding="utf-8"))]
    return HEAD + "".join(f"{line}\n" for line in sorted(found))


def _of_source(text: str) -> Iterator[str]:
    """Public names of a source."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            declared = {it.arg: ast.unparse(it.annotation) for it in node.args.args if it.annotation}
            yield _line(node.name, declared, _returned(node))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
            if not name.startswith("_") and isinstance(value, ast.Tuple):
                yield f"{name}: tuple[{', '.join(['int'] * len(value.elts))}]"


def _line(name: str, parameters: dict[str, str], returned: str) -> str:
    typed = ", ".join(f"{parameter}: {_type(kind)}" for parameter, kind in parameters.items())
    return f"def {name}({typed}) -> {returned}: ..."


def _type(declared: str) -> str:
    if "[::1]" in declared:
        return "Buffer"
    if declared in {"object", "bytes"}:
        return declared
    return "bool" if declared.endswith("bint") else "float" if declared.endswith("double") else "int"


def _returned(function: ast.FunctionDef) -> str:
    if function.returns:
        return ast.unparse(function.returns)
    values = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
    kinds = {_kind(value) for value in values}
    if "bool" in kinds or function.name.startswith(("are_", "have_", "is_")):
        return "bool"
    return " | ".join(sorted(kinds)) if kinds else "None"


def _kind(value: ast.expr) -> str:
    if isinstance(value, ast.Tuple):
        return f"tuple[{', '.join(map(_kind, value.elts))}]"
    if isinstance(value, ast.ListComp):
        return f"list[{_kind(value.elt)}]"
    text = ast.unparse(value)
    is_flag = isinstance(value, ast.Compare | ast.BoolOp) or text in {"True", "False"}
    return "bool" if is_flag or text.startswith(("bool(", "not ")) else "int"


def main() -> int:
    """Write the stub; with `--check`, say whether it is up to date."""
    made = stub()
    if "--check" not in sys.argv:
        STUB.write_text(made, encoding="utf-8")
    elif STUB.read_text(encoding="utf-8") != made:
        sys.stderr.write(f"{STUB} is not what its sources give; run `make generate`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
