"""The folder that a pipeline writes to: files appear in it together, and a run that was killed leaves no trace.

What tasks write goes to `_ingest/staging`. A journal entry, which appears in one step, says what of that is to be moved
where and which files it takes the place of. From then on it counts: whoever comes next carries it out, however often.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from thawline.errors import SourceError, ThawlineError
from thawline.outputs import replacing

VERSION = 1


class LakeError(ThawlineError):
    """A lake cannot be written, as where its disk is full."""


@contextmanager
def writing() -> Iterator[None]:
    """Tell an error of writing from one of reading, which is about a file that is taken in."""
    try:
        yield
    except OSError as error:
        if isinstance(error, ThawlineError) and not error.errno:
            raise  # it refuses, and says why
        raise LakeError(f"cannot be written: {os.strerror(error.errno) if error.errno else error}") from error


@dataclass(frozen=True, slots=True)
class Output:
    """A file that a task has written, where it belongs, and the works whose rows it holds."""

    staged: str
    """Relative to the lake, once it is in the journal: the lake may be moved before it is gone on with."""
    place: str
    """Relative to the lake, such as `tables/rbf_frames/part-….parquet`."""
    works: tuple[str, ...]
    rows: int = 0


@dataclass(slots=True)
class Entry:
    """What one commit does."""

    works: dict[str, str]
    """Signatures of the works that are done with it, by their keys."""
    outputs: list[Output] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    """Places of files that its outputs take the place of."""
    forgotten: list[str] = field(default_factory=list)
    """Keys of works that nothing is left of behind it."""


class Lake:
    """A folder with tables, findings and files, and the journal that says how they came about."""

    def __init__(self, path: str | os.PathLike[str], output_format: str) -> None:
        self.path = Path(path).absolute()
        self.own = self.path / "_ingest"
        self.output_format = output_format
        self.works: dict[str, str] = {}
        self.outputs: dict[str, Output] = {}
        self.last = 0

    @contextmanager
    def opened(self) -> Iterator[None]:
        """The lake for this process alone, after what an earlier one left undone is done or undone."""
        try:
            (self.own / "journal").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SourceError(error.errno, f"{self.path}: cannot be written: {error.strerror}") from error
        with (self.own / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise SourceError(f"{self.path}: another `thawline ingest` is writing to it") from error
            except OSError as error:
                raise SourceError(error.errno, f"{self.path}: cannot be locked: {error.strerror}") from error
            with writing():
                self._check()
                self._recover()
            try:
                yield
            except BaseException:
                self._abandon()
                raise
            self._clear()

    def _check(self) -> None:
        """Say what kind of files it holds; `SourceError` if it says so already and it is another kind."""
        about = self.own / "about.json"
        if not about.exists():
            _write(about, {"version": VERSION, "output_format": self.output_format})
        known = json.loads(about.read_text())
        if known != {"version": VERSION, "output_format": self.output_format}:
            held = known.get("output_format")
            raise SourceError(f"{self.path}: holds {held} files; go on with --output-format {held}, or in a new folder")

    def _recover(self) -> None:
        for path in sorted((self.own / "journal").glob("*.json")):
            entry = _entry(json.loads(path.read_text()))
            self.last = int(path.stem)
            self._take_in(entry)
            self._publish(entry)
        self._clear()

    def _clear(self) -> None:
        """Remove what nobody will ask for.

        Workers may outlive a driver that was killed, and write on for a while into the folder of its round: what they
        write while the folder is removed keeps it there, so this is done at the end of a run, too.
        """
        shutil.rmtree(self.own / "staging", ignore_errors=True)
        for partial in (*self.own.glob(".thawline-*.partial"), *self.own.glob("journal/.thawline-*.partial")):
            partial.unlink(missing_ok=True)

    def _abandon(self) -> None:
        """Remove what was staged for a commit that never came to be, also to make room again where a disk is full."""
        newest = max((self.own / "journal").glob("*.json"), default=None)
        entry = _entry(json.loads(newest.read_text())) if newest else Entry({})
        # A commit that counts is carried out by the next run, from what is staged for it.
        needed = {Path(self.path, output.staged).parent for output in entry.outputs}
        for folder in (self.own / "staging").glob("*"):
            if folder not in needed:
                shutil.rmtree(folder, ignore_errors=True)

    def staging(self) -> Path:
        """A new folder for what tasks write."""
        made = self.own / "staging" / secrets.token_hex(8)
        with writing():
            made.mkdir(parents=True)
        return made

    def commit(self, entry: Entry) -> None:
        """Make a commit count, and carry it out."""
        entry.outputs = [replace(output, staged=self._relative(output.staged)) for output in entry.outputs]
        staged = [self.path / output.staged for output in entry.outputs]
        with writing():
            for path in (*staged, *{path.parent for path in staged}):
                _sync(path)
            self.last += 1
            _write(self.own / "journal" / f"{self.last:08}.json", asdict(entry))
            self._take_in(entry)
            self._publish(entry)

    def _relative(self, staged: str) -> str:
        return str(Path(staged).relative_to(self.path))

    def _take_in(self, entry: Entry) -> None:
        self.works.update(entry.works)
        for key in entry.forgotten:
            self.works.pop(key, None)
        for place in entry.removed:
            self.outputs.pop(place, None)
        self.outputs.update({output.place: output for output in entry.outputs})

    def _publish(self, entry: Entry) -> None:
        """Move and remove what is left to be moved and removed; done twice it does no harm."""
        for output in entry.outputs:
            staged, place = self.path / output.staged, self.path / output.place
            if staged.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                staged.replace(place)
        for removed in entry.removed:
            (self.path / removed).unlink(missing_ok=True)


def _entry(found: Mapping[str, Any]) -> Entry:
    outputs = [Output(**{**output, "works": tuple(output["works"])}) for output in found["outputs"]]
    return Entry(dict(found["works"]), outputs, list(found["removed"]), list(found.get("forgotten", ())))


def _write(path: Path, content: object) -> None:
    # By a rename, which is one step on every file system; others are kept out by the lock.
    with replacing(path, overwrite=True) as file:
        file.write(json.dumps(content).encode())


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
