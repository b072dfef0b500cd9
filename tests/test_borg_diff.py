"""Two archives of Borg, compared by the paths of their items."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from borg_repositories import item, made, stream_of, unpacked
from in_process import on_pipe, on_terminal
from nasty import FORBIDDEN

from thawline.formats.borg.archives import Archive
from thawline.formats.borg.folder import Catalogue


def archives(repository: Path) -> list[str]:
    with Catalogue(str(repository)) as catalogue:
        return [archive.id for archive in catalogue.archives() if isinstance(archive, Archive)]


def changes(out: str) -> dict[tuple[str, str, str], Any]:
    rows = [json.loads(line) for line in out.splitlines()]
    return {(row["change"], row["side"], row["path"]): row["columns"] for row in rows}


@pytest.mark.parametrize("name", ["b24-none-sha256", "b22-authenticated-sha256"])
def test_the_items_of_two_archives_are_compared_by_their_paths(vectors: Path, tmp_path: Path, name: str) -> None:
    unpacked(vectors, name, tmp_path)
    first, second = archives(tmp_path / "repo")[:2]
    ran = on_pipe(["borg", "diff", "repo", first, second], tmp_path)
    assert ran.code == 1
    assert changes(ran.out) == {
        ("removed", "a", "noise-150.bin"): None,
        ("changed", "a", "readme.txt"): "size, content",
        ("changed", "b", "readme.txt"): "size, content",
        ("added", "b", "new-in-second.txt"): None,
    }
    assert "different by path: 1 removed, 1 added, 1 changed; 22 the same" in ran.err
    assert on_pipe(["borg", "diff", "repo", first, first], tmp_path).code == 0
    assert on_pipe(["borg", "diff", "repo", first, first, "--in", "repo"], tmp_path).out == ""


def test_names_that_try_to_be_more_are_shown_escaped(tmp_path: Path) -> None:
    for number in (1, 2):
        nasty = {"path": f"a\x1b[2J\u202e{number}", "user": "\x1b]0;owned\x07"}
        made(tmp_path / str(number), [stream_of([item(**nasty)])])
    ran = on_terminal(["borg", "diff", "1/repo", "arc", "arc", "--in", "2/repo", "--color", "never"], tmp_path)
    assert ran.code == 1
    assert not FORBIDDEN.search(ran.out.replace("\r", ""))
