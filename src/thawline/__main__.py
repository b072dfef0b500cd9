"""`python -m thawline` is the command `thawline`."""

from __future__ import annotations

from thawline.cli import main

if __name__ == "__main__":
    main()
