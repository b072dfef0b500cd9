"""The known formats, and the identification of a file's format.

A new format is a line in `FORMATS`. Its module is imported on first use.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from thawline import options
from thawline.errors import UnknownFormat
from thawline.folder import Folder
from thawline.formats.contract import CONFIDENCE, Claim, Foldered, Format, Learning
from thawline.source import Source

if TYPE_CHECKING:
    from thawline.compiler.language import Refusal

FORMATS: dict[str, str | Format] = {
    "rbf": "thawline.formats.rbf:Rbf",
    "borg": "thawline.formats.borg:Borg",
    "rbak": "thawline.formats.rbak:Rbak",
    "kafka": "thawline.formats.kafka:Kafka",
    "aerospike": "thawline.formats.aerospike:Aerospike",
}
"""Self-describing formats come first; last come those that only a file name or a valid first checksum identifies."""

SUFFIXES = {".asb": "aerospike", ".log": "kafka"}
"""Formats that are asked first about files of such a name, so that the others need not be imported."""


def described(file: str | os.PathLike[str]) -> Format:
    """The format that a `.ksy` describes; `SpecError` names file, line and column of what cannot be compiled."""
    from thawline.formats.declared import Declared, states_rows  # noqa: PLC0415 - it needs the compiler
    from thawline.formats.described import Described  # noqa: PLC0415 - as above

    return Declared.of(Path(file)) if states_rows(Path(file)) else Described.of(Path(file))


def refusals(file: Path) -> list[Refusal]:
    """What of a `.ksy` is refused: by the compiler, or else where `-sync` and `-columnar` make it a format.

    A spec around one that states its rows, as `borg_pack` is around `borg_blob`, describes: nothing is read by it.
    """
    from thawline.compiler.language import check, refusals_of  # noqa: PLC0415 - it takes long to import
    from thawline.compiler.language.declarations import Library  # noqa: PLC0415 - as above
    from thawline.formats.declared import Declared, states_rows  # noqa: PLC0415 - as above
    from thawline.formats.described.opening import check_marks  # noqa: PLC0415 - as above
    from thawline.ksy.documents import SpecError  # noqa: PLC0415 - as above

    if found := check(file):
        return found
    try:
        if states_rows(file):
            Declared.of(file)
        elif not any(map(states_rows, Library(file).specs)):
            check_marks(file)
    except SpecError as error:
        return refusals_of(error)
    return []


def declare(file: str | os.PathLike[str]) -> Format:
    """Add the format that a `.ksy` describes; it is tried after the others when a file is identified."""
    new = described(file)
    if isinstance(FORMATS.get(new.name), str):
        raise UnknownFormat(f"{file}: a format is called {new.name!r} already; give the spec another id")
    FORMATS[new.name] = new
    return new


def get(name: str, /, **settings: object) -> Format:
    """A format by name, with its options set; `UnknownFormat` lists the known ones."""
    if name not in FORMATS:
        raise UnknownFormat(f"no format is called {name!r}; there are {', '.join(FORMATS)}")
    entry, checked = FORMATS[name], options.check(name, settings)
    if not isinstance(entry, str):
        return entry
    module, _, attribute = entry.partition(":")
    configured: Format = getattr(importlib.import_module(module), attribute)(**checked)
    return configured


def identify(source: Source) -> Claim:
    """The claim of the format that a file has; `UnknownFormat` if no format claims it."""
    best: Claim | None = None
    likely = SUFFIXES.get(Path(source.name).suffix, "")
    for name in sorted(FORMATS, key=lambda name: name != likely):
        claim = get(name).claim(source)
        if claim and (best is None or CONFIDENCE.index(claim.confidence) < CONFIDENCE.index(best.confidence)):
            best = claim
        if best and best.confidence == CONFIDENCE[0]:
            return best
    if best is None:
        raise UnknownFormat(f"{source.name}: no format recognises this file; `thawline formats` lists what is known")
    return best


def identify_folder(folder: Folder) -> Claim | None:
    """The claim of the format that a folder's files belong to as a whole; None if no format claims the folder."""
    return next((claim for name in FORMATS if (claim := claim_folder(get(name), folder))), None)


def claim_folder(format_: Format, folder: Folder) -> Claim | None:
    """A format's claim that the files of a folder belong together; None if it makes none."""
    return format_.claim_folder(folder) if isinstance(format_, Foldered) else None


def prepared(format_: Format, sources: Iterable[Source]) -> Format:
    """The format, prepared with the files that its schema depends on."""
    return format_.prepared(sources) if isinstance(format_, Learning) else format_


def resolve(
    source: Source, name: str | None, settings: Mapping[str, object], spec: str | os.PathLike[str] | None = None
) -> tuple[Format, Claim | None]:
    """The format to read a file with, recognised unless `name` or a `.ksy` is given, and its claim on the file."""
    if spec is not None:
        found = described(spec)
        options.check(found.name, settings)
        return found, found.claim(source)
    if name is None:
        try:
            claim = identify(source)
        except UnknownFormat as error:
            from thawline.formats.recognition import unrecognised  # noqa: PLC0415 - it imports formats

            raise unrecognised(source) from error
        return prepared(get(claim.format, **settings), [source]), claim
    configured = get(name, **settings)
    return prepared(configured, [source]), configured.claim(source)
