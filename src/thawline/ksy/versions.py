"""A version of the specs: a file, a folder, or either of them in a git commit (`HEAD~1:schemas`)."""

from __future__ import annotations

import posixpath
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Protocol

from thawline.errors import SourceError
from thawline.ksy.document_specs import SUFFIX as DOCUMENT
from thawline.ksy.document_specs import document_of
from thawline.ksy.documents import Spec, parse_spec
from thawline.ksy.shapes import check_shape

SUFFIX = ".ksy"
TABLES_SUFFIX = ".tables.yaml"
MAX_SPECS = 2_000
SECONDS = 60
"""Seconds that git may take."""


@dataclass(frozen=True, slots=True)
class Version:
    """Specs that belong together, by id."""

    name: str
    specs: Mapping[str, Spec]
    asked: tuple[str, ...]
    """The requested ids; the other specs are their imports."""
    documents: Mapping[str, Spec] = field(default_factory=dict)
    """Document specs, all of them requested."""
    tables: Mapping[str, Spec] | None = None
    """Declarations of public tables beside the specs, by format; None where a single spec was requested."""

    def only(self, names: Collection[str]) -> Version:
        """The same specs, of which these are requested, in reading order."""
        asked = in_reading_order([spec for name, spec in self.specs.items() if name in names])
        documents = {name: spec for name, spec in self.documents.items() if name in names}
        return replace(self, asked=tuple(spec.id for spec in asked), documents=documents)


def in_reading_order(specs: Iterable[Spec]) -> list[Spec]:
    """Specs of whole files first, each before its imports; then those that nothing imports."""
    given = {spec.id: spec for spec in specs}
    imported = {name for spec in given.values() for name in spec.imports}
    roots = sorted((spec for spec in given.values() if spec.id not in imported), key=_is_part)
    found: dict[str, Spec] = {}
    pending = [*roots, *given.values()]
    while pending:
        spec = pending.pop(0)
        if spec.id not in found:
            found[spec.id] = spec
            pending = [given[name] for name in spec.imports if name in given] + pending
    return list(found.values())


def _is_part(spec: Spec) -> tuple[bool, bool]:
    """Sorts specs of whole files first: they have an extension, and imports."""
    return "file-extension" not in (spec.data.get("meta") or {}), not spec.imports


class Tree(Protocol):
    """Where specs are: a folder, or one in a commit."""

    def names(self, suffix: str) -> list[str]:
        """Paths of all files below it whose names end like this."""
        ...

    def read(self, name: str) -> bytes | None:
        """The bytes of a file; None if it does not exist."""
        ...

    def shown(self, name: str) -> PurePath:
        """The path as a person would write it."""
        ...


def load_version(argument: str) -> Version:
    """The specs that `schemas/`, `rbf_frame.ksy`, `main:schemas` or `v1.2:schemas/rbf_frame.ksy` means."""
    path = Path(argument)
    if path.is_dir():
        return _version(argument, _Folder(path), None)
    if path.exists():
        return _version(argument, _Folder(path.parent), path.name)
    reference, colon, inside = argument.partition(":")
    if not colon:
        raise SourceError(f"{argument}: no such file or folder; one in a commit is written like main:{argument}")
    return _of_commit(argument, reference, inside)


def _of_commit(argument: str, reference: str, inside: str) -> Version:
    if reference.startswith("-"):
        raise SourceError(f"{argument}: a ref does not start with -")
    inside = posixpath.normpath(inside) if inside.rstrip("/") else ""
    commit = _git("rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}")
    if commit is None:
        raise SourceError(f"{argument}: there is no such file, and git knows no commit {reference!r}")
    kind = _git("cat-file", "-t", f"{reference}:{inside}")
    if kind is None:
        raise SourceError(f"{argument}: {reference} has no {inside}")
    if kind.strip() == b"tree":
        return _version(argument, _Commit(reference, inside), None)
    return _version(argument, _Commit(reference, posixpath.dirname(inside)), posixpath.basename(inside))


def _version(argument: str, tree: Tree, only: str | None) -> Version:
    if only is not None and only.endswith(DOCUMENT):
        return Version(argument, {}, (), _documents(tree, [only]))
    names = tree.names(SUFFIX) if only is None else [only]
    if not names:
        raise SourceError(f"{argument}: there is no {SUFFIX} file in it")
    if len(names) > MAX_SPECS:
        raise SourceError(f"{argument}: has {len(names)} specs; at most {MAX_SPECS} are compared")
    specs: dict[str, Spec] = {}
    for name in names:
        spec = _read(tree, name)
        if spec.id in specs:
            raise spec.error(("meta", "id"), f"{spec.id} is the id of {specs[spec.id].file.name}, too")
        specs[spec.id] = spec
    asked = tuple(sorted(specs))
    if only is not None:
        _add_imports(tree, only, specs[asked[0]], specs)
    documents = _documents(tree, tree.names(DOCUMENT) if only is None else [])
    tables = _tables(tree) if only is None else None
    return Version(argument, dict(sorted(specs.items())), asked, documents, tables)


def _documents(tree: Tree, names: list[str]) -> dict[str, Spec]:
    if len(names) > MAX_SPECS:
        raise SourceError(f"there are {len(names)} document specs; at most {MAX_SPECS} are compared")
    specs = [_parsed(tree, name) for name in names]
    for spec in specs:
        document_of(spec)
    return {spec.id: spec for spec in specs}


def _tables(tree: Tree) -> dict[str, Spec]:
    """The declarations of public tables, by format."""
    names = [name for name in tree.names(TABLES_SUFFIX) if "/" not in name]
    return {name.removesuffix(TABLES_SUFFIX): _parsed(tree, name) for name in names[:MAX_SPECS]}


def _read(tree: Tree, name: str) -> Spec:
    spec = _parsed(tree, name)
    check_shape(spec)
    return spec


def _parsed(tree: Tree, name: str) -> Spec:
    content = tree.read(name)
    if content is None:
        raise SourceError(f"{tree.shown(name)}: cannot be read")
    return parse_spec(content, tree.shown(name))


def _add_imports(tree: Tree, name: str, spec: Spec, specs: dict[str, Spec]) -> None:
    """Read what a spec imports, and what that imports, from where the spec says."""
    pending = list(_imports(name, spec))
    while pending:
        target, imported_by, index = pending.pop()
        if posixpath.basename(target).removesuffix(SUFFIX) in specs:
            continue
        if tree.read(target) is None:
            raise imported_by.error(("meta", "imports", index), f"there is no {tree.shown(target)} to import")
        found = _read(tree, target)
        specs[found.id] = found
        if len(specs) > MAX_SPECS:
            raise imported_by.error(("meta", "imports", index), f"more than {MAX_SPECS} specs are imported")
        pending += _imports(target, found)


def _imports(name: str, spec: Spec) -> Iterator[tuple[str, Spec, int]]:
    imports = (spec.data.get("meta") or {}).get("imports") or []
    for index, item in enumerate(imports if isinstance(imports, list) else []):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(name), f"{item}{SUFFIX}")), spec, index


@dataclass(frozen=True, slots=True)
class _Folder:
    folder: Path

    def names(self, suffix: str) -> list[str]:
        return sorted(str(path.relative_to(self.folder).as_posix()) for path in self.folder.rglob(f"*{suffix}"))

    def read(self, name: str) -> bytes | None:
        path = self.folder / name
        return path.read_bytes() if path.is_file() else None

    def shown(self, name: str) -> PurePath:
        return self.folder / name


@dataclass(frozen=True, slots=True)
class _Commit:
    reference: str
    folder: str

    def names(self, suffix: str) -> list[str]:
        listed = _git("ls-tree", "-r", "-z", "--full-tree", "--name-only", f"{self.reference}:{self.folder}") or b""
        return sorted(name for name in listed.decode("utf-8", "replace").split("\0") if name.endswith(suffix))

    def read(self, name: str) -> bytes | None:
        return _git("cat-file", "blob", f"{self.reference}:{posixpath.join(self.folder, name)}")

    def shown(self, name: str) -> PurePath:
        return PurePath(f"{self.reference}:{posixpath.join(self.folder, name)}")


def _git(*arguments: str) -> bytes | None:
    """What git prints; None if it fails. It reads only objects, not the working tree."""
    try:
        run = subprocess.run(["git", *arguments], capture_output=True, check=False, timeout=SECONDS)
    except FileNotFoundError:
        raise SourceError("a ref:path is read with git, which is not installed") from None
    except subprocess.TimeoutExpired:
        raise SourceError(f"git {arguments[0]} took more than {SECONDS} seconds") from None
    return run.stdout if run.returncode == 0 else None
