"""What was measured, as bars: a panel for each row, a bar for each system from 0 to the median, a line from the least
to the most; and as curves (curve.py)."""

import re
from xml.sax.saxutils import escape

from . import curve
from .report import WHOLE, median, number

COLUMNS, WIDTH, GAP, MARGIN = 3, 430, 26, 28
BAR, STEP, HEAD, NAMES, VALUES = 15, 20, 44, 150, 78
COLOURS = (("balefs", "/direct", "#0b3d66"), ("balefs/auto", "", "#56a0d3"), ("balefs", "", "#1f77b4"),
           ("btrfs", "", "#e07b39"), ("memfs", "", "#9a9a9a"), ("passthrough", "", "#6b8e5a"), ("bzip2", "", "#e07b39"))
# Of codecs, which are the first word of a system's name: on a GPU, and else.
PAIRS = (("#0b3d66", "#56a0d3"), ("#1b6b3a", "#7fbf8f"), ("#5b2a86", "#b39ddb"), ("#8a6d00", "#d9c36a"),
         ("#8a1c4a", "#e0a0bb"))
STYLE = """text { font: 12px sans-serif; fill: #222 } .title { font-weight: bold; font-size: 13px }
.big { font-size: 20px; font-weight: bold } .small { font-size: 11px; fill: #555 } .right { text-anchor: end }"""


def _known(system):
    return next((colour for begin, end, colour in COLOURS if system.startswith(begin) and system.endswith(end)), None)


def _codec(system):
    return re.split(r"\W", system)[0]


def _colours(systems):
    """A colour for each system; codecs take theirs in the order of their names."""
    codecs = sorted({_codec(system) for system in systems if not _known(system)})
    pairs = {codec: PAIRS[at % len(PAIRS)] for at, codec in enumerate(codecs)}
    return {system: _known(system) or pairs[_codec(system)][not system.endswith("GPU")] for system in systems}


def _text(x, y, text, kind=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(text)}</text>'


def _panel(x, y, what, detail, row, names, colours):
    unit = row["unit"] or "times smaller"
    better = "less is better" if unit in ("s/GB", "%") else "more is better"
    out = [_text(x, y + 14, what, "title"), _text(x, y + 30, f"{detail}; {unit}, {better}", "small")]
    most = max(max(values) for values in row["systems"].values()) or 1
    scale = (WIDTH - names - VALUES) / most
    for at, (system, values) in enumerate(row["systems"].items()):
        top, left, middle = y + HEAD + at * STEP, x + names, median(values)
        line = top + BAR / 2
        out.append(_text(left - 6, top + 12, system, "right"))
        out.append(f'<rect x="{left}" y="{top:.1f}" width="{max(middle * scale, 0.5):.1f}" height="{BAR}" '
                   f'fill="{colours[system]}"/>')
        if len(values) > 1:
            low, high = left + min(values) * scale, left + max(values) * scale
            ends = f"M{low:.1f} {line - 4:.1f}v8M{high:.1f} {line - 4:.1f}v8"
            out.append(f'<path d="M{low:.1f} {line:.1f}H{high:.1f}{ends}" '
                       'stroke="#111" stroke-width="1.2" fill="none"/>')
        out.append(_text(left + max(values) * scale + 6, top + 12, number(middle)))
    out.append(f'<path d="M{x + names} {y + HEAD - 3}V{y + HEAD + len(row["systems"]) * STEP}" stroke="#888"/>')
    return out


def _shown(what, detail):
    if what.endswith(WHOLE) or (what.endswith(": CPU") and not what.startswith("sequential")):
        return False
    return not (what.endswith(": CPU") and "1 job" not in detail)


def draw(results, machine, title, names=NAMES):
    """The picture, as SVG. names: how wide those of systems are."""
    rows = [(what, detail, row) for (what, detail), row in results.rows.items() if _shown(what, detail)]
    width = 2 * MARGIN + COLUMNS * WIDTH + (COLUMNS - 1) * GAP
    colours = _colours({system for _, _, row in rows for system in row["systems"]})
    body, y = [], 112
    curves, rows = curve.group(rows)
    for first in range(0, len(curves), COLUMNS):
        for column, one in enumerate(curves[first:first + COLUMNS]):
            body += curve.panel(MARGIN + column * (WIDTH + GAP), y, WIDTH, one, colours)
        y += curve.HEIGHT + GAP
    for first in range(0, len(rows), COLUMNS):
        line = rows[first:first + COLUMNS]
        for column, (what, detail, row) in enumerate(line):
            body += _panel(MARGIN + column * (WIDTH + GAP), y, what, detail, row, names, colours)
        y += HEAD + max(len(row["systems"]) for _, _, row in line) * STEP + GAP
    head = [_text(MARGIN, 38, title, "big"),
            _text(MARGIN, 60, f"{machine['machine']}; {machine['kernel']}; load {machine['load']}; {machine['date']}",
                  "small"),
            _text(MARGIN, 77, f"{machine['versions']['balefs']}; {machine['command']}", "small"),
            _text(MARGIN, 94, "Bars and curves are medians; the line on a bar goes from the least to the most that was "
                  "measured.", "small")]
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" '
                      f'viewBox="0 0 {width} {y}">', f"<style>{STYLE}</style>",
                      f'<rect width="{width}" height="{y}" fill="#fff"/>', *head, *body, "</svg>", ""])
