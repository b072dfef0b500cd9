"""The fuzzer: mutants of files and folders, the promises that hold for each, and what breaks one kept as a file."""

from __future__ import annotations
