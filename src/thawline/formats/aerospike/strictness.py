"""How strictly a backup is judged: the one place that says what becomes of an entry that is read and not fine.

Two tools read these files, asrestore (C) and backup-go, and they differ. An entry is fine if both take it and nothing
shows that what is in it was changed. Whether that is so, `soundness`, `marks` and `tolerant` tell, each at its own
price; what follows from it is decided here, and so is the same for whoever verifies a file and whoever reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from thawline.formats.aerospike.findings import BROKEN, LENIENT
from thawline.formats.aerospike.parts import Part
from thawline.model import Code, Finding, Span

Making = Callable[[], Part | None]
"""Makes a part of entries that are not fine; None if they cannot be had."""


@dataclass(frozen=True, slots=True)
class Doubted:
    """Entries that count as damaged, and that can be given all the same."""

    finding: Finding
    part: Making


Found = Part | Finding | Doubted


def nothing() -> None:
    """No entry."""


@dataclass(frozen=True, slots=True)
class Strictness:
    """What holds for an entry that is read and not fine."""

    is_damage: bool
    """Whether it counts as damaged."""
    is_given: bool
    """Whether it is given all the same, with `suspect` set."""

    def judged(
        self, code: Code, span: Span, part: Making, detail: Mapping[str, object], lost: str = "", hint: str = ""
    ) -> Iterator[Found]:
        """What is said of such an entry, and the entry itself where it is given."""
        if self.is_damage:
            told = {**detail, **({"lost": lost} if lost else {})}
            yield Doubted(Finding(code, span, told, hint), part if self.is_given else nothing)
            return
        made = part()
        if made is None:
            yield Finding(BROKEN, span, detail, hint)
            return
        yield made
        yield Finding(LENIENT[code], Span(span.end, span.end), {"at": span.start, **detail})


STRICT = Strictness(is_damage=True, is_given=False)
USUAL = Strictness(is_damage=True, is_given=True)
LENIENTLY = Strictness(is_damage=False, is_given=True)


def strictness(strict: bool | None) -> Strictness:  # noqa: FBT001 - it is the option
    """The rules that the option `strict` stands for; without it, what is doubted is damage, and given all the same."""
    return USUAL if strict is None else STRICT if strict else LENIENTLY
