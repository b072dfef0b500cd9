"""Custom processes by the name that specs call them: what `process: my.cipher(key)` does.

A spec brings no code of its own. Who calls thawline from Python registers a process, and its output is bounded.
"""

from __future__ import annotations

from collections.abc import Callable

PROCESSES: dict[str, Callable[..., bytes]] = {}


def register(name: str, process: Callable[..., bytes]) -> None:
    """Give a name to a function of the bytes and the arguments of a process.

    >>> register("example.reversed", lambda data: data[::-1])
    >>> PROCESSES["example.reversed"](b"abc")
    b'cba'
    """
    PROCESSES[name] = process
