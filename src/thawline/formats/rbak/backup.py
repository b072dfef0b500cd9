"""A backup: its segments wherever they lie in its folders, held against the manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from thawline.checksums import sha256
from thawline.codecs import decompress
from thawline.errors import FormatError, SourceError
from thawline.folder import Folder
from thawline.formats.contract import Claim, Member
from thawline.formats.rbak import findings, manifest
from thawline.formats.rbak.manifest import Listed, Manifest
from thawline.formats.rbak.segment import FOOTER, HEADER, LEAST, MAGIC, Header, Segment
from thawline.formats.rbak.side_files import LARGEST, load
from thawline.model import Finding, Report, Run, Span
from thawline.source import Source
from thawline.wording import counted, grouped, quoted

if TYPE_CHECKING:
    from thawline.formats.rbak import Rbak

NAME = "rbak"
SUFFIXES = (".rbak", ".zst", ".lz4")
OTHER_FOLDERS = {"definitions", "state"}
DEFINITIONS = {"": "none", ".zst": "zstd", ".lz4": "lz4"}
LARGEST_DEFINITIONS = 32 << 20
NAMED = 10_000
"""Of segments that are missing, not listed or listed twice so many are named, and the rest is counted."""
DEEPEST = 8
"""Folders inside one another that are looked into."""
LOOKED_AT = 3
"""Files whose first bytes must be right before a folder without a manifest counts as a backup."""
LAYOUT = ("queues", "vhost", "queue", "segment")
"""Folders of a segment within its backup."""
HERE = Span(0, 0)


@dataclass
class Backup:
    """The files of a backup, and what its manifest lists."""

    folder: Folder

    @cached_property
    def files(self) -> dict[str, int]:
        """Every file that may be a segment, by its path in the backup, with its size."""
        return dict(_files(self.folder, "", 0))

    @cached_property
    def manifest(self) -> Manifest | None:
        """The manifest; None if there is none that can be read."""
        try:
            return manifest.parse(_manifest_data(self.folder)) if self.has_manifest else None
        except FormatError:
            return None

    @property
    def has_manifest(self) -> bool:
        """Whether there is a file of that name."""
        return self.folder.has(manifest.FILE)

    def pairs(self) -> tuple[dict[str, Listed], list[Listed]]:
        """Files that are listed, each with its entry in the manifest's order, and the entries without a file."""
        found: dict[str, Listed] = {}
        missing: list[Listed] = []
        by_name: dict[str, list[str]] = {}
        for path in self.files:
            by_name.setdefault(path.rpartition("/")[2], []).append(path)
        for listed in self.manifest.segments if self.manifest else ():
            file = self._path_of(listed.key, by_name)
            if file is None:
                missing.append(listed)
            else:
                found.setdefault(file, listed)
        return found, missing

    def _path_of(self, key: str, by_name: dict[str, list[str]]) -> str | None:
        """The file that a key means. It may start with the prefix of the storage and the name of the backup."""
        parts = [part for part in key.split("/") if part not in {"", "."}]
        # No file lies deeper, so nothing more of a key can be the path of one.
        tails = ("/".join(parts[at:]) for at in range(max(len(parts) - DEEPEST - 1, 0), len(parts)))
        exact = next((tail for tail in tails if tail in self.files), None)
        same_name = by_name.get(parts[-1], []) if parts else []
        return exact or (same_name[0] if len(same_name) == 1 and len(parts) == 1 else None)


def _manifest_data(folder: Folder) -> bytes:
    """The bytes of the manifest; `FormatError` if they are too many."""
    size = folder.files()[manifest.FILE]
    if size > LARGEST:
        raise FormatError(f"has {grouped(size)} bytes, {grouped(LARGEST)} are the most", file=manifest.FILE)
    return folder.read(manifest.FILE, LARGEST)


def _files(folder: Folder, prefix: str, depth: int) -> Iterator[tuple[str, int]]:
    for name, size in folder.files().items():
        if name.endswith(SUFFIXES) or (name.startswith("segment") and not name.endswith(".json")):
            yield prefix + name, size
    for name in folder.subfolders() if depth < DEEPEST else ():
        inside = folder.folder(name)
        if (depth or name not in OTHER_FOLDERS) and not inside.is_link:
            yield from _files(inside, f"{prefix}{name}/", depth + 1)


def claim(folder: Folder) -> Claim | None:
    """Whether a folder is a backup: by its manifest, or by the first bytes of what looks like its segments."""
    if folder.has(manifest.FILE):
        if _has_right_manifest(folder):
            return Claim(NAME, "1", "has a manifest.json of rabbitmq-backup", "certain")
        if "queues" not in folder.subfolders():
            return None
    if "queues" not in folder.subfolders() and not any(name.endswith(SUFFIXES) for name in folder.files()):
        return None
    tried = list(Backup(folder).files)[:LOOKED_AT]
    if tried and all(_starts_well(folder, path) for path in tried):
        return Claim(NAME, "1", "holds RBAK segments, and no manifest that can be read", "likely")
    return None


def _has_right_manifest(folder: Folder) -> bool:
    try:
        return manifest.is_manifest(_manifest_data(folder))
    except FormatError:
        return False


def _starts_well(folder: Folder, path: str) -> bool:
    with folder.open(path) as source:
        return source.view(0, min(source.size, len(MAGIC))) == MAGIC


def members(rbak: Rbak, folder: Folder) -> Iterator[Member]:
    """The segments: those that the manifest lists in its order, then the others by name."""
    backup = Backup(folder)
    listed, _ = backup.pairs()
    for path in (*listed, *(path for path in backup.files if path not in listed)):
        told = replace(rbak, listed=listed.get(path), key=path)
        yield Member(folder.path_of(path), told, told.known())


def holdings(folder: Folder) -> Iterator[str]:
    """Paths of the files that a backup speaks for."""
    yield from (folder.path_of(path) for path in Backup(folder).files)
    if folder.has(manifest.FILE):
        yield folder.path_of(manifest.FILE)
    yield from (inside.path_of(name) for inside, name in _definitions(folder))


def folder_of(key: str, what: str) -> str:
    """What the folder of a segment says of its queue or virtual host: queues/<vhost>/<queue>/segment-0001.zst.

    >>> folder_of("nightly/queues/_default/orders/segment-0001.zst", "vhost")
    '/'
    """
    parts = PurePosixPath(key).parts
    if len(parts) < len(LAYOUT) or parts[-4] != LAYOUT[0]:
        return ""
    name = parts[LAYOUT.index(what) - len(LAYOUT)]
    return "/" if what == "vhost" and name == "_default" else name


def accounts(folder: Folder) -> Iterator[Report]:
    """Reports about the manifest, the definitions, and the backup as a whole."""
    backup = Backup(folder)
    if backup.has_manifest:
        yield _manifest_report(backup)
    yield from _definitions_reports(folder)
    whole = Report(folder.path, NAME, 0)
    for finding in _whole(backup):
        whole.add(finding)
    yield whole.complete()


def _manifest_report(backup: Backup) -> Report:
    path, size = backup.folder.path_of(manifest.FILE), backup.folder.files()[manifest.FILE]
    report = Report(path, NAME, size)
    found = backup.manifest
    if found is None:
        reason = _reason(backup)
        hint = f"thawline rbak manifest {quoted(backup.folder.path)}"
        report.add(
            Finding(findings.BAD_MANIFEST, Span(0, size), {"reason": reason, "lost": "the list of segments"}, hint)
        )
        return report.complete()
    report.add(Run(Span(0, size), 0, 0))
    end = Span(size, size)
    if found.is_interrupted:
        detail = {"backup_id": found.backup_id, "completed_at": "null"}
        report.add(Finding(findings.INTERRUPTED, end, detail))
    for problem in found.problems:
        report.add(Finding(findings.BAD_VALUE, end, {"reason": problem}))
    twice = (Finding(findings.LISTED_TWICE, end, {"key": key, "times": count}) for key, count in _twice(found))
    for finding in _named(twice):
        report.add(finding)
    for name, stated, added in found.totals():
        if stated != added:
            report.add(Finding(findings.WRONG_TOTALS, end, {"total": name, "stated": stated, "listed": added}))
    return report.complete()


def _named(found: Iterator[Finding]) -> Iterator[Finding]:
    """Findings of one kind: the first of them, and how many more there are."""
    yield from islice(found, NAMED)
    last = next(found, None)
    if last is not None:
        more = 1 + sum(1 for _ in found)
        yield Finding(last.code, last.span, {"more": more, "lost": f"{counted(more, 'more place')} like those before"})


def _reason(backup: Backup) -> str:
    try:
        manifest.parse(_manifest_data(backup.folder))
    except FormatError as error:
        return error.message
    return "it changed while it was read"


def _twice(found: Manifest) -> Iterator[tuple[str, int]]:
    """Keys, and numbers within a queue, that are listed more than once."""
    keys = Counter(listed.key for listed in found.segments)
    yield from ((key, count) for key, count in keys.items() if count > 1)
    numbers = Counter(
        (listed.vhost, listed.queue, listed.sequence)
        for listed in {listed.key: listed for listed in found.segments}.values()
        if listed.sequence is not None
    )
    for (vhost, queue, sequence), count in numbers.items():
        if count > 1:
            yield f"{vhost} {queue}: sequence {sequence}", count


def _definitions_reports(folder: Folder) -> Iterator[Report]:
    """A report for each file of definitions: plain JSON, compressed, no RBAK."""
    for inside, name in _definitions(folder):
        suffix, size = PurePosixPath(name).suffix, inside.files()[name]
        report = Report(inside.path_of(name), NAME, size)
        try:
            data = inside.read(name, LARGEST_DEFINITIONS)
            load(decompress(DEFINITIONS.get(suffix, "none"), data, max_bytes=LARGEST_DEFINITIONS), name)
            report.add(Run(Span(0, size), 0, 0))
        except (FormatError, SourceError) as error:
            reason = error.message if isinstance(error, FormatError) else str(error)
            lost = {"reason": reason, "lost": "exchanges, queues and bindings"}
            report.add(Finding(findings.BAD_DEFINITIONS, Span(0, size), lost))
        yield report.complete()


def _definitions(folder: Folder) -> Iterator[tuple[Folder, str]]:
    """The files of definitions, each with the folder that it is in."""
    if "definitions" in folder.subfolders():
        inside = folder.folder("definitions")
        names = (name for name in inside.files() if PurePosixPath(name).suffix in {*DEFINITIONS, ".json"})
        yield from ((inside, name) for name in names)


def _whole(backup: Backup) -> Iterator[Finding]:
    """What is missing, not listed, or there twice."""
    found, missing = backup.pairs()
    yield from _named(_missing(listed) for listed in missing)
    if backup.manifest is not None:
        hint = f"thawline rbak manifest {quoted(backup.folder.path)}"
        orphans = (path for path in backup.files if path not in found)
        yield from _named(Finding(findings.ORPHAN, HERE, {"key": path}, hint) for path in orphans)
    for one, other in _same(backup):
        yield Finding(findings.SAME_CONTENT, HERE, {"key": one, "other": other})


def _missing(listed: Listed) -> Finding:
    count = listed.record_count
    messages = "an unknown number of messages" if count is None else counted(count, "message")
    lost = f"{messages} of queue {listed.queue!r} in vhost {listed.vhost!r}"
    return Finding(findings.MISSING, HERE, {"key": listed.key, "lost": lost})


def _same(backup: Backup) -> Iterator[tuple[str, str]]:
    """Files with the same bytes. Only those whose size, header and footer agree are read as a whole."""
    seen: dict[bytes, list[str]] = {}
    sizes = Counter(backup.files.values())
    for path, size in backup.files.items():
        if sizes[size] > 1 and size >= LEAST:
            with backup.folder.open(path) as source:
                head = bytes(source.view(0, HEADER)) + bytes(source.view(size - FOOTER, size))
            seen.setdefault(size.to_bytes(8, "little") + head, []).append(path)
    for paths in seen.values():
        by_content: dict[bytes, str] = {}
        for path in paths if len(paths) > 1 else ():
            with backup.folder.open(path) as source:
                digest = sha256(source.view(0, source.size))
            if digest in by_content:
                yield by_content[digest], path
            by_content.setdefault(digest, path)


def compare_head(listed: Listed | None, segment: Segment, header: Header | None) -> Iterator[Finding]:
    """What of a segment differs from the manifest, as far as size and header tell."""
    if listed is None:
        return
    end = Span(segment.span.end, segment.span.end)
    if listed.size_bytes is not None and listed.size_bytes != segment.span.end:
        yield Finding(findings.OTHER_SIZE, end, {"size": segment.span.end, "listed": listed.size_bytes})
    if header is None:
        return
    if listed.record_count is not None and listed.record_count != header.num_records:
        yield Finding(findings.OTHER_COUNT, end, {"records": header.num_records, "listed": listed.record_count})
    times = {"first_timestamp": header.first_timestamp, "last_timestamp": header.last_timestamp}
    wrong = {name: time for name, time in times.items() if getattr(listed, name) not in (None, time)}
    if wrong:
        stated = {f"{name}_listed": getattr(listed, name) for name in wrong}
        yield Finding(findings.OTHER_TIMES, end, {**wrong, **stated})


def compare(
    listed: Listed | None, source: Source, segment: Segment, header: Header | None, documents: int
) -> Iterator[Finding]:
    """The same, and the SHA-256 of the whole file."""
    if listed is None or segment.span.end != source.size:
        return
    yield from compare_head(listed, segment, replace(header, num_records=documents) if header else None)
    digest = sha256(source.view(0, source.size)).hex()
    if listed.checksum and listed.checksum != digest:
        detail = {"sha256": digest, "listed": listed.checksum}
        yield Finding(findings.OTHER_FILE, Span(source.size, source.size), detail)
