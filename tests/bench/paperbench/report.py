"""Tables as the papers have them, from the medians of what was measured."""

from mountbench.measure import Results
from mountbench.report import header, median, number

from .measure import COMPRESS, DECOMPRESS, SIZE

NONE = "-"


class Medians:
    """Of results: None for what was not measured."""

    def __init__(self, results):
        self.rows = results.rows

    def __call__(self, what, kind, system):
        values = self.rows.get((what, kind), {"systems": {}})["systems"].get(system)
        return median(values) if values else None

    def ratio(self, kind, system):
        size = self(SIZE, kind, system)
        return 100 / size if size else None

    def systems(self, what):
        """All that were measured, with whatever data."""
        return {system for (name, _), row in self.rows.items() if name == what for system in row["systems"]}


def times(value, other, places=2):
    """How often the other."""
    return f"{value / other:.{places}f}" if value and other else NONE


def figure(value):
    return number(value) if value else NONE


def fixed(value):
    return f"{value:.2f}" if value else NONE


def speed(value):
    """MB/s as GB/s, in five letters."""
    if not value:
        return NONE
    value /= 1e3
    return f"{value:.{3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0}f}"


def head(machine, sources):
    """sources: what each kind of data is, and how long."""
    lines = header(machine)
    lines.insert(1, f"GPU      {machine['gpu']}")
    width = max(len(kind) for kind in sources)
    return lines + [f"{'data' if at == 0 else '':9}{kind:{width}}  {what}"
                    for at, (kind, what) in enumerate(sources.items())]


def matrix(title, columns, lines, widths):
    """A table. lines: a name, and a cell for each column."""
    first, each = widths
    out = [title, " " * first + "".join(f"{column:>{each}}" for column in columns)]
    return out + [f"{name:{first}}" + "".join(f"{cell:>{each}}" for cell in cells) for name, cells in lines]


def only(results, kinds, systems):
    """The rows of these kinds, one after the other, with nothing but these systems: for a picture."""
    chosen = Results()
    for kind in kinds:
        for what in (COMPRESS, DECOMPRESS, SIZE):
            row = results.rows.get((what, kind))
            for system in systems if row else ():
                for value in row["systems"].get(system, ()):
                    chosen.add(what, kind, row["unit"], system, value)
    return chosen
