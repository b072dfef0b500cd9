"""A treemap of folders: each file has an area as large as its size, and shows whether it is damaged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from thawline.markup import Markup, element, joined
from thawline.rendering.report.names import folder_of, shown_name
from thawline.rendering.words import counted, exact, plural
from thawline.verbs.report import Account, Survey

WIDTH, HEIGHT = 960, 360
MOST_FOLDERS, MOST_FILES = 60, 40
"""Areas of a picture, and of a folder in it; the smaller ones are drawn together."""
LABEL_WIDTH, LABEL_HEIGHT = 70, 16
LETTER = 7.2
GAP = 1.5


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of a picture."""

    x: float
    y: float
    width: float
    height: float

    def inner(self, edge: float, top: float) -> Box:
        """What is left inside its edges."""
        return Box(self.x + edge, self.y + top, max(self.width - 2 * edge, 0.0), max(self.height - top - edge, 0.0))


@dataclass(frozen=True, slots=True)
class Area:
    """Something to draw: a file, or several small ones together."""

    size: int
    accounts: tuple[Account, ...]

    @property
    def is_damaged(self) -> bool:
        """Whether any of its files is damaged."""
        return not all(account.ok for account in self.accounts)


def folder_picture(survey: Survey) -> Markup:
    """The picture; empty where there are fewer than two files with bytes."""
    folders = _folders(survey)
    if sum(len(areas) for _, areas in folders) < 2:  # noqa: PLR2004 - one file needs no picture
        return joined()
    boxes = squarified([sum(area.size for area in areas) for _, areas in folders], Box(0, 0, WIDTH, HEIGHT))
    drawn = [_folder(name, areas, box) for (name, areas), box in zip(folders, boxes, strict=True)]
    return element(
        "svg",
        element("title", "folders and files by size"),
        *drawn,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        class_="treemap",
        role="img",
        xmlns="http://www.w3.org/2000/svg",
    )


def _folders(survey: Survey) -> list[tuple[str, list[Area]]]:
    """Folders by size with the areas in them; the smallest folders are one."""
    by_folder: dict[str, list[Account]] = defaultdict(list)
    for account in survey.files:
        if account.size:
            by_folder[folder_of(account.file)].append(account)
    ranked = sorted(by_folder.items(), key=lambda item: -sum(account.size for account in item[1]))
    folders = [(name, _areas(accounts)) for name, accounts in ranked[:MOST_FOLDERS]]
    if rest := ranked[MOST_FOLDERS:]:
        accounts = [account for _, some in rest for account in some]
        folders.append((f"{counted(len(rest), 'more folder')}", _areas(accounts)))
    return folders


def _areas(accounts: Sequence[Account]) -> list[Area]:
    """Files by size; beyond a number, damaged ones and intact ones together."""
    ranked = sorted(accounts, key=lambda account: (-account.size, account.number))
    areas = [Area(account.size, (account,)) for account in ranked[:MOST_FILES]]
    others = (tuple(account for account in ranked[MOST_FILES:] if account.ok is is_ok) for is_ok in (False, True))
    areas += [Area(sum(account.size for account in some), some) for some in others if some]
    return sorted(areas, key=lambda area: -area.size)


def _folder(name: str, areas: list[Area], box: Box) -> Markup:
    has_label = box.width > LABEL_WIDTH and box.height > 2 * LABEL_HEIGHT
    inside = box.inner(GAP, LABEL_HEIGHT + GAP if has_label else GAP)
    boxes = squarified([area.size for area in areas], inside)
    label = [_label(name, box)] if has_label else []
    return element("g", *label, *(_area(area, at) for area, at in zip(areas, boxes, strict=True)))


def _label(name: str, box: Box) -> Markup:
    text = shown_name(name, max(int(box.width / LETTER) - 1, 4))
    return element("text", text, x=box.x + 2, y=box.y + 12, class_="label")


def _area(area: Area, box: Box) -> Markup:
    first = area.accounts[0]
    name = shown_name(first.file) if len(area.accounts) == 1 else f"{len(area.accounts)} more {plural('file')}"
    state = "damaged" if area.is_damaged else "intact"
    rect = element(
        "rect",
        element("title", f"{name}: {exact(area.size)}, {state}"),
        x=box.x,
        y=box.y,
        width=max(box.width - GAP, 0.5),
        height=max(box.height - GAP, 0.5),
        class_=state,
    )
    return element("a", rect, href=f"#f{first.number}") if area.is_damaged else rect


def squarified(sizes: Sequence[int], box: Box) -> Iterator[Box]:
    """Rectangles of these sizes, largest first, that fill a box, as square as a row at a time allows.

    >>> [(b.x, b.y, b.width, b.height) for b in squarified([2, 1, 1], Box(0.0, 0.0, 4.0, 2.0))]
    [(0.0, 0.0, 2.0, 2.0), (2.0, 0.0, 2.0, 1.0), (2.0, 1.0, 2.0, 1.0)]
    """
    rest = list(sizes)
    while rest:
        total = sum(rest)
        row = _row(rest, total, box)
        part = sum(row) / total
        is_wide = box.width >= box.height
        width, height = (box.width * part, box.height) if is_wide else (box.width, box.height * part)
        strip = Box(box.x, box.y, width, height)
        yield from _cells(row, strip, is_column=is_wide)
        if is_wide:
            box = Box(box.x + strip.width, box.y, box.width - strip.width, box.height)
        else:
            box = Box(box.x, box.y + strip.height, box.width, box.height - strip.height)
        rest = rest[len(row) :]


def _row(sizes: list[int], total: int, box: Box) -> list[int]:
    """The sizes of the next row: one more as long as the worst shape gets better by it."""
    side, area = min(box.width, box.height), box.width * box.height
    row, worst = sizes[:1], float("inf")
    for count in range(1, len(sizes) + 1):
        thickness = area * sum(sizes[:count]) / total / side if side else 0
        shapes = [_shape(area * size / total, thickness) for size in (sizes[0], sizes[count - 1])]
        if max(shapes) > worst:
            break
        row, worst = sizes[:count], max(shapes)
    return row


def _shape(area: float, thickness: float) -> float:
    """How far a rectangle is from a square: 1 for a square."""
    length = area / thickness if thickness else 0
    return max(length / thickness, thickness / length) if length and thickness else float("inf")


def _cells(row: list[int], strip: Box, *, is_column: bool) -> Iterator[Box]:
    total, at = sum(row), 0.0
    for size in row:
        part = size / total
        if is_column:
            yield Box(strip.x, strip.y + at, strip.width, strip.height * part)
            at += strip.height * part
        else:
            yield Box(strip.x + at, strip.y, strip.width * part, strip.height)
            at += strip.width * part
