"""What is written: files of one kind of data each, grown to a size."""

import os
import pathlib
import random
import string

from .machine import Failed, run

BLOCK = 4096
PIECE = 1 << 20
KINDS = ("text", "solver", "random", "turbulence")
DEFAULT = KINDS[:-1]  # a field is for codecs that are made for arrays
TEXT = ("/usr/include", "/usr/share/doc", "/usr/share/perl", "/usr/lib/python3")
SUFFIXES = (".h", ".hpp", ".c", ".txt", ".md", ".html", ".pl", ".pm", ".py", "README", "copyright")


def text_files():
    for top in TEXT:
        for path, dirs, names in os.walk(top):
            dirs.sort()
            for name in sorted(names):
                if name.endswith(SUFFIXES):
                    yield pathlib.Path(path, name)


def _cipher(number):
    """Letters for letters and digits for digits: what is near repeats as before, what is far does not."""
    if number == 0:
        return None
    shuffle = random.Random(number)
    table = bytearray(range(256))
    for letters in (string.ascii_lowercase, string.ascii_uppercase, string.digits):
        values = list(letters.encode())
        shuffle.shuffle(values)
        for letter, value in zip(letters.encode(), values):
            table[letter] = value
    return bytes(table)


def fill(out, size, pieces):
    """Writes what pieces() yields; when that is used up, again in another cipher each time. How often it was begun; 0:
    there was nothing."""
    left, number = size, 0
    while left > 0:
        table, before = _cipher(number), left
        for data in pieces():
            data = data[:left]
            out.write(data.translate(table) if table else data)
            left -= len(data)
            if left == 0:
                break
        if left == before:
            return 0
        number += 1
    return number


def read_all(paths):
    """The bytes of each file that can be read."""
    for path in paths:
        try:
            yield path.read_bytes()
        except OSError:
            continue


def _write_text(out, size):
    """Headers, documents and programs."""
    if not fill(out, size, lambda: read_all(text_files())):
        raise Failed("no text: there is nothing to read below /usr/include: use --only with another kind")


def _write_solver(out, size, solver, work):
    """Fields and checkpoints of a simulation, in the order of their names."""
    points = 64 if size < 128 << 20 else 128
    fields = size // (4 * points**3) + 1
    results = work / "solver"
    steps = max(100, 4 * fields)
    run(solver, "--size", points, "--steps", steps, "--snapshot-every", steps // fields,
        "--checkpoint-every", steps // 2, "--out", results)
    left = size
    for path in sorted(results.glob("field_*.f32"))[:1] + sorted(results.glob("*.f64")) \
            + sorted(results.glob("field_*.f32"))[1:]:
        data = path.read_bytes()[:left]
        out.write(data)
        left -= len(data)
    run("rm", "-rf", results)
    if left > 0:
        raise Failed(f"{solver}: wrote less than {size} bytes: report this")


def _write_random(out, size):
    source = random.Random(20)
    for begin in range(0, size, PIECE):
        out.write(source.randbytes(min(PIECE, size - begin)))


def _write_turbulence(out, size, fields, work):
    """One field again and again: no codec looks so far back."""
    points = 64 if size < 128 << 20 else 256
    field = work / "field"
    run(fields, "turbulence", points, field)
    data = field.read_bytes()
    for begin in range(0, size, len(data)):
        out.write(data[:size - begin])
    field.unlink()


def make(kind, size, work, programs):
    """A file of that kind and, rounded up to whole blocks, size."""
    size = -(-size // BLOCK) * BLOCK
    path = work / f"{kind}.data"
    with open(path, "wb") as out:
        if kind == "text":
            _write_text(out, size)
        elif kind == "solver":
            _write_solver(out, size, programs["solver"], work)
        elif kind == "turbulence":
            _write_turbulence(out, size, programs["cusz_fields"], work)
        else:
            _write_random(out, size)
    return path


def make_tree(tree, work, quick):
    """The source tree as a tar file: one that was given, or the system's headers."""
    if tree:
        return pathlib.Path(tree).resolve()
    path = work / "tree.tar"
    top = "include/linux" if quick else "include"
    run("tar", "-C", "/usr", "--hard-dereference", "-cf", path, top)
    return path
