#!/usr/bin/env python3
"""What tools/demo needs beyond a shell: comparing trees, dropping caches, and the table.

usage: demo_report.py compare MOUNTED PLAIN   every byte and all metadata; says what differs, status 1
       demo_report.py evict DIR...            drops the files' pages from memory, as any user may
       demo_report.py table BALEFS MNT        what each kind of file takes, from `balefs stat --json`
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


def print_row(name, sums):
    ratio = f"{sums['logical'] / sums['stored']:.2f}" if sums["stored"] else "-"
    print(
        f"  {name:<24} {sums['files']:>7} {sums['logical'] / 1048576:>10.1f} "
        f"{sums['stored'] / 1048576:>10.1f} {ratio:>7}  {codec_words(sums['codecs'])}"
    )


def table(balefs, mnt):
    by_kind = {}
    for path in files_below(mnt):
        kind = kind_of(os.path.relpath(path, mnt))
        if kind:
            by_kind.setdefault(kind, []).append(path)
    print(f"  {'what':<24} {'files':>7} {'MiB':>10} {'stored':>10} {'ratio':>7}  codec")
    everything = []
    for name, _, _ in KINDS:
        if name in by_kind:
            found = list(stat_json(balefs, by_kind[name]))
            everything += found
            print_row(name, add_up(found))
    print_row("all", add_up(everything))
    return 0


def main(arguments):
    commands = {"compare": (compare, 2), "table": (table, 2), "evict": (lambda *tops: evict(tops), None)}
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
