"""Contenders for Aerospike backups."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator

from tools.bench.measure import Contender
from tools.bench.parsers import by_ksc, by_loop

Bin = tuple[str, bytes, object]


def contenders() -> list[Contender]:
    """Readers of records with their bins."""
    return [by_ksc("aerospike_record", 200), by_loop(_records_by_loop)]


def _records_by_loop(data: bytes) -> Iterator[object]:
    """Go through the lines that records without key and set have; names are taken to be free of escapes."""
    at = 0
    while at < len(data):
        namespace, at = _line(data, at, b"+ n ")
        digest, at = _line(data, at, b"+ d ")
        generation, at = _line(data, at, b"+ g ")
        expiration, at = _line(data, at, b"+ t ")
        count, at = _line(data, at, b"+ b ")
        bins = []
        for _ in range(int(count)):
            parsed, at = _bin(data, at)
            bins.append(parsed)
        yield namespace.decode(), b64decode(digest), int(generation), int(expiration), bins


def _line(data: bytes, at: int, lead: bytes) -> tuple[bytes, int]:
    if not data.startswith(lead, at):
        raise ValueError(f"byte {at}: no {lead!r}")
    end = data.index(b"\n", at)
    return data[at + len(lead) : end], end + 1


def _bin(data: bytes, at: int) -> tuple[Bin, int]:
    if not data.startswith(b"- ", at):
        raise ValueError(f"byte {at}: no bin")
    kind = chr(data[at + 2])
    at += 5 if data[at + 3] == ord("!") else 4
    end = data.index(b" ", at)
    name = data[at:end]
    at = end + 1
    match kind:
        case "I" | "D" | "Z":
            end = data.index(b"\n", at)
            text = data[at:end]
            return (kind, name, int(text) if kind == "I" else text), end + 1
        case _:
            end = data.index(b" ", at)
            start, size = end + 1, int(data[at:end])
            return (kind, name, data[start : start + size]), start + size + 1
