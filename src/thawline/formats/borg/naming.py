"""Names of packs and index files: hashes of their content, by one of three rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from thawline.checksums import blake3, sha256
from thawline.formats.borg.header import header_at

Rule = Literal["sha256", "blake3", "chunk_id", "none"]

HASHES: dict[str, Callable[[memoryview], bytes]] = {"sha256": sha256, "blake3": blake3}
HASH_RULES: dict[int, Rule] = {4: "sha256", 5: "blake3"}
"""The rule by repository version."""
HEX_ID = re.compile(r"[0-9a-f]{64}")


def id_in(path: str) -> str | None:
    """The id that a file is named by, if it is named by one.

    >>> id_in("packs/00/" + "00" * 32) == "00" * 32, id_in("b22-none.pack")
    (True, None)
    """
    name = re.split(r"[/\\]", path)[-1]
    return name if HEX_ID.fullmatch(name) else None


def hash_rule(data: memoryview, name: str, repository_version: int | None = None) -> Rule:
    """Which hash of the data its name is; `none` if it is neither."""
    likely = HASH_RULES.get(repository_version or 0, "blake3")
    for rule in sorted(HASH_RULES.values(), key=lambda rule: rule != likely):
        if HASHES[rule](data).hex() == name:
            return rule
    return "none"


def pack_rule(view: memoryview, pack_id: str, repository_version: int | None = None) -> Rule:
    """What the name of a pack is found to be: a hash of its bytes, the id of its only blob, or neither."""
    rule = hash_rule(view, pack_id, repository_version)
    header = header_at(view, 0)
    if rule == "none" and header and header.end == len(view) and header.chunk_id.hex() == pack_id:
        return "chunk_id"
    return rule
