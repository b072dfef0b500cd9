"""The quick look at records: whether a chunk of them is intact beyond doubt, without a column or an object of it."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass

from thawline import native
from thawline.engine.chunks import Places

LOOKED_AT = frozenset(
    {
        "namespace", "set", "digest", "key_letter", "key_integer", "key_data", "key_is_compact", "expiration",
        "bins.letter", "bins.name", "bins.double", "bins.data", "bins.is_compact",
    }
)  # fmt: skip
"""Columns of records that are checked here; the kernel checks the others by itself."""
LONGEST_VALUE = 1 << 20
"""Bytes of a value in base-64 that has room here: those of a server's block, which records usually fit."""
LONGEST_WAIT = 16
"""Chunks that get the closer look at most before the quick one is tried again."""
UNESCAPE = re.compile(rb"\\(.)", re.DOTALL)
MESSAGES, HASHES, DIGEST = 8 << 10, 160, 20


@dataclass(frozen=True, slots=True)
class Sound:
    """What is kept of records that are intact beyond doubt."""

    namespace: str
    digests: bytes
    """20 bytes for each."""

    def rows(self, first: int, count: int) -> Sound:
        """Some of them."""
        return Sound(self.namespace, self.digests[DIGEST * first : DIGEST * (first + count)])


class Soundness:
    """Memory for the look at one chunk after the other, and how much the file has earned it."""

    def __init__(self, *, keeps_digests: bool = False) -> None:
        self._keeps_digests = keeps_digests
        self._room, self._digests = memoryview(bytearray(LONGEST_VALUE)), bytearray()
        self._messages, self._hashes, self._places = bytearray(MESSAGES), bytearray(HASHES), array("q", bytes(8 * 24))
        self._place = array("q", [0])
        self._wait = 0
        self.left = 0
        """Chunks that get the closer look anyway: twice as many each time that the quick one was in vain."""

    def holds(self, view: memoryview, found: Places) -> bool:
        """Whether both tools read all rows of a chunk and nothing is wrong with what is in them."""
        if len(self._digests) <= DIGEST * found.rows:
            self._digests = bytearray(DIGEST * found.rows + 1)
        is_sound = self._are_heads_sound(view, found) and self._are_bins_sound(view, found)
        return is_sound and (not self._keeps_digests or self._has_one_namespace(view, found))

    def _has_one_namespace(self, view: memoryview, found: Places) -> bool:
        places = (found.arrays[("namespace",), part] for part in ("start", "length"))
        is_one: bool = native.functions.have_one_namespace(found.rows, view, *places)
        return is_one

    def kept(self, view: memoryview, found: Places) -> Sound | None:
        """What is wanted of a chunk that holds, to compare it with other files."""
        if not self._keeps_digests:
            return None
        start, size = (found.arrays[("namespace",), part][0] for part in ("start", "length"))
        name = bytes(view[start : start + (size if size >= 0 else -2 - size)])
        if size < 0:
            name = UNESCAPE.sub(rb"\1", name)
        return Sound(name.decode("utf-8", "replace"), bytes(self._digests[: DIGEST * found.rows]))

    def misses(self, is_miss: bool) -> bool:  # noqa: FBT001 - it is what is told
        """Take note of whether a look was in vain."""
        self._wait = min(max(2 * self._wait, 1), LONGEST_WAIT) if is_miss else 0
        self.left = self._wait
        return is_miss

    def is_due(self) -> bool:
        """Whether, after one more chunk that got the closer look, a quick one is worth a try."""
        self.left = max(self.left - 1, 0)
        return not self.left

    def _are_heads_sound(self, view: memoryview, found: Places) -> bool:
        def part(name: str, of: str = "value") -> memoryview:
            return found.arrays[(name,), of]

        slices = (part(name, of) for name in ("namespace", "digest", "set") for of in ("start", "length"))
        look: Callable[..., bool] = native.functions.are_sound_heads
        return look(
            found.rows, view, *slices, part("key_letter", "valid"), part("key_letter"), part("key_is_compact"),
            part("key_integer"), part("key_data", "start"), part("key_data", "length"), part("expiration"),
            self._digests, self._messages, self._places, self._hashes,
        )  # fmt: skip

    def _are_bins_sound(self, view: memoryview, found: Places) -> bool:
        def part(name: str, of: str = "value") -> memoryview:
            return found.arrays[("bins", name), of]

        slices = (part(name, of) for name in ("name", "double", "data") for of in ("start", "length"))
        look: Callable[..., bool] = native.functions.are_sound_bins
        return look(found.items["bins",], view, part("letter"), part("is_compact"), *slices, self._room, self._place)


def quick_look(*, keeps_digests: bool = False) -> Soundness | None:
    """What looks at records quickly; None where the native module is not there."""
    return Soundness(keeps_digests=keeps_digests) if native.is_compiled else None
