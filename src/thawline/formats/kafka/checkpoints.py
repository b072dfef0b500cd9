"""The text files of a partition and of the folder above it, read as strictly as a broker reads them."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from itertools import pairwise

from thawline.errors import SourceError
from thawline.folder import Folder
from thawline.formats.kafka.findings import BAD_EPOCHS, BAD_METADATA
from thawline.model import Code, Finding, Report, Run, Span, report
from thawline.wording import counted, grouped

LEADER_EPOCHS = "leader-epoch-checkpoint"
METADATA = "partition.metadata"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
UNIT_NAMES = {LEADER_EPOCHS: "entry", METADATA: "entry"}
LARGEST = 16 << 20
HEAD_LINES = 2
LARGEST_OFFSET = (1 << 63) - 1
EPOCH_LINE = re.compile(r"(\d{1,10}) (\d{1,19})", re.ASCII)
OFFSET_LINE = re.compile(r"(\S+) (\d{1,10}) (\d{1,19})", re.ASCII)
UUID_SIZE = 16


class BadText(ValueError):
    """A file that is not what Kafka writes; the message says why."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """A leader's epoch, and the offset of its first record."""

    epoch: int
    start_offset: int


def leader_epochs(data: bytes) -> list[Epoch]:
    r"""The epochs of a leader-epoch-checkpoint; `BadText` if it is none.

    >>> leader_epochs(b"0\n2\n0 0\n3 1500\n")[-1]
    Epoch(epoch=3, start_offset=1500)
    """
    found = [Epoch(*(int(part) for part in _matched(EPOCH_LINE, line))) for line in _lines(data)]
    for before, after in pairwise(found):
        if not (before.epoch < after.epoch and before.start_offset <= after.start_offset):
            raise BadText(f"epoch {after.epoch} from offset {after.start_offset} follows {before.epoch} from "
                          f"{before.start_offset}: they do not rise")  # fmt: skip
    return found


def partition_offsets(data: bytes) -> dict[tuple[str, int], int]:
    r"""The offsets of a checkpoint of the folder above, by topic and partition; `BadText` if it is none.

    >>> partition_offsets(b"0\n1\norders 0 362\n")
    {('orders', 0): 362}
    """
    parts = (_matched(OFFSET_LINE, line) for line in _lines(data))
    return {(topic, int(partition)): int(offset) for topic, partition, offset in parts}


def topic_id(data: bytes) -> str:
    r"""The topic's id in a partition.metadata; `BadText` if it is none.

    >>> topic_id(b"version: 0\ntopic_id: p59PN4qkR8y176nhuDDPPA")
    'p59PN4qkR8y176nhuDDPPA'
    """
    found = re.fullmatch(r"version: 0\ntopic_id: ([\w-]{22})\n?", _text(data), re.ASCII)
    if not found:
        raise BadText("it is not a version and a topic id, each on its line")
    try:
        decoded = base64.urlsafe_b64decode(f"{found[1]}==")
    except binascii.Error:
        decoded = b""
    if len(decoded) != UUID_SIZE or not any(decoded):
        raise BadText(f"{found[1]} is no topic id")
    return found[1]


def _lines(data: bytes) -> list[str]:
    """The lines of a checkpoint behind its version and its count."""
    lines = _text(data).removesuffix("\n").split("\n")
    if lines[0] != "0":
        raise BadText(f"its version is {lines[0][:20]!r}, and 0 is known")
    if len(lines) < HEAD_LINES or not re.fullmatch(r"\d{1,10}", lines[1], re.ASCII):
        raise BadText("its second line is no count")
    if int(lines[1]) != len(lines) - HEAD_LINES:
        raise BadText(f"it counts {lines[1]} lines and has {len(lines) - HEAD_LINES}")
    return lines[HEAD_LINES:]


def _text(data: bytes) -> str:
    if not data:
        raise BadText("it is empty")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadText(f"it is no text: {error.reason} at byte {error.start:#x}") from None


def _matched(pattern: re.Pattern[str], line: str) -> tuple[str, ...]:
    found = pattern.fullmatch(line)
    if not found or int(found.groups()[-1]) > LARGEST_OFFSET:
        raise BadText(f"the line {line[:60]!r} is not what Kafka writes")
    return found.groups()


def read_epochs(folder: Folder) -> tuple[list[Epoch], Report | None]:
    """The leaders' epochs of a partition, and the account of their file; None where there is none."""
    if not folder.has(LEADER_EPOCHS):
        return [], None
    try:
        found = leader_epochs(_data(folder, LEADER_EPOCHS))
    except BadText as error:
        return [], _account(folder, LEADER_EPOCHS, 0, BAD_EPOCHS, str(error))
    return found, _account(folder, LEADER_EPOCHS, len(found))


def read_metadata(folder: Folder) -> Report | None:
    """The account of partition.metadata; None where there is none."""
    if not folder.has(METADATA):
        return None
    try:
        topic_id(_data(folder, METADATA))
    except BadText as error:
        return _account(folder, METADATA, 0, BAD_METADATA, str(error))
    return _account(folder, METADATA, 1)


def offset_above(folder: Folder, name: str, topic: str | None, partition: int | None) -> int | None:
    """What a checkpoint of the folder above says of a partition; None where it says nothing that can be read."""
    above = folder.above()
    try:
        if above is None or topic is None or partition is None or not above.has(name):
            return None
        return partition_offsets(_data(above, name)).get((topic, partition))
    except (BadText, SourceError):
        return None


def _data(folder: Folder, name: str) -> bytes:
    if folder.files()[name] > LARGEST:
        raise BadText(
            f"it has {counted(folder.files()[name], 'byte')}, and {grouped(LARGEST)} are the most that are read of it"
        )
    return folder.read(name, LARGEST)


def _account(folder: Folder, name: str, units: int, code: Code | None = None, reason: str = "") -> Report:
    size = folder.files()[name]
    span = Span(0, size)
    item = Finding(code, span, {"reason": reason}) if code else Run(span, units, units)
    return report(folder.path_of(name), "kafka", size, [item])
