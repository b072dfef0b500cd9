"""The output of `make generate` for a version of the specs, in a folder of its own.

The compilers belong to a checkout of thawline (`tools/`), not to the installed package, and run in a process of their
own. Without them, a review has its structural part only.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thawline.ksy.documents import SCHEMAS, SpecError, shown
from thawline.ksy.versions import Version

CHECKOUT = SCHEMAS.parent
MODULE = "tools.generate.version"
SECONDS = 600


@dataclass(frozen=True, slots=True)
class Made:
    """Where the outputs of a version are, and what could not be made."""

    folder: Path
    no_parsers: str = ""
    no_kernels: str = ""
    tables: dict[str, Any] = field(default_factory=dict)
    """Columns and checks of each table that a kernel fills."""


def make(version: Version, folder: Path) -> Made:
    """Compile a version. A spec that the compiler refuses raises `SpecError` with its places."""
    if not (CHECKOUT / "tools" / "generate" / "version.py").exists():
        reason = "the compilers are in tools/ of a checkout of thawline, and this is an installed package"
        return Made(folder, reason, reason)
    specs = folder / "specs"
    specs.mkdir(parents=True)
    for name, spec in version.specs.items():
        (specs / f"{name}.ksy").write_text(spec.text, encoding="utf-8", newline="")
    status = _run(specs, folder / "made")
    if status["errors"]:
        raise SpecError("\n".join(_told(line, specs, version) for line in status["errors"]))
    listed = folder / "made" / "tables.json"
    tables = json.loads(listed.read_text(encoding="utf-8")) if listed.exists() else {}
    return Made(folder / "made", status["compiler"], _told(status["kernels"], specs, version), tables)


def _run(specs: Path, target: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", MODULE, str(specs), str(target)]
    try:
        run = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return _failed(f"the compilers took more than {SECONDS} seconds")
    if run.returncode:
        return _failed(f"the compilers failed: {run.stderr.strip().rpartition(chr(10))[2]}")
    status: dict[str, Any] = json.loads(run.stdout)
    return status


def _failed(reason: str) -> dict[str, Any]:
    return {"compiler": reason, "errors": [], "kernels": reason}


def _told(message: str, specs: Path, version: Version) -> str:
    """A message with the names of the given files in place of those that were compiled."""
    for name, spec in version.specs.items():
        message = message.replace(f"{specs / name}.ksy:", f"{shown(spec.file)}:")
    return message
