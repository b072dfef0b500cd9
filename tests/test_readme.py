"""Every block of the README and of the pages that go on from it runs, on files under the names that it uses.

`pycon` blocks are run by doctest, the `python` block about Spark by tests/spark/test_readme.py, all others here. In
what is shown, a line with nothing but … stands for any lines.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from accounts import GOLDEN
from conftest import ROOT
from test_generate import needs_node
from transcripts import on_terminal

from thawline import cli

CUT = ("python", "ingest", "contracts", "performance", "review")
"""Pages of what is too long for the README."""
PAGES = {
    name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", *(f"docs/{page}.md" for page in CUT))
}
LOG = "00000000000000000000.log"
EDITS = (
    ("kafka_record_batch.ksy", "      min: 49\n", "      min: 70\n"),
    ("kafka_record_batch.ksy", "    4: zstd\n", "    4: zstd\n    5: brotli\n"),
    ("kafka_record_batch.ksy", "      - id: max_timestamp\n", "      - id: latest_timestamp\n"),
    ("kafka.tables.yaml", "        field: max_timestamp\n", "        field: latest_timestamp\n"),
)
"""What is changed in the spec of Kafka's batches, and in the tables for it, where the README reviews a change."""


def flipped_segment(path: Path) -> None:
    data = (GOLDEN / "kafka/many-records.log").read_bytes()
    path.write_bytes(data[:5000] + b"R" + data[5001:])


def orders(folder: Path) -> None:
    folder.mkdir()
    for suffix in (".log", ".index", ".timeindex"):
        shutil.copy(GOLDEN / f"kafka/many-records{suffix}", folder / Path(LOG).with_suffix(suffix))


def flipped_log(path: Path) -> None:
    data = (GOLDEN / "rbf/many-frames.rbf").read_bytes()
    path.write_bytes(data[:970] + b"R" + data[971:])


def specs(folder: Path) -> None:
    """The specs, as they are on main, and with changes that are not committed."""
    shutil.copytree(ROOT / "schemas", folder)
    author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], [*author, "commit", "-q", "-m", "specs"]):
        subprocess.run(["git", *command], cwd=folder.parent, check=True)
    for name, before, after in EDITS:
        text = (folder / name).read_text(encoding="utf-8")
        assert before in text
        (folder / name).write_text(text.replace(before, after, 1), encoding="utf-8")


def cold(folder: Path) -> None:
    """What `make demo` takes in."""
    from tools import demo  # noqa: PLC0415 - it imports Spark

    folder.mkdir(parents=True)
    demo.build(folder)
    demo.harm(folder)


FILES: dict[str, Callable[[Path], None]] = {
    LOG: flipped_segment,
    "orders-3": orders,
    "flipped.log": flipped_segment,
    "flipped.rbf": flipped_log,
    "schemas": specs,
    "mnt/cold": cold,
}
"""What the README takes for granted; it is made where a block names it. /mnt is a folder here."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block, and the line that it starts on."""

    page: str
    kind: str
    text: str
    line: int

    @property
    def is_spark(self) -> bool:
        return "thawline ingest" in self.text or "thawline.spark" in self.text

    def entries(self) -> Iterator[tuple[str, str]]:
        """Commands, each with what it is said to print."""
        for entry in re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]:
            command, _, output = entry.partition("\n")
            yield command, output


def blocks() -> list[Block]:
    return [
        Block(name, match[1], match[2], page.count("\n", 0, match.start()) + 1)
        for name, page in PAGES.items()
        for match in re.finditer(r"^```(\w*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    ]


def of_kind(*kinds: str, spark: bool = False) -> list[Block]:
    return [block for block in blocks() if block.kind in kinds and block.is_spark == spark]


def named(block: Block) -> str:
    return f"{block.page} line {block.line}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where blocks run."""
    place = tmp_path / "here"
    place.mkdir()
    return place


def provide(block: Block, folder: Path) -> None:
    for name, make in FILES.items():
        if name in block.text:
            make(folder / name)


def is_shown(output: str, printed: str) -> bool:
    """Whether what is printed is what is shown."""
    lines = [".*\n" if line.strip() == "…" else re.escape(line) + "\n" for line in output.splitlines()]
    pattern = "".join(f"(?:{line})*" if line == ".*\n" else line for line in lines)
    return re.fullmatch(pattern, printed) is not None


def test_somebody_runs_every_block() -> None:
    run_here = [*of_kind("console"), *of_kind("console", spark=True), *of_kind("sh"), *of_kind("json")]
    by_doctest = of_kind("pycon")
    on_spark = of_kind("python", spark=True)
    pictures = of_kind("")
    assert {*run_here, *by_doctest, *on_spark, *pictures} == set(blocks())
    assert {block.page for block in by_doctest} == {"README.md", "docs/python.md"}
    assert "--doctest-glob=README.md" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "--doctest-glob=python.md" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert not on_spark or (ROOT / "tests/spark/test_readme.py").exists()
    assert not any("$ " in block.text or ">>>" in block.text for block in pictures)


def run(block: Block, folder: Path) -> None:
    provide(block, folder)
    for command, output in block.entries():
        if output:
            # A folder of a test has a longer name than /mnt; it must not fold lines.
            width = {"COLUMNS": "300"} if "/mnt/" in command else {}
            _, printed, _ = on_terminal(command.replace("/mnt/", "mnt/"), str(folder), **width)
            assert is_shown(output, printed.replace(f"{folder}/mnt/", "/mnt/")), f"{command}\n{printed}"
        else:
            code, printed, errors = on_terminal(f"set -o pipefail; {command}", str(folder))
            assert "Traceback" not in printed + errors
            assert code in {0, 1}, f"{command}\n{printed}{errors}"


@pytest.mark.parametrize("block", [it for it in of_kind("console") if "spec diff" not in it.text], ids=named)
def test_commands_print_what_is_shown(block: Block, folder: Path) -> None:
    run(block, folder)


@needs_node
@pytest.mark.parametrize("block", [it for it in of_kind("console") if "spec diff" in it.text], ids=named)
def test_a_review_says_what_is_shown(block: Block, folder: Path) -> None:
    run(block, folder)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("block", of_kind("console", spark=True), ids=named)
def test_ingest_prints_what_is_shown(block: Block, folder: Path) -> None:
    pytest.importorskip("pyspark")
    run(block, folder)


@pytest.mark.parametrize("block", of_kind("sh"), ids=named)
def test_what_is_installed_and_made_is_there(block: Block) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for line in block.text.splitlines():
        words = line.partition("#")[0].replace("'", "").split()
        if words[:2] == ["pip", "install"]:
            name, _, extra = words[2].partition("[")
            assert name in {".", project["name"]}
            assert not extra or extra.rstrip("]") in project["optional-dependencies"]
        else:
            assert words[0] == "make", line
            assert set(words[1:]) <= targets


@pytest.mark.parametrize("block", of_kind("json"), ids=named)
def test_objects_are_what_is_shown(block: Block, folder: Path) -> None:
    provide(block, folder)
    code, printed, _ = on_terminal(f"thawline verify --format jsonl {json.loads(block.text)['file']}", str(folder))
    assert code == 1
    assert json.loads(printed) == json.loads(block.text)


def test_targets_that_are_named_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make ([a-z-]+)", "".join(PAGES.values())):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_commands_that_are_named_are_there() -> None:
    for name in re.findall(r"`thawline ([a-z]+)", "".join(PAGES.values())):
        assert name in cli.COMMANDS or name in cli.GROUPS, name
