"""One call for one job: what `thawline.identify`, `verify`, `salvage` and `convert` do."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thawline import formats
from thawline.cold import ColdFolder, open_cold, open_folder
from thawline.damage import OnError
from thawline.formats import Claim
from thawline.model import Report
from thawline.source import Readable, open_source

if TYPE_CHECKING:
    from thawline.verbs.salvage import Salvaged

NAMED = 5
"""Files that a warning names."""

__all__ = ["convert", "identify", "salvage", "verify"]


def identify(source: Readable) -> Claim:
    """Which format a file is of, how sure that is, and why; `UnknownFormat` if none claims it.

    >>> identify(b"RBF1").format
    'rbf'
    """
    with open_source(source) as opened:
        claim = formats.resolve(opened, None, {})[1]
        assert claim is not None  # noqa: S101 - a format that is not named is one that claims the file
        return claim


def verify(
    source: Readable,
    format: str | None = None,  # noqa: A002 - the word that every caller expects
    *,
    heads_only: bool = False,
    **options: Any,
) -> Report:
    """The account of a file: every byte of it is intact, damaged, or named for what it is.

    >>> verify(b"RBF1").ok
    True
    """
    with open_cold(source, format, **options) as cold:
        return cold.verify(heads_only=heads_only)


def salvage(
    source: Readable,
    target: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - as above
    *,
    overwrite: bool = False,
    recover: bool = False,
    include_suspects: bool = False,
    **options: Any,
) -> Salvaged:
    """Write everything that is intact in a file to a new one; what went into it, and what did not."""
    from thawline.verbs.salvage import salvage as copy  # noqa: PLC0415 - only who salvages needs it

    with open_cold(source, format, **options) as cold:
        return copy(cold, Path(target), overwrite=overwrite, recover=recover, include_suspects=include_suspects)


def convert(
    source: Readable,
    target: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - as above
    *,
    table: str | None = None,
    columns: Sequence[str] | None = None,
    on_error: OnError = "skip",
    overwrite: bool = False,
    **options: Any,
) -> int:
    """Write the rows of a file, or of a folder whose files belong together, to a new one; how many rows those were.

    The suffix of `target` says what it becomes: .parquet, .arrow, .jsonl or .csv. Damage is passed over unless
    `on_error` says otherwise; a warning names what else lies in the folder.
    """
    from thawline.verbs.cat import FileColumns  # noqa: PLC0415 - only who converts needs them
    from thawline.verbs.convert import convert as write  # noqa: PLC0415 - as above

    path = Path(target)
    if isinstance(source, str | os.PathLike) and os.path.isdir(source):  # noqa: PTH112 - a URL is no path
        folder = open_folder(source, format, table, on_error, **options)
        _warn(folder)
        named = FileColumns.of(member.path for member in folder.members)
        return write(folder.files(), path, columns=columns, overwrite=overwrite, named=named)
    with open_cold(source, format, table, on_error, **options) as cold:
        return write([cold], path, columns=columns, overwrite=overwrite)


def _warn(folder: ColdFolder) -> None:
    """Warn of what lies in a folder and is none of its own: it is not read."""
    others = [left.path for left in folder.others()]
    if others:
        more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        named = ", ".join(others[:NAMED]) + more
        warnings.warn(f"{folder.name}: not read, for it is not {folder.format.name}'s: {named}", stacklevel=3)
