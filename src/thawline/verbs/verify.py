"""Reports: every byte of a file, and every file of a folder, is intact, damaged, or described by a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from thawline.errors import SourceError
from thawline.faults import UNREADABLE
from thawline.folder import Unread
from thawline.formats.contract import Depth, Foldered, Specified
from thawline.model import Finding, Report, Run, Span, report
from thawline.wording import quoted

if TYPE_CHECKING:
    from thawline.verbs.opened import OpenFile, OpenFolder

FORMAT_COMMANDS = ("thawline verify ", "thawline inspect ", "thawline salvage ", "thawline cat ")
"""Commands that take `--input-format` and `--spec`."""


Item = Run | Finding


def verify(cold: OpenFile, *, heads_only: bool = False, seen: Callable[[Item], None] | None = None) -> Report:
    """The report on a file; with `heads_only`, intact means that the heads of the units are consistent.

    `seen` gets each item of the walk as it goes by.
    """
    scan = cold.scan(Depth.HEADS if heads_only else Depth.EVERYTHING)
    items = scan if seen is None else _shown(scan, seen)
    option = needed_option(cold)
    told = (_with_option(item, option) for item in items) if option else items
    return report(cold.name, cold.format.name, cold.size, told)


def _shown(items: Iterator[Item], seen: Callable[[Item], None]) -> Iterator[Item]:
    for item in items:
        seen(item)
        yield item


def needed_option(cold: OpenFile) -> str:
    """What a command about this file needs besides its name, with a blank before it; empty if it needs nothing."""
    return spec_option(cold) or ("" if cold.claim else f" --input-format {cold.format.name}")


def spec_option(cold: OpenFile) -> str:
    """The option that names the spec of a user, with a blank before it; empty for formats of thawline."""
    return f" --spec {quoted(cold.format.spec_file)}" if isinstance(cold.format, Specified) else ""


def _with_option(item: Run | Finding, option: str) -> Run | Finding:
    """An item whose hint has an option without which the command in it would not recognise this file."""
    if not isinstance(item, Finding) or not item.hint.startswith(FORMAT_COMMANDS):
        return item
    return replace(item, hint=item.hint + option)


def verify_folder(folder: OpenFolder) -> Iterator[Report]:
    """The report on each file of a folder, on its sidecars, and on the folder as a whole."""
    name = folder.format.name
    for file in folder.opened():
        yield _unread(file, name) if isinstance(file, Unread) else verify(file)
    try:
        yield from folder.format.accounts(folder.folder) if isinstance(folder.format, Foldered) else ()
    except SourceError as error:  # an unreadable file may prevent a report on the whole folder
        yield _unread(Unread(folder.name, str(error)), name)


def _unread(unread: Unread, name: str) -> Report:
    """The report on a file that could not be read: an error, since it should have been read."""
    return report(unread.path, name, 0, [Finding(UNREADABLE, Span(0, 0), {"reason": unread.reason})])
