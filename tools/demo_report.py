#!/usr/bin/env python3
"""What tools/demo needs beyond a shell: comparing trees, dropping caches, and the table.

usage: demo_report.py compare MOUNTED PLAIN   every byte and all metadata; says what differs, status 1
       demo_report.py evict DIR...            drops the files' pages from memory, as any user may
       demo_report.py table BALEFS MNT        what each kind of file takes, from `balefs stat --json`, and its ratio with
                                              zstd:1, from `balefs bench`
       demo_report.py energy BALEFS EXACT BOUNDED SVG
                                              two runs of the simulation: checkpoints, and energy; SVG may be -
"""
import json
import multiprocessing
import os
import stat
import subprocess
import sys

BLOCK = 1 << 20
IGNORED_XATTRS = ("security.selinux",)

# The rows of the table: what a path relative to the mount is counted as, by place and ending.
KINDS = (
    ("fields (.f32)", "run/", ".f32"),
    ("checkpoints (.f64)", "run/", ".f64"),
    ("tables (.csv)", "run/", ".csv"),
    ("log", "run/", ".log"),
    ("headers (/usr/include)", "system/include/", ""),
    ("docs (/usr/share/doc)", "system/doc/", ""),
    ("other", "run/", ""),
)


def complain(text):
    print(f"balefs: demo: {text}", file=sys.stderr)


def tree(top):
    """Paths below top, relative to it, directories included, sorted; top itself is '.'."""
    found = ["."]
    for directory, directories, files in os.walk(top, onerror=raise_error):
        below = os.path.relpath(directory, top)
        found += [os.path.normpath(os.path.join(below, name)) for name in directories + files]
    return sorted(found)


def raise_error(error):
    raise error


def files_below(top):
    for name in tree(top):
        path = os.path.join(top, name)
        if stat.S_ISREG(os.lstat(path).st_mode):
            yield path


# --- compare ----------------------------------------------------------------------------------------------------------


def xattrs(path):
    names = os.listxattr(path, follow_symlinks=False)
    return {n: os.getxattr(path, n, follow_symlinks=False) for n in names if n not in IGNORED_XATTRS}


def metadata(path):
    st = os.lstat(path)
    is_directory = stat.S_ISDIR(st.st_mode)
    return {
        "mode": oct(st.st_mode),
        "owner": (st.st_uid, st.st_gid),
        "mtime": st.st_mtime_ns,
        "size": None if is_directory else st.st_size,  # file systems differ in these
        "links": None if is_directory else st.st_nlink,
        "target": os.readlink(path) if stat.S_ISLNK(st.st_mode) else None,
        "device": st.st_rdev,
    }


def difference(pair):
    """Of two paths: None, or in words; and the bytes compared."""
    ours, plain = pair
    try:
        a, b = metadata(ours), metadata(plain)
        for key in a:
            if a[key] != b[key]:
                return f"{ours}: {key} is {a[key]}, should be {b[key]}", 0
        wanted = xattrs(plain)
        if wanted and not wanted.items() <= xattrs(ours).items():
            return f"{ours}: extended attributes differ", 0
        if not stat.S_ISREG(os.lstat(plain).st_mode):
            return None, 0
        return different_bytes(ours, plain)
    except OSError as error:
        return f"{ours}: {error}", 0


def different_bytes(ours, plain):
    done = 0
    with open(ours, "rb", buffering=0) as f, open(plain, "rb", buffering=0) as g:
        while True:
            a, b = f.read(BLOCK), g.read(BLOCK)
            if len(a) != len(b):  # short reads
                a += f.read(BLOCK - len(a)) or b""
                b += g.read(BLOCK - len(b)) or b""
            if a != b:
                return f"{ours}: bytes differ between {done} and {done + max(len(a), len(b))}", done
            if not a:
                return None, done
            done += len(a)


def compare(ours, plain):
    names, wanted = tree(ours), tree(plain)
    if names != wanted:
        odd = sorted(set(names) ^ set(wanted))
        print(f"{odd[0]} is on one side only ({len(odd)} such names)")
        return 1
    pairs = [(os.path.join(ours, name), os.path.join(plain, name)) for name in wanted]
    total = 0
    with multiprocessing.Pool(len(os.sched_getaffinity(0))) as pool:
        for what, count in pool.imap_unordered(difference, pairs, chunksize=8):
            if what:
                print(what)
                return 1
            total += count
    print(f"{len(pairs)} files and directories, {total / 1e6:.0f} MB: equal")
    return 0


# --- evict ------------------------------------------------------------------------------------------------------------


def evict(tops):
    os.sync()
    for top in tops:
        for path in files_below(top):
            try:
                fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            except PermissionError:
                continue  # its pages stay in memory
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)
    return 0


# --- table ------------------------------------------------------------------------------------------------------------


def kind_of(relative):
    for name, place, ending in KINDS:
        if relative.startswith(place) and relative.endswith(ending):
            return name
    return None


def records(value):
    """The per-path objects in what `balefs stat --json` prints: alone, in a list, or below a key."""
    if isinstance(value, dict) and "logical" in value and "path" in value:
        yield value
    elif isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from records(inner)


def stat_json(balefs, paths):
    """One record for each path. A command line holds some hundred paths."""
    decoder = json.JSONDecoder()
    for first in range(0, len(paths), 500):
        command = [balefs, "stat", "--json", *paths[first : first + 500]]
        text = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
        while text:
            value, end = decoder.raw_decode(text)
            yield from records(value)
            text = text[end:].lstrip()


def add_up(found):
    sums = {"files": 0, "logical": 0, "stored": 0, "codecs": {}}
    for record in found:
        for key in ("files", "logical", "stored"):
            sums[key] += record.get(key, 1 if key == "files" else 0)
        for codec, part in record.get("codecs", {}).items():
            sums["codecs"][codec] = sums["codecs"].get(codec, 0) + part["logical"]
    return sums


def codec_words(codecs):
    """The two that hold the most, with their share where there are others."""
    total = sum(codecs.values())
    if total == 0:
        return "-"
    ranked = sorted(codecs.items(), key=lambda item: (-item[1], item[0]))
    if len(ranked) == 1:
        return ranked[0][0]
    return " ".join(f"{name} {100 * part / total:.0f}%" for name, part in ranked[:2] if part)


def with_zstd(balefs, paths):
    """The ratio of zstd:1, of 64 MiB at most."""
    command = [balefs, "bench", "--json", "--engine", "cpu", "--runs", "1", "--limit", "64M", "--codec", "zstd:1", *paths]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)["codecs"][0]["ratio"]


def print_row(name, sums, zstd):
    ratio = f"{sums['logical'] / sums['stored']:.2f}" if sums["stored"] else "-"
    print(
        f"  {name:<24} {sums['files']:>7} {sums['logical'] / 1048576:>10.1f} "
        f"{sums['stored'] / 1048576:>10.1f} {ratio:>7} {zstd:>7.2f}  {codec_words(sums['codecs'])}"
    )


def table(balefs, mnt):
    by_kind = {}
    for path in files_below(mnt):
        kind = kind_of(os.path.relpath(path, mnt))
        if kind:
            by_kind.setdefault(kind, []).append(path)
    print(f"  {'what':<24} {'files':>7} {'MiB':>10} {'stored':>10} {'ratio':>7} {'zstd:1':>7}  codec")
    everything, with_it = [], 0
    for name, place, ending in KINDS:
        if name in by_kind:
            found = list(stat_json(balefs, by_kind[name]))
            everything += found
            sums = add_up(found)
            zstd = with_zstd(balefs, by_kind[name] if place == "run/" else [os.path.join(mnt, place)])
            with_it += sums["logical"] / zstd
            print_row(name, sums, zstd)
    sums = add_up(everything)
    print_row("all", sums, sums["logical"] / with_it)
    return 0


# --- energy -----------------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, TOP, BETWEEN = 760, 170, 90, 40, 60


def energies(directory):
    """Steps, and the sum of kinetic and potential energy at each."""
    with open(os.path.join(directory, "energy.csv"), encoding="ascii") as file:
        rows = [line.split(",") for line in file.read().split()[1:]]
    return [int(row[0]) for row in rows], [float(row[2]) + float(row[3]) for row in rows]


def checkpoints(directory):
    return sorted(os.path.join(directory, name) for name in os.listdir(directory) if name.startswith("checkpoint_"))


def curve(steps, values, top, colour, dashes=""):
    low, high = min(0.0, *values), max(values) or 1.0
    points = " ".join(f"{LEFT + WIDTH * step / steps[-1]:.1f},{top + HEIGHT * (high - value) / (high - low):.1f}"
                      for step, value in zip(steps, values))
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5" stroke-dasharray="{dashes}"/>'


def label(x, y, text, anchor="start"):
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'


def draw_energy(path, steps, exact, bounded, restarts):
    peak = max(exact)
    errors = [abs(a - b) / peak for a, b in zip(exact, bounded)]
    second = TOP + HEIGHT + BETWEEN
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 30}" height="{second + HEIGHT + 50}" '
             'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="white"/>',
             label(LEFT, TOP - 14, "energy: exact (line), and restarted from rounded checkpoints (dashes)"),
             curve(steps, exact, TOP, "#1f77b4"), curve(steps, bounded, TOP, "#d62728", "6 4"),
             label(LEFT - 6, TOP + 10, f"{peak:.3g}", "end"), label(LEFT - 6, TOP + HEIGHT, "0", "end"),
             label(LEFT, second - 14, "difference, as a part of the greatest energy; vertical: restarts"),
             curve(steps, errors, second, "#d62728"),
             label(LEFT - 6, second + 10, f"{max(errors):.2g}", "end"), label(LEFT - 6, second + HEIGHT, "0", "end"),
             label(LEFT + WIDTH, second + HEIGHT + 24, f"step {steps[-1]}", "end"),
             label(LEFT, second + HEIGHT + 24, "step 0")]
    for step in restarts:
        x = LEFT + WIDTH * step / steps[-1]
        lines.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{second + HEIGHT}" stroke="#999" stroke-dasharray="2 4"/>')
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n</svg>\n")


def energy(balefs, exact, bounded, picture):
    steps, wanted = energies(exact)
    again, found = energies(bounded)
    if steps != again:
        print(f"{bounded}: has other steps than {exact}")
        return 1
    restarts = [int(name[-8:-4]) for name in checkpoints(bounded)][:-1]
    part = max(abs(a - b) for a, b in zip(wanted, found)) / max(wanted)
    kept = max(abs(a - b) for step, a, b in zip(steps, wanted, found) if step <= restarts[0])
    ratios, bound = [], 0
    for directory in (exact, bounded):
        sums = list(stat_json(balefs, checkpoints(directory)))
        ratios.append(sum(s["data"] for s in sums) / sum(s["stored"] for s in sums))
        bound = sums[0]["bound"]
    print(f"  Checkpoints within {bound:.3g} of what was written take 1/{ratios[1]:.1f}, exact ones 1/{ratios[0]:.1f}.")
    print(f"  After {len(restarts)} restarts from them the energy differs from the exact run's by {part:.1e} of its peak.")
    if picture != "-":
        draw_energy(picture, steps, wanted, found, restarts)
        print(f"  Both are drawn in {picture}.")
    return 0 if kept == 0 and part < 0.01 else 1


def main(arguments):
    commands = {"compare": (compare, 2), "table": (table, 2), "energy": (energy, 4), "evict": (lambda *tops: evict(tops), None)}
    name, rest = (arguments or [""])[0], arguments[1:]
    if name not in commands or commands[name][1] not in (None, len(rest)):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        return commands[name][0](*rest)
    except subprocess.CalledProcessError as error:
        complain(f"{' '.join(error.cmd[:3])} ended with status {error.returncode}: see its message")
    except (ValueError, KeyError, TypeError) as error:
        complain(f"cannot read what balefs stat --json printed ({error!r}): tools/demo_report.py must know its shape")
    except OSError as error:
        complain(f"{name} failed: {error}")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
