"""`man thawline`: every command and option, as the commands have them now."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from conftest import ROOT

from tools.commands import all_commands
from tools.manual import PAGE, page, roff


def test_the_page_is_what_the_commands_give() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tools.manual"


def test_it_names_each_command_and_option() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for command in all_commands():
        assert roff(command.usage.removeprefix("thawline ") if command.name == "thawline" else command.usage) in text
        assert all(f".B {roff(option.flags)}\n" in text for option in command.options)


def test_the_wheel_ships_it_where_man_looks() -> None:
    assert '"share/man/man1" = ["generated/man/thawline.1"]' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.skipif(not shutil.which("man"), reason="man is not installed")
def test_man_shows_it_without_a_warning() -> None:
    command = ["man", "--warnings", "-l", str(PAGE)]
    shown = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
    )
    assert "thawline diff" in shown.stdout
    assert not shown.stderr
