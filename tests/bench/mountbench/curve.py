"""Curves over the number of programs: where a measurement was made with three or more of them, one panel has a line
for each system, from the medians."""

import math
import re
from xml.sax.saxutils import escape

from .report import median, number

LEAST = 3  # numbers of programs
HEIGHT, HEAD, LEFT, LABELS, FOOT, STEP = 250, 44, 52, 130, 34, 14
TICKS = 4


def split(detail):
    """A kind of data and a number of programs; None: the detail names no number."""
    found = re.fullmatch(r"(.*), (\d+) jobs?", detail)
    return (found[1], int(found[2])) if found else None


def group(rows):
    """Curves, and the rows that belong to none. A curve: what, kind, unit, and for each system points by number."""
    families = {}
    for what, detail, row in rows:
        if split(detail):
            families.setdefault((what, split(detail)[0]), []).append((split(detail)[1], row))
    families = {key: family for key, family in families.items() if len(family) >= LEAST}
    curves = []
    for (what, kind), family in families.items():
        lines = {}
        for jobs, row in sorted(family, key=lambda point: point[0]):
            for system, values in row["systems"].items():
                lines.setdefault(system, []).append((jobs, median(values)))
        curves.append((what, kind, family[0][1]["unit"], lines))
    rest = [(what, detail, row) for what, detail, row in rows
            if not split(detail) or (what, split(detail)[0]) not in families]
    return curves, rest


def _spread(labels, top, bottom):
    """Heights of labels, from high to low, so that none covers another."""
    placed, last = [], top - STEP
    for at, system in sorted(labels):
        last = max(at, last + STEP)
        placed.append([last, system])
    over = max(0.0, last - bottom)
    return [(at - over, system) for at, system in placed]


def panel(left, top, width, curve, colours):
    """Numbers of programs from left to right, each twice the one before; values from 0 up."""
    what, kind, unit, lines = curve
    counts = sorted({jobs for points in lines.values() for jobs, _ in points})
    most = max(value for points in lines.values() for _, value in points) or 1
    begin, end, high, low = left + LEFT, left + width - LABELS, top + HEAD, top + HEIGHT - FOOT
    reach = math.log2(counts[-1] / counts[0])

    def place(jobs, value):
        return begin + (end - begin) * math.log2(jobs / counts[0]) / reach, low - (low - high) * value / most

    out = [f'<text x="{left}" y="{top + 14}" class="title">{escape(what)}</text>',
           f'<text x="{left}" y="{top + 30}" class="small">{escape(kind)}; {escape(unit)} by number of programs</text>',
           f'<path d="M{begin} {high}V{low}H{end}" stroke="#888" fill="none"/>']
    for tick in range(TICKS + 1):
        y = low - (low - high) * tick / TICKS
        out.append(f'<text x="{begin - 6}" y="{y + 4:.1f}" class="small right">{number(most * tick / TICKS)}</text>')
    for jobs in counts:
        out.append(f'<text x="{place(jobs, 0)[0]:.1f}" y="{low + 16}" class="small" text-anchor="middle">{jobs}</text>')
    labels = []
    for system, points in lines.items():
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in (place(*point) for point in points))
        out.append(f'<path class="curve" d="M{path}" stroke="{colours[system]}" stroke-width="2" fill="none"/>')
        labels.append((place(*points[-1])[1] + 4, system))
    out += [f'<text x="{end + 8}" y="{y:.1f}" style="fill: {colours[system]}">{escape(system)}</text>'
            for y, system in _spread(labels, high, low)]
    return out
