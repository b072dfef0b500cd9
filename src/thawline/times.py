"""Points in time as people write them: in ISO 8601, as a day such as yesterday, or as a while ago such as 1h."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from difflib import get_close_matches
from zoneinfo import ZoneInfo, available_timezones

UNITS = {"s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
DAYS = {"today": 0, "yesterday": 1}
AGO = re.compile(r"(\d{1,9})\s*([a-z]+)(?:\s+ago)?", re.ASCII)
FORM = "it is a time such as 2026-11-16T12:00:00Z, a day such as yesterday, or a while ago such as 1h"


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def moment(text: str, zone: dt.tzinfo = dt.UTC, now: Callable[[], dt.datetime] = _now) -> dt.datetime:
    """The point in time that a text means; a time without a zone, and the start of a day, are those of `zone`.

    >>> noon = lambda: dt.datetime(2026, 11, 18, 12, tzinfo=dt.UTC)
    >>> [moment(text, now=noon).isoformat() for text in ("90min", "yesterday", "2026-11-16")]
    ['2026-11-18T10:30:00+00:00', '2026-11-17T00:00:00+00:00', '2026-11-16T00:00:00+00:00']
    """
    word = text.strip().lower()
    if word == "now":
        return now()
    if word in DAYS:
        day = now().astimezone(zone).date() - dt.timedelta(days=DAYS[word])
        return dt.datetime.combine(day, dt.time(), zone)
    match = AGO.fullmatch(word)
    if match and match[2] in UNITS:
        return _before(now(), dt.timedelta(**{UNITS[match[2]]: int(match[1])}))
    try:
        time = dt.datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(FORM) from None
    return time if time.tzinfo else time.replace(tzinfo=zone)


def _before(now: dt.datetime, while_: dt.timedelta) -> dt.datetime:
    try:
        return now - while_
    except OverflowError:
        raise ValueError("it lies before the year 1") from None


def zone_of(name: str) -> dt.tzinfo:
    """A time zone by its name; ValueError suggests the nearest one."""
    if name.upper() in {"UTC", "Z"}:
        return dt.UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # what it raises for a name that is no path, too
        near = get_close_matches(name, available_timezones(), 1)
        meant = f"; did you mean {near[0]}?" if near else "; it is a name such as Europe/Berlin"
        raise ValueError(f"{name!r} is no time zone{meant}") from None
