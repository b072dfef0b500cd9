from __future__ import annotations

import os
import subprocess
import sys

from accounts import GOLDEN
from conftest import ROOT

WITHOUT_CYTHON = """
import sys
class Refused:
    def find_spec(self, name, path=None, target=None):
        if name in {"cython", "Cython"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refused())
"""
WRITTEN_FOR_CYTHON = [
    source.relative_to(ROOT / folder).with_suffix("").as_posix().replace("/", ".")
    for folder, pattern in (("src/thawline", "*.py"), (".", "generated/kernels/*.py"))
    for source in sorted((ROOT / folder).glob(pattern))
    if "\nimport cython\n" in source.read_text(encoding="utf-8")
]
LOAD = f"""{WITHOUT_CYTHON}
from thawline.uncompiled import uncompiled
for name in sys.argv[1:]:
    print(uncompiled(name).__name__, "cython" in sys.modules)
"""
RUN = f"{WITHOUT_CYTHON}\nfrom thawline.cli import run; sys.exit(run(sys.argv[1:]))"


def python(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_every_module_that_is_written_for_cython_can_be_run_without_it_and_nobody_else_is_told_there_is_one() -> None:
    assert len(WRITTEN_FOR_CYTHON) > 12
    run = python(LOAD, *WRITTEN_FOR_CYTHON)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines() == [f"thawline.{name} False" for name in WRITTEN_FOR_CYTHON]


def test_backups_have_the_same_rows_without_the_native_module_and_without_cython() -> None:
    path = str(GOLDEN / "aerospike" / "bins.asb")
    plain = python(RUN, "cat", path, THAWLINE_NATIVE="0")
    assert (plain.returncode, plain.stderr) == (0, "")
    assert plain.stdout == python(RUN, "cat", path).stdout
    assert '{\\"$bytes\\": \\"AP8K\\"}' in plain.stdout  # a collection, which the longest of the loops writes
