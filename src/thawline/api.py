"""The functions `thawline.identify`, `verify`, `salvage`, `convert` and `diff`: one call for one job."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thawline import formats
from thawline.cold import ColdFile, ColdFolder, open_cold, open_folder
from thawline.damage import OnError
from thawline.errors import UnknownFormat
from thawline.formats import Claim
from thawline.jobs import Crew
from thawline.model import Report
from thawline.source import Readable, open_source

if TYPE_CHECKING:
    from thawline.filters import Filter
    from thawline.verbs.diff import Difference
    from thawline.verbs.salvage import Salvaged

NAMED = 5
"""At most this many files are named in a warning."""

__all__ = ["convert", "diff", "identify", "salvage", "verify"]


def identify(source: Readable, *, spec: str | os.PathLike[str] | None = None) -> Claim:
    """The format of a file, how certain that is, and why; `UnknownFormat` if no format claims it.

    With `spec`, whether the format that this Kaitai spec describes claims it.

    >>> identify(b"RBF1").format
    'rbf'
    """
    with open_source(source) as opened:
        found, claim = formats.resolve(opened, None, {}, spec)
        if claim is None:  # only a format that is named can make none
            raise UnknownFormat(f"{opened.name}: is no file of the format {found.name}")
        return claim


def verify(
    source: Readable,
    format: str | None = None,  # noqa: A002 - the word that every caller expects
    *,
    heads_only: bool = False,
    spec: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Report:
    """The report on a file: every byte is intact, damaged, or described by a finding.

    >>> verify(b"RBF1").ok
    True
    """
    with open_cold(source, format, spec=spec, **options) as cold:
        return cold.verify(heads_only=heads_only)


def salvage(
    source: Readable,
    target: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - as above
    *,
    where: Filter | str | None = None,
    overwrite: bool = False,
    recover: bool = False,
    include_suspects: bool = False,
    spec: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Salvaged:
    """Write everything intact in a file to a new file; returns what was written and what was lost.

    With a filter, such as `offset >= 100`, units of which no row meets it are left out.
    """
    from thawline.verbs.salvage import salvage as copy  # noqa: PLC0415 - only `salvage` needs it

    with open_cold(source, format, spec=spec, **options) as cold:
        chosen: dict[str, Any] = {"where": where, "recover": recover, "include_suspects": include_suspects}
        return copy(cold, Path(target), overwrite=overwrite, **chosen)


def convert(
    source: Readable,
    target: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - as above
    *,
    table: str | None = None,
    columns: Sequence[str] | None = None,
    on_error: OnError = "skip",
    overwrite: bool = False,
    compression: str = "zstd",
    row_group_bytes: int | None = None,
    partition_by: str | None = None,
    jobs: int = 1,
    spec: str | os.PathLike[str] | None = None,
    **options: Any,
) -> int:
    """Write the rows of a file, or of a folder whose files belong together, to a new file; returns the number of rows.

    The suffix of `target` selects the file type: .parquet, .arrow, .jsonl or .csv; a slash at its end stands for a
    folder of Parquet files, with a folder for each value of the column `partition_by`. Damage is skipped unless
    `on_error` requests otherwise. A warning names files in the folder that do not belong to it. With `jobs`, that many
    threads read and encode.
    """
    from thawline.parquet import ParquetSettings  # noqa: PLC0415 - only `convert` needs them
    from thawline.verbs.cat import FileColumns  # noqa: PLC0415 - as above
    from thawline.verbs.convert import convert as to_file  # noqa: PLC0415 - as above
    from thawline.verbs.convert import convert_to_parts  # noqa: PLC0415 - as above

    path, settings = Path(target), ParquetSettings.of(compression, row_group_bytes)
    shared: dict[str, Any] = {"columns": columns, "overwrite": overwrite, "parquet": settings, "crew": Crew(jobs)}
    write: Callable[..., int] = to_file
    if os.fspath(target).endswith("/"):
        write = partial(convert_to_parts, partition_by=partition_by)
    elif partition_by:
        raise ValueError(f"partition_by makes a folder of files; write {target}/")
    if isinstance(source, str | os.PathLike) and os.path.isdir(source):  # noqa: PTH112 - a URL is no path
        folder = open_folder(source, format, table, on_error, jobs, **options)
        _warn(folder)
        named = FileColumns.of(member.path for member in folder.members)
        return write(folder.files(), path, named=named, **shared)
    with open_cold(source, format, table, on_error, jobs, spec=spec, **options) as cold:
        return write([cold], path, **shared)


def diff(
    a: Readable,
    b: Readable,
    format: str | None = None,  # noqa: A002 - as above
    *,
    table: str | None = None,
    key: Sequence[str] = (),
    columns: Sequence[str] = (),
    jobs: int = 1,
    **options: Any,
) -> Difference:
    """What differs between the rows of two files, or of two folders whose files belong together.

    Rows are compared by the identity that their format declares, or by `key`; in all columns, or in `columns`. The
    result has `counts`, `is_same` and `batches()`; closing it, or leaving its `with` block, removes its files. Warnings
    name files in a folder that do not belong to it, and files that cannot be opened.
    """
    from thawline.verbs.diff import diff as compare  # noqa: PLC0415 - only `diff` needs it

    def opened(side: Readable) -> Iterator[ColdFile]:
        if isinstance(side, str | os.PathLike) and os.path.isdir(side):  # noqa: PTH112 - as above
            folder = open_folder(side, format, table, jobs=jobs, **options)
            _warn(folder)
            yield from folder.files()
        else:
            with open_cold(side, format, table, jobs=jobs, **options) as cold:
                yield cold

    return compare(opened(a), opened(b), key, columns)


def _warn(folder: ColdFolder) -> None:
    """Warn of files in a folder that do not belong to its format and are not read."""
    others = [other.path for other in folder.others()]
    if others:
        more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        listing = ", ".join(others[:NAMED]) + more
        warnings.warn(f"{folder.name}: not read, because it is no {folder.format.name} data: {listing}", stacklevel=3)
