#!/usr/bin/python3
"""The walls between the rooms, by includes. Prints each include and each file that breaks a rule.

usage: layers.py [ROOT]

A room is a directory with sources: format, kernels/engine, fs/cache. Arrows run one way: a room includes from itself
and from the rooms listed for it here. A directory of kernels that is not named here is a codec's.
"""
import os
import re
import sys

CODECS = "a codec's directory"

# What fs and tools may use of the floors below them.
LIBRARY = ["format", "kernels/base", "kernels/round", "kernels/codec", "kernels/frame", "kernels/engine"]

# In order: a room may include from those before it.
FS = ["fs/base", "fs/container", "fs/cache", "fs/inode", "fs/store", "fs/fuse", "fs/daemon"]

# Each may include from tools/common, and no other except as TOOLS_ARROWS says.
TOOLS = ["tools/mount", "tools/inspect", "tools/transfer", "tools/stream", "tools/quality", "tools/bench", "tools/doctor"]
TOOLS_ARROWS = {
    "tools/bench": ["tools/stream"],  # what is compressed: files and pipes in parts
    "tools/doctor": ["tools/mount"],  # whether a mount in a namespace works
}

MAY = {
    "format": [],
    "kernels/base": ["format"],
    "kernels/round": ["format", "kernels/base"],
    "kernels/codec": ["format", "kernels/base"],
    "kernels/lzss": ["format", "kernels/base", "kernels/codec"],
    "kernels/rans": ["format", "kernels/base", "kernels/codec"],
    CODECS: ["format", "kernels/base", "kernels/round", "kernels/codec", "kernels/lzss", "kernels/rans"],
    "kernels/auto": ["format", "kernels/base", "kernels/codec", "kernels/lzss", CODECS],  # it weighs them
    "kernels/frame": ["format", "kernels/base", "kernels/codec", "kernels/lzss", CODECS],
    "kernels/engine": ["format", "kernels/base", "kernels/codec", "kernels/frame"],
    "kernels/cuda": ["format", "kernels/base", "kernels/round", "kernels/codec", "kernels/lzss", CODECS, "kernels/frame",
                     "kernels/engine"],
    "kernels/api": LIBRARY,
    "tools/common": LIBRARY + FS + ["tools"],
    "tools": LIBRARY + FS + ["tools/common"] + TOOLS,
}
for i, room in enumerate(FS):
    MAY[room] = LIBRARY + FS[:i]
for room in TOOLS:
    MAY[room] = LIBRARY + FS + ["tools", "tools/common"] + TOOLS_ARROWS.get(room, [])

# Arrows that are still to be cut, and why they are there.
EXCEPTIONS = {
}

SYSTEM = [
    (r"fuse", r"fs/(fuse|daemon)/", "only fs/fuse and fs/daemon include"),
    (r"cuda|cub/|nvcomp", r"kernels/.*\.cuh?$", "only CUDA sources in kernels include"),
]

# Programs that stand alone: what they include lies beside them.
ALONE = "tools/examples/"

SOURCE = re.compile(r"\.(c|h|cu|cuh)$")
CPLUSPLUS = re.compile(r"\.(cc|cpp|cxx|c\+\+|C|hh|hpp|hxx)$")
INCLUDE = re.compile(r"\s*#\s*include\s*([\"<])([^\">]*)[\">]")
NAMED = [room for room in MAY if room.startswith("kernels/")]


def room_of(path):
    """The room, or CODECS for a codec's."""
    room = os.path.dirname(path)
    if room.startswith("kernels/") and room not in NAMED:
        return CODECS
    return room


class Layers:
    def __init__(self, root):
        self.root = root
        self.bad = 0
        self.used = set()

    def complain(self, where, what):
        print(f"{where}: {what}")
        self.bad = 1

    def files(self):
        for directory, below, names in os.walk(self.root):
            below[:] = sorted(b for b in below if not b.startswith(".") and not (directory == self.root and b == "build"))
            for name in sorted(names):
                yield os.path.relpath(os.path.join(directory, name), self.root)

    def check_quoted(self, path, where, name):
        """A source of ours: by its whole path, and from a room that this one may use."""
        mine, other = room_of(path), room_of(name)
        if not os.path.isfile(os.path.join(self.root, name)) or os.path.normpath(name) != name:
            self.complain(where, f'include by the whole path from the repository\'s root: "{name}"')
        elif path.startswith("tests/") or os.path.dirname(path) == os.path.dirname(name):
            return
        elif mine not in MAY:
            self.complain(where, f"{mine} is no room: add it to tests/layout/layers.py")
        elif (mine, other) in EXCEPTIONS:
            self.used.add((mine, other))
        elif other not in MAY[mine]:
            self.complain(where, f'{os.path.dirname(path)} may not include "{name}"; it may from: {", ".join(MAY[mine])}')
        elif os.path.basename(name).endswith("internal.h"):
            self.complain(where, f'"{name}" is for the sources beside it')

    def check_system(self, path, where, name):
        if path.startswith("tests/"):
            return
        for prefix, allowed, rule in SYSTEM:
            if re.match(prefix, name) and not re.match(allowed, path):
                self.complain(where, f"{rule} <{name}>")

    def check_guard(self, path, text):
        """A header's guard is its path, so that two headers of one name never hide each other."""
        if path == "kernels/api/balefs.h":  # is installed
            return
        want = "BALE_" + re.sub(r"[/.]", "_", path).upper()
        found = re.search(r"^#ifndef (\w+)", text, re.M)
        if not found or found.group(1) != want:
            self.complain(path, f"its guard is {want}")

    def check_source(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            text = file.read()
        for number, line in enumerate(text.splitlines(), 1):
            include = INCLUDE.match(line)
            if include and include.group(1) == '"':
                self.check_quoted(path, f"{path}:{number}", include.group(2))
            elif include:
                self.check_system(path, f"{path}:{number}", include.group(2))
        if path.endswith((".h", ".cuh")):
            self.check_guard(path, text)

    def check(self):
        for path in self.files():
            if CPLUSPLUS.search(path):
                self.complain(path, "no C++ here")
            elif SOURCE.search(path) and not path.startswith(ALONE):
                if path.endswith((".cu", ".cuh")) and not path.startswith("kernels/"):
                    self.complain(path, "CUDA belongs in kernels")
                self.check_source(path)
        return self.bad


def main():
    layers = Layers(sys.argv[1] if len(sys.argv) > 1 else os.environ["BALE_SOURCE"])
    layers.check()
    for mine, other in sorted(set(EXCEPTIONS) - layers.used):
        print(f"note: nothing in {mine} includes from {other} any more: remove the exception")
    return layers.bad


if __name__ == "__main__":
    sys.exit(main())
