"""Which formats there are, and which one a file is of.

Adding one is a line in `FORMATS`. A format's module is imported when it is first needed.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from thawline import options
from thawline.errors import UnknownFormat
from thawline.folder import Folder
from thawline.formats.contract import CONFIDENCE, Claim, Foldered, Format, Learning
from thawline.source import Source

FORMATS: dict[str, str | Format] = {
    "rbf": "thawline.formats.rbf:Rbf",
    "borg": "thawline.formats.borg:Borg",
    "rbak": "thawline.formats.rbak:Rbak",
    "kafka": "thawline.formats.kafka:Kafka",
    "aerospike": "thawline.formats.aerospike:Aerospike",
}
"""Self-describing formats first, those that only a name or a valid first checksum gives away last."""


def declare(file: str | os.PathLike[str]) -> Format:
    """Add the format that a `.ksy` describes; it is asked after the others whether a file is its own."""
    from thawline.formats.declared import Declared  # noqa: PLC0415 - it needs the compiler

    made = Declared.of(Path(file))
    if isinstance(FORMATS.get(made.name), str):
        raise UnknownFormat(f"{file}: a format is called {made.name!r} already; give the spec another id")
    FORMATS[made.name] = made
    return made


def get(name: str, /, **given: object) -> Format:
    """A format by name, told some options; `UnknownFormat` names those that there are."""
    if name not in FORMATS:
        raise UnknownFormat(f"no format is called {name!r}; there are {', '.join(FORMATS)}")
    known, told = FORMATS[name], options.check(name, given)
    if not isinstance(known, str):
        return known
    module, _, attribute = known.partition(":")
    found: Format = getattr(importlib.import_module(module), attribute)(**told)
    return found


def identify(source: Source) -> Claim:
    """Which format a file is of; `UnknownFormat` if none claims it."""
    found: Claim | None = None
    for name in FORMATS:
        claim = get(name).claim(source)
        if claim and (found is None or CONFIDENCE.index(claim.confidence) < CONFIDENCE.index(found.confidence)):
            found = claim
        if found and found.confidence == CONFIDENCE[0]:
            return found
    if found is None:
        raise UnknownFormat(f"{source.name}: no format recognises this file; `thawline formats` lists what is known")
    return found


def identify_folder(folder: Folder) -> Claim | None:
    """Which format the files of a folder belong to as a whole; None if each is by itself."""
    return next((claim for name in FORMATS if (claim := claim_folder(get(name), folder))), None)


def claim_folder(format_: Format, folder: Folder) -> Claim | None:
    """Whether the files of a folder belong together for a format."""
    return format_.claim_folder(folder) if isinstance(format_, Foldered) else None


def prepared(format_: Format, sources: Iterable[Source]) -> Format:
    """A format with what it learns from files, where its schema depends on them."""
    return format_.prepared(sources) if isinstance(format_, Learning) else format_


def resolve(source: Source, name: str | None, given: Mapping[str, object]) -> tuple[Format, Claim | None]:
    """The format to read a file with, which is recognised unless it is named, and what speaks for it."""
    if name is None:
        try:
            claim = identify(source)
        except UnknownFormat as error:
            from thawline.formats.recognition import unrecognised  # noqa: PLC0415 - it imports formats

            raise unrecognised(source) from error
        return prepared(get(claim.format, **given), [source]), claim
    found = get(name, **given)
    return prepared(found, [source]), found.claim(source)
