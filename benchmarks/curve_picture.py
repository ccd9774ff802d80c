"""Draws learning curves as SVGs that follow light and dark themes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.tables import percentile

WIDTH, PANEL_HEIGHT, LEFT, RIGHT, TOP, GAP = 760, 170, 64, 16, 58, 44
MODES: Final = {
    "explicit_required": ("draft", "only a draft"),
    "suggestion": ("suggested", "suggested"),
    "speculative_execution": ("ahead", "run ahead"),
}
"""Class and words of each mode."""
SHOWN: Final = 0.98
"""Share of the times that the scale reaches; the others stand at its end."""
_STYLE: Final = """\
    .paper { fill: #ffffff; stroke: #d0d7de }
    text { fill: #1f2933 }
    .head { font-size: 14px; font-weight: 600 }
    .small { font-size: 12px; fill: #52606d }
    .axis { stroke: #8c96a3 }
    .grid { stroke: #d0d7de; stroke-dasharray: 3 4 }
    .median { fill: none; stroke: #1f2933; stroke-width: 1.5 }
    .draft { fill: #9aa5b1 }
    .suggested { fill: #3b6fb6 }
    .ahead { fill: #c2571a }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #12171d; stroke: #39424d }
      text { fill: #e6ebf1 }
      .small { fill: #aab4c0 }
      .axis { stroke: #7b8794 }
      .grid { stroke: #39424d }
      .median { stroke: #e6ebf1 }
      .draft { fill: #7b8794 }
      .suggested { fill: #6c9fe0 }
      .ahead { fill: #f0944d }
    }"""


@dataclass(frozen=True)
class Ask:
    """An intent that was asked for.

    Attributes:
        confidence: Of the suggestion, in [0, 1].
        mode: As the gateway chose it.
        took_ms: Milliseconds until all results were there.
        is_right: Whether right results came with the answer.
    """

    confidence: float
    mode: str
    took_ms: float
    is_right: bool


def draw_curve(asks: Sequence[Ask], *, per_round: int) -> str:
    """Return the picture: confidence and time by how many intents were asked, coloured by mode.

    Args:
        asks: Oldest first.
        per_round: Intents in a round; the line shows the median of each.
    """
    height = TOP + 2 * (PANEL_HEIGHT + GAP)
    top_ms = 100 * (int(percentile((ask.took_ms for ask in asks), SHOWN) / 100) + 1)
    body = [
        *_draw_legend(),
        *_draw_panel(
            asks,
            per_round,
            top=TOP,
            title="confidence of the suggestion",
            read=lambda ask: ask.confidence,
            ticks=[(value / 4, f"{value / 4:g}") for value in range(5)],
        ),
        *_draw_panel(
            asks,
            per_round,
            top=TOP + PANEL_HEIGHT + GAP,
            title="milliseconds until the results were there",
            read=lambda ask: min(ask.took_ms / top_ms, 1.0),
            ticks=[(value / 4, f"{value * top_ms / 4:,.0f}") for value in range(5)],
        ),
    ]
    return _frame(
        "\n".join(f"  {line}" for line in body),
        height,
        "Learning curve of a new installation",
        f"Confidence and latency of {per_round} intents asked {len(asks)} times in all: each\n"
        "    dot is one, coloured by mode; the line is the median of each round.",
    )


def _frame(lines: str, height: int, title: str, description: str) -> str:
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"
     aria-labelledby="t d" font-family="system-ui, -apple-system, 'Segoe UI', sans-serif">
  <title id="t">{title}</title>
  <desc id="d">{description}</desc>
  <style>
{_STYLE}
  </style>
  <rect class="paper" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>
{lines}
</svg>
"""


def _draw_legend() -> Iterator[str]:
    yield f'<text class="head" x="{LEFT}" y="26">The same intents, asked again and again</text>'
    for place, (name, words) in enumerate(MODES.values()):
        x = WIDTH - RIGHT - 110 * (len(MODES) - place)
        yield f'<circle class="{name}" cx="{x}" cy="22" r="4"/>'
        yield f'<text class="small" x="{x + 10}" y="26">{words}</text>'


def _draw_panel(
    asks: Sequence[Ask],
    per_round: int,
    *,
    top: int,
    title: str,
    read: Callable[[Ask], float],
    ticks: Sequence[tuple[float, str]],
) -> Iterator[str]:
    """Yield the elements of one panel; `read` returns its value, in [0, 1]."""
    bottom = top + PANEL_HEIGHT

    def place_x(position: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * position / len(asks)

    def place_y(value: float) -> float:
        return bottom - PANEL_HEIGHT * value

    yield f'<text class="small" x="{LEFT}" y="{top - 8}">{title}</text>'
    for value, label in ticks:
        y = place_y(value)
        yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>'
        yield (
            f'<text class="small" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        )
    yield f'<line class="axis" x1="{LEFT}" y1="{bottom}" x2="{WIDTH - RIGHT}" y2="{bottom}"/>'
    for position in range(0, len(asks) + 1, max(1, len(asks) // 10)):
        x = place_x(position)
        yield (
            f'<text class="small" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">'
            f"{position}</text>"
        )
    for position, ask in enumerate(asks):
        name = MODES[ask.mode][0]
        x, y = place_x(position + 0.5), place_y(read(ask))
        yield f'<circle class="{name}" cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>'
    points = [
        (
            place_x(start + per_round / 2),
            place_y(median(map(read, asks[start : start + per_round]))),
        )
        for start in range(0, len(asks), per_round)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    yield f'<polyline class="median" points="{line}"/>'


SMOOTHED: Final = 5
"""Points on either side that a point of a line of shares is the mean of."""


def draw_shares(*, title: str, description: str, lines: Mapping[str, Sequence[float]]) -> str:
    """Return a picture of shares in [0, 1] by number, smoothed; at most two lines.

    Args:
        title: Of the picture.
        description: For those who do not see it.
        lines: Values from number 1, by name.
    """
    height, bottom, right = TOP + PANEL_HEIGHT + GAP, TOP + PANEL_HEIGHT, WIDTH - RIGHT
    count = max(map(len, lines.values()))
    body = [f'<text class="head" x="{LEFT}" y="26">{title}</text>']
    for value in range(5):
        y = bottom - PANEL_HEIGHT * value / 4
        label = f'x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{25 * value} %'
        body.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        body.append(f'<text class="small" {label}</text>')
    body.append(f'<line class="axis" x1="{LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}"/>')
    for number in range(0, count + 1, max(1, count // 10)):
        x = LEFT + (right - LEFT) * number / count
        label = f'x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{number}'
        body.append(f'<text class="small" {label}</text>')
    for place, (name, values) in enumerate(lines.items()):
        colour = ("ahead", "draft")[place]
        x = right - 150 * (len(lines) - place)
        body.append(f'<circle class="{colour}" cx="{x}" cy="46" r="4"/>')
        body.append(f'<text class="small" x="{x + 10}" y="50">{name}</text>')
        for number in range(len(values)):
            near = values[max(0, number - SMOOTHED) : number + SMOOTHED + 1]
            x_at = LEFT + (right - LEFT) * (number + 0.5) / count
            y = bottom - PANEL_HEIGHT * sum(near) / len(near)
            body.append(f'<circle class="{colour}" cx="{x_at:.1f}" cy="{y:.1f}" r="2.6"/>')
    return _frame("\n".join(f"  {line}" for line in body), height, title, description)
