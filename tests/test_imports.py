from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

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


def modules_of_command(*arguments: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    code = (
        "import atexit, sys\n"
        "from thawline.__main__ import main\n"
        "loaded = lambda: [name for name, module in sys.modules.items() if module]\n"
        "atexit.register(lambda: print(*loaded(), file=sys.stderr))\n"
        f"sys.argv = ['thawline', *{arguments!r}]\n"
        "main()"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout
    return set(run.stderr.split())


def test_the_version_is_told_without_any_library() -> None:
    loaded = modules_of_command("--version")
    assert {name.partition(".")[0] for name in loaded} & {*HEAVY, "orjson", "fsspec", "click"} == set()
    assert {name for name in loaded if name.startswith("thawline.")} <= {"thawline.__main__"}


@pytest.mark.parametrize("redirection", [">&-", ">/dev/full"])
def test_a_version_that_cannot_be_written_is_an_error(redirection: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m thawline --version {redirection}"
    run = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("thawline: stdout: cannot be written")


@pytest.mark.parametrize(
    "file, others",
    [
        ("rbf/many-frames.rbf", {"borg", "rbak", "kafka", "aerospike"}),
        ("aerospike/version-3.1.asb", {"borg", "rbak", "kafka", "rbf"}),
        ("kafka/many-records.log", {"borg", "rbak", "aerospike", "rbf"}),
    ],
)
@pytest.mark.parametrize("shape", ["jsonl", "csv"])
def test_head_imports_what_it_needs_and_no_other_format(file: str, others: set[str], shape: str) -> None:
    loaded = modules_of_command("head", "-n", "5", "--format", shape, str(Path(__file__).parent / "golden" / file))
    assert {name.partition(".")[0] for name in loaded} & {
        "pandas",
        "numpy",
        "pyspark",
        "duckdb",
        "sqlglot",
        "yaml",
    } == set()
    assert loaded & {"pyarrow.parquet", "pyarrow.dataset", "pyarrow.csv", "thawline.cli.ingest"} == set()
    assert loaded & {f"thawline.formats.{name}" for name in others} == set()
