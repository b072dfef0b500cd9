"""The exceptions that thawline raises.

::

    ThawlineError
    ├── UnknownFormat         no format claims the file                     exit 3
    ├── SourceError           cannot open, read or seek (an OSError too)    exit 2
    ├── MissingExtra          a codec or engine is not installed            exit 2
    ├── NoSuchColumn          a table has no such column (a ValueError too) exit 2
    └── FormatError           the bytes break a rule of their format        exit 1
        ├── Truncated         they end too early (an EOFError too)
        └── CodecError        they do not decompress
            └── OutputTooLarge    they decompress to more than the bound

Damage is data: a scan reports it as findings and continues. A `FormatError` reaches only callers that read a single
structure, or that pass `on_error="raise"`.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "CodecError",
    "FormatError",
    "MissingExtra",
    "NoSuchColumn",
    "OutputTooLarge",
    "SourceError",
    "ThawlineError",
    "Truncated",
    "UnknownFormat",
]


class ThawlineError(Exception):
    """Any error of this package."""

    exit_code: ClassVar[int] = 2


class UnknownFormat(ThawlineError):
    """No format recognises the file."""

    exit_code = 3

    def __init__(self, message: str, *, suspect: str = "") -> None:
        super().__init__(message)
        self.suspect = suspect
        """The format that the file's name or a unit in it suggests; empty if neither suggests one."""


class SourceError(ThawlineError, OSError):
    """The file cannot be opened or read."""


class NoSuchColumn(ThawlineError, ValueError):
    """A column was requested that the table does not have."""


class MissingExtra(ThawlineError, ImportError):
    """A part that is installed separately is missing; the message names the extra."""


class FormatError(ThawlineError):
    """The bytes break a rule of their format; carries the file, the byte, and the field of the spec where known.

    >>> print(FormatError("is 3, must be 2", file="a.log", offset=0x10, spec="kafka_message", path="/types/body/seq/1"))
    a.log: byte 0x10: is 3, must be 2 (kafka_message: /types/body/seq/1)
    """

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        offset: int | None = None,
        spec: str | None = None,
        path: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.offset = offset
        """Byte in the file where the offending field starts."""
        self.spec = spec
        """Name of the spec that describes that field."""
        self.path = path
        """Path of the field in its spec, such as `/types/blob/seq/0`."""

    def __str__(self) -> str:
        place = [self.file] if self.file else []
        place += [f"byte {self.offset:#x}"] if self.offset is not None else []
        rule = ": ".join(part for part in (self.spec, self.path) if part)
        return ": ".join([*place, self.message]) + (f" ({rule})" if rule else "")


class Truncated(FormatError, EOFError):
    """The bytes end inside a structure."""


class CodecError(FormatError):
    """Compressed bytes that do not decompress."""


class OutputTooLarge(CodecError):
    """Decompression was stopped at its bound."""
