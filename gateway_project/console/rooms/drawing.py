"""Computes where the boxes and lines of small pictures go: workflows, and a tool's relations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

BOX_WIDTH: Final = 208
BOX_HEIGHT: Final = 52
COLUMN_GAP: Final = 64
ROW_GAP: Final = 20
MARGIN: Final = 8
STAR_WIDTH: Final = 760
STAR_BOX_WIDTH: Final = 196
STAR_ROW: Final = 46


@dataclass(frozen=True, kw_only=True)
class Box:
    """A box of a picture.

    Attributes:
        key: What it stands for.
        x: Left edge.
        y: Top edge.
        width: In pixels.
        height: In pixels.
    """

    key: str
    x: float
    y: float
    width: float = BOX_WIDTH
    height: float = BOX_HEIGHT

    @property
    def center_x(self) -> float:
        """Middle from left to right."""
        return self.x + self.width / 2

    @property
    def center_y(self) -> float:
        """Middle from top to bottom."""
        return self.y + self.height / 2


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line from one box to another.

    Attributes:
        source: Key of the box it starts at.
        target: Key of the box it ends at.
        path: As SVG path data.
    """

    source: str
    target: str
    path: str


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Boxes and lines with the size of the picture."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def draw_workflow(dependencies: Mapping[str, Sequence[str]]) -> Picture:
    """Draw a workflow from left to right: each task right of all that it waits for.

    Args:
        dependencies: What each task waits for, by its id; unknown ids are left out, and so are
            dependencies on a cycle.

    Example:
        >>> picture = draw_workflow({"a": [], "b": ["a"]})
        >>> [(box.key, box.x < 100) for box in picture.boxes], len(picture.lines)
        ([('a', True), ('b', False)], 1)
    """
    columns = _assign_columns(dependencies)
    rows: dict[int, list[str]] = {}
    for task in dependencies:
        rows.setdefault(columns[task], []).append(task)
    height = max((len(tasks) for tasks in rows.values()), default=0) * (BOX_HEIGHT + ROW_GAP)
    boxes: dict[str, Box] = {}
    for column, tasks in sorted(rows.items()):
        top = (height - len(tasks) * (BOX_HEIGHT + ROW_GAP) + ROW_GAP) / 2
        for row, task in enumerate(tasks):
            boxes[task] = Box(
                key=task,
                x=MARGIN + column * (BOX_WIDTH + COLUMN_GAP),
                y=MARGIN + top + row * (BOX_HEIGHT + ROW_GAP),
            )
    lines = tuple(
        _join_boxes(boxes[other], boxes[task])
        for task, needed in dependencies.items()
        for other in needed
        if other in boxes and columns[other] < columns[task]
    )
    width = len(rows) * (BOX_WIDTH + COLUMN_GAP) - COLUMN_GAP
    return Picture(
        width=max(width, 0) + 2 * MARGIN,
        height=height + 2 * MARGIN,
        boxes=tuple(boxes.values()),
        lines=lines,
    )


def draw_star(center: str, left: Sequence[str], right: Sequence[str]) -> Picture:
    """Draw a thing with what leads to it on its left and what it leads to on its right.

    Example:
        >>> picture = draw_star("b", ["a"], ["c", "d"])
        >>> [box.key for box in picture.boxes], [(one.source, one.target) for one in picture.lines]
        (['b', 'a', 'c', 'd'], [('a', 'b'), ('b', 'c'), ('b', 'd')])
    """
    height = max(len(left), len(right), 1) * STAR_ROW + MARGIN
    box_height = 32.0
    width = STAR_BOX_WIDTH
    middle = Box(
        key=center, x=(STAR_WIDTH - width) / 2, y=(height - box_height) / 2,
        width=width, height=box_height,
    )  # fmt: skip
    sides = [
        Box(
            key=key,
            x=MARGIN if side is left else STAR_WIDTH - MARGIN - width,
            y=(height - len(side) * STAR_ROW) / 2 + row * STAR_ROW + (STAR_ROW - box_height) / 2,
            width=width,
            height=box_height,
        )
        for side in (left, right)
        for row, key in enumerate(side)
    ]
    lines = (
        *(_join_boxes(box, middle) for box in sides[: len(left)]),
        *(_join_boxes(middle, box) for box in sides[len(left) :]),
    )
    return Picture(width=STAR_WIDTH, height=height, boxes=(middle, *sides), lines=lines)


def _assign_columns(dependencies: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the length of the longest chain before each task; O(tasks · dependencies)."""
    columns = dict.fromkeys(dependencies, 0)
    for _ in dependencies:
        is_changed = False
        for task, needed in dependencies.items():
            before = [columns[other] + 1 for other in needed if other in columns and other != task]
            column = min(max(before, default=0), len(dependencies) - 1)
            if column > columns[task]:
                columns[task], is_changed = column, True
        if not is_changed:
            break
    return columns


def _join_boxes(source: Box, target: Box) -> Line:
    """Return a curve from the right edge of one box to the left edge of another."""
    x, y = source.x + source.width, source.center_y
    end_x, end_y = target.x, target.center_y
    bend = math.copysign(max(abs(end_x - x) / 2, 16), end_x - x)
    path = f"M{x:g} {y:g}C{x + bend:g} {y:g} {end_x - bend:g} {end_y:g} {end_x - 6:g} {end_y:g}"
    return Line(source=source.key, target=target.key, path=path)
