"""A backup in several files: all .asb files of a folder, their common account, and metadata.yaml.

The account is taken while the files are verified, so no intact file is read twice. It compares digests: they are evenly
distributed, so their first byte divides them into 256 shares of similar size. A share that grows is kept on disk, and
shares are compared one after the other.

The Backup Service writes a few counts to metadata.yaml. YAML can name any type, multiply through anchors and merge keys
until memory is exhausted, and nest until a parser gives up. The service writes nothing like that, so only the events of
one flat mapping are accepted, with typed and bounded fields.
"""

from __future__ import annotations

import re
import struct
import tempfile
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Lock
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline import native
from thawline.errors import SourceError
from thawline.folder import Folder
from thawline.formats.aerospike.checks import quick_check
from thawline.formats.aerospike.findings import (
    DUPLICATE_RECORDS,
    FIRST_FILES,
    LENIENTLY,
    NO_FIRST_FILE,
    UNREADABLE_METADATA,
    WRONG_COUNTS,
    Sound,
    Stretch,
)
from thawline.formats.aerospike.rows import Decoded
from thawline.formats.aerospike.text import Item
from thawline.formats.aerospike.walk import items_of
from thawline.formats.contract import Claim, Format, Member
from thawline.formats.registry import prepared
from thawline.literals import texts
from thawline.model import Code, Finding, Report, Span
from thawline.native.constants.aerospike import DIGEST_SIZE
from thawline.source import Source, open_source
from thawline.wording import counted

METADATA = "metadata.yaml"
LEVELS = 2
"""The metadata may be at most this many folders above the files."""
COUNTS = {"records": "record-count", "indexes": "secondary-index-count", "udfs": "udf-count"}
"""The names of counts in metadata.yaml, by table."""
STATED_COUNTS = ("record-count", "byte-count", "file-count", "secondary-index-count", "udf-count")
LARGEST_METADATA = 16 << 10
"""The most bytes that are read; the service writes a few hundred."""
DEEPEST = 8
"""The most levels of nesting in fields that are skipped."""
NUMBER = re.compile(r"0|[1-9][0-9]{0,63}")
MOST = (1 << 63) - 1
SHARES = 256
KEPT = 256 << 10
"""The most bytes of a share that stay in memory."""
KEY, NUMBERED = 22, 26
"""Bytes of a digest with the number of its namespace, and of both with the number of its file."""


# Digests of all files.


@dataclass(frozen=True, slots=True)
class Repeated:
    """Digests of one share that occur more than once."""

    records: int
    """The number of records beyond the first of each digest."""
    first: bytes
    """One of the digests."""
    files: tuple[int, ...]
    """The numbers of the files with that digest."""


@dataclass(slots=True)
class Digests:
    """All digests of a backup."""

    shares: list[bytearray] = field(default_factory=lambda: [bytearray() for _ in range(SHARES)])
    spilled: dict[int, IO[bytes]] = field(default_factory=dict)

    def add(self, digests: bytes, namespace: int, file: int) -> None:
        """Add digests, back to back, with the numbers of their namespace and file."""
        count = len(digests) // DIGEST_SIZE
        ends, out = array("q", bytes(8 * SHARES)), bytearray(NUMBERED * count)
        native.functions.share_digests(count, digests, memoryview(struct.pack(">HI", namespace, file)), ends, out)
        data, start = memoryview(out), 0
        for index, end in enumerate(ends):
            if end > start:
                self._keep(index, data[start:end])
            start = end

    def repeated(self, files: Collection[int]) -> Iterator[Repeated]:
        """The digests that occur more than once in these files, share by share."""
        for index in range(SHARES):
            if found := _repeated_in(self._share(index), files):
                yield found

    def close(self) -> None:
        """Close the files on disk."""
        for file in self.spilled.values():
            file.close()

    def _keep(self, index: int, entries: memoryview) -> None:
        share = self.shares[index]
        share += entries
        if len(share) > KEPT:
            if index not in self.spilled:
                self.spilled[index] = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
            self.spilled[index].write(share)
            share.clear()

    def _share(self, index: int) -> bytes:
        file = self.spilled.get(index)
        if file is None:
            return bytes(self.shares[index])
        file.seek(0)
        return file.read() + self.shares[index]


def _repeated_in(share: bytes, files: Collection[int]) -> Repeated | None:
    entries = pa.Array.from_buffers(pa.binary(NUMBERED), len(share) // NUMBERED, [None, pa.py_buffer(share)])
    counts = pc.value_counts(pc.binary_slice(entries, 0, KEY))
    if len(counts) == len(entries):
        return None  # the usual case, whichever files are requested
    wanted = b"".join(struct.pack(">I", file) for file in files)
    numbers = pa.Array.from_buffers(pa.binary(4), len(files), [None, pa.py_buffer(wanted)])
    places = pc.index_in(pc.binary_slice(entries, KEY, NUMBERED), numbers)
    # Files may have been read side by side: their order counts, not when they were read.
    entries, places = entries.filter(places.is_valid()), places.drop_null()
    entries = entries.take(pc.sort_indices(places))
    keys = pc.binary_slice(entries, 0, KEY)
    counts = pc.value_counts(keys)
    more = counts.filter(pc.greater(counts.field("counts"), 1))
    if not len(more):
        return None
    first = more[0]["values"].as_py()
    where = entries.filter(pc.equal(keys, pa.scalar(first, keys.type))).to_pylist()
    found = sorted({int.from_bytes(entry[KEY:], "big") for entry in where})
    return Repeated(pc.sum(more.field("counts")).as_py() - len(more), first[:DIGEST_SIZE], tuple(found))


# Accounts of files.


@dataclass(slots=True)
class Account:
    """What one file holds."""

    number: int
    """The number that its digests are kept with."""
    is_first: bool = False
    namespaces: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS.values(), 0))


class Tally:
    """Accounts of the files of a backup. A copy, as in another process, starts empty."""

    def __init__(self) -> None:
        self._expected: set[str] = set()
        self._started = count()
        self._lock = Lock()
        self._namespaces: dict[str, int] = {}
        self.accounts: dict[str, Account] = {}
        """By path; only of files without damage."""
        self.digests = Digests()

    def __reduce__(self) -> tuple[Any, ...]:
        return Tally, ()

    def expect(self, paths: Iterable[str]) -> None:
        """Add files of a backup."""
        self._expected.update(paths)

    def expects(self, path: str) -> bool:
        """Whether a file is one of the backup."""
        return path in self._expected

    def watched(self, path: str, items: Iterable[Item], *, is_strict: bool) -> Iterator[Item]:
        """Pass on the items of a file, and take its account.

        A file with damage has an account only if it is read leniently: a strict reading leaves out records that one
        tool reads.
        """
        account = Account(next(self._started))
        is_clean = True
        for item in items:
            if item.stretch:
                self._add(item.stretch, account)
            elif isinstance(item.shown, Finding):
                is_clean = is_clean and item.shown.severity != "error"
            yield item
        if is_clean or not is_strict:
            self.accounts[path] = account

    def close(self) -> None:
        """Forget all accounts."""
        self.digests.close()
        self.digests = Digests()
        self.accounts.clear()

    def _add(self, stretch: Stretch, account: Account) -> None:
        content = stretch.content
        if stretch.table:
            account.counts[COUNTS[stretch.table]] += stretch.units
        elif stretch.is_first_file:
            account.is_first = True
        if stretch.suspect == "nested":
            return
        if isinstance(content, Sound):
            self._keep(content.digests, content.namespace, account)
        elif isinstance(content, Decoded):
            self._add_rows(content.batch.slice(stretch.first, stretch.units), account)

    def _add_rows(self, rows: pa.RecordBatch, account: Account) -> None:
        namespaces = rows["namespace"].unique().to_pylist()
        for name in namespaces:
            digests = rows["digest"]
            if len(namespaces) > 1:
                digests = digests.filter(pc.equal(rows["namespace"], texts([name])[0]))
            self._keep(b"".join(digests.drop_null().to_pylist()), name, account)

    def _keep(self, digests: bytes, namespace: str, account: Account) -> None:
        account.namespaces.add(namespace)
        with self._lock:
            number = self._namespaces.setdefault(namespace, len(self._namespaces) % (1 << 16))
            self.digests.add(digests, number, account.number)


# The folder.


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
    """The files of a backup, by name. All have the same columns, and the tally takes their accounts."""
    names = list(files_of(folder))
    tally.expect(folder.path_of(name) for name in names)
    ready = prepared(format_, _opened(folder, names))
    return (Member(folder.path_of(name), ready) for name in names)


def holdings(folder: Folder) -> Iterator[str]:
    """Paths of the files that the account of a backup covers."""
    return (folder.path_of(name) for name in folder.files() if name.endswith(".asb") or name == METADATA)


def _opened(folder: Folder, names: Iterable[str]) -> Iterator[Source]:
    """Files that can be opened, one after the other; each is closed before the next is opened."""
    for name in names:
        try:
            source = folder.open(name)
        except SourceError:
            continue  # the report on this member says why
        with source:
            yield source


def accounts(format_: Format, folder: Folder, tally: Tally) -> Iterator[Report]:
    """The report on a backup as a whole. Files that were verified and are intact are not read again.

    If a file cannot be read, its own report says so, and checks that need all files are left out here.
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
    found_counts = {"file-count": len(files), "byte-count": sum(files.values())}
    if is_whole:
        found_counts |= {name: sum(account.counts[name] for account in found.values()) for name in COUNTS.values()}
    namespaces = {name for account in found.values() for name in account.namespaces}
    for finding in _compared(folder, found_counts, namespaces):
        report.add(finding)
    yield report.complete()


def _account(path: str, tally: Tally) -> Account | None:
    """The account of a file; None if it cannot be read."""
    if path not in tally.accounts:
        with suppress(SourceError), open_source(path) as source:
            items = items_of(source, LENIENTLY, quick=quick_check(keeps_digests=True))
            for _ in tally.watched(path, items, is_strict=False):
                pass
    return tally.accounts.get(path)


def _repeated(accounts: Mapping[str, Account], tally: Tally) -> Iterator[Finding]:
    """The finding about records that are in the backup more than once."""
    names = {account.number: name for name, account in accounts.items()}
    repeated = list(tally.digests.repeated(names)) if names else []
    if repeated:
        files = ", ".join(name for number, name in names.items() if number in repeated[0].files)
        records = sum(each.records for each in repeated)
        yield _whole(DUPLICATE_RECORDS, {"records": records, "digest": repeated[0].first.hex(), "files": files})


def _first_files(accounts: Mapping[str, Account], *, is_whole: bool) -> Iterator[Finding]:
    """The finding about a backup without a first file, or with several."""
    first = [name for name, account in accounts.items() if account.is_first]
    if len(first) > 1:
        yield _whole(FIRST_FILES, {"files": ", ".join(first)})
    elif not first and is_whole:
        yield _whole(NO_FIRST_FILE, {"files": len(accounts)})


def _compared(folder: Folder, found: Mapping[str, int], namespaces: Collection[str]) -> Iterator[Finding]:
    """Findings about counts of metadata.yaml that differ from those of the files."""
    place = _metadata(folder)
    if place is None:
        return
    path = place.path_of(METADATA)
    try:
        stated = metadata_of(place.read(METADATA, LARGEST_METADATA))
    except (NoMetadata, SourceError) as error:
        yield _whole(UNREADABLE_METADATA, {"file": path, "reason": str(error)})
        return
    if stated.namespace and namespaces and stated.namespace not in namespaces:
        return  # it is above the folder and describes another namespace
    for name, number in stated.counts.items():
        if name in found and number != found[name]:
            yield _whole(WRONG_COUNTS, {"file": path, "count": name, "stated": number, "found": found[name]})


def _metadata(folder: Folder) -> Folder | None:
    """The folder with the metadata of a backup: that of its files or one above it."""
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


# metadata.yaml.


class NoMetadata(ValueError):
    """Why the file is not one that the service wrote."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the service states about a backup."""

    namespace: str
    """Empty if it is not stated."""
    counts: Mapping[str, int]


def metadata_of(text: bytes) -> Metadata:
    r"""The fields of the file; `NoMetadata` with the reason if one of them is not valid.

    >>> metadata_of(b"namespace: test\nrecord-count: 3\n").counts
    {'record-count': 3}
    """
    if len(text) > LARGEST_METADATA:
        raise NoMetadata(f"it has {len(text)} bytes, and the limit is {LARGEST_METADATA}")
    fields = _fields(text)
    if "record-count" not in fields:
        raise NoMetadata("it has no record-count")
    namespace = fields.get("namespace")
    if namespace is not None and not isinstance(namespace.value, str):
        raise NoMetadata("namespace is no text")
    counts = {name: _count(name, fields[name]) for name in STATED_COUNTS if name in fields}
    return Metadata(str(namespace.value) if namespace else "", counts)


@dataclass(frozen=True, slots=True)
class _Field:
    value: str | None
    """None for a list or a mapping."""
    is_plain: bool
    """Whether it has no quotes, like a number."""


def _count(name: str, field: _Field) -> int:
    if field.value is None or not field.is_plain or not NUMBER.fullmatch(field.value):
        raise NoMetadata(f"{name} is no count")
    if int(field.value) > MOST:
        raise NoMetadata(f"{name} does not fit 64 bits")
    return int(field.value)


def _fields(text: bytes) -> dict[str, _Field]:
    """The fields of the mapping, as text."""
    events = _events(text)
    found: dict[str, _Field] = {}
    if type(next(events, None)).__name__ != "MappingStartEvent":
        raise NoMetadata("it is no mapping of names to values")
    while (name := _next(events)) is not None:
        value = _next(events)
        if name.value is None or value is None:
            raise NoMetadata("a name in it is no text")
        if name.value in found:
            raise NoMetadata(f"it says {name.value[:64]!r} more than once")
        found[name.value] = value
    return found


def _next(events: Iterator[Any]) -> _Field | None:
    """The next scalar or collection; None at the end of the mapping."""
    event = next(events)
    match type(event).__name__:
        case "ScalarEvent":
            return _Field(event.value, event.style is None)
        case "MappingEndEvent":
            return None
    depth = 1
    while depth:
        name = type(next(events)).__name__
        depth += name.endswith("StartEvent") - name.endswith("EndEvent")
        if depth > DEEPEST:
            raise NoMetadata(f"it is nested deeper than {DEEPEST} levels")
    return _Field(None, is_plain=False)


def _events(text: bytes) -> Iterator[Any]:
    """The events of the first document of the file, parsed one at a time."""
    import yaml  # noqa: PLC0415 - only backups of the service have such a file

    try:
        for event in yaml.parse(text, Loader=yaml.BaseLoader):
            if isinstance(event, yaml.DocumentEndEvent | yaml.StreamEndEvent):
                return
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
                raise NoMetadata("it has anchors, aliases or tags, which the service does not write")
            if isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
                yield event
    except yaml.YAMLError as error:
        raise NoMetadata(f"it is no YAML: {getattr(error, 'problem', None) or 'an invalid character'}") from None
    except (ArithmeticError, RecursionError, ValueError) as error:
        raise error if isinstance(error, NoMetadata) else NoMetadata("it is no YAML") from None
