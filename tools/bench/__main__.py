"""Measure: `python -m tools.bench [--only kafka,rbf] [--records N] [--json PATH] [--memory]`."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from tools.bench import hostile, jobs, kafka, processes, report
from tools.bench.cases import CASES
from tools.bench.hostile_files import HOSTILE
from tools.bench.measure import compare

WORST = "hostile"
"""What is measured by itself: worst cases, against bounds and not against other readers."""
JOBS = "jobs"
"""What is measured by itself, too: commands with one job and with two."""


def main() -> None:
    """Run the cases, print their tables and save them."""
    options = _options()
    if WORST in options.only:
        hostile.show(hostile.rows(HOSTILE, hostile.SIZES), hostile.SIZES)
        return
    if JOBS in options.only:
        jobs.show(jobs.RECORDS, jobs.FILES, is_with_memory=options.memory)
        return
    found: dict[str, Any] = report.environment()
    found["aiokafka_c_extension"] = _c_extension()
    report.show_heading(found)
    found["cases"] = []
    for name in options.only:
        case = CASES[name]
        measured = report.case_report(case, compare(case.contenders, case.build(options.records)))
        report.show_case(measured)
        sys.stdout.flush()
        found["cases"].append(measured)
    found["imports"] = processes.import_times()
    found["memory"] = processes.memory() if options.memory else None
    report.show_processes(found["imports"], found["memory"])
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(f"\nsaved in {options.json}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description="Speed beside other readers.")
    parser.add_argument(
        "--only", type=_names, default=list(CASES), help=f"some of {','.join(CASES)}, or {WORST}, or {JOBS}"
    )
    parser.add_argument("--records", type=int, default=1_000_000, metavar="N", help="records in each case")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"), metavar="PATH", help="where to save")
    parser.add_argument("--memory", action="store_true", help="also scan a file of 4 GB, which takes a while")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = text.split(",")
    if names in ([WORST], [JOBS]):
        return names
    if unknown := sorted(set(names) - set(CASES)):
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: there are only {', '.join(CASES)}")
    return names


def _c_extension() -> str | None:
    """Where aiokafka's C extension was loaded from; None if it was not."""
    try:
        module = importlib.import_module(f"{kafka.AIOKAFKA}.default_records")
    except ImportError:
        return None
    return None if str(module.__file__).endswith(".py") else Path(str(module.__file__)).name


if __name__ == "__main__":
    main()
