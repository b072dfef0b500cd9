"""What DuckDB says of a mistake, in the words of somebody who has files and no tables."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches

NONE = r'(?:Referenced column|(?:Table|Values list) "[^"]*" does not have a column named)'
COLUMN = re.compile(rf'Binder Error: {NONE} "([^"]+)"')
TABLE = re.compile(r"Catalog Error: Table with name (.+?) does not exist")
BYTES = "Binder Error: No function matches"
MOST = 30


def told(message: str, offered: Collection[str]) -> str:
    """A message of DuckDB, with what would be right where that can be known.

    >>> told('Binder Error: Referenced column "ofset" not found in FROM clause!; Candidate bindings: "_"', ["offset"])
    'no column ofset; did you mean offset? the files have offset'
    >>> told('Catalog Error: Table with name orders does not exist!; Did you mean "pg_am"?', [])
    "there is no table orders; a file or folder stands in quotes: from 'orders'"
    """
    if (found := COLUMN.match(message)) and offered:
        return f"no column {found[1]}{_meant(found[1], offered)} the files have {_listed(offered)}"
    if found := TABLE.match(message):
        name = found[1].strip('"')
        return f"there is no table {name}; a file or folder stands in quotes: from '{name}'"
    if message.startswith(BYTES) and "BLOB" in message:
        return f"{message}; bytes are BLOBs: write decode(column) for their text"
    return message


def _meant(name: str, offered: Collection[str]) -> str:
    near = get_close_matches(name.lower(), [one.lower() for one in offered], 1)
    right = next((one for one in offered if near and one.lower() == near[0]), None)
    return f"; did you mean {right}?" if right else ";"


def _listed(offered: Collection[str]) -> str:
    names = sorted(offered)
    return ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")
