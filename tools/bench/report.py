"""The report: one table for each case, the figures to reach, and all of it as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from thawline import native
from tools.bench.cases import OURS, Case
from tools.bench.measure import RUNS, RUNS_ON_SHARE, Timing
from tools.bench.processes import LIMITS

PACKAGES = ("pyarrow", "crc32c", "kaitaistruct", "construct", "aiokafka", "kafka-python", "duckdb")
HEADINGS = ("", "ns/record", "MB/s", "x floor", f"{OURS} is", "read", "")
WIDTHS = (25, 10, 9, 9, 15, 12, 0)
MEGABYTE = 1_000_000


def environment() -> dict[str, Any]:
    """Where this ran: processor, interpreter, versions."""
    return {
        "cpu": _cpu(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "native": native.is_compiled,
        "crc32c_instruction": native.functions.uses_crc32c_instruction(),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def case_report(case: Case, timings: Sequence[Timing]) -> dict[str, Any]:
    """Times and ratios of one case; the floor is the first contender."""
    by_name = {timing.contender.name: timing for timing in timings}
    floor, ours = timings[0].ns_per_record, by_name[OURS].ns_per_record
    return {
        "name": case.name,
        "title": case.title,
        "records": by_name[OURS].records,
        "bytes_per_record": by_name[OURS].bytes_per_record,
        "contenders": [_contender_report(timing, floor, ours) for timing in timings],
        "targets": list(_targets(case, by_name)),
    }


def _contender_report(timing: Timing, floor: float | None, ours: float | None) -> dict[str, Any]:
    found, contender = timing.ns_per_record, timing.contender
    return {
        "name": contender.name,
        "note": contender.note,
        "installed": contender.is_installed,
        "records": timing.records,
        "runs": contender.runs,
        "ns_per_record": found,
        "mb_per_second": found and 1000 * timing.bytes_per_record / found,
        "times_floor": found and floor and found / floor,
        "ours_times_faster": found and ours and found / ours,
    }


def _targets(case: Case, by_name: dict[str, Timing]) -> Iterator[dict[str, Any]]:
    for target in case.targets:
        ours, theirs = (by_name[name].ns_per_record for name in (target.ours, target.contender))
        reached = target.reached(ours, theirs) if ours and theirs else None
        yield {
            "target": str(target),
            "reached": reached,
            "met": reached is not None and target.is_met(reached),
        }


def show_heading(found: dict[str, Any]) -> None:
    """Print where this runs, and how it measures."""
    packages = ", ".join(f"{name} {version or 'not installed'}" for name, version in found["packages"].items())
    crc = "by the CPU's instruction" if found["crc32c_instruction"] else "by tables"
    print(f"{found['cpu']}, {found['cpus']} CPUs; Python {found['python']}; {packages}")
    print(f"native module: {'yes' if found['native'] else 'NO'}, CRC-32C {crc}")
    if found["packages"]["aiokafka"]:
        loaded = found["aiokafka_c_extension"]
        print(f"aiokafka's C extension: {f'loaded from {loaded}' if loaded else 'NOT LOADED'}")
    print(f"CPU time in one process, best of {RUNS}; where only a part was read, best of {RUNS_ON_SHARE}")


def show_case(report: dict[str, Any]) -> None:
    """Print the table of one case."""
    print(f"\n{report['title']}\n{report['records']:,} records of {report['bytes_per_record']:.1f} bytes")
    _show_row(HEADINGS)
    for row in report["contenders"]:
        _show_row(_cells(row))
    for target in report["targets"]:
        reached = "not measured" if target["reached"] is None else f"{target['reached']:.2f}"
        print(f"  {'reached' if target['met'] else 'MISSED '}  {target['target']}: {reached}")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    if row["ns_per_record"] is None:
        return row["name"], "not installed", "", "", "", "", ""
    faster = row["ours_times_faster"]
    compared = "" if row["name"] == OURS else f"{faster:.2f} x faster" if faster >= 1 else f"{1 / faster:.2f} x slower"
    return (
        row["name"],
        f"{row['ns_per_record']:,.1f}",
        f"{row['mb_per_second']:,.0f}",
        f"{row['times_floor']:,.1f}",
        compared,
        f"{row['records']:,}",
        row["note"],
    )


def _show_row(cells: Sequence[str]) -> None:
    name, *numbers, note = cells
    columns_ = [name.ljust(WIDTHS[0]), *(cell.rjust(width) for cell, width in zip(numbers, WIDTHS[1:], strict=False))]
    print("  " + " ".join(columns_) + ("  " + note if note else ""))


def show_processes(imports: dict[str, float], memory: dict[str, Any] | None) -> None:
    """Print what fresh processes told."""
    print("\nImports, fresh process, wall time, best of 5; what a module needs is there already")
    for module, milliseconds in imports.items():
        limit = f"  (limit {LIMITS[module]:.0f})" if module in LIMITS else ""
        print(f"  {module:<25} {milliseconds:9.2f} ms{limit}")
    if memory is not None:
        size, peak, first = (memory[key] / MEGABYTE for key in ("file_size", "peak", "peak_after_imports"))
        limit = f"limit {memory['limit'] / MEGABYTE:.0f}"
        print(
            f"\nScan of an RBF file of {size:,.0f} MB: {peak:,.0f} MB at most ({limit}), {first:,.0f} MB after imports"
        )
