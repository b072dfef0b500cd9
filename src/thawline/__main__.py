"""The command `thawline`, also as `python -m thawline`."""

from __future__ import annotations

import os
import sys

from thawline import __version__


def main() -> None:
    """Run `thawline` with the arguments of the process."""
    if sys.argv[1:] == ["--version"] and _is_told():
        return
    from thawline.cli import main as run  # noqa: PLC0415 - what only tells the version does not wait for click

    run()


def _is_told() -> bool:
    """Write the version to stdout; whether that was possible."""
    try:
        os.write(1, f"thawline {__version__}\n".encode())
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
