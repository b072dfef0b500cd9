"""The page in a real browser: what the browser makes of it, with its script and without, and of nasty names."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from accounts import GOLDEN
from in_process import on_pipe
from nasty import FORBIDDEN, fill, names

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
TIDY = shutil.which("tidy")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here to look at the page with")
EMPTY = 40_000
"""Bytes of a picture; one of an empty page has a few thousand."""
GOOD = (GOLDEN / "rbf/many-frames.rbf").read_bytes()
TORN = GOOD[:800] + bytes([GOOD[800] ^ 0x55]) + GOOD[801:]
UNKNOWN_TO_TIDY = re.compile(r"<a> proprietary attribute \"href\"")
"""tidy knows the links of SVG 1, with `xlink:href`; those of SVG 2 have none of that."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A report over files with nasty names, half of them damaged."""
    folder = tmp_path_factory.mktemp("nasty")
    fill(folder, GOOD, TORN, ".rbf")
    ran = on_pipe(["report", "-q", ".", "-o", "../report.html", "--overwrite"], folder)
    assert ran.code == 1, ran.err
    return folder.parent / "report.html"


def browse(page: Path, profile: Path, *flags: str) -> str:
    """What Chromium prints about a page."""
    assert CHROMIUM is not None
    base = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}"]
    ran = subprocess.run([*base, *flags, page.as_uri()], capture_output=True, timeout=90, check=True)
    return ran.stdout.decode("utf-8", "replace")


def test_no_name_becomes_an_element_or_runs(page: Path, tmp_path: Path) -> None:
    dom = browse(page, tmp_path, "--dump-dom")
    assert "data-pwned" not in dom.partition("<body")[0]
    assert not re.search(r"<img|<a [^>]*javascript:|<[a-z]+ [^>]*\sonerror=", dom)
    assert dom.count("<script") == 1
    assert not FORBIDDEN.search(dom)
    assert dom.count('class="file"') == len(names()) // 2


def test_the_pages_own_script_runs_under_its_policy(page: Path, tmp_path: Path) -> None:
    assert 'role="search"' in browse(page, tmp_path, "--dump-dom")


def test_a_script_that_is_not_the_pages_own_does_not_run(page: Path, tmp_path: Path) -> None:
    forged = tmp_path / "forged.html"
    text = page.read_text(encoding="utf-8")
    forged.write_text(text.replace("</body>", "<script>document.documentElement.dataset.pwned=1</script></body>"))
    dom = browse(forged, tmp_path / "profile", "--dump-dom")
    assert "data-pwned" not in dom.partition("<body")[0]
    assert 'role="search"' in dom


@pytest.mark.parametrize("flags", [(), ("--force-dark-mode",)], ids=["light", "dark"])
def test_the_page_is_drawn(page: Path, tmp_path: Path, flags: tuple[str, ...]) -> None:
    assert size_of_picture(page, tmp_path, *flags) > EMPTY


def test_the_page_needs_no_script(page: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.html"
    bare.write_text(re.sub("<script>.*?</script>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL))
    assert size_of_picture(bare, tmp_path) > EMPTY
    assert browse(bare, tmp_path / "again", "--dump-dom").count('class="file"') == len(names()) // 2


def size_of_picture(page: Path, folder: Path, *flags: str) -> int:
    picture = folder / "page.png"
    browse(page, folder / "profile", f"--screenshot={picture}", "--window-size=1200,1600", *flags)
    assert picture.read_bytes().startswith(b"\x89PNG")
    return picture.stat().st_size


def test_the_page_can_be_printed(page: Path, tmp_path: Path) -> None:
    printed = tmp_path / "page.pdf"
    browse(page, tmp_path / "profile", f"--print-to-pdf={printed}", "--no-pdf-header-footer")
    assert printed.read_bytes().startswith(b"%PDF")


@pytest.mark.skipif(TIDY is None, reason="no tidy here to check the page with")
def test_tidy_finds_no_fault_in_the_page(page: Path) -> None:
    assert TIDY is not None
    ran = subprocess.run([TIDY, "-qe", "-utf8", page], capture_output=True, text=True, timeout=60, check=False)
    faults = [line for line in ran.stderr.splitlines() if not UNKNOWN_TO_TIDY.search(line)]
    assert faults == []
