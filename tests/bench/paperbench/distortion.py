"""Rate and distortion: what lossy compressors make of a field, one bound after the other, and a picture of it. Peers are
programs that were built beside: SZ3's sz3, and those of PFPL for one core."""

import json
import math
import pathlib
import shutil
from xml.sax.saxutils import escape

from mountbench.machine import Failed, run
from mountbench.picture import STYLE

BITS, PSNR, ERROR = "bits a value", "PSNR", "largest error"
BOUNDS = (3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5)  # of the range
COLOURS = ("#1f77b4", "#0b3d66", "#e07b39", "#6b8e5a")
WIDTH, HEIGHT, GAP, MARGIN, COLUMNS = 330, 260, 70, 60, 3
DECIBELS, RATES = (20, 120), (1 / 32, 32)
OCTAVES = round(math.log2(RATES[1] / RATES[0]))


class Peers:
    """sz3: the program, which is looked for if not given; pfpl: the directory that PFPL was built in. None: left out."""

    def __init__(self, sz3, pfpl):
        found = sz3 or shutil.which("sz3")
        self.sz3 = pathlib.Path(found).resolve() if found else None
        self.pfpl = pfpl.resolve() / "bin" / "f32" / "serial" if pfpl else None

    def left_out(self):
        return [f"left out: {name}: it is not here: give {option}"
                for name, there, option in (("SZ3", self.sz3, "--sz3 PROGRAM"), ("PFPL", self.pfpl, "--pfpl DIR"))
                if not there]

    def run(self, path, dims, bound):
        """By name: bytes stored, and the file that came back."""
        made, packed = {}, path.with_suffix(".packed")
        if self.sz3:
            back = path.with_suffix(".sz3")
            run(self.sz3, "-f", "-i", path, "-z", packed, "-o", back, f"-{len(dims)}", *dims, "-M", "ABS", bound)
            made["SZ3"] = packed.stat().st_size, back
        if self.pfpl:
            back = path.with_suffix(".pfpl")
            run(self.pfpl / "abs_compress_ser", path, packed, bound)
            run(self.pfpl / "abs_decompress_ser", packed, back)
            made["PFPL"] = packed.stat().st_size, back
        packed.unlink(missing_ok=True)
        return made


def quality(balefs, path, back):
    """What balefs quality says of a copy."""
    found = json.loads(run(balefs, "quality", "--json", "--type", "f32", path, back))
    if found["numbers"] != found["elements"]:
        raise Failed(f"{back}: what came back are no finite numbers")
    return found


def _place(bits, decibels):
    """In a panel: bits are logarithmic."""
    across = math.log2(min(max(bits, RATES[0]), RATES[1]) / RATES[0]) / OCTAVES
    up = (min(max(decibels, DECIBELS[0]), DECIBELS[1]) - DECIBELS[0]) / (DECIBELS[1] - DECIBELS[0])
    return across * WIDTH, HEIGHT - up * HEIGHT


def _text(x, y, text, kind=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(text)}</text>'


def _axes(x, y):
    out = [f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>']
    for octave in range(0, OCTAVES + 1, 2):
        bits = RATES[0] * 2**octave
        out.append(_text(x + _place(bits, 0)[0] - 8, y + HEIGHT + 16, f"{bits:g}"[:5], "small"))
    for decibels in range(DECIBELS[0], DECIBELS[1] + 1, 20):
        out.append(_text(x - 8, y + _place(1, decibels)[1] + 4, str(decibels), "small right"))
    return out


def _panel(x, y, kind, curves):
    out = [_text(x, y - 10, f"{kind}: PSNR, dB, over bits a value", "title"), *_axes(x, y)]
    for at, (system, points) in enumerate(curves.items()):
        colour = COLOURS[at % len(COLOURS)]
        places = [_place(*point) for point in sorted(points)]
        way = " ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in places)
        out.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        out += [f'<circle cx="{x + a:.1f}" cy="{y + b:.1f}" r="2.5" fill="{colour}"/>' for a, b in places]
        out.append(f'<rect x="{x + 12}" y="{y + 12 + 16 * at}" width="10" height="10" fill="{colour}"/>')
        out.append(_text(x + 28, y + 21 + 16 * at, system))
    return out


def draw(curves, machine, title):
    """curves: by kind and system, pairs of bits and dB. As SVG."""
    rows = -(-len(curves) // COLUMNS)
    width = 2 * MARGIN + COLUMNS * WIDTH + (COLUMNS - 1) * GAP
    height = 100 + rows * (HEIGHT + GAP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">', f"<style>{STYLE}</style>",
           f'<rect width="{width}" height="{height}" fill="#fff"/>', _text(MARGIN, 34, title, "big"),
           _text(MARGIN, 56, f"{machine['machine']}; {machine['date']}; bounds from 3e-2 to 1e-5 of the range; more is better",
                 "small")]
    for at, (kind, systems) in enumerate(curves.items()):
        out += _panel(MARGIN + at % COLUMNS * (WIDTH + GAP), 100 + at // COLUMNS * (HEIGHT + GAP), kind, systems)
    return "\n".join([*out, "</svg>\n"])
