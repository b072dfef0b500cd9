"""In which form a lake keeps its tables: Delta, Iceberg, or plain folders of Parquet files; it is for good."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module

from thawline.errors import SourceError
from thawline.lake.place import Place
from thawline.lake.table import Documented, Table, TableForm
from thawline.options import BadOption

__all__ = ["FORMS", "chosen", "create_table", "known", "open_table"]

FORMS = {"delta": "delta:Delta", "iceberg": "iceberg:Iceberg", "parquet": "plain:Plain"}
"""The module and class of each; what they need is imported where it is used."""
SAID = "_ingest/form.json"
"""What says which it is, if it is not Delta."""


def known(to: str | os.PathLike[str]) -> Place:
    """The place of a lake, with the form of its tables."""
    place = Place.of(to)
    try:
        said = json.loads(place.read(SAID))
        return replace(place, form=str(said["form"]), catalog=str(said.get("catalog", "")))
    except FileNotFoundError:
        return place
    except NotADirectoryError:
        raise SourceError(f"{place}: is a file, and a lake is a folder or a URL") from None
    except (ValueError, KeyError, TypeError):
        raise SourceError(f"{place.uri(SAID)}: does not say in which form the tables of this lake are") from None


def chosen(to: str | os.PathLike[str], form: str | None, catalog: str | None) -> Place:
    """The place of a lake whose tables have a form, which is written down where there is no lake yet."""
    place = known(to)
    if place.form == "delta" and form not in {None, "delta"} and not place.exists("files/_delta_log"):
        return _founded(place, str(form), catalog or "")
    if form not in {None, place.form}:
        raise SourceError(f"{place}: its tables are {place.form}, which is for good; choose another folder")
    if catalog and place.form != "iceberg":
        raise BadOption("--catalog goes with --table-format iceberg")
    if catalog and catalog != place.catalog:
        raise SourceError(f"{place}: its tables are in the catalog {place.catalog}, which is for good")
    return place


def _founded(place: Place, form: str, catalog: str) -> Place:
    if form not in FORMS:
        raise BadOption(f"there is no table format {form}; there are {', '.join(FORMS)}")
    if (form == "iceberg") != bool(catalog):
        raise BadOption(
            "Iceberg's tables are found by a catalog: --catalog NAME of pyiceberg's configuration, or its URI"
            if form == "iceberg"
            else "--catalog goes with --table-format iceberg"
        )
    if "@" in catalog:
        raise BadOption("a catalog with a password is named: put it into ~/.pyiceberg.yaml, and give --catalog NAME")
    place = replace(place, form=form, catalog=catalog)
    _form_of(place)  # whether what it needs is installed
    said = json.dumps({"form": form, "catalog": catalog}).encode()
    try:
        place.create_whole(SAID, said)
    except FileExistsError:
        return chosen(place.root, form, catalog)
    return place


def _form_of(place: Place) -> TableForm:
    module, _, name = FORMS[place.form].partition(":")
    found: TableForm = getattr(import_module(f"thawline.lake.{module}"), name)
    return found


def open_table(place: Place, name: str, version: int | None = None) -> Table | None:
    """The newest version of a table, or an earlier one; None if there is no such table."""
    return _form_of(place).open(place, name, version)


def create_table(place: Place, name: str, documented: Documented, by: Sequence[str], facts: Mapping[str, str]) -> Table:
    """A new table, or the one that another process has made meanwhile."""
    return _form_of(place).create(place, name, documented, by, facts)
