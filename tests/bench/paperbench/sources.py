"""What paper-culzss compresses: the five kinds of data of CULZSS (IV.B), of what there is on every machine. What is
used up begins again in another cipher, as for tests/bench/mount."""

import glob
import os
import pathlib
import random
import re
import string
import tarfile

from mountbench.data import fill, read_all, text_files
from mountbench.machine import Failed

from . import terrain

KINDS = ("C files", "DE map", "dictionary", "kernel tarball", "highly compressible")
HEADERS = ("/usr/include", "/usr/local/include", "/usr/local/cuda/include")
HEADER = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".c")
TREES = ("/usr/src/*", "/usr/lib/python3*", "/usr/local/lib/python3*", "/usr/share/perl*", "/usr/lib/go",
         "/usr/lib/go-*", "/usr/local/go", "/usr/lib/rustlib", "/usr/share/nodejs", "/usr/lib/node_modules",
         os.path.dirname(os.__file__))
SOURCE = (*HEADER, ".cc", ".cpp", ".cxx", ".cu", ".s", ".S", ".py", ".pyi", ".pm", ".pl", ".rs", ".go", ".js", ".ts",
          ".java", ".rb", ".tcl", ".sh", ".cmake", ".rst", ".md", ".txt", "Makefile", "Kconfig", "Kbuild")
WORDS = ("/usr/share/dict/words", "/usr/share/dict/american-english", "/usr/share/dict/british-english")
MIB = 1 << 20


def files_below(top, suffixes):
    """Regular files, sorted."""
    found = []
    for path, _, names in os.walk(top):
        found += [pathlib.Path(path, name) for name in names if name.endswith(suffixes)]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def tar(paths):
    """The members of a tar file, with no more of the files than names, lengths and bytes."""
    for path, data in zip(paths, read_all(paths)):
        member = tarfile.TarInfo(str(path).lstrip("/"))
        member.size = len(data)
        yield member.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % tarfile.BLOCKSIZE)


def largest_tree():
    """The directory with the most bytes of source, and these files."""
    tops = sorted({os.path.realpath(top) for pattern in TREES for top in glob.glob(pattern) if os.path.isdir(top)})
    trees = [(top, files_below(top, SOURCE)) for top in tops]
    sizes = {top: sum(path.stat().st_size for path in paths) for top, paths in trees}
    return max(trees, key=lambda tree: sizes[tree[0]])


def drawn_words(most):
    """The different words of so many bytes of headers, documents and programs, in order."""
    words, left = set(), most
    for data in read_all(text_files()):
        words.update(re.findall(rb"[a-z]{3,24}", data.lower()))
        left -= len(data)
        if left <= 0:
            break
    return b"".join(word + b"\n" for word in sorted(words))


def map_rows(size):
    """A raster of letters, one a cell, like the colours of a scanned map: water below a height, a line at each tenth
    level, woods where a second field is high, roads, and specks, as many as make bzip2 shrink it as it did the
    paper's."""
    width, seed = 4096, random.Random("specks")
    levels = 256 << terrain.LEVEL_LOG2 >> 6  # cells are coloured by a 64th of a level
    land = bytearray(b"b" * levels)
    for level in range(0, levels, 640):
        land[level:level + 24] = b"e" * 24
    land[:levels * 3 // 10] = b"c" * (levels * 3 // 10)
    woods = land.replace(b"b", b"f")
    fields = zip(terrain.rows("heights", width), terrain.rows("woods", width, (7, 5)))
    for number, (heights, other) in enumerate(fields):
        colours = (land, woods)
        row = bytearray(colours[wood > 130 << terrain.LEVEL_LOG2 - 1][height >> 6]
                        for height, wood in zip(heights, other))
        row[300::1024] = b"d" * len(row[300::1024])
        if number % 700 < 3:
            row[:] = b"a" * width
        for at in seed.sample(range(width), width * SPECKS // 1000):
            row[at] = seed.choice(b"abcdefghijklm")
        row[-1:] = b"\n"
        yield bytes(row)
        size -= width
        if size <= 0:
            return


SPECKS = 60  # of a thousand cells


def patterns():
    """Twenty letters, two hundred times, then twenty others."""
    source = random.Random("patterns")
    while True:
        yield bytes(source.choices(string.ascii_letters.encode(), k=20)) * 200


def _chunks(path):
    with open(path, "rb") as file:
        while data := file.read(MIB):
            yield data


def _pieces(kind, size, kernel):
    """What yields the bytes of a kind, and what they are, in words."""
    if kind == "C files":
        tops = [top for top in HEADERS if os.path.isdir(top)]
        paths = [path for top in tops for path in files_below(top, HEADER)]
        return lambda: tar(paths), f"tar of {len(paths)} headers below {', '.join(tops)}"
    if kind == "DE map":
        return lambda: map_rows(16 * MIB), "drawn: a raster of heights, woods, roads and specks"
    if kind == "dictionary":
        words = next((path for path in WORDS if os.path.isfile(path)), None)
        if words:
            return lambda: _chunks(words), words
        drawn = drawn_words(min(64 * MIB, 16 * size))
        return lambda: iter([drawn]), "different words of headers, documents and programs, in order"
    if kind == "kernel tarball":
        if kernel:
            return lambda: _chunks(kernel), str(kernel)
        top, paths = largest_tree()
        return lambda: tar(paths), f"tar of {len(paths)} sources below {top}, the largest tree here but headers"
    return patterns, "20 letters 200 times, then 20 others"


def make(kind, size, work, kernel=None):
    """A file of that kind and size, and what it is."""
    pieces, what = _pieces(kind, size, kernel)
    path = work / kind.replace(" ", "-")
    with open(path, "wb") as out:
        passes = fill(out, size, pieces)
    if passes == 0:
        raise Failed(f"{kind}: {what}: there is nothing to read: leave it out with --kinds")
    return path, what if passes == 1 else f"{what}; {passes} times, each in another cipher"
