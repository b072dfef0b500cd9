"""The options of a read: Spark's options by Spark's names, and those of the format from its catalogue."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Literal

from thawline import formats, options
from thawline.damage import OnError
from thawline.filters import EVERY, Filter
from thawline.formats import Format
from thawline.options import OPTIONS, BadOption
from thawline.times import zone_of

Mode = Literal["PERMISSIVE", "DROPMALFORMED", "FAILFAST"]
MODES: dict[Mode, OnError] = {"PERMISSIVE": "keep", "DROPMALFORMED": "skip", "FAILFAST": "raise"}
"""Spark's names for the policies for damage; the first is the default."""
OWN = (
    "path",
    "paths",
    "pathGlobFilter",
    "recursiveFileLookup",
    "modifiedAfter",
    "modifiedBefore",
    "ignoreMissingFiles",
    "mode",
    "columnNameOfCorruptRecord",
    "maxPartitionBytes",
    "table",
    "columns",
    "filter",
    "timeZone",
    "includeFileMetadata",
    "startingOffsets",
    "maxFilesPerTrigger",
    "maxBytesPerTrigger",
    "failOnDataLoss",
)
"""Options of all sources."""
KAFKA = ("startingOffsets", "endingOffsets", "startingTimestamp", "endingTimestamp", "includeHeaders")
"""Names from Spark's Kafka source for options that have other names in the catalogue. Its ends are exclusive."""

OF_TABLES = ("owner", "provider", "location", "is_managed_location")
"""Properties of a table in a catalog, which Spark passes instead of its options."""
NO_TABLE = (
    "CREATE TABLE … USING does not tell this source the path of its files, as Spark passes no options to a source that "
    "is written in Python; CREATE TEMPORARY VIEW name USING source OPTIONS (path '…') reads them"
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of a read, parsed."""

    format: Format
    table: str
    paths: tuple[str, ...] = ()
    path_glob_filter: str = ""
    recursive: bool = False
    modified_after: float | None = None
    modified_before: float | None = None
    ignores_missing: bool = False
    mode: Mode = "PERMISSIVE"
    corrupt: str = "_corrupt_record"
    max_partition_bytes: int | None = None
    columns: tuple[str, ...] | None = None
    has_metadata: bool = False
    without: tuple[str, ...] = ()
    """Columns that are left out unless they are requested by name."""
    starts_at_latest: bool = False
    """Whether a stream starts with what comes after what there is."""
    max_files: int | None = None
    max_bytes: int | None = None
    """How much a micro-batch of a stream takes in at most."""
    fails_on_loss: bool = True
    """Whether a stream ends if a file is gone or replaced before it was read."""
    filter: Filter = EVERY
    """Which rows are wanted."""


def understood(format_name: str, passed: Mapping[str, str]) -> Settings:
    """The settings from options as Spark passes them, with names in lower case; `BadOption` for an invalid one."""
    offered = _offered(format_name)
    named: dict[str, str] = {}
    for key, value in passed.items():
        name = offered.get(key.lower())
        if name is None:
            raise BadOption(NO_TABLE if key.lower() in OF_TABLES else _unknown(format_name, key, offered))
        named[name] = value
    format_ = formats.get(format_name, **dict(_for_format(format_name, named)))
    table = named.get("table", next(iter(format_.tables)))
    if table not in format_.tables:
        raise BadOption(f"{format_name} has no table {table!r}; there are {', '.join(format_.tables)}")
    return Settings(
        format=format_,
        table=table,
        paths=_paths(named),
        path_glob_filter=named.get("pathGlobFilter", ""),
        recursive=_flag(named, "recursiveFileLookup"),
        modified_after=_time(named, "modifiedAfter"),
        modified_before=_time(named, "modifiedBefore"),
        ignores_missing=_flag(named, "ignoreMissingFiles"),
        mode=_mode(named),
        corrupt=named.get("columnNameOfCorruptRecord", "_corrupt_record"),
        max_partition_bytes=_size(named, "maxPartitionBytes"),
        columns=tuple(part.strip() for part in named["columns"].split(",")) if "columns" in named else None,
        has_metadata=_flag(named, "includeFileMetadata"),
        starts_at_latest=_starting(format_name, named) == "latest",
        max_files=_size(named, "maxFilesPerTrigger"),
        max_bytes=_size(named, "maxBytesPerTrigger"),
        fails_on_loss=_flag(named, "failOnDataLoss", default="true"),
        filter=_filter(named),
        without=("headers",) if not _flag(named, "includeHeaders", default="true") else (),
    )


def camel_case(name: str) -> str:
    """An option's name in Spark's spelling.

    >>> camel_case("max_batch_bytes")
    'maxBatchBytes'
    """
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def _offered(format_name: str) -> dict[str, str]:
    """The option names of a source, by their lower-case forms."""
    own = [camel_case(option.name) for option in OPTIONS if format_name in option.formats]
    names = [*OWN, *own, *(KAFKA if format_name == "kafka" else ())]
    return {name.lower(): name for name in names}


def _unknown(format_name: str, key: str, offered: Mapping[str, str]) -> str:
    near = get_close_matches(key.lower(), list(offered), 1)
    if near:
        return f"there is no option {key}; did you mean {offered[near[0]]}?"
    return f"there is no option {key}; {format_name} has {', '.join(sorted(offered.values()))}"


def _starting(format_name: str, named: Mapping[str, str]) -> str:
    start = named.get("startingOffsets", "earliest")
    if start not in {"earliest", "latest"} and format_name != "kafka":
        raise BadOption(f"startingOffsets is {start!r}: it is earliest or latest")
    if "maxFilesPerTrigger" in named and "maxBytesPerTrigger" in named:
        raise BadOption("maxFilesPerTrigger and maxBytesPerTrigger: give one of them")
    return start


def _for_format(format_name: str, named: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    for option in OPTIONS:
        if format_name in option.formats and (value := named.get(camel_case(option.name))) is not None:
            yield option.name, value
    if format_name == "kafka" and any(name in named for name in KAFKA[:2]):
        yield "offsets", (_offset(named, "startingOffsets", 0), _offset(named, "endingOffsets", -1))
    if "startingTimestamp" in named:
        yield "since", _number(named, "startingTimestamp")
    if "endingTimestamp" in named:
        yield "until", _number(named, "endingTimestamp") - 1


def _offset(named: Mapping[str, str], name: str, shift: int) -> int | None:
    return None if named.get(name) in {None, "earliest", "latest"} else _number(named, name) + shift


def _number(named: Mapping[str, str], name: str) -> int:
    try:
        return int(named[name])
    except ValueError:
        raise BadOption(f"{name} is {named[name]!r}: for a segment it is a single number") from None


def _paths(named: Mapping[str, str]) -> tuple[str, ...]:
    if "paths" in named:
        return tuple(json.loads(named["paths"]))
    return (named["path"],) if "path" in named else ()


def _flag(named: Mapping[str, str], name: str, default: str = "false") -> bool:
    text = named.get(name, default).lower()
    if text not in {"true", "false"}:
        raise BadOption(f"{name} is {named[name]!r}: it is true or false")
    return text == "true"


def _filter(named: Mapping[str, str]) -> Filter:
    try:
        chosen = Filter((named["filter"],) if "filter" in named else (), zone=zone_of(named.get("timeZone", "UTC")))
        chosen.check()
    except ValueError as error:
        raise BadOption(f"filter: {error}") from None
    return chosen


def _mode(named: Mapping[str, str]) -> Mode:
    mode = named.get("mode", next(iter(MODES))).upper()
    if mode not in MODES:
        raise BadOption(f"mode is {named['mode']!r}: it is one of {', '.join(MODES)}")
    return mode


def _size(named: Mapping[str, str], name: str) -> int | None:
    if name not in named:
        return None
    size = options.Option(name, (), "size", "").value(named[name])
    if not isinstance(size, int) or size < 1:
        raise BadOption(f"{name} is {named[name]!r}: it is at least 1")
    return size


def _time(named: Mapping[str, str], name: str) -> float | None:
    """A time in Spark's form, YYYY-MM-DDTHH:mm:ss, in seconds since 1970; UTC if it has no zone."""
    if name not in named:
        return None
    try:
        time = datetime.fromisoformat(named[name])
    except ValueError:
        raise BadOption(f"{name} is {named[name]!r}: it is a time such as 2026-11-16T12:00:00") from None
    return time.replace(tzinfo=time.tzinfo or UTC).timestamp()
