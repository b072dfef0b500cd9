"""The pages of `docs/`: what their commands print is what is shown, and the site is built without a warning."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from transcripts import GIVEN, replay_page

DOCS = ROOT / "docs"
TRANSCRIPTS = [page for page in sorted(DOCS.rglob("*.md")) if GIVEN.search(page.read_text(encoding="utf-8"))]

FETCHED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>", re.IGNORECASE)
"""What a browser fetches from another host."""


def named(page: Path) -> str:
    return str(page.relative_to(DOCS))


@pytest.mark.parametrize("page", TRANSCRIPTS, ids=named)
def test_commands_of_a_page_print_what_is_shown(page: Path, request: pytest.FixtureRequest) -> None:
    shown = page.read_text(encoding="utf-8")
    printed = replay_page(shown)
    if request.config.getoption("--update"):
        page.write_text(printed, encoding="utf-8")
    else:
        assert printed == shown, f"pytest --update {Path(__file__).name} takes it as it is now"


def test_there_is_a_page_for_the_bad_day_of_every_format() -> None:
    from thawline.formats import FORMATS  # noqa: PLC0415 - beside its only test

    assert {page.stem for page in (DOCS / "bad-days").glob("*.md")} == set(FORMATS)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a link that leads nowhere is an error."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def test_the_reference_has_every_command_option_code_and_column(site: Path) -> None:
    from thawline import formats  # noqa: PLC0415 - beside its only test
    from tools.commands import all_commands  # noqa: PLC0415 - as above

    commands = (site / "reference/commands.html").read_text(encoding="utf-8")
    for command in all_commands():
        assert command.name in commands
        assert all(option.flags.split(",")[0].split()[0] in commands for option in command.options)
    codes = (site / "reference/codes.html").read_text(encoding="utf-8")
    for name in formats.FORMATS:
        format_ = formats.get(name)
        assert all(code.id in codes for code in format_.codes)
        page = (site / f"reference/{name}.html").read_text(encoding="utf-8")
        assert all(
            f"<code>{column}</code>" in page for table in format_.tables.values() for column in table.schema.names
        )


def test_a_reader_of_the_site_fetches_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not FETCHED.findall(text), page.name


def test_every_page_is_in_the_navigation(site: Path) -> None:
    start = (site / "index.html").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        link = page.relative_to(DOCS).with_suffix(".html").as_posix()
        assert f'href="{link}"' in start or page.name == "index.md", page
