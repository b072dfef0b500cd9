"""The package as an archive that Spark brings to workers whose Python does not have it.

An archive is unpacked on each executor, so compiled modules can be imported from it, unlike from a wheel or a zip file
among `--py-files`. It holds what thawline needs besides pyarrow, which Spark's workers need themselves.
"""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
import zipfile
from collections.abc import Collection, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

import thawline
from thawline import generated, native, schemas
from thawline.errors import ThawlineError
from thawline.outputs import replacing

__all__ = ["configuration", "pack", "ship"]

FOLDER = "thawline-shipped"
"""Where an executor unpacks the archive, in its own working folder."""
NOT_SHIPPED = frozenset({"pyarrow", "click", "rich"})
"""Spark's workers have pyarrow, and only the command line needs the others."""
KINDS = (".py", ".so", ".pyd", ".ksy", ".yaml", ".md", ".typed")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every member: the same package is the same archive."""


class NotShippable(ThawlineError):
    """A package that cannot be packed."""


def pack(target: Path, also: Collection[str] = (), *, overwrite: bool = False) -> Path:
    """Write the archive, with what `also` names, such as s3fs; returns its path.

    Raises `NotShippable` without the native module: thousands of tasks would be slow, without a visible reason.
    """
    if not native.is_compiled:
        raise NotShippable(
            "the native module of thawline is missing here, and workers would read a hundred times slower without it; "
            "install thawline from a wheel, or with a C compiler"
        )
    members = dict(_package())
    for package in sorted(_needed("thawline").union(also, *map(_needed, also))):
        members |= _distribution(package)
    with replacing(target, overwrite=overwrite) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sorted(members.items()):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target


def ship(settings: Mapping[str, str], places: Collection[str]) -> dict[str, str]:
    """The settings of a session that brings thawline along, with what it needs to read or write some places.

    The archive is served to workers for as long as the session lives, so it is removed when the process ends.
    """
    folder = tempfile.mkdtemp(prefix="thawline-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    also = {"s3fs"} if any(place.startswith(("s3://", "s3a://")) for place in places) else set()
    return configuration(pack(Path(folder, "thawline.zip"), also), settings)


def configuration(archive: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """Settings with those by which workers import thawline from an archive.

    >>> configuration(Path("a.zip"), {"spark.archives": "b.zip"})["spark.archives"]
    'b.zip,a.zip#thawline-shipped'
    """
    archives = (settings.get("spark.archives"), f"{archive}#{FOLDER}")
    paths = (settings.get("spark.executorEnv.PYTHONPATH"), FOLDER)
    joined = {"spark.archives": ",".join(filter(None, archives))}
    return {**settings, **joined, "spark.executorEnv.PYTHONPATH": ":".join(filter(None, paths))}


def _package() -> Iterator[tuple[str, Path]]:
    """The files of thawline by their names in the archive; in a checkout its packages lie in several folders."""
    for package in (thawline, generated, schemas):
        prefix = PurePosixPath(*package.__name__.split("."))
        for folder in map(Path, package.__path__):
            yield from _files(folder, prefix)
    for path in Path(*thawline.__path__).parent.glob("pyspark_thawline_*.py"):
        yield path.name, path


def _files(folder: Path, prefix: PurePosixPath) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        if path.suffix in KINDS and "__pycache__" not in name.parts and path.is_file():
            yield str(prefix / name.as_posix()), path


def _needed(name: str) -> set[str]:
    """The installed packages that a package needs, directly or not."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for line in _requirements(waiting.pop()):
            match = NAME.match(line)
            if match and "extra ==" not in line and match[0].lower() not in {*found, *NOT_SHIPPED}:
                found.add(match[0].lower())
                waiting.append(match[0])
    return found


def _requirements(name: str) -> list[str]:
    try:
        return distribution(name).requires or []
    except PackageNotFoundError:  # not needed on this platform, or by this Python
        return []


def _distribution(name: str) -> dict[str, Path]:
    """The files of an installed package, without its commands, which lie outside of where packages are."""
    try:
        files = distribution(name).files or []
    except PackageNotFoundError:
        return {}
    named = {file.as_posix(): Path(str(file.locate())) for file in files}
    return {
        name: path
        for name, path in named.items()
        if not name.startswith(("..", "/")) and not name.endswith(".pyc") and path.is_file()
    }
