"""A program that kills the driver of the pipeline in front of every step it takes on disk, and says who could tell.

A step is a file or folder that is made, written, renamed or removed; Python announces each. Every run is a process of
its own, forked from this one, which has everything imported and no thread. The tasks are done by the driver, so that
they are interrupted, too. There are no hard links here, as on some network drives.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lakes import Alone, everything, leftovers

from thawline import formats
from thawline.spark import pipeline

GOLDEN = Path(__file__).parents[1] / "golden"
LOG = (GOLDEN / "rbf" / "many-frames.rbf").read_bytes()
STEPS = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def in_a_process(function: Callable[[], object]) -> tuple[int, Any]:
    """How a function ended, as a status of wait(2), and what it has returned."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writes, json.dumps(function()).encode())
            os._exit(0)
        except BaseException:  # noqa: BLE001 - what is behind the fork must not go on as this process
            traceback.print_exc()
            os._exit(1)
    os.close(writes)
    with open(reads, "rb") as pipe:  # noqa: PTH123 - a descriptor
        told = pipe.read()
    return os.waitpid(child, 0)[1], json.loads(told) if told else None


def ingest(cold: Path, lake: Path) -> None:
    """Run the pipeline; what is gone is taken out, so that the outcome is that of a run without a past."""
    pipeline.ingest(Alone(), [str(cold)], lake, prune_missing=True)  # type: ignore[arg-type]


def killed(cold: Path, lake: Path, step: int) -> None:
    """Run the pipeline, and die in front of a step; return if it takes fewer."""
    left = step

    def watch(event: str, given: tuple[Any, ...]) -> None:
        nonlocal left
        if event in STEPS or (event == "open" and isinstance(given[2], int) and given[2] & WRITES):
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    ingest(cold, lake)


def gone_on(cold: Path, lake: Path, clean: Path) -> list[str]:
    """Run the pipeline again; tables that are not what a clean run gives, and what was left behind."""
    ingest(cold, lake)
    found, wanted = everything(lake), everything(clean)
    return [table for table in {*found, *wanted} if found.get(table) != wanted.get(table)] + leftovers(lake)


def clean_run(cold: Path, clean: Path) -> None:
    """Run the pipeline, all in one round: that there are several is nobody's business."""
    pipeline.A_CORE = 1 << 20
    ingest(cold, clean)


def sweep(cold: Path, begun: Path | None, folder: Path) -> dict[str, Any]:
    """Kill runs that go on from a lake, each at its own step; how many steps there are, and what came of it."""
    lake, clean = folder / "lake", folder / "clean"
    for path in (lake, clean):
        shutil.rmtree(path, ignore_errors=True)
    in_a_process(lambda: clean_run(cold, clean))
    wrong: dict[int, Any] = {}
    step = 0
    while True:
        step += 1
        shutil.rmtree(lake, ignore_errors=True)
        if begun:
            shutil.copytree(begun, lake)
        status, _ = in_a_process(lambda: killed(cold, lake, step))  # noqa: B023 - it is called at once
        if not os.WIFSIGNALED(status):
            return {"steps": step - 1, "status": status, "wrong": wrong}
        status, found = in_a_process(lambda: gone_on(cold, lake, clean))
        if status or found:
            wrong[step] = found if status == 0 else "the next run failed"


def build(cold: Path) -> None:
    """Logs, one of them damaged, and a partition with files beside its segment, so that there are several rounds."""
    for number in range(4):
        log = bytearray(LOG[:400])
        log[200] ^= number == 1
        (cold / "logs").mkdir(parents=True, exist_ok=True)
        (cold / "logs" / f"{number}.rbf").write_bytes(log)
    orders = cold / "orders-0"
    orders.mkdir()
    shutil.copy(GOLDEN / "kafka" / "v2-none.log", orders / f"{100:020}.log")
    for name in (f"{100:020}.index", f"{100:020}.timeindex", "notes.txt", "partition.metadata"):
        (orders / name).write_bytes(bytes(24))


def change(cold: Path) -> None:
    """One log longer, one that is none any more, a new one, and a partition that has changed."""
    (cold / "logs" / "0.rbf").write_bytes(LOG[:600])
    (cold / "logs" / "1.rbf").write_bytes(b"not a log")
    (cold / "logs" / "new.rbf").write_bytes(LOG[:300])
    (cold / "orders-0" / "partition.metadata").write_bytes(b"version: 0\n")


def remove(cold: Path) -> None:
    """Files that are gone, those of a partition among them, and one that cannot be read."""
    (cold / "logs" / "2.rbf").unlink()
    (cold / "logs" / "broken").symlink_to("nothing")
    shutil.rmtree(cold / "orders-0")


def no_links(*_: object, **__: object) -> None:
    """What `os.link` does where there are none."""
    raise OSError(errno.EPERM, "no hard links")


def main(folder: Path) -> dict[str, Any]:
    """What came out, of runs that have everything to do and of runs that find some of it changed or gone."""
    for name in formats.FORMATS:
        formats.get(name)
    pipeline.OPEN_COST, pipeline.MOST_PARTITION, pipeline.A_CORE = 4, 4, 3
    os.link = no_links
    cold = folder / "cold"
    build(cold)
    first = sweep(cold, None, folder)
    shutil.copytree(folder / "clean", folder / "begun")
    change(cold)
    changed = sweep(cold, folder / "begun", folder)
    shutil.copytree(folder / "clean", folder / "changed")
    remove(cold)
    return {"first": first, "changed": changed, "removed": sweep(cold, folder / "changed", folder)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))))
