"""What the site has besides its pages: a reference that follows from the code. MkDocs calls these functions.

The pages of `docs/` are written by hand. Commands, codes, and the pages of formats with their tables are made here, so
that nothing is stated twice. A page that `nav` does not name is appended to it: none is passed over in silence.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from thawline import formats
from thawline.rendering.pages import filled
from tools.commands import Command, all_commands, paragraphs

ROOT = Path(__file__).parents[1]
MORE = "More"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The configuration, with every page of `docs/` in its navigation."""
    folder = Path(config.docs_dir)
    named = set(_named(config.nav))
    left = [
        path for path in (str(found.relative_to(folder)) for found in sorted(folder.rglob("*.md"))) if path not in named
    ]
    if left and config.nav is not None:
        config.nav.append({MORE: left})
    return config


def _named(nav: object) -> Iterator[str]:
    """The pages that a navigation names."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for below in nav.values():
            yield from _named(below)
    elif isinstance(nav, list):
        for item in nav:
            yield from _named(item)


def on_files(found: Files, config: MkDocsConfig) -> Files:
    """The files of the site, with those of the reference."""
    for path, text in reference().items():
        found.append(File.generated(config, path, content=text))
    return found


def reference() -> dict[str, str]:
    """The pages of the reference, by their paths."""
    pages = {"reference/commands.md": _commands(), "reference/codes.md": _codes()}
    for name in formats.FORMATS:
        text = files("thawline.schemas").joinpath(f"{name}.md").read_text(encoding="utf-8")
        pages[f"reference/{name}.md"] = filled(text, formats.get(name).tables)
    return pages


def _commands() -> str:
    return "\n".join(["# Commands", "", *(line for command in all_commands() for line in _command(command))])


def _command(command: Command) -> Iterator[str]:
    yield f"## {command.name}\n\n```text\n{command.usage}\n```\n"
    for is_kept, text in paragraphs(command.help):
        yield f"```text\n{text}\n```\n" if is_kept else f"{_shown(text)}\n"
    if command.options:
        yield "| option | |\n| --- | --- |"
        yield from (f"| `{_cell(option.flags)}` | {_shown(_cell(option.meaning))} |" for option in command.options)
    yield ""


def _codes() -> str:
    intro = "What a finding means, what is lost, and what to do. `thawline explain CODE` prints the same."
    lines = ["# Codes", "", intro, ""]
    for name in formats.FORMATS:
        lines += [f"## {name}", ""]
        for code in formats.get(name).codes:
            lines += [f"### {code.id}", "", f"**{_shown(code.message)}** ({code.severity})", ""]
            lines += [_shown(code.explanation), ""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _shown(text: str) -> str:
    """Text in which nothing is taken for a tag."""
    return text.replace("<", "&lt;")
