from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import thawline.generated
from conftest import ROOT
from thawline.generated.parsers.kafka_record_batch import KafkaRecordBatch

SOURCES = ["src", "generated", "schemas", "pyproject.toml", "setup.py", "README.md"]
WITHOUT_EDITABLE = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder)]
"""
READ = f"""{WITHOUT_EDITABLE}
import thawline.columns
print(thawline.__file__)
chunks = thawline.columns.scan("kafka_offset_index", bytes(7) + b"*")
print([row for chunk in chunks for row in chunk.batch.to_pylist()])
"""


def test_the_editable_install_serves_the_top_level_generated_folder() -> None:
    assert Path(thawline.generated.__file__).parent == ROOT / "generated"
    assert KafkaRecordBatch.__module__ == "thawline.generated.parsers.kafka_record_batch"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked wheel of an install on a machine that has no C compiler."""
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tree / name)
    for built in (tree / "src").rglob("*.so"):
        built.unlink()
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        out,
        tree,
    ]
    subprocess.run(command, check=True, env={**os.environ, "CC": "false"}, capture_output=True)
    with zipfile.ZipFile(next(out.glob("thawline-*.whl"))) as archive:
        archive.extractall(out / "unpacked")
    return out / "unpacked"


def test_a_wheel_holds_everything_that_is_generated(wheel: Path) -> None:
    for source in (ROOT / "generated").rglob("*"):
        if source.suffix in {".py", ".md"}:
            assert (wheel / "thawline" / "generated" / source.relative_to(ROOT / "generated")).is_file()
    assert (wheel / "thawline" / "py.typed").is_file()


def test_a_wheel_holds_the_specs_the_pages_and_every_package(wheel: Path) -> None:
    for source in (ROOT / "schemas").rglob("*"):
        if source.suffix in {".ksy", ".md"}:
            assert (wheel / "thawline" / "schemas" / source.relative_to(ROOT / "schemas")).is_file()
    for source in (ROOT / "src" / "thawline").rglob("*.py"):
        assert (wheel / "thawline" / source.relative_to(ROOT / "src" / "thawline")).is_file()


def test_the_command_of_a_wheel_serves_the_specs_and_pages_that_it_holds(wheel: Path) -> None:
    (entries,) = wheel.glob("thawline-*.dist-info/entry_points.txt")
    assert "thawline = thawline.cli:main" in entries.read_text(encoding="utf-8")
    for arguments, page in (["help", "rbf"], "rbf.md"), (["schema", "rbf", "--ksy"], "rbf_frame.ksy"):
        code = f"{WITHOUT_EDITABLE}\nfrom thawline.cli import run; raise SystemExit(run({arguments!r}))"
        command = [sys.executable, "-c", code]
        run = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(wheel)}
        )
        assert (ROOT / "schemas" / page).read_text(encoding="utf-8").strip() in run.stdout


def test_the_command_of_a_wheel_compares_specs_and_says_what_only_a_checkout_can_do(
    wheel: Path, tmp_path: Path
) -> None:
    changed = tmp_path / "rbf_frame.ksy"
    changed.write_text((ROOT / "schemas" / "rbf_frame.ksy").read_text(encoding="utf-8").replace("frame_tag", "tag"))
    arguments = ["spec", "diff", str(ROOT / "schemas" / "rbf_frame.ksy"), str(changed)]
    code = f"{WITHOUT_EDITABLE}\nfrom thawline.cli import run; raise SystemExit(run({arguments!r}))"
    environment = {**os.environ, "PYTHONPATH": str(wheel)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert "| API-breaking | renamed | `rbf_frame::body.tag` |" in run.stdout
    reason = "the compilers are in tools/ of a checkout of thawline, and this is an installed package."
    assert f"Not run: {reason}" in run.stdout
    assert f"Not made: {reason}" in run.stdout


def test_without_a_c_compiler_the_install_succeeds_and_reads_with_one_remark(wheel: Path) -> None:
    assert not list(wheel.rglob("*.so"))
    environment = {**os.environ, "PYTHONPATH": str(wheel)}
    run = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True, env=environment)
    assert run.stdout.splitlines() == [
        str(wheel / "thawline" / "__init__.py"),
        "[{'relative_offset': 0, 'position': 42}]",
    ]
    assert run.stderr.splitlines() == [
        "thawline: the native module is not built; reading with the plain parsers, which is slower"
    ]
