"""What is lost with a unit, in the terms of whoever wrote it."""

from __future__ import annotations

from thawline.wording import counted, numbered


def lost_batch(records: int, base: int, last: int) -> str:
    """A batch with its records.

    >>> lost_batch(1, 3692, 3692), lost_batch(2, 0, 9)
    ('1 batch of 1 record, offset 3692', '1 batch of 2 records, offsets 0 to 9')
    """
    return f"1 batch of {counted(records, 'record')}, {numbered('offset', base, last)}"


def lost_unit(records: int | None, base: int | None, last: int) -> str:
    """A unit as its head tells; that of a wrapper does not say what is in it."""
    if records is None or base is None:
        return f"1 compressed message set, offsets up to {last}"
    return lost_batch(records, base, last)
