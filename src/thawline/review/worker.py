"""Reads units with the parsers of one version: `python -m thawline.review.worker FOLDER SECONDS`, a JSON line a unit.

It runs in a process of its own because a spec under review may loop forever or allocate all memory.
"""

from __future__ import annotations

import enum
import hashlib
import importlib
import json
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import FrameType
from typing import Any

import kaitaistruct

import thawline.generated
from thawline.specs import PARSE_ERRORS, class_name, reason_of

MEMORY = 2 << 30
MAX_FIELDS = 50_000
MAX_DEPTH = 64
SHOWN_BYTES = 16


class TookTooLong(Exception):
    """Reading a unit took too long."""


def main(folder: str, seconds: int) -> None:
    """Answer every line on stdin with one on stdout."""
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    bound = MEMORY if most == resource.RLIM_INFINITY else min(MEMORY, most)
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
    signal.signal(signal.SIGPROF, _stop)
    thawline.generated.__path__.append(folder)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line), seconds)) + "\n")
        sys.stdout.flush()


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise TookTooLong


def answer(job: dict[str, Any], seconds: int) -> dict[str, Any]:
    """The fields of a unit in file order and its instances, as far as they can be read, and what stopped it."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return _answer(job)
    except TookTooLong:
        return _lost(f"takes more than {seconds} s of processor time to read")
    except MemoryError:
        return _lost("takes more memory than there is for it")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _lost(reason: str) -> dict[str, Any]:
    return {"error": reason, "fields": [], "instances": {}, "is_lost": True}


def _answer(job: dict[str, Any]) -> dict[str, Any]:
    try:
        module = importlib.import_module(f"thawline.generated.traced.{job['spec']}")
        parser = getattr(module, class_name(job["spec"]))
    except (ImportError, SyntaxError, AttributeError) as error:
        return {"error": f"there is no parser: {error}", "fields": [], "instances": {}}
    root, problem = _read(parser, job)
    walk = Walk()
    if root is not None:
        walk.structure(root, 0, "", "", 0)
    return {
        "error": problem,
        "fields": walk.fields,
        "instances": walk.instances,
        "is_cut": walk.is_cut,
        "last": walk.last,
    }


def _read(parser: Any, job: dict[str, Any]) -> tuple[Any, str]:
    stream = kaitaistruct.KaitaiStream(kaitaistruct.BytesIO(bytes.fromhex(job["data"])))
    try:
        root = parser(*job["params"], stream)
    except TypeError as error:
        return None, f"takes other parameters: {error}"
    try:
        root._read()
        root._fetch_instances()
    except PARSE_ERRORS as error:
        return root, _reason(error)
    except (ArithmeticError, LookupError, NameError, ImportError) as error:
        return root, f"cannot be read: {error}"
    return root, ""


def _reason(error: BaseException) -> str:
    path = getattr(error, "src_path", "")
    return f"{reason_of(error)} ({path})" if path else reason_of(error)


class Walk:
    """A walk over what was read, bounded in fields."""

    def __init__(self) -> None:
        self.fields: list[list[Any]] = []
        """Start, end, value, label with indices, name in its type."""
        self.instances: dict[str, Any] = {}
        """Values by the bytes of their structure and their own name."""
        self.is_cut = False
        self.last = ""
        """The last field that was started, with its byte: where reading stopped, if it did."""

    def structure(self, node: Any, origin: int, label: str, place: str, depth: int) -> None:
        """The fields of a structure in file order, then its instances."""
        for name in node.SEQ_FIELDS:
            for span, value, suffix in _occurrences(node, name):
                self.value(node, name, span, value, origin, f"{label}{name}{suffix}", depth)
        for name in _instances(node):
            self.instance(node, name, label, place, depth)

    def value(
        self, node: Any, name: str, span: dict[str, int], value: Any, origin: int, label: str, depth: int
    ) -> None:
        """A field, or those inside it."""
        if len(self.fields) >= MAX_FIELDS:
            self.is_cut = True
            return
        start = origin + span["start"]
        self.last = f"{label} at {start:#x}"
        if isinstance(value, kaitaistruct.KaitaiStruct) and depth < MAX_DEPTH:
            inner = origin if value._io is node._io else start
            self.structure(value, inner, f"{label}.", f"{depth}@{start}-{span.get('end', '')}", depth + 1)
        elif "end" in span:
            self.fields.append([start, origin + span["end"], plain(value), label, f"{_type(node)}.{name}"])

    def instance(self, node: Any, name: str, label: str, place: str, depth: int) -> None:
        """The value of an instance; one that reads a structure is a part of the tree like any other."""
        value = None
        with suppress(*PARSE_ERRORS, ArithmeticError, LookupError):
            value = getattr(node, name)
        if len(self.instances) >= MAX_FIELDS:
            return
        if isinstance(value, kaitaistruct.KaitaiStruct) and depth < MAX_DEPTH:
            below = Walk()
            below.structure(value, 0, f"{label}{name}.", "", depth + 1)
            value = [[field[2] for field in below.fields]]
        self.instances[f"{place}/{name}"] = [f"{label}{name}", plain(value)]


def _occurrences(node: Any, name: str) -> Iterator[tuple[dict[str, int], Any, str]]:
    span = node._debug.get(name) or {}
    value = getattr(node, name, None)
    if "arr" in span and isinstance(value, list):
        pairs = zip(span["arr"], value, strict=False)
        yield from ((item, read, f"[{index}]") for index, (item, read) in enumerate(pairs))
    elif "start" in span:
        yield span, value, ""


def _instances(node: Any) -> list[str]:
    return [name for name, item in vars(type(node)).items() if isinstance(item, property)]


def _type(node: Any) -> str:
    module = type(node).__module__.rpartition(".")[2]
    return "::".join((module, *map(_snake, type(node).__qualname__.split(".")[1:])))


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def plain(value: Any) -> Any:
    """A value for JSON, equal if the values are equal; bytes are their first ones and a digest."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, bytes | bytearray):
        shown = value[:SHOWN_BYTES].hex() + ("…" if len(value) > SHOWN_BYTES else "")
        digest = hashlib.sha256(value).hexdigest()[:16] if len(value) > SHOWN_BYTES else ""
        return {"bytes": shown, "size": len(value), "digest": digest}
    if isinstance(value, list):
        return [plain(item) for item in value[:MAX_FIELDS]]
    if isinstance(value, kaitaistruct.KaitaiStruct):
        return type(value).__name__
    return value if isinstance(value, int | str | type(None)) else repr(value)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
