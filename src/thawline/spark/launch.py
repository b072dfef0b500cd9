"""How the Java of a session of ours is launched: with the classes that an earlier session has left, already checked.

Java can keep what it has made of classes in an archive (class-data sharing), which halves the start of Spark. A session
that leaves one takes longer itself, so the first one on a machine only leaves a note that it was there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import suppress
from pathlib import Path

import pyspark

from thawline.compiler.kernel_cache import NoCache, opened

__all__ = ["QUICK", "options", "with_options"]

QUICK = "-XX:TieredStopAtLevel=1"
"""Compile once, quickly: right where Java only hands out tasks, not where it works on rows for long."""
HUSHED = "-Xlog:disable -Xlog:all=error:stderr"
"""Java warns of each class that it leaves out of an archive, and of an archive that it does not use."""
MAGIC = bytes.fromhex("a8ab0bf0")
"""How an archive starts. Java writes this last, so what is there without it is not complete."""
KEY = "spark.driver.extraJavaOptions"


def with_options(settings: dict[str, str], home: str | None) -> dict[str, str]:
    """The settings of a session, with those options; those that are there already come last, so that they count."""
    found = " ".join(filter(None, (options(home), settings.get(KEY, ""))))
    return {**settings, KEY: found} if found else settings


def options(home: str | None) -> str:
    """The options for a JAVA_HOME, or for the Java on the PATH; none where Java cannot keep classes."""
    machine = _machine(home)
    if machine is None or not machine.with_name("classes.jsa").exists() or os.environ.get("SPARK_CONF_DIR"):
        return ""
    status = machine.stat()
    named = f"{machine}\0{status.st_size}\0{status.st_mtime_ns}\0{pyspark.__file__}\0{pyspark.__version__}"
    try:
        # Checked as the cache of kernels is: an archive is code.
        return _options(opened("java") / f"spark-{hashlib.sha256(named.encode()).hexdigest()[:12]}.jsa")
    except (NoCache, OSError):
        return ""  # nothing can be kept there


def _options(archive: Path) -> str:
    if _is_complete(archive):
        return f'"-XX:SharedArchiveFile={archive}" {HUSHED}'
    note = archive.with_suffix(".seen")
    if note.exists():
        return f'"-XX:ArchiveClassesAtExit={archive}" {HUSHED}'
    note.touch()
    return ""


def _is_complete(archive: Path) -> bool:
    with suppress(FileNotFoundError), archive.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC
    return False


def _machine(home: str | None) -> Path | None:
    """The library that is Java's virtual machine, whose archive of its own classes lies beside it."""
    if home is None:
        executable = shutil.which("java")
        home = str(Path(executable).resolve().parent.parent) if executable else ""
    machines = (Path(home, "lib", "server", name) for name in ("libjvm.so", "libjvm.dylib"))
    return next((machine.resolve() for machine in machines if machine.exists()), None)
