"""Mutants of folders: side files that say anything, files under other names, in each other's place, or links.

A folder is a mapping of paths to what is there. The same seed and number give the same folder.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from random import Random

from tools import mutants
from tools.fuzz.making import mutate
from tools.fuzz.repairs import REPAIRS, snapshot
from tools.fuzz.values import changed, changed_msgpack

LONG_NAME = 200


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link."""

    target: str


@dataclass(frozen=True, slots=True)
class Pipe:
    """A named pipe without a writer."""


@dataclass(frozen=True, slots=True)
class Place:
    """An empty folder."""


Entry = bytes | Link | Pipe | Place
Files = dict[str, Entry]
"""Paths are text as `os.fsdecode` gives it, so a name need not be UTF-8."""


@dataclass(frozen=True, slots=True)
class FolderMutant:
    """What is in a folder, and how it was made."""

    how: str
    files: Files

    def write(self, below: Path) -> None:
        """Make it; of two paths that exclude each other the first is there."""
        for name, entry in self.files.items():
            place = below / name
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                _make(place, entry)
            except OSError:
                continue


def _make(place: Path, entry: Entry) -> None:
    match entry:
        case bytes():
            place.write_bytes(entry)
        case Link(target):
            place.symlink_to(target)
        case Pipe():
            os.mkfifo(place)
        case Place():
            place.mkdir()


def folder_mutant(files: Mapping[str, bytes], seed: int, number: int) -> FolderMutant:
    """The mutant of a number: most have one thing changed, some up to four."""
    random = Random(f"folder {seed} {number}")  # noqa: S311 - mutants are no secrets
    found: Files = dict(files)
    done = []
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        kind = random.choice(KINDS)
        name = _chosen(random, found)
        KINDS_BY_NAME[kind](random, found, name)
        done.append(f"{PurePosixPath(name).name} {kind}")
    return FolderMutant(f"{'; '.join(done)} (seed {seed}, number {number})", found)


def _chosen(random: Random, files: Files) -> str:
    """A file; side files, of which there are few, as often as others."""
    side = [name for name, entry in files.items() if isinstance(entry, bytes) and (len(entry) < 64 or _document(entry))]  # noqa: PLR2004 - a few lines
    return random.choice(random.choice((side or list(files), list(files))))


def _document(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _data(files: Files, name: str) -> bytes:
    entry = files[name]
    return entry if isinstance(entry, bytes) else b""


def _says_something_else(random: Random, files: Files, name: str) -> None:
    """A document with hostile values; anything else with its values, checksums right."""
    data = _data(files, name)
    if (found := _document(data)) is not None:
        files[name] = _dumped(random, changed(random, found))
    elif b": " in data and len(data) < 4096:  # noqa: PLR2004 - lines of YAML
        files[name] = _odd_lines(random, data)
    elif data.startswith(b"BORG_OBJ"):
        _renamed_pack(files, name, REPAIRS["borg"](as_authenticated(data), lambda part: changed_msgpack(random, part)))
    else:
        files[name] = _repaired(name, mutate(random, data))


def _dumped(random: Random, value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=random.random() < 0.5)  # noqa: PLR2004 - every other
    if not random.randrange(10):
        text = text.replace("null", "9" * random.choice((19, 20, 400, 5000)), 1)
    return text.encode("utf-8", "surrogatepass")


ODD_YAML = (
    "!!bool maybe", "!!timestamp x", "2001-99-99", "2001-01-01 25:00:00", "!!python/object/apply:os.system ['true']",
    "!!binary x", "!!set {a, b}", "!!float .", "&a [*a]", "*nowhere", "[a, b]", "{a: b}", "? [a]\n: b", "9" * 5000,
    "0x" + "f" * 40, "-1", "1e400", ".inf", ".nan", "~", "yes", "'", '"\\ud800"', "|\n  text", "1:1:1:1:1:1:1",
    "0o777777777777777777777777", "!!int '1_0'", "!!null x", "!!omap [a]", "!!merge <<",
)  # fmt: skip


def _odd_lines(random: Random, data: bytes) -> bytes:
    """Lines of YAML with another value in one of them, or a document that grows with every line of it."""
    lines = data.splitlines()
    at = random.randrange(len(lines))
    key = lines[at].partition(b":")[0]
    match random.randrange(6):
        case 0:
            depth = random.randrange(2, 30)
            head = ["a0: &a0 {x: 1}"]
            head += [
                f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], b{n}: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, depth)
            ]
            lines = [line.encode() for line in head] + lines
        case 1:
            lines.append(b"? " + b"[" * random.choice((1, 500, 5000)) + b"x")
        case 2:
            lines[at] = key + b": " + b"[" * random.choice((10, 1000, 20_000))
        case _:
            lines[at] = key + b": " + random.choice(ODD_YAML).encode()
    return b"\n".join(lines) + b"\n"


def _repaired(name: str, data: bytes) -> bytes:
    if name.endswith(".snapshot"):
        return snapshot(data)
    if name.endswith(".log"):
        return REPAIRS["kafka"](data, bytes)
    return data


def as_authenticated(pack: bytes) -> bytes:
    """A pack in a mode whose ids cannot be checked without the key, so its content may say anything."""
    at, parts = 0, []
    while pack[at : at + 8] == b"BORG_OBJ":
        len_meta, len_data = (int.from_bytes(pack[at + place : at + place + 4], "little") for place in (41, 45))
        end = at + 49 + len_meta + len_data
        blob = bytearray(pack[at:end])
        if pack[at + 8] == 1 and len_data:
            blob[49] = blob[49 + len_meta] = 7
        parts.append(bytes(blob))
        at = end
    return b"".join(parts) + pack[at:]


def _renamed_pack(files: Files, name: str, data: bytes) -> None:
    """A pack under the name that its content gives it."""
    digest = hashlib.sha256(data).hexdigest()
    del files[name]
    files[str(PurePosixPath(name).parents[1] / digest[:2] / digest)] = data


def _damaged(random: Random, files: Files, name: str) -> None:
    files[name] = mutate(random, _data(files, name))


def _noise(random: Random, files: Files, name: str) -> None:
    size = random.choice((0, 1, 7, 100, 5000))
    files[name] = random.choice(
        (random.randbytes(size), bytes(size), b"\xff" * size, b"[" * size, b"{" * size, b"9" * size)
    )


def _cut(random: Random, files: Files, name: str) -> None:
    files[name] = mutants.cut(random, _data(files, name))


ODD_NAMES = (
    "x" * LONG_NAME, " ", "\n", "\x1b[31mred", "\udcff\udcfe.log", "\u202egol", "-rf", "--help", "*", "$(id)",
    "segment-99999999999999999999.zst", "manifest.json", "metadata.yaml", "b.asb", "1" * 20 + ".log", "a'b\"c",
    "config",
)  # fmt: skip
ODD_STEMS = ("9" * 20, "9" * LONG_NAME, "-1", "+0", "\u0660" * 20, "0.log")


def _renamed(random: Random, files: Files, name: str) -> None:
    path = PurePosixPath(name)
    names = [*ODD_NAMES, *(stem + path.suffix for stem in ODD_STEMS), path.name.upper(), "0" + path.name, path.stem]
    names.append(PurePosixPath(random.choice(list(files))).name)
    files[str(path.parent / random.choice(names))] = files.pop(name)


def _copied(random: Random, files: Files, name: str) -> None:
    _renamed(random, files, name := _twin(files, name))


def _twin(files: Files, name: str) -> str:
    twin = f"{name}.twin"
    files[twin] = files[name]
    return twin


def _swapped(random: Random, files: Files, name: str) -> None:
    other = random.choice(list(files))
    files[name], files[other] = files[other], files[name]


def _spliced(random: Random, files: Files, name: str) -> None:
    files[name] = mutants.splice(random, _data(files, name), _data(files, random.choice(list(files))))


def _gone(_random: Random, files: Files, name: str) -> None:
    if len(files) > 1:
        del files[name]


def _linked(random: Random, files: Files, name: str) -> None:
    own, other = PurePosixPath(name).name, PurePosixPath(random.choice(list(files))).name
    files[name] = Link(
        random.choice((own, other, "nowhere", "..", ".", "/dev/null", "/proc/self/environ", "/", "")) or "x"
    )


def _special(random: Random, files: Files, name: str) -> None:
    files[name] = random.choice((Pipe(), Place()))


KINDS_BY_NAME: dict[str, Callable[[Random, Files, str], None]] = {
    "says something else": _says_something_else,
    "is damaged": _damaged,
    "is noise": _noise,
    "is cut": _cut,
    "has another name": _renamed,
    "is there under another name, too": _copied,
    "is swapped": _swapped,
    "is spliced": _spliced,
    "is gone": _gone,
    "is a link": _linked,
    "is no file": _special,
}
KINDS = (*KINDS_BY_NAME, *["says something else"] * 10)
