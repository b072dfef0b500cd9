"""Refusal of ids that are Python keywords: ksc emits them unchanged, and the module cannot be imported."""

from __future__ import annotations

import keyword

from thawline.ksy.documents import Spec
from thawline.ksy.lint import names_of


def check_ids(spec: Spec) -> None:
    """Raise `SpecError` at the first id that Python reserves, or a `meta/id` that is not the file's name."""
    if (spec.data.get("meta") or {}).get("id") != spec.file.stem:
        raise spec.error(("meta", "id"), f"meta/id must be the file's name, {spec.file.stem}")
    for keys, name in names_of(spec):
        if keyword.iskeyword(name):
            raise spec.error(keys, f"{name!r} is a reserved word of Python; give it another id and keep -orig-id")
