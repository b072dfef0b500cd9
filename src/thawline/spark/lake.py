"""The folder that a pipeline writes to. Files appear in it atomically, and a killed run leaves nothing behind.

Tasks write to `_ingest/staging`. A journal entry is created by one rename. It lists the staged files to move, their
places, and the files to remove. Once it exists the commit counts: the next process completes it. Completion is
idempotent.
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
    """A lake cannot be written, for example because its disk is full."""


@contextmanager
def writing() -> Iterator[None]:
    """Raise an error of writing as `LakeError`, to distinguish it from an error of reading a source file."""
    try:
        yield
    except OSError as error:
        if isinstance(error, ThawlineError) and not error.errno:
            raise  # a refusal with its own message, not an I/O error
        raise LakeError(f"cannot be written: {os.strerror(error.errno) if error.errno else error}") from error


@dataclass(frozen=True, slots=True)
class Output:
    """A file that a task has written, its place, and the works whose rows it holds."""

    staged: str
    """Relative to the lake once it is in the journal: the lake may be moved before the next run."""
    place: str
    """Relative to the lake, such as `tables/rbf_frames/part-….parquet`."""
    works: tuple[str, ...]
    rows: int = 0


@dataclass(slots=True)
class Entry:
    """The changes of one commit."""

    works: dict[str, str]
    """Signatures of the works that it completes, by key."""
    outputs: list[Output] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    """Places of the files that its outputs replace."""
    forgotten: list[str] = field(default_factory=list)
    """Keys of works that it removes from the lake."""


class Lake:
    """A folder with tables, findings and files, and the journal of its commits."""

    def __init__(self, path: str | os.PathLike[str], output_format: str) -> None:
        self.path = Path(path).absolute()
        self.own = self.path / "_ingest"
        self.output_format = output_format
        self.works: dict[str, str] = {}
        self.outputs: dict[str, Output] = {}
        self.last = 0

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Exclusive access to the lake, after an unfinished run is completed or rolled back."""
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
        """Record the output format of a new lake; `SourceError` if an existing lake has another."""
        about = self.own / "about.json"
        if not about.exists():
            _write(about, {"version": VERSION, "output_format": self.output_format})
        known = json.loads(about.read_text())
        if known != {"version": VERSION, "output_format": self.output_format}:
            kind = known.get("output_format")
            raise SourceError(f"{self.path}: holds {kind} files; go on with --output-format {kind}, or in a new folder")

    def _recover(self) -> None:
        for path in sorted((self.own / "journal").glob("*.json")):
            entry = _entry(json.loads(path.read_text()))
            self.last = int(path.stem)
            self._apply(entry)
            self._publish(entry)
        self._clear()

    def _clear(self) -> None:
        """Remove staged and partial files.

        Workers may outlive a killed driver and still write to the staging folder while it is removed, which keeps it
        in existence. So this also runs at the end of a run.
        """
        shutil.rmtree(self.own / "staging", ignore_errors=True)
        for partial in (*self.own.glob(".thawline-*.partial"), *self.own.glob("journal/.thawline-*.partial")):
            partial.unlink(missing_ok=True)

    def _abandon(self) -> None:
        """Remove what was staged without a commit, also to free space on a full disk."""
        newest = max((self.own / "journal").glob("*.json"), default=None)
        entry = _entry(json.loads(newest.read_text())) if newest else Entry({})
        # The next run completes the newest commit from its staged files.
        needed = {Path(self.path, output.staged).parent for output in entry.outputs}
        for folder in (self.own / "staging").glob("*"):
            if folder not in needed:
                shutil.rmtree(folder, ignore_errors=True)

    def staging(self) -> Path:
        """A new folder for the files of a round's tasks."""
        folder = self.own / "staging" / secrets.token_hex(8)
        with writing():
            folder.mkdir(parents=True)
        return folder

    def commit(self, entry: Entry) -> None:
        """Write a journal entry, and carry it out."""
        entry.outputs = [replace(output, staged=self._relative(output.staged)) for output in entry.outputs]
        staged = [self.path / output.staged for output in entry.outputs]
        with writing():
            for path in (*staged, *{path.parent for path in staged}):
                _sync(path)
            self.last += 1
            _write(self.own / "journal" / f"{self.last:08}.json", asdict(entry))
            self._apply(entry)
            self._publish(entry)

    def _relative(self, staged: str) -> str:
        return str(Path(staged).relative_to(self.path))

    def _apply(self, entry: Entry) -> None:
        self.works.update(entry.works)
        for key in entry.forgotten:
            self.works.pop(key, None)
        for place in entry.removed:
            self.outputs.pop(place, None)
        self.outputs.update({output.place: output for output in entry.outputs})

    def _publish(self, entry: Entry) -> None:
        """Move the staged files to their places and remove the replaced ones; idempotent."""
        for output in entry.outputs:
            staged, place = self.path / output.staged, self.path / output.place
            if staged.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                staged.replace(place)
        for removed in entry.removed:
            (self.path / removed).unlink(missing_ok=True)


def _entry(document: Mapping[str, Any]) -> Entry:
    outputs = [Output(**{**output, "works": tuple(output["works"])}) for output in document["outputs"]]
    return Entry(dict(document["works"]), outputs, list(document["removed"]), list(document.get("forgotten", ())))


def _write(path: Path, content: object) -> None:
    # A rename is atomic on every file system; the lock excludes other writers.
    with replacing(path, overwrite=True) as file:
        file.write(json.dumps(content).encode())


def _sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
