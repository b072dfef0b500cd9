"""`generated/layouts/`: the byte tables of every spec, and the members of every document."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from thawline.ksy.documents import Spec
from thawline.ksy.layouts import render, render_document


def write(specs: Mapping[str, Spec], folder: Path) -> None:
    """Write the byte tables, a Markdown file for each spec."""
    folder.mkdir(parents=True, exist_ok=True)
    for spec in specs.values():
        (folder / f"{spec.id}.md").write_text(render(spec, specs), encoding="utf-8")


def write_documents(specs: Mapping[str, Spec], folder: Path) -> None:
    """Write the members of documents, a Markdown file for each document spec."""
    for spec in specs.values():
        (folder / f"{spec.id}.md").write_text(render_document(spec), encoding="utf-8")
