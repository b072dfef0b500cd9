"""A reader in C, compiled: nothing else needs a C compiler."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from thawline.errors import ThawlineError

FLAGS = ("-shared", "-fPIC", "-g0", "-w", "-fwrapv", "-fno-strict-aliasing")
QUICK, LARGE = "-O2", "-O1"
MOST_QUICK = 256 << 10
"""Of a source with more bytes, the compiler optimises less, so that nobody waits for long."""
SECONDS = 600
"""A compiler that takes longer is stopped."""


class NotCompiled(ThawlineError):
    """The C compiler refused a source."""


def compile_module(source: str, folder: Path, name: str) -> Path:
    """The shared object of a source, made in a folder."""
    text, made = (folder / f"{name}.{suffix}" for suffix in ("c", "so"))
    text.write_text(source, encoding="utf-8")
    compiler = shlex.split(os.environ.get("CC") or "cc")
    effort = QUICK if len(source) <= MOST_QUICK else LARGE
    command = [*compiler, effort, *FLAGS, str(text), "-o", str(made), "-lm"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        raise NotCompiled(f"{compiler[0]} made no kernel: {error}") from error
    return made
