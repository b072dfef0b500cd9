"""The Kaitai Struct compiler, driven through Node.js."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SECONDS = 300
"""How long an installation, or a compilation of all specs, may take."""


class Unavailable(Exception):
    """The compiler cannot run here; the message says why."""


def run(schemas: Path, *folders: Path) -> subprocess.CompletedProcess[str]:
    """Compile every spec in one Node.js process; each folder gets the build that it is named for."""
    install()
    command: list[str | Path] = ["node", HERE / "ksc.js", schemas, *folders]
    return subprocess.run(command, cwd=ROOT, check=False, timeout=SECONDS, stderr=subprocess.PIPE, text=True)


def install() -> None:
    """Install the compiler from npm, unless it is there."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise Unavailable("the Kaitai Struct compiler needs Node.js with npm on the PATH")
    if not (HERE / "node_modules" / "kaitai-struct-compiler").exists():
        command = ["npm", "ci", "--silent", "--no-audit", "--no-fund"]
        if subprocess.run(command, cwd=HERE, check=False, timeout=SECONDS, stdout=subprocess.DEVNULL).returncode:
            raise Unavailable("npm could not install the Kaitai Struct compiler")
