"""A source in Cython's pure Python mode, compiled: nothing else needs Cython and a C compiler."""

from __future__ import annotations

import os
import shlex
import subprocess
import sysconfig
from importlib import import_module
from pathlib import Path
from typing import Any

from thawline.errors import ThawlineError

FLAGS = ("-shared", "-fPIC", "-O2", "-g0", "-w")
SECONDS = 600
"""A compiler that takes longer is stopped."""


class NotCompiled(ThawlineError):
    """Cython or the C compiler refused a source."""


def compile_module(source: str, folder: Path, name: str) -> Path:
    """The shared object of a source, as a module of this name, made in a folder."""
    main: Any = import_module("Cython.Compiler.Main")  # it is optional
    errors: Any = import_module("Cython.Compiler.Errors")
    text, translated, made = (folder / f"{name}.{suffix}" for suffix in ("py", "c", "so"))
    text.write_text(source, encoding="utf-8")
    errors.LEVEL = 9  # errors only: what Cython warns of is what a spec leaves unused
    result = main.compile_single(str(text), main.CompilationOptions(output_file=str(translated)), None)
    if result.num_errors:
        raise NotCompiled(f"Cython refused the reader in {result.num_errors} places; please report this spec")
    compiler = shlex.split(os.environ.get("CC") or "cc")
    command = [*compiler, *FLAGS, f"-I{sysconfig.get_paths()['include']}", str(translated), "-o", str(made)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        raise NotCompiled(f"{compiler[0]} made no kernel: {error}") from error
    return made
