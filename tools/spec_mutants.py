"""Mutants of real files through compiled readers of Kaitai's gallery, under sanitizers: `python -m tools.spec_mutants`.

A compiled reader is C alone, so it is driven by C: a program for each spec makes mutants, reads each in a block of
memory of exactly its size, puts what it read into columns, and exports these, under AddressSanitizer, the sanitizer of
undefined behaviour and the leak checker.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from real_files import MAKERS, gallery_spec  # type: ignore[import-not-found] # noqa: E402 - it is among the tests

from thawline.compiler.language import load  # noqa: E402 - as above
from thawline.compiler.language.c.emission import translation_unit  # noqa: E402 - as above
from thawline.compiler.language.c.filling import wanted  # noqa: E402 - as above
from thawline.compiler.native_module import FLAGS  # noqa: E402 - as above

SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
MUTANTS = 100_000


def main() -> int:
    """Run the mutants of all formats; 1 if a sanitizer reports something."""
    parser = argparse.ArgumentParser(prog="python -m tools.spec_mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=MUTANTS, help="of all formats together (%(default)s)")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("THAWLINE_SEED", "1")))
    parser.add_argument("formats", nargs="*", default=list(MAKERS), help="specs of the gallery, such as image/gif")
    options = parser.parse_args()
    vectors = Path(os.environ.get("THAWLINE_VECTORS", ROOT.parent / "shared" / "vectors"))
    each = -(-options.mutants // len(options.formats))
    return max(run(vectors / "kaitai-gallery", name, each, options.seed) for name in options.formats)


def run(gallery: Path, name: str, mutants: int, seed: int) -> int:
    """Run the mutants of one format; 1 if a sanitizer reports something."""
    with tempfile.TemporaryDirectory() as folder:
        program = built(gallery_spec(gallery, name, Path(folder)), Path(folder))
        files = []
        for index, data in enumerate(MAKERS[name]()):
            files.append(Path(folder, f"sample{index}"))
            files[-1].write_bytes(data)
        ran = subprocess.run([program, str(mutants), str(seed), *files], capture_output=True, text=True, check=False)
    print(f"{name}: {mutants} mutants, {ran.stdout.strip() or 'stopped'}", flush=True)
    sys.stderr.write(ran.stderr)
    return int(ran.returncode != 0)


def built(spec: Path, folder: Path) -> Path:
    """The program that reads mutants by a spec."""
    program = load(spec)
    if program.compiled is None:
        raise SystemExit(f"{spec} is not compiled to C")
    facts = ", ".join(map(str, wanted(program.whole, program.compiled.enums).facts))
    head = f"static const i64 FACTS_OF_ROOT[] = {{{facts}}};\n#define READER {program.compiled.reader}\n"
    driver = Path(__file__).with_suffix(".c").read_text(encoding="utf-8")
    source, made = folder / "mutants.c", folder / "mutants"
    source.write_text("\n\n".join((translation_unit(program.compiled.text), head, driver)), encoding="utf-8")
    flags = [flag for flag in FLAGS if flag not in ("-shared", "-fPIC", "-g0")]
    subprocess.run(["cc", *SANITIZED, *flags, source, "-o", made, "-lm"], check=True)
    return made


if __name__ == "__main__":
    sys.exit(main())
