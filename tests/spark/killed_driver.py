"""A program that kills the driver of the pipeline in front of steps that it takes, and says who could tell.

A step is a file or folder that is made, written, renamed or removed, which Python announces, a request that changes a
bucket, or a commit of a table.
Every run is a process of its own, forked from this one, which has everything imported and no thread. The tasks are done
by the driver, so that they are interrupted, too.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import boto3
from lakes import Alone, everything, leftovers
from s3fs import S3FileSystem

from thawline import formats
from thawline.lake import upkeep
from thawline.lake.forms import FORMS
from thawline.spark import bundles, pipeline

GOLDEN = Path(__file__).parents[1] / "golden"
LOG = (GOLDEN / "rbf" / "many-frames.rbf").read_bytes()
STEPS = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link"}
POINTS = int(os.environ.get("POINTS", "14"))
"""Steps in front of which a run is killed, of all that it takes."""
FORM = os.environ.get("FORM", "delta")
"""How the lake keeps its tables; the clean one, to which it is held, is one of Delta."""
BUCKET = os.environ.get("BUCKET", "")
"""Where the lake is, if not in a folder."""
REQUESTS = {"put_object", "copy_object", "delete_object", "delete_objects", "complete_multipart_upload"}
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


def ingest(cold: Path, lake: Path | str) -> None:
    """Run the pipeline; what is gone is taken out, so that the outcome is that of a run without a past."""
    how: dict[str, Any] = {"table_format": FORM} if str(lake).endswith("/lake") and FORM != "delta" else {}
    if FORM == "iceberg" and how:
        how["catalog"] = f"sqlite:///{lake}/catalog.db"  # in the lake, so that both are restored together
        Path(lake).mkdir(parents=True, exist_ok=True)
    pipeline.ingest(Alone(), [str(cold)], lake, prune_missing=True, **how)  # type: ignore[arg-type]


def killed(cold: Path, lake: Path | str, step: int) -> int:
    """Run the pipeline, and die in front of a step; the number of steps, if it takes fewer."""
    taken = 0

    def count() -> None:
        nonlocal taken
        taken += 1
        if taken == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(event: str, given: tuple[Any, ...]) -> None:
        if event in STEPS or (event == "open" and isinstance(given[2], int) and given[2] & WRITES):
            count()

    module, _, name = FORMS[FORM].partition(":")
    form: Any = getattr(import_module(f"thawline.lake.{module}"), name)
    commit = form.commit

    def counted(table: Any, *given: Any, **how: Any) -> None:
        count()
        commit(table, *given, **how)
        count()

    form.commit = counted
    request = S3FileSystem._call_s3

    async def requested(files: S3FileSystem, method: str, *given: Any, **how: Any) -> Any:
        if method in REQUESTS:
            count()
        return await request(files, method, *given, **how)

    S3FileSystem._call_s3 = requested
    sys.addaudithook(watch)
    ingest(cold, lake)
    return taken


def gone_on(cold: Path, lake: Path | str, clean: Path) -> list[str]:
    """Run the pipeline again; tables that are not what a clean run gives, and what was left behind."""
    ingest(cold, lake)
    found, wanted = everything(lake), everything(clean)
    wrong = [table for table in {*found, *wanted} if found.get(table) != wanted.get(table)]
    upkeep.vacuum(lake, 0)
    return wrong + leftovers(lake) + ([] if everything(lake) == found else ["vacuum took too much"])


def clean_run(cold: Path, clean: Path) -> None:
    """Run the pipeline, all in one commit: that there are several is nobody's business."""
    pipeline.MANY = 1 << 20
    ingest(cold, clean)


def sweep(cold: Path, begun: str, folder: Path) -> dict[str, Any]:
    """Kill runs that go on from a lake, each at its own step; how many steps there are, and what came of it."""
    lake, clean = place(folder, "lake"), folder / "clean"
    shutil.rmtree(clean, ignore_errors=True)
    in_a_process(lambda: clean_run(cold, clean))
    wrong: dict[int, Any] = {}
    restore(folder, begun)
    status, steps = in_a_process(lambda: killed(cold, lake, 0))
    for step in sorted({1 + number * steps // POINTS for number in range(POINTS)}):
        restore(folder, begun)
        in_a_process(lambda: killed(cold, lake, step))  # noqa: B023 - it is called at once
        end, found = in_a_process(lambda: gone_on(cold, lake, clean))
        if end or found:
            wrong[step] = found if end == 0 else "the next run failed"
    return {"steps": steps, "status": status, "wrong": wrong}


def place(folder: Path, name: str) -> Path | str:
    """Where a lake is, by its name."""
    return f"s3://{BUCKET}/{name}" if BUCKET else folder / name


def restore(folder: Path, begun: str, to: str = "lake") -> None:
    """The lake before a run that is killed: none, or one that was kept."""
    if not BUCKET:
        shutil.rmtree(folder / to, ignore_errors=True)
        if begun:
            shutil.copytree(folder / begun, folder / to)
        return
    client = boto3.client("s3")
    for key in _keys(client, to):
        client.delete_object(Bucket=BUCKET, Key=key)
    for key in _keys(client, begun) if begun else ():
        client.copy_object(Bucket=BUCKET, Key=key.replace(begun, to, 1), CopySource={"Bucket": BUCKET, "Key": key})


def _keys(client: Any, prefix: str) -> list[str]:
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{prefix}/")
    return [one["Key"] for page in pages for one in page.get("Contents", ())]


def keep(cold: Path, folder: Path, name: str) -> None:
    """What a run that nobody kills gives, for others to go on from."""
    restore(folder, "")
    status, _ = in_a_process(lambda: ingest(cold, place(folder, "lake")))
    assert status == 0
    restore(folder, "lake", name)


def build(cold: Path) -> None:
    """Logs, one of them damaged, and a partition with files beside its segment, so that there are several commits."""
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


def main(folder: Path) -> dict[str, Any]:
    """What came out, of runs that have everything to do and of runs that find some of it changed or gone."""
    for name in formats.FORMATS:
        formats.get(name)
    bundles.OPEN_COST, bundles.MOST_PARTITION, pipeline.MANY = 4, 4, 4
    cold = folder / "cold"
    build(cold)
    first = sweep(cold, "", folder)
    keep(cold, folder, "begun")
    change(cold)
    changed = sweep(cold, "begun", folder)
    keep(cold, folder, "changed")
    remove(cold)
    return {"first": first, "changed": changed, "removed": sweep(cold, "changed", folder)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))))
