"""Makes the pictures of the tutorial: run `python docs/make_pictures.py`.

One is a drawing of how HPL deals a matrix to nodes. The other one is `hpltune plot timeline` of the study "grids" of
docs/kronos.md, whose commands run here in a folder of their own.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from results.report.html import drawing
from results.report.model import Gantt
from results.report.vega import FILLED
from results.store.store import Store
from tuner.commands.stored.timeline import drawn_runs
from tuner.reports.figures.rank_timeline import rank_lanes

DOCS = Path(__file__).parent
GRIDS, TIMELINE = DOCS / "kronos-grids.svg", DOCS / "kronos-timeline.svg"
TUTORIAL = DOCS / "kronos.md"
STEPS = (1, 6)
PANEL, BROADCAST, SWAPS, UPDATE, DONE = (*FILLED[:4], "#e4e7ea")
BLOCKS, SIDE, NODE = 8, 25, 30
"""Blocks of the matrix in each direction, and the sides of a block and of a node in the drawing."""
STEP = 2
"""Number of the panel that travels, from 0."""
INK, SOFT = "#1c2128", "#57606a"
MIDDLE, DARK = 'text-anchor="middle"', f'fill="{INK}"'


def grids() -> str:
    """Draw who holds which block on a 1x8 and a 2x4 grid, and what travels where in the third step."""
    words = [
        *_half(0, 1, 8, "1 x 8: a panel belongs to one node"),
        *_half(330, 2, 4, "2 x 4: a panel belongs to two nodes"),
        *_lines(222, 50, ("The number of a", "block is the node", "that holds it.")),
        *_lines(10, 380, ("One node factors the panel; seven wait.", "Each node swaps rows by itself.")),
        *_lines(340, 380, ("Two nodes factor the panel together.", "Each half of it goes along its own row.")),
        *_legend(),
    ]
    described = (
        "Two drawings of a matrix of 8 times 8 blocks, each block with the number of its node. On a 1x8 grid the third "
        "panel belongs to node n2 alone and goes along the row of nodes. On a 2x4 grid it belongs to n2 and n6, its "
        "halves go along the two rows at the same time, and the two nodes of each column swap rows."
    )
    return _file("Which node holds which block", described, (0, 0, 640, 438), "\n".join(words))


def _half(left: int, rows: int, columns: int, title: str) -> Iterator[str]:
    """Draw the matrix on a grid, and the grid of nodes below it."""
    yield _text(left + 10, 20, title, 14, 'font-weight="bold"')
    for i in range(BLOCKS):
        for j in range(BLOCKS):
            x, y = left + 10 + j * SIDE, 34 + i * SIDE
            colour = _colour(i, j)
            ink = "#ffffff" if colour in {PANEL, SWAPS, UPDATE} else SOFT
            yield f'<rect x="{x}" y="{y}" width="{SIDE - 1}" height="{SIDE - 1}" fill="{colour}"/>'
            yield _text(
                x + (SIDE - 1) / 2, y + 16.5, str(i % rows * columns + j % columns), 11, f'{MIDDLE} fill="{ink}"'
            )
    yield from _nodes(left, rows, columns)


def _colour(i: int, j: int) -> str:
    """Tell what a block is in the step: finished, of the panel, of the rows that are swapped in, or updated."""
    if min(i, j) < STEP:
        return DONE
    if j == STEP:
        return PANEL
    return SWAPS if i == STEP else UPDATE


def _nodes(left: int, rows: int, columns: int) -> Iterator[str]:
    """Draw the grid of nodes, with arrows along which the panel travels and rows are swapped."""
    gap = 8 if columns > 4 else 22
    for row in range(rows):
        y = 270 + row * (NODE + 20) if rows > 1 else 290
        for column in range(columns):
            x = left + 10 + column * (NODE + gap)
            colour, ink = (PANEL, "#ffffff") if column == STEP % columns else ("#ffffff", INK)
            yield f'<rect x="{x}" y="{y}" width="{NODE}" height="{NODE}" rx="3" fill="{colour}" stroke="{SOFT}"/>'
            yield _text(x + NODE / 2, y + NODE / 2 + 4, f"n{row * columns + column}", 11.5, f'{MIDDLE} fill="{ink}"')
            if (column + 1) % columns not in {STEP % columns, 0}:
                yield _arrow([(x + NODE, y + NODE / 2), (x + NODE + gap, y + NODE / 2)], BROADCAST)
            if rows > 1 and row == 0:
                middle, between = x + NODE / 2, y + NODE + 10
                yield _arrow([(middle, between), (middle, y + NODE)], SWAPS)
                yield _arrow([(middle, between), (middle, y + NODE + 20)], SWAPS)
        first, last = left + 10 + NODE / 2, left + 10 + (columns - 1) * (NODE + gap) + NODE / 2
        beside, edge = (y - 11, y) if row == 0 else (y + NODE + 11, y + NODE)
        yield _arrow([(last, edge), (last, beside), (first, beside), (first, edge)], BROADCAST)


def _legend() -> Iterator[str]:
    """Name the colours below both drawings."""
    x = 10.0
    for colour, name in (
        (PANEL, "panel"),
        (BROADCAST, "broadcast"),
        (SWAPS, "rows swapped"),
        (UPDATE, "update"),
        (DONE, "finished"),
    ):
        yield f'<rect x="{x:g}" y="417" width="14" height="11" fill="{colour}" stroke="{SOFT}" stroke-width="0.5"/>'
        yield _text(x + 19, 426.5, name, 12)
        x += 34 + 7 * len(name)


def _arrow(points: list[tuple[float, float]], colour: str) -> str:
    """Draw an arrow along the axes, with a thin dark edge."""
    (x0, y0), (x, y) = points[-2:]
    along = 5 if x + y > x0 + y0 else -5
    if y0 == y:
        head, end = f"M{x:g} {y:g}L{x - along:g} {y - 4:g}V{y + 4:g}z", (x - along, y)
    else:
        head, end = f"M{x:g} {y:g}L{x - 4:g} {y - along:g}H{x + 4:g}z", (x, y - along)
    line = "M" + "L".join(f"{one:g} {two:g}" for one, two in [*points[:-1], end])
    edge = f'<path d="{line}" fill="none" stroke="{SOFT}" stroke-width="3.4"/>'
    filled = f'<path d="{head}" fill="{colour}" stroke="{SOFT}" stroke-width="0.6"/>'
    return f'{edge}{filled}<path d="{line}" fill="none" stroke="{colour}" stroke-width="2.2"/>'


def _lines(x: float, y: float, lines: tuple[str, ...]) -> Iterator[str]:
    """Write lines below each other."""
    for number, line in enumerate(lines):
        yield _text(x, y + 15 * number, line, 11.5, f'fill="{SOFT}"')


def _text(x: float, y: float, words: str, size: float, how: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" {how or DARK}>{escape(words)}</text>'


def _file(title: str, described: str, box: tuple[float, float, float, float], body: str) -> str:
    """Wrap a drawing as a file that looks the same on a light and on a dark page."""
    x, y, width, height = box
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{width:g}" '
        f'height="{height:g}" viewBox="{x:g} {y:g} {width:g} {height:g}" font-family="DejaVu Sans, Arial, sans-serif" '
        f'role="img">\n<title>{escape(title)}</title>\n<desc>{escape(described)}</desc>\n'
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="#ffffff"/>\n{body}\n</svg>\n'
    )


def timeline_figure(folder: Path) -> Gantt:
    """Run the commands of the tutorial that make the study "grids", and draw its first two trials."""
    command = re.search(r"^\./hpltune (tune .*--study grids)$", TUTORIAL.read_text(encoding="utf-8"), re.MULTILINE)
    if command is None:
        raise SystemExit(f"{TUTORIAL} no longer has the study grids")
    asked = [sys.executable, "-P", "-m", "tuner.cli", *command[1].split(), "--db", "grids.db"]
    subprocess.run(asked, cwd=folder, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "HPLTUNE_DATA": "data"})
    with Store.open(folder / "grids.db") as store:
        runs = drawn_runs(store, store.study("grids"), [store.get("grids", number) for number in (1, 2)], STEPS)
        return rank_lanes(runs, STEPS)


def timeline(figure: Gantt) -> str:
    """Draw the figure as a file of its own."""
    drawn, _ = drawing(figure)
    box = re.search(r'viewBox="([^"]*)"', drawn)
    if box is None:
        raise SystemExit("the figure has no size")
    x, y, width, height = map(float, box[1].split())
    body = drawn[drawn.index(">") + 1 : drawn.rindex("</svg>")].strip()
    body = body.replace("currentColor", INK).replace("var(--line)", "#c9d1d9")
    return _file(figure.title, figure.caption, (x, y, width, height), body)


if __name__ == "__main__":
    GRIDS.write_text(grids(), encoding="utf-8")
    with TemporaryDirectory() as made:
        TIMELINE.write_text(timeline(timeline_figure(Path(made))), encoding="utf-8")
