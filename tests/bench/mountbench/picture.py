"""What was measured, as bars: a panel for each row, a bar for each system from 0 to the median, a line from the least
to the most."""

from xml.sax.saxutils import escape

from .report import WHOLE, median, number

COLUMNS, WIDTH, GAP, MARGIN = 3, 430, 26, 28
BAR, STEP, HEAD, NAMES, VALUES = 15, 20, 44, 150, 78
COLOURS = (("balefs", "/direct", "#0b3d66"), ("balefs/auto", "", "#56a0d3"), ("balefs", "", "#1f77b4"),
           ("btrfs", "", "#e07b39"), ("memfs", "", "#9a9a9a"), ("passthrough", "", "#6b8e5a"),
           ("culzss", "GPU", "#0b3d66"), ("culzss", "", "#56a0d3"), ("gpulz", "GPU", "#1b6b3a"),
           ("gpulz", "", "#7fbf8f"), ("bzip2", "", "#e07b39"))
STYLE = """text { font: 12px sans-serif; fill: #222 } .title { font-weight: bold; font-size: 13px }
.big { font-size: 20px; font-weight: bold } .small { font-size: 11px; fill: #555 } .right { text-anchor: end }"""


def _colour(system):
    for begin, end, colour in COLOURS:
        if system.startswith(begin) and system.endswith(end):
            return colour
    return "#444"


def _text(x, y, text, kind=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(text)}</text>'


def _panel(x, y, what, detail, row, names):
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
                   f'fill="{_colour(system)}"/>')
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
    body, y = [], 112
    for first in range(0, len(rows), COLUMNS):
        line = rows[first:first + COLUMNS]
        for column, (what, detail, row) in enumerate(line):
            body += _panel(MARGIN + column * (WIDTH + GAP), y, what, detail, row, names)
        y += HEAD + max(len(row["systems"]) for _, _, row in line) * STEP + GAP
    head = [_text(MARGIN, 38, title, "big"),
            _text(MARGIN, 60, f"{machine['machine']}; {machine['kernel']}; load {machine['load']}; {machine['date']}",
                  "small"),
            _text(MARGIN, 77, f"{machine['versions']['balefs']}; {machine['command']}", "small"),
            _text(MARGIN, 94, "Bars are medians; the line goes from the least to the most that was measured.", "small")]
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" '
                      f'viewBox="0 0 {width} {y}">', f"<style>{STYLE}</style>",
                      f'<rect width="{width}" height="{y}" fill="#fff"/>', *head, *body, "</svg>", ""])
