"""A cluster on this machine, of two executors in processes of their own, one of which is killed in mid-job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

FRAMES = [500, 500, 500, 500, 500, 500, 500, 499]
"""Of each log, whose number is the tag; the last frame of the last one is damaged."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Spark, in a place where executors may leave their logs."""
    made = tmp_path / "spark"
    made.mkdir()
    for item in Path(pyspark.__file__).parent.iterdir():
        (made / item.name).symlink_to(item)
    return made


def test_no_row_is_lost_or_doubled_when_an_executor_is_killed(home: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("killed_executor.py"), str(tmp_path)],
        env={**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout)
    assert found["killed"] == 2
    assert found["counts"] == [[number + 1, frames] for number, frames in enumerate(FRAMES)]
    assert found["rows"] == {"tables/rbf_frames": sum(FRAMES), "files": len(FRAMES), "findings": 1}
    assert found["is_equal"]
