"""Generate: `python -m tools.generate [--check]`.

Writes `generated/`. With `--check` it writes to a temporary folder, compares, names every file that differs and exits
with 1.
"""

from __future__ import annotations

import filecmp
import shutil
import sys
import tempfile
from pathlib import Path

from thawline.ksy.document_specs import load_documents
from thawline.ksy.documents import SCHEMAS, SpecError, load_specs
from tools.generate import ksc, layouts
from tools.generate.constants import write_constants
from tools.generate.documents import write_readers
from tools.generate.encoders import write_encoders
from tools.generate.kernels import write_kernels
from tools.generate.reserved import check_ids
from tools.generate.tables import write_tables
from tools.generate.tolerant import write_tolerant

ROOT = ksc.ROOT
GENERATED = ROOT / "generated"

PACKAGES = {
    "": "What `make generate` derives from `schemas/`. Never edited.",
    "parsers": "Parsers by the Kaitai Struct compiler: one module a spec.",
    "structures": "Read-write parsers that know the position of every field: one module a spec.",
    "kernels": "Scan kernels and other readers, what they fill, rules of tools, and what the specs fix as constants.",
    "encoders": "Encoders by the columnar backend, and what each of them is given.",
    "tables": "Public tables, the columns that users see: one module a format.",
    "layouts": "Byte tables in Markdown: one page a spec.",
}


def generate(target: Path) -> None:
    """Write everything that is derived from the specs into a folder that is empty or absent."""
    specs = load_specs()
    for spec in specs.values():
        check_ids(spec)
    write_packages(target)
    compile_specs(target)
    write_kernels(specs, target / "kernels")
    write_constants(specs, target / "kernels")
    write_tolerant(specs, target / "kernels")
    documents = load_documents()
    write_readers(documents, target / "kernels")
    write_encoders(specs, target / "encoders")
    write_tables(specs, target / "tables")
    layouts.write(specs, target / "layouts")
    layouts.write_documents(documents, target / "layouts")


def write_packages(target: Path) -> None:
    """Make the Python packages of `generated/`."""
    for name, purpose in PACKAGES.items():
        folder = target / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").write_text(f'"""{purpose}"""\n', encoding="utf-8")


def compile_specs(target: Path) -> None:
    """Compile every spec with the Kaitai Struct compiler."""
    try:
        run = ksc.run(SCHEMAS.relative_to(ROOT), target / "parsers", target / "structures")
    except ksc.Unavailable as error:
        raise SpecError(f"make generate: {error}") from None
    sys.stderr.write(run.stderr)
    if run.returncode:
        raise SpecError("the Kaitai Struct compiler refused a spec")


def replace(target: Path) -> None:
    """Generate, and replace what is there."""
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".generate-") as fresh:
        generate(Path(fresh) / "generated")
        for folder in (Path(fresh) / "generated").iterdir():
            _move_over(folder, target / folder.name)


def _move_over(source: Path, target: Path) -> None:
    if target.is_dir():
        shutil.rmtree(target)
    target.parent.mkdir(exist_ok=True)
    source.replace(target)


def differences(fresh: Path, committed: Path) -> list[str]:
    """Files that differ between two folders, with what is wrong."""
    names = {
        path.relative_to(folder) for folder in (fresh, committed) for path in folder.rglob("*") if _is_source(path)
    }
    return [
        f"{committed.name}/{name}: {_verdict(fresh / name, committed / name)}"
        for name in sorted(names)
        if _verdict(fresh / name, committed / name)
    ]


def _is_source(path: Path) -> bool:
    return path.suffix in {".py", ".md", ".pxd"}


def _verdict(fresh: Path, committed: Path) -> str:
    if not committed.exists():
        return "missing, run make generate"
    if not fresh.exists():
        return "generated from nothing, run make generate"
    return "" if filecmp.cmp(fresh, committed, shallow=False) else "not what the specs say, run make generate"


def check() -> int:
    """Exit code: 1 if `generated/` is not what the specs give."""
    with tempfile.TemporaryDirectory() as fresh:
        generate(Path(fresh) / "generated")
        found = differences(Path(fresh) / "generated", GENERATED)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


def main(arguments: list[str]) -> int:
    """Run the command line; returns the exit code."""
    try:
        if arguments == ["--check"]:
            return check()
        replace(GENERATED)
    except SpecError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
