from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = {"pyspark", "pandas", "numpy", "rich", "pyarrow", "kaitaistruct", "zstandard"}


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in run.stdout.split()}


def test_importing_thawline_imports_nothing_heavy() -> None:
    assert modules_after("import thawline") & HEAVY == set()


def test_scanning_needs_neither_numpy_nor_spark() -> None:
    loaded = modules_after("import thawline.engine.columns; list(thawline.engine.columns.scan('rbf_frames', b''))")
    assert loaded & HEAVY - {"pyarrow"} <= {"numpy", "kaitaistruct"}


def test_an_intact_backup_is_verified_and_read_without_pandas() -> None:
    # pyarrow imports it, where it is installed, as soon as it is given a Python value.
    path = Path(__file__).parent / "golden" / "aerospike" / "version-3.1.asb"
    for verb in ("cold.verify()", "list(cold.batches())"):
        assert "pandas" not in modules_after(f"import thawline\ncold = thawline.open({str(path)!r})\n{verb}")
