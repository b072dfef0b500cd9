"""What only a fresh process can tell: how long imports take, and how much memory a scan of a large file needs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools.bench import data

ROOT = Path(__file__).parents[2]
RUNS = 5
FILE_SIZE = 4 << 30
LIMITS = {"thawline": 150.0, "thawline.native.fast": 20.0}
"""Milliseconds that an import may take."""
MOST_MEMORY = 600_000_000

IMPORT = "import time, {before}; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"


def import_times() -> dict[str, float]:
    """Milliseconds that imports take, best of five fresh processes."""
    imports = {
        "thawline": "sys",
        "thawline.native.fast": "thawline",
        "pyarrow": "sys",
        "thawline.engine.columns": "pyarrow",
    }
    return {module: _import_time(module, before) for module, before in imports.items()}


def _import_time(module: str, before: str) -> float:
    """Time of one import; what it needs has been imported before."""
    command = [sys.executable, "-c", IMPORT.format(module=module, before=before)]
    return min(1000 * float(_output(command)) for _ in range(RUNS))


def memory() -> dict[str, Any]:
    """Peak memory of a process that scans an RBF file of 4 GB, which is written for that and removed."""
    with tempfile.TemporaryDirectory(prefix="thawline-bench-") as folder:
        if shutil.disk_usage(folder).free < 2 * FILE_SIZE:
            raise OSError(f"{folder}: less than {2 * FILE_SIZE:,} bytes are free; set TMPDIR to another place")
        path = Path(folder) / "large.rbf"
        frames = _write(path)
        result: dict[str, Any] = json.loads(_output([sys.executable, "-m", "tools.bench.memory", str(path)]))
        if result["rows"] != frames:
            raise ValueError(f"{result['rows']} frames were read, not {frames}")
        return result | {"file_size": path.stat().st_size, "limit": MOST_MEMORY}


def _write(path: Path) -> int:
    """Write a file of at least FILE_SIZE bytes and return the number of its frames."""
    block = data.rbf(500_000)
    times = -(-FILE_SIZE // len(block.data))
    with path.open("wb") as file:
        file.write(b"RBF1")
        for _ in range(times):
            file.write(block.data)
    return times * block.records


def _output(command: list[str]) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
