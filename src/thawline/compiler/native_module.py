"""A source in Cython's pure Python mode, compiled into a shared object. Cython and a C compiler are needed only here."""

from __future__ import annotations

import os
import shlex
import subprocess
import sysconfig
from pathlib import Path

from thawline.errors import ThawlineError

FLAGS = ("-shared", "-fPIC", "-O2", "-g0", "-w")
SECONDS = 600
"""A compiler that takes longer is stopped."""


class NotCompiled(ThawlineError):
    """Cython or the C compiler refused a source."""


def compile_module(source: str, folder: Path, name: str) -> Path:
    """The shared object of a source, as a module of this name, made in a folder."""
    from Cython.Compiler import Errors  # noqa: PLC0415 - it is optional
    from Cython.Compiler.Main import CompilationOptions, compile_single  # noqa: PLC0415 - as above

    text, translated, made = (folder / f"{name}.{suffix}" for suffix in ("py", "c", "so"))
    text.write_text(source, encoding="utf-8")
    Errors.LEVEL = 2  # errors only: what it warns of is what a spec leaves unused
    result = compile_single(str(text), CompilationOptions(output_file=str(translated)), None)
    if result.num_errors:
        raise NotCompiled(f"Cython refused the reader in {result.num_errors} places; please report this spec")
    compiler = shlex.split(os.environ.get("CC") or "cc")
    command = [*compiler, *FLAGS, f"-I{sysconfig.get_paths()['include']}", str(translated), "-o", str(made)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        raise NotCompiled(f"{compiler[0]} made no kernel: {error}") from error
    return made
