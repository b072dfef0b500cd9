"""What a run read and wrote, as an event of OpenLineage (https://openlineage.io), for catalogs that collect them."""

from __future__ import annotations

import json
import urllib.request
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from thawline import __version__
from thawline.errors import SourceError
from thawline.lake.accounts import DATA
from thawline.lake.place import Place

__all__ = ["event", "tell"]

PRODUCER = f"https://github.com/thawline/thawline/tree/v{__version__}"
SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
ROWS = "https://openlineage.io/spec/facets/1-0-2/OutputStatisticsOutputDatasetFacet.json"
PATIENCE = 10
"""Seconds that a collector has to answer."""


def event(kind: str, sources: Sequence[str], to: str, rows: Mapping[str, int]) -> dict[str, Any]:
    """The event of a run: COMPLETE or FAIL, its sources, and the tables that it wrote, with their rows."""
    return {
        "eventType": kind,
        "eventTime": datetime.now(UTC).isoformat(),
        "producer": PRODUCER,
        "schemaURL": SPEC,
        "run": {"runId": str(uuid.uuid4())},
        "job": {"namespace": "thawline", "name": f"ingest {Place.of(to)}"},
        "inputs": [_dataset(Place.of(source).root) for source in sources],
        "outputs": [_written(Place.of(to).uri(f"{DATA}{table}"), count) for table, count in sorted(rows.items())],
    }


def _dataset(name: str) -> dict[str, Any]:
    """A dataset, named as OpenLineage names files and objects."""
    scheme, sign, rest = name.partition("://")
    if not sign:
        return {"namespace": "file", "name": name}
    bucket, _, key = rest.partition("/")
    return {"namespace": f"{scheme}://{bucket}", "name": key or "/"}


def _written(name: str, rows: int) -> dict[str, Any]:
    statistics = {"_producer": PRODUCER, "_schemaURL": ROWS, "rowCount": rows}
    return {**_dataset(name), "outputFacets": {"outputStatistics": statistics}}


def tell(told: Mapping[str, Any], to: str) -> None:
    """Append an event to a file, or post it to a collector; `SourceError` if that fails."""
    text = json.dumps(told)
    try:
        if to.startswith(("http://", "https://")):
            headers = {"Content-Type": "application/json"}
            request = urllib.request.Request(to, text.encode(), headers, method="POST")  # noqa: S310 - checked above
            with urllib.request.urlopen(request, timeout=PATIENCE):  # noqa: S310 - as above
                return
        with Path(to).open("a") as file:
            file.write(text + "\n")
    except OSError as error:
        raise SourceError(f"{to}: was not told of the lineage: {error.strerror or error}") from error
