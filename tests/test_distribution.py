"""What is shipped: sdist and wheel, installed where there is nothing else, do what the checkout does."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from accounts import GOLDEN
from conftest import ROOT

import thawline

pytestmark = pytest.mark.xdist_group("distribution")

SOURCES = ["src", "generated", "schemas", "pyproject.toml", "setup.py", "MANIFEST.in"]
DOCUMENTS = ["README.md", "LICENSE", "CHANGELOG.md"]
NOT_SOURCES = shutil.ignore_patterns("*.so", "*.egg-info", "__pycache__", "build")
FILES = {
    "kafka/00000000000000000000.log": "kafka/many-records.log",
    "rbf/many.rbf": "rbf/many-frames.rbf",
    "rbak/many.lz4": "rbak/many-records.lz4",
    "aerospike/collections.asb": "aerospike/collections.asb",
    "borg/compressions.pack": "borg/none-compressions.pack",
}
CUT = 3
"""Bytes that a damaged copy lacks at its end."""
REMARK = "thawline: the native module is not built; reading with the plain parsers, which is slower\n"
CONTRACT = {0, 1}
"""How a command may end that was given a file of a known format."""
DEVELOPMENT_TOOLS = ["cython", "Cython", "setuptools", "construct", "pytest", "numpy", "pandas", "pyspark"]


@dataclass(frozen=True, slots=True)
class Built:
    """Both distributions, and what the build said."""

    sdist: Path
    wheel: Path
    log: str


@dataclass(frozen=True, slots=True)
class Installed:
    """A venv that has thawline and what it depends on, and nothing more."""

    kind: str
    python: Path

    @property
    def package(self) -> Path:
        """The folder of the installed package."""
        (found,) = self.python.parents[1].glob("lib/python*/site-packages/thawline")
        return found


@dataclass(frozen=True, slots=True)
class Said:
    """What a command did."""

    code: int
    out: str
    err: str
    written: str


def surroundings(**changed: str) -> dict[str, str]:
    """Variables for a process that is to find nothing of this checkout."""
    dropped = {"PYTHONPATH", "PYTHONHOME", "THAWLINE_NATIVE", "THAWLINE_SANITIZE", "CC", "CFLAGS", "COLUMNS"}
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **changed}


def run(*command: str | Path, cwd: Path | None = None, **changed: str) -> str:
    """Output of a command that must succeed."""
    done = subprocess.run(
        command, cwd=cwd, env=surroundings(**changed), capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """What `make dist` builds, from a copy without anything that was built before."""
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("dist")
    for name in [*SOURCES, *DOCUMENTS]:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=NOT_SOURCES)
        else:
            shutil.copy(ROOT / name, tree / name)
    log = run(sys.executable, "-m", "build", "--outdir", out, cwd=tree)
    return Built(next(out.glob("*.tar.gz")), next(out.glob("*.whl")), log)


@pytest.fixture(scope="session", params=["wheel", "sdist", "sdist without a compiler"])
def installed(request: pytest.FixtureRequest, built: Built) -> Iterator[Installed]:
    """A bare venv with thawline, installed as a user would."""
    given = built.wheel if request.param == "wheel" else built.sdist
    compiler = {"CC": "/bin/false"} if "without" in request.param else {}
    with tempfile.TemporaryDirectory(prefix="bare-") as venv:  # 240 MB, which pytest would keep for three runs
        python = Path(venv, "bin", "python")
        run(sys.executable, "-m", "venv", "--without-pip", venv)
        run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile", given, **compiler)
        yield Installed(request.param, python)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an intact and a damaged file of each format."""
    folder = tmp_path_factory.mktemp("files")
    for name, golden in FILES.items():
        data = (GOLDEN / golden).read_bytes()
        (folder / name).parent.mkdir()
        (folder / name).write_bytes(data)
        (folder / damaged(name)).write_bytes(data[:-CUT])
    return folder


def damaged(name: str) -> str:
    path = Path(name)
    return str(path.with_name(f"cut{path.suffix}"))


def said_by(python: Path | str, files: Path, **environment: str) -> tuple[str, list[str], dict[str, Said]]:
    """What an installation remarks when it is imported, names of its commands, and what they say about the files."""
    given = [file for name in FILES for file in (name, damaged(name))]
    command = [python, "-I", ROOT / "tests" / "shipped.py", *given]
    done = subprocess.run(
        command, cwd=files, env=surroundings(**environment), capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    names, *outcomes = map(json.loads, done.stdout.splitlines())
    return done.stderr, names, {" ".join(arguments): Said(*outcome) for arguments, *outcome in outcomes}


@pytest.fixture(scope="session")
def checkout(files: Path) -> dict[str, Said]:
    """What the checkout says, whose rows all other tests look at."""
    return said_by(sys.executable, files)[-1]


def test_setuptools_warns_of_nothing(built: Built) -> None:
    # Its own warnings are framed by asterisks, and name the class of the warning.
    assert [line for line in built.log.splitlines() if "Warning" in line or "*" * 20 in line] == []


def test_the_sdist_has_the_sources_the_licence_and_the_changes_and_no_test(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "CHANGELOG.md", "README.md", "setup.py", "src/thawline/native/sources/fast.pyx"} <= names
    for folder in ("src/thawline", "generated", "schemas"):
        assert set(source_files(ROOT / folder, ".py", ".pyi", ".pyx", ".h", ".ksy", ".md", ".typed")) <= {
            name.removeprefix(f"{folder}/") for name in names if name.startswith(f"{folder}/")
        }
    assert not [name for name in names if name.startswith(("tests", "tools", "build"))]


def source_files(folder: Path, *suffixes: str) -> Iterator[str]:
    for path in folder.rglob("*"):
        if path.suffix in suffixes or path.name.endswith(suffixes):
            yield path.relative_to(folder).as_posix()


def test_an_installation_has_every_module_spec_page_and_layout(installed: Installed) -> None:
    for folder, target in (("src/thawline", "."), ("generated", "generated"), ("schemas", "schemas")):
        for name in source_files(ROOT / folder, ".py", ".ksy", ".md", "py.typed", "fast.pyi"):
            assert (installed.package / target / name).is_file(), name
    assert bool(list(installed.package.glob("native/fast*.so"))) == ("without" not in installed.kind)
    assert not list(installed.package.rglob("*.pyx"))


def test_an_installation_brings_no_development_tool(installed: Installed) -> None:
    code = f"import importlib.util as u; print([n for n in {DEVELOPMENT_TOOLS} if u.find_spec(n)])"
    assert run(installed.python, "-I", "-c", code) == "[]\n"


def test_an_installation_knows_its_version_licence_and_authors(installed: Installed) -> None:
    assert run(installed.python.with_name("thawline"), "--version") == f"thawline {thawline.__version__}\n"
    code = (
        "import importlib.metadata as m, thawline; d = m.metadata('thawline');"
        "print(thawline.__version__, d['Version'], d['License-Expression'], d['Author'], d['License-File'])"
    )
    version = thawline.__version__
    expected = f"{version} {version} Apache-2.0 The thawline developers LICENSE\n"
    assert run(installed.python, "-I", "-c", code) == expected


@pytest.mark.parametrize("native", ["1", "0"])
def test_an_installation_says_of_every_file_what_the_checkout_says(
    installed: Installed, files: Path, checkout: dict[str, Said], native: str
) -> None:
    remark, names, said = said_by(installed.python, files, THAWLINE_NATIVE=native)
    assert remark == (REMARK if "without" in installed.kind and native == "1" else "")
    assert set(names) - {"glance"} <= {line.partition(" ")[0] for line in said}
    for line, outcome in said.items():
        assert "Traceback" not in outcome.err, f"{line}: {outcome.err}"
        assert outcome.code in CONTRACT, f"{line}: {outcome.err}"
        assert (line, outcome) == (line, checkout[line])


def test_of_intact_files_every_row_is_given_and_damaged_ones_are_called_so(checkout: dict[str, Said]) -> None:
    for name in FILES:
        rows = json.loads(checkout[f"verify --format jsonl {name}"].out)["rows"]
        assert rows == checkout[f"cat --format jsonl --bytes hex {name}"].out.count("\n") > 0
        assert {outcome.code for line, outcome in checkout.items() if f" {name}" in line} == {0}
        assert checkout[f"verify --format jsonl {damaged(name)}"].code == 1
        assert checkout[f"cat --format jsonl --bytes hex {damaged(name)}"].code == 1


def test_pages_and_specs_are_those_of_the_checkout(checkout: dict[str, Said]) -> None:
    """A page has marks where the columns of its tables stand."""
    for line, page in ("help rbf", "rbf.md"), ("schema rbf --ksy", "rbf_frame.ksy"):
        parts = re.split(r"<!-- .*? -->", (ROOT / "schemas" / page).read_text(encoding="utf-8").strip())
        assert [part for part in parts if part not in checkout[line].out] == []


def test_an_installation_compares_specs_and_says_what_only_a_checkout_can_do(
    installed: Installed, tmp_path: Path
) -> None:
    changed = tmp_path / "rbf_frame.ksy"
    changed.write_text((ROOT / "schemas" / "rbf_frame.ksy").read_text(encoding="utf-8").replace("frame_tag", "tag"))
    script = installed.python.with_name("thawline")
    out = run(script, "spec", "diff", ROOT / "schemas" / "rbf_frame.ksy", changed)
    assert "| API-breaking | renamed | `rbf_frame::body.tag` |" in out
    reason = "the compilers are in tools/ of a checkout of thawline, and this is an installed package."
    assert f"Not run: {reason}" in out
    assert f"Not made: {reason}" in out
