"""Files of hostile Borg archives on the disk: all that can be written, and nothing anywhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
from borg_repositories import item, made, run, stream_of

FILES = {"ok1", "ok2"}


@pytest.mark.parametrize(
    "items, words",
    [
        ([item("x" * 300)], "File name too long"),
        ([item("/".join(["d"] * 3000))], "longer than any path"),
        ([item("ok1")], "in the archive twice"),
        ([item("./ok1")], "in the archive twice"),
        ([item("ok1/under")], "needs a folder where ok1 is a file"),
        ([item("", chunks=[])], "a path without a name"),
        ([item("ok1", mode=0o40755)], "needs a folder where ok1 is a file"),
    ],
)
def test_an_item_that_cannot_be_written_is_named_and_the_others_are_written(
    items: list[object], words: str, tmp_path: Path
) -> None:
    repo, out = made(tmp_path, [stream_of([item("ok1"), *items, item("ok2")])]), tmp_path / "out"
    for options in ((), ("--overwrite",)):
        code, _, said = run("borg", "extract", repo, "arc", "-o", out, *options)
        assert (code, {path.name for path in out.iterdir()}) == (1, FILES)
        assert words in said
        assert {path.read_bytes() for path in out.iterdir()} == {b"hello"}
        for path in out.iterdir():
            path.unlink()


def test_files_that_were_there_are_kept_and_the_others_are_written(tmp_path: Path) -> None:
    repo, out = made(tmp_path, [stream_of([item("ok1"), item("ok2")])]), tmp_path / "out"
    out.mkdir()
    (out / "ok1").write_text("mine")
    code, _, said = run("borg", "extract", repo, "arc", "-o", out)
    assert (code, (out / "ok1").read_text(), (out / "ok2").read_text()) == (2, "mine", "hello")
    assert "not overwritten" in said


def link(path: str, target: str) -> dict[str, object]:
    return item(path, mode=0o120777, target=target, chunks=[], size=0)


def test_links_are_made_when_asked_and_lead_to_nowhere_else(tmp_path: Path) -> None:
    outside = ["/etc", "../..", "..", "a/../../x", "a/..", "", "x\0y"]
    items = [link("in", "d/ok1"), item("d/ok1"), link("d/up", "../ok2"), item("ok2")]
    items += [link(f"out{number}", target) for number, target in enumerate(outside)]
    repo, out = made(tmp_path, [stream_of(items)]), tmp_path / "out"
    code, _, said = run("borg", "extract", repo, "arc", "-o", out)
    assert (code, [path for path in out.rglob("*") if path.is_symlink()]) == (0, [])
    for _ in range(2):
        code, _, said = run("borg", "extract", repo, "arc", "-o", out, "--links", "--overwrite")
        links = {str(path.relative_to(out)): str(path.readlink()) for path in out.rglob("*") if path.is_symlink()}
        assert links == {"in": "d/ok1", "d/up": "../ok2"}
    assert said.count("refused: out") == len(outside)


def test_nothing_is_written_through_a_link_of_the_archive(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    items = [link("l", "d"), link("w", "../elsewhere"), item("l/x"), item("w/x"), item("d/y"), link("d/y", "../l")]
    repo, out = made(tmp_path, [stream_of(items)]), tmp_path / "out"
    for _ in range(2):
        run("borg", "extract", repo, "arc", "-o", out, "--links", "--overwrite")
        assert list(elsewhere.iterdir()) == []
        assert (out / "d/y").read_bytes() == b"hello"
        assert not (out / "d/y").is_symlink()
        assert not (out / "d/x").exists()


def test_nothing_is_extracted_into_the_repository(tmp_path: Path) -> None:
    repo = made(tmp_path, [stream_of([item("ok1")])])
    before = set(repo.rglob("*"))
    assert run("borg", "extract", repo, "arc", "-o", repo / "packs" / "new")[0] == 2
    assert set(repo.rglob("*")) == before
