"""A backup in several files: all .asb files of a folder, and what holds for them as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from thawline.errors import SourceError
from thawline.folder import Folder
from thawline.formats import Claim, Format, Member
from thawline.formats.aerospike.digests import Digests
from thawline.formats.aerospike.findings import DUPLICATE_RECORDS, FIRST_FILES, UNREADABLE_METADATA, WRONG_COUNTS
from thawline.formats.aerospike.parts import Part
from thawline.formats.aerospike.reading import items_of
from thawline.formats.aerospike.values import Decoded
from thawline.model import Code, Finding, Report, Span
from thawline.source import Source, open_source

METADATA = "metadata.yaml"
LARGEST_METADATA = 1 << 16
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
    return Claim("aerospike", "", f"holds {count} file{'s' if count > 1 else ''} named .asb", "likely")


def members(format_: Format, folder: Folder) -> Iterator[Member]:
    """The files of a backup, by name; all of them have the same columns."""
    names = list(files_of(folder))
    told = format_.prepared(_opened(folder, names))
    return (Member(folder.path_of(name), told) for name in names)


def _opened(folder: Folder, names: Iterable[str]) -> Iterator[Source]:
    """Files one after the other, each closed when the next is asked for."""
    for name in names:
        with folder.open(name) as source:
            yield source


def accounts(format_: Format, folder: Folder) -> Iterator[Report]:
    """The account of a backup as a whole."""
    files = files_of(folder)
    tally = _Tally(list(files))
    report = Report(folder.path, format_.name, 0)
    try:
        for number, name in enumerate(files):
            with open_source(folder.path_of(name)) as source:
                for item in items_of(source, is_strict=False):
                    if item.part:
                        tally.add(item.part, number)
        for finding in tally.findings():
            report.add(finding)
    finally:
        tally.digests.close()
    counted = {**tally.counts, "file-count": len(files), "byte-count": sum(files.values())}
    for finding in _compared(folder, counted, tally.namespaces):
        report.add(finding)
    yield report.complete()


@dataclass(slots=True)
class _Tally:
    """What the files of a backup hold together."""

    files: list[str]
    digests: Digests = field(default_factory=Digests)
    namespaces: dict[str, int] = field(default_factory=dict)
    first_files: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(
        default_factory=lambda: {"record-count": 0, "secondary-index-count": 0, "udf-count": 0}
    )

    def add(self, part: Part, file: int) -> None:
        """Count a part of a file."""
        names = {"records": "record-count", "indexes": "secondary-index-count", "udfs": "udf-count"}
        if part.table:
            self.counts[names[part.table]] += part.units
        elif part.labels.get("first_file"):
            self.first_files.append(self.files[file])
        if isinstance(part.content, Decoded) and part.suspect != "nested":
            rows = part.content.batch.slice(part.first, part.units)
            for name in rows["namespace"].unique().to_pylist():
                number = self.namespaces.setdefault(name, len(self.namespaces) % (1 << 16))
                digests = rows["digest"]
                if len(self.namespaces) > 1:
                    digests = digests.filter(pc.equal(rows["namespace"], name))
                self.digests.add(digests, number, file % (1 << 16))

    def findings(self) -> Iterator[Finding]:
        """What is wrong with the backup as a whole."""
        repeated = list(self.digests.repeated())
        if repeated:
            files = ", ".join(self.files[number] for number in repeated[0].files)
            yield _whole(
                DUPLICATE_RECORDS,
                {"records": sum(each.records for each in repeated), "digest": repeated[0].first.hex(), "files": files},
            )
        if len(self.first_files) > 1:
            yield _whole(FIRST_FILES, {"files": ", ".join(self.first_files)})


def _compared(folder: Folder, counted: Mapping[str, int], namespaces: Mapping[str, int]) -> Iterator[Finding]:
    """The counts of metadata.yaml against those of the files."""
    found = _metadata(folder)
    if found is None:
        return
    import yaml  # noqa: PLC0415 - only backups of the service have such a file

    place, text = found
    try:
        stated = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError):
        stated = None
    if not isinstance(stated, dict) or not isinstance(stated.get("record-count"), int):
        yield _whole(UNREADABLE_METADATA, {"file": place})
        return
    if stated.get("namespace") and namespaces and stated["namespace"] not in namespaces:
        return  # it lies above the folder and is about another namespace
    for name, count in counted.items():
        if isinstance(stated.get(name), int) and stated[name] != count:
            yield _whole(WRONG_COUNTS, {"file": place, "count": name, "stated": stated[name], "found": count})


def _metadata(folder: Folder) -> tuple[str, bytes] | None:
    """The metadata of a backup, beside its files or above them."""
    places = [folder]
    if not folder.is_remote:
        places += [Folder(str(parent)) for parent in list(Path(folder.path).resolve().parents)[:LEVELS]]
    for place in places:
        try:
            if place.has(METADATA):
                return place.path_of(METADATA), place.read(METADATA, LARGEST_METADATA)
        except SourceError:
            return None
    return None


def _whole(code: Code, detail: Mapping[str, Any]) -> Finding:
    return Finding(code, Span(0, 0), detail)
