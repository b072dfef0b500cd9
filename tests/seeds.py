"""The seed of a run: a new one each time, told at its end, and given again as THAWLINE_SEED."""

from __future__ import annotations

import os
import time

import pytest

NAME = "THAWLINE_SEED"
# Workers are started with the environment of the process that starts them, so all of them have the same seed.
SEED = int(os.environ.setdefault(NAME, str(time.time_ns() // 1000 % 1_000_000_000)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"mutants were made with {NAME}={SEED}; set it to make the same ones again")
