"""A backup in several files: all .asb files of a folder, and what holds for them as a whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from thawline.errors import SourceError
from thawline.folder import Folder
from thawline.formats.aerospike.findings import (
    DUPLICATE_RECORDS,
    FIRST_FILES,
    NO_FIRST_FILE,
    UNREADABLE_METADATA,
    WRONG_COUNTS,
)
from thawline.formats.aerospike.metadata import LARGEST, NoMetadata, metadata_of
from thawline.formats.aerospike.reading import items_of
from thawline.formats.aerospike.soundness import quick_look
from thawline.formats.aerospike.strictness import LENIENTLY
from thawline.formats.aerospike.tally import COUNTS, Account, Tally
from thawline.formats.contract import Claim, Format, Member
from thawline.formats.registry import prepared
from thawline.model import Code, Finding, Report, Span
from thawline.source import Source, open_source
from thawline.wording import counted

METADATA = "metadata.yaml"
LEVELS = 2
"""How many folders above the files the metadata may lie."""


def files_of(folder: Folder) -> dict[str, int]:
    """The .asb files in a folder with their sizes, by name."""
    return {name: size for name, size in folder.files().items() if name.endswith(".asb")}


def claim(folder: Folder) -> Claim | None:
    """A folder with .asb files in it is a backup."""
    count = len(files_of(folder))
    if not count:
        return None
    return Claim("aerospike", "", f"holds {counted(count, 'file')} named .asb", "likely")


def members(format_: Format, folder: Folder, tally: Tally) -> Iterator[Member]:
    """The files of a backup, by name; all of them have the same columns, and the tally sees them scanned."""
    names = list(files_of(folder))
    tally.expect(folder.path_of(name) for name in names)
    told = prepared(format_, _opened(folder, names))
    return (Member(folder.path_of(name), told) for name in names)


def holdings(folder: Folder) -> Iterator[str]:
    """Paths of the files that the account of a backup is about."""
    return (folder.path_of(name) for name in folder.files() if name.endswith(".asb") or name == METADATA)


def _opened(folder: Folder, names: Iterable[str]) -> Iterator[Source]:
    """Files that can be opened, one after the other, each closed when the next is asked for."""
    for name in names:
        try:
            source = folder.open(name)
        except SourceError:
            continue  # whoever reads it as one of the members hears why
        with source:
            yield source


def accounts(format_: Format, folder: Folder, tally: Tally) -> Iterator[Report]:
    """The account of a backup as a whole. Files that were scanned and are intact are not read again.

    A file that cannot be read, which its own report says, leaves out what cannot be told without it.
    """
    files = files_of(folder)
    report = Report(folder.path, format_.name, 0)
    try:
        found = {name: account for name in files if (account := _account(folder.path_of(name), tally))}
        is_whole = len(found) == len(files)
        for finding in (*_repeated(found, tally), *_first_files(found, is_whole=is_whole)):
            report.add(finding)
    finally:
        tally.close()
    counted = {"file-count": len(files), "byte-count": sum(files.values())}
    if is_whole:
        counted |= {name: sum(account.counts[name] for account in found.values()) for name in COUNTS.values()}
    namespaces = {name for account in found.values() for name in account.namespaces}
    for finding in _compared(folder, counted, namespaces):
        report.add(finding)
    yield report.complete()


def _account(path: str, tally: Tally) -> Account | None:
    """What a file holds; None if it cannot be read."""
    if path not in tally.accounts:
        with suppress(SourceError), open_source(path) as source:
            items = items_of(source, LENIENTLY, quick=quick_look(keeps_digests=True))
            for _ in tally.watched(path, items, is_strict=False):
                pass
    return tally.accounts.get(path)


def _repeated(accounts: Mapping[str, Account], tally: Tally) -> Iterator[Finding]:
    """Records that are in the backup more than once."""
    names = {account.number: name for name, account in accounts.items()}
    repeated = list(tally.digests.repeated(names)) if names else []
    if repeated:
        files = ", ".join(names[number] for number in repeated[0].files)
        records = sum(each.records for each in repeated)
        yield _whole(DUPLICATE_RECORDS, {"records": records, "digest": repeated[0].first.hex(), "files": files})


def _first_files(accounts: Mapping[str, Account], *, is_whole: bool) -> Iterator[Finding]:
    """Of the files of a backup one says that it is the first."""
    first = [name for name, account in accounts.items() if account.is_first]
    if len(first) > 1:
        yield _whole(FIRST_FILES, {"files": ", ".join(first)})
    elif not first and is_whole:
        yield _whole(NO_FIRST_FILE, {"files": len(accounts)})


def _compared(folder: Folder, counted: Mapping[str, int], namespaces: Collection[str]) -> Iterator[Finding]:
    """The counts of metadata.yaml against those of the files."""
    place = _metadata(folder)
    if place is None:
        return
    path = place.path_of(METADATA)
    try:
        stated = metadata_of(place.read(METADATA, LARGEST))
    except (NoMetadata, SourceError) as error:
        yield _whole(UNREADABLE_METADATA, {"file": path, "reason": str(error)})
        return
    if stated.namespace and namespaces and stated.namespace not in namespaces:
        return  # it lies above the folder and is about another namespace
    for name, count in stated.counts.items():
        if name in counted and count != counted[name]:
            yield _whole(WRONG_COUNTS, {"file": path, "count": name, "stated": count, "found": counted[name]})


def _metadata(folder: Folder) -> Folder | None:
    """Where the metadata of a backup lies: beside its files or above them."""
    places = [folder]
    if not folder.is_remote:
        places += [Folder(str(parent)) for parent in list(Path(folder.path).resolve().parents)[:LEVELS]]
    for place in places:
        try:
            if place.has(METADATA):
                return place
        except SourceError:
            return None
    return None


def _whole(code: Code, detail: Mapping[str, Any]) -> Finding:
    return Finding(code, Span(0, 0), detail)
