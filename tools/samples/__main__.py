"""Write every golden file: `python -m tools.samples [FOLDER]` (default `tests/golden`)."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.samples import aerospike, borg, kafka, rbak, rbf
from tools.samples.golden import write_sample

GOLDEN = Path(__file__).parents[2] / "tests" / "golden"


def write_all(folder: Path) -> None:
    """Write the samples of all formats and remove golden files without a sample."""
    written: set[Path] = set()
    for fmt in (rbak, rbf, aerospike, borg, kafka):
        for sample in fmt.samples():
            written.update(write_sample(sample, folder))
    for path in folder.rglob("*"):
        if path.is_file() and path not in written and path.name != "README.md":
            path.unlink()
            print(f"removed {path}: no sample describes it", file=sys.stderr)


if __name__ == "__main__":
    write_all(Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDEN)
