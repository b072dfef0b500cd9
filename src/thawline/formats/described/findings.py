"""What is found wrong with files of a spec, in its words: the rule, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thawline.compiler.language import Failure
from thawline.formats.described.parts import Parts
from thawline.formats.described.proofs import Proof
from thawline.model import Code, Finding, Span
from thawline.source import Source
from thawline.wording import quoted, salvage_hint

NO_UNIT = Code(
    "KSY101",
    "these bytes are no unit",
    "error",
    "The spec cannot read these bytes; the reason names its rule. The next bytes that are a unit of the spec, with "
    "right checksums where the spec has some, end the stretch. `thawline inspect` shows it; `thawline salvage` "
    "writes a file without it.",
)
WRONG_CHECKSUM = Code(
    "KSY102",
    "a unit whose checksum is wrong",
    "error",
    "The unit can be read, but its bytes are not those that a checksum in it was made of. Its rows are not given. "
    "`thawline salvage` writes a file without it.",
)
NO_HEAD = Code(
    "KSY103",
    "the file does not start as its spec says",
    "error",
    "What comes before the units of the file breaks a rule of the spec. Units that follow are read: "
    "`thawline cat` and `thawline convert` give their rows. `thawline salvage` refuses the file, since a new one needs "
    "a head.",
)
BROKEN = Code(
    "KSY104",
    "the structure cannot be read from here on",
    "error",
    "The spec describes the file as one structure, and these bytes break a rule of it. What comes before them is given "
    "as far as it makes rows. Mark the type that repeats with `-sync`, and the rest of such a file can be read, too.",
)
UNREAD_INSTANCE = Code(
    "KSY105",
    "an instance cannot be read",
    "warning",
    "The fields of the structure are intact, but an instance of the spec, which other readers compute only when it is "
    "used, cannot be computed. It is null in its row.",
)
MISSING_BYTES = Code(
    "KSY106",
    "an instance lies beyond the end of the file",
    "error",
    "The file refers to bytes that it does not have: it was most likely cut short. The instance is null in its row.",
)
WRONG_PART = Code(
    "KSY107",
    "a part of the structure has a wrong checksum",
    "error",
    "The structure can be read, but the bytes of a part of it are not those that a checksum was made of. Its rows are "
    "given.",
)
MORE_BYTES = Code(
    "KSY108",
    "bytes after what the spec describes",
    "warning",
    "The structure is whole, and ends before the file does. No field of the spec has the bytes after it: they were "
    "appended, or a count in the file is too small, or the spec does not describe all of the format.",
)
CODES = (NO_UNIT, WRONG_CHECKSUM, NO_HEAD, BROKEN, UNREAD_INSTANCE, MISSING_BYTES, WRONG_PART, MORE_BYTES)


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong, before it is known how far it reaches."""

    code: Code
    detail: Mapping[str, object]

    def over(self, span: Span, source: Source, command: str = "") -> Finding:
        """The finding about these bytes, with what to run next: a salvage, if nothing else is given."""
        hint = command.format(quoted(source.name)) if command else salvage_hint(source.name)
        return Finding(self.code, span, self.detail, hint)


def broken(code: Code, failure: Failure, parts: Parts) -> Flaw:
    """The rule of the spec that some bytes break."""
    path = parts.path(failure.path)
    rule = f" ({parts.type.spec.id}: {path})" if path else ""
    return Flaw(code, {"reason": f"{failure.reason} at {failure.position:#x}{rule}"})


def unproven(code: Code, proof: Proof, spec: str) -> Flaw:
    """The checksum that is wrong."""
    return Flaw(code, {"reason": f"{proof.algorithm} of {'.'.join(proof.covered[:-1]) or spec} ({proof.place})"})
