"""The files that a command line names: paths, globs, folders, URLs, and `-` for stdin."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from thawline.errors import SourceError
from thawline.source import STDIN


@dataclass(frozen=True, slots=True)
class Input:
    """A file to read, and whether it was named itself or found in a folder."""

    path: str
    is_named: bool = True


def expand(names: Iterable[str], *, recursive: bool = False) -> list[Input]:
    """The files that are meant, in the order given, those of a folder or a glob sorted by name."""
    inputs = [found for name in names for found in _expand(name, recursive=recursive)]
    if sum(found.path == STDIN for found in inputs) > 1:
        raise SourceError("stdin (-) can be read only once")
    return inputs


def _expand(name: str, *, recursive: bool) -> Iterator[Input]:
    if name == STDIN:
        yield Input(name)
    elif "://" in name:
        yield from map(Input, _remote(name) if glob.has_magic(name) else [name])
    elif Path(name).is_dir():
        yield from _in_folder(name, recursive=recursive)
    elif glob.has_magic(name) and not Path(name).exists():
        # The shell has left the pattern as it is, or was told to; a file of that very name comes first.
        yield from _matching(name, recursive=recursive)
    else:
        yield Input(name)


def _in_folder(name: str, *, recursive: bool) -> Iterator[Input]:
    """Files of a folder but for hidden ones."""
    for folder, subfolders, files in os.walk(name):
        subfolders[:] = sorted(sub for sub in subfolders if not sub.startswith(".")) if recursive else []
        for file in sorted(files):
            path = Path(folder, file)
            if not file.startswith(".") and path.is_file():
                yield Input(str(path), is_named=False)


def _matching(pattern: str, *, recursive: bool) -> Iterator[Input]:
    found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - `**` and hidden files as in a shell
    if not found:
        raise SourceError(f"{pattern}: no file matches")
    for path in found:
        yield from _in_folder(path, recursive=recursive) if Path(path).is_dir() else [Input(path)]


def _remote(pattern: str) -> list[str]:
    import fsspec

    try:
        filesystem, path = fsspec.url_to_fs(pattern)
        found = [filesystem.unstrip_protocol(match) for match in sorted(filesystem.glob(path))]
    except (OSError, ImportError, ValueError) as error:
        raise SourceError(f"{pattern}: {error}") from error
    if not found:
        raise SourceError(f"{pattern}: no file matches")
    return found
