"""The map of the house in CONTRIBUTING.md is that of the tree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAP = PAGE.partition("## Where things are")[2].partition("```\n")[2].partition("```\n")[0]
JOURNEY = PAGE.partition("## How a Kafka record travels")[2].partition("## ")[0]


@pytest.mark.parametrize("top", ["src/thawline", "tools"])
def test_the_map_names_every_module(top: str) -> None:
    there = {path.name for path in (ROOT / top).iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    named = set(re.findall(r"\w+\.py|\w+(?=/)", MAP))
    assert there - {"__init__.py", "__main__.py", "generated"} <= named


def test_the_map_and_the_journey_of_a_record_name_no_module_that_is_gone() -> None:
    tops = ("src", "tools", "generated")
    there = {"setup.py", *(path.relative_to(ROOT).as_posix() for top in tops for path in (ROOT / top).rglob("*.py"))}
    ends = {"/".join(name.split("/")[-count:]) for name in there for count in (1, 2, 3)}
    assert set(re.findall(r"[\w/]+\.py", MAP + JOURNEY)) <= ends


def test_a_record_travels_in_fifteen_lines_at_most() -> None:
    assert len(re.findall(r"^\d+\. ", JOURNEY, re.MULTILINE)) <= 15
