"""Medians, spreads, ratios and targets, as text."""

import statistics

OURS, AUTO, DIRECT = "balefs/zstd:1", "balefs/auto", "balefs/zstd:1/direct"
BTRFS, MEMFS, PLAIN = "btrfs/zstd:1", "memfs", "passthrough"

# What, where (a part of the detail), ours, against whom, at least how often.
TARGETS = (
    ("sequential write until synced", "text", OURS, BTRFS, 1.1),
    ("sequential write until synced", "solver", OURS, BTRFS, 1.1),
    ("compression ratio", "text", OURS, BTRFS, 1.0),
    ("compression ratio", "solver", OURS, BTRFS, 1.0),
    ("sequential read, cold", "text", OURS, BTRFS, 1.2),
    ("sequential read, cold", "solver", OURS, BTRFS, 1.2),
    ("random 4 KiB read, cold", "text", OURS, BTRFS, 3.0),
    ("random 4 KiB read, cached", "text", OURS, MEMFS, 0.8),
    ("random 4 KiB read, cached by the daemon (io=direct)", "text", DIRECT, MEMFS + "/direct", 0.8),
    ("tree unpacked and deleted", "", AUTO, PLAIN, 0.8),
    ("small files unpacked until synced", "", AUTO, MEMFS, 0.77),
    ("small files listed with ls -lR, cold", "", AUTO, MEMFS, 0.77),
    ("small files read with tar, cold", "", AUTO, MEMFS, 0.62),
    ("small files removed with rm -r", "", AUTO, MEMFS, 0.53),
    ("ls -lR, cold", "", OURS, PLAIN, 0.6),
    ("ls -lR, warm", "", OURS, PLAIN, 0.9),
    ("sequential write until synced", "random", AUTO, PLAIN, 0.7),
)
SHARED_LEAST = 0.7
WHOLE = "CPU of the machine"  # other programs' work too: kept in the JSON only


def number(value):
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def median(values):
    return statistics.median(values)


def paired(ours, theirs):
    """Of the medians, and the least and the most of what was measured one after the other."""
    each = [a / b for a, b in zip(ours, theirs) if b > 0]
    middle = median(theirs)
    return (median(ours) / middle, min(each), max(each)) if each and middle > 0 else None


def _verdict(what, detail, ours, against, least, values):
    if values is None:
        return None
    ratio, low, high = values
    return {"what": what, "detail": detail, "system": ours, "against": against, "ratio": ratio, "min": low, "max": high,
            "target": least, "result": "pass" if ratio >= least else "falls short"}


def targets(results):
    """What was asked for, for every row that was measured with both systems."""
    found = []
    for what, part, ours, against, least in TARGETS:
        for (name, detail), row in results.rows.items():
            values = row["systems"]
            if name == what and part in detail and ours in values and against in values:
                found.append(_verdict(what, detail, ours, against, least, paired(values[ours], values[against])))
    for (name, detail), row in results.rows.items():
        own = results.rows.get((name.replace("on one file", "on their own files"), detail))
        if name.endswith(" writers on one file") and own:
            for system, values in row["systems"].items():
                if system.endswith("/direct") and system.startswith("balefs"):
                    found.append(_verdict(name, detail, system, "on their own files", SHARED_LEAST,
                                          paired(values, own["systems"][system])))
    return [verdict for verdict in found if verdict]


def _ratio(row, system, other):
    values = row["systems"]
    if other not in values or other == system:
        return ""
    result = paired(values[system], values[other])
    return f"{result[0]:.2f}" if result else ""


def table(results):
    lines = [f"{'':34} {'median':>10} {'min':>10} {'max':>10} {'unit':8}"
             f"{'of btrfs':>9} {'of memfs':>9} {'of pass-through':>16}"]
    for (what, detail), row in results.rows.items():
        if what.endswith(WHOLE):
            continue
        lines.append(f"{what}: {detail}")
        for system, values in row["systems"].items():
            memfs = MEMFS + "/direct" if system.endswith("/direct") else MEMFS
            lines.append(f"    {system:30} {number(median(values)):>10} {number(min(values)):>10} "
                         f"{number(max(values)):>10} {row['unit']:8}{_ratio(row, system, BTRFS):>9} "
                         f"{_ratio(row, system, memfs):>9} {_ratio(row, system, PLAIN):>16}")
    return lines


def target_table(results):
    lines = [f"{'target':64} {'ours':22} {'against':20} {'ratio':>6} {'(min - max)':>15} {'target':>7}"]
    for verdict in targets(results):
        what = f"{verdict['what']}: {verdict['detail']}"
        spread = f"({verdict['min']:.2f} - {verdict['max']:.2f})"
        lines.append(f"{what:64} {verdict['system']:22} {verdict['against']:20} {verdict['ratio']:6.2f} {spread:>15} "
                     f"{verdict['target']:>7} {verdict['result']}")
    return lines


def header(machine):
    versions = "; ".join(f"{name}: {version}" for name, version in machine["versions"].items())
    return [f"{name:9}{machine[name]}" for name in ("machine", "kernel", "load", "date", "command")] + [
        f"versions {versions}", f"systems  {machine['systems']}",
        *([] if machine["complete"] else ["NOT COMPLETE: something failed, see below"])]
