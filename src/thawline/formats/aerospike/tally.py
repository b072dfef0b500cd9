"""What the files of a backup hold together, taken down while they are verified, so that none is read twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline.formats.aerospike.digests import Digests
from thawline.formats.aerospike.parts import Part
from thawline.formats.aerospike.reading import Item
from thawline.formats.aerospike.soundness import Sound
from thawline.formats.aerospike.values import Decoded
from thawline.literals import texts
from thawline.model import Finding

COUNTS = {"records": "record-count", "indexes": "secondary-index-count", "udfs": "udf-count"}
"""Names that the Backup Service has for how many entries of a kind there are."""


@dataclass(slots=True)
class Account:
    """What one file holds."""

    number: int
    """What its digests are kept under."""
    is_first: bool = False
    namespaces: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS.values(), 0))


class Tally:
    """Accounts of files that are expected to be looked at. A copy of it, in another process say, starts anew."""

    def __init__(self) -> None:
        self._expected: set[str] = set()
        self._started = 0
        self._namespaces: dict[str, int] = {}
        self.accounts: dict[str, Account] = {}
        """By path; only of files in which nothing is damaged."""
        self.digests = Digests()

    def __reduce__(self) -> tuple[Any, ...]:
        return Tally, ()

    def expect(self, paths: Iterable[str]) -> None:
        """Say which files belong to a backup."""
        self._expected.update(paths)

    def expects(self, path: str) -> bool:
        """Whether a file is one of those."""
        return path in self._expected

    def watched(self, path: str, items: Iterable[Item], *, is_strict: bool) -> Iterator[Item]:
        """The items of a file on their way to whoever looks at them.

        A file with damage has an account only if it is read leniently: strictly, records are left out that one tool
        reads.
        """
        account = Account(self._started)
        self._started += 1
        is_clean = True
        for item in items:
            if item.part:
                self._add(item.part, account)
            elif isinstance(item.shown, Finding):
                is_clean = is_clean and item.shown.severity != "error"
            yield item
        if is_clean or not is_strict:
            self.accounts[path] = account

    def close(self) -> None:
        """Forget what the files held."""
        self.digests.close()
        self.digests = Digests()
        self.accounts.clear()

    def _add(self, part: Part, account: Account) -> None:
        if part.table:
            account.counts[COUNTS[part.table]] += part.units
        elif part.labels.get("first_file"):
            account.is_first = True
        if part.suspect == "nested":
            return
        if isinstance(part.content, Sound):
            self._keep(part.content.digests, part.content.namespace, account)
        elif isinstance(part.content, Decoded):
            self._add_rows(part.content.batch.slice(part.first, part.units), account)

    def _add_rows(self, rows: pa.RecordBatch, account: Account) -> None:
        namespaces = rows["namespace"].unique().to_pylist()
        for name in namespaces:
            digests = rows["digest"]
            if len(namespaces) > 1:
                digests = digests.filter(pc.equal(rows["namespace"], texts([name])[0]))
            self._keep(b"".join(digests.drop_null().to_pylist()), name, account)

    def _keep(self, digests: bytes, namespace: str, account: Account) -> None:
        account.namespaces.add(namespace)
        number = self._namespaces.setdefault(namespace, len(self._namespaces) % (1 << 16))
        self.digests.add(digests, number, account.number)
