#!/usr/bin/python3
"""The sources of a room call each other without circles, calls through pointers to functions included.

usage: circles.py [--list] [SOURCE BUILD]

An edge leads from a source to another one of its room whose function or variable it names (by the symbols of the object
files), or whose function it calls through a member of a struct (by the sources: calls.py).

A circle that is meant is declared in a header of the room, with all of its sources and the reason:

    /* Circle: a.c b.c: the reason. */

What callers supply with a request, to be called while or when it is done (a completion, a visitor), is no call upwards: the
member is listed in callbacks.txt, one line for each room in which it is both set and called:

    struct.member | set by | called by | why it is no circle

The test fails on a circle that is not declared, on a declaration that is not a circle, and on a line of callbacks.txt
that is not exact or not needed. --list prints every member, who sets it and who calls through it, in all rooms.
"""
import collections
import functools
import json
import os
import re
import subprocess
import sys

from calls import Tree

FLOORS = ("format/", "kernels/", "fs/", "tools/")
ALONE = "tools/examples/"
CIRCLE = re.compile(r"\bCircle: ((?:\w+\.c,? )*\w+\.c): ")


def sources(root):
    """Text by path of all C sources and headers on the floors."""
    texts = {}
    for floor in FLOORS:
        for directory, _, names in os.walk(os.path.join(root, floor)):
            for name in names:
                path = os.path.relpath(os.path.join(directory, name), root)
                if name.endswith((".c", ".h")) and not path.startswith(ALONE):
                    with open(os.path.join(root, path), encoding="utf-8") as file:
                        texts[path] = file.read()
    return texts


def objects(root, build):
    """Object file by source."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    found = {}
    for entry in entries:
        path = os.path.relpath(entry["file"], root)
        name = re.search(r" -o (\S+)", entry["command"]).group(1)
        if path.endswith(".c") and path.startswith(FLOORS) and not path.startswith(ALONE):
            found.setdefault(path, os.path.normpath(os.path.join(entry["directory"], name)))
    return found


def direct(found):
    """Edges by symbols: (from, to)."""
    defined, used = {}, collections.defaultdict(set)
    paths = {name: path for path, name in found.items()}
    out = subprocess.run(["nm", "-P", "-g", *paths], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        if line.endswith(":"):
            path = paths[line[:-1]]
            continue
        symbol, kind = line.split()[:2]
        if kind in "Uw":
            used[path].add(symbol)
        else:
            defined[symbol] = path
    return {(path, defined[symbol]) for path, symbols in used.items() for symbol in symbols if symbol in defined}


@functools.cache
def room(path):
    return os.path.dirname(path)


def in_room(paths, where):
    return sorted(path for path in paths if room(path) == where)


def through_pointers(tree, listed):
    """Edges by members that are not listed: (from, to, member)."""
    for (struct, member), callers in tree.calls.items():
        for caller in callers:
            for setter in tree.sets.get((struct, member), ()):
                if room(caller) == room(setter) and (f"{struct}.{member}", room(caller)) not in listed:
                    yield caller, setter, f"{struct}.{member}"


def components(edges):
    """The strongly connected parts of more than one source (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(frozenset(stack[at:]))
            del stack[at:]

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


class Check:
    def __init__(self, texts, symbols, table):
        self.bad = 0
        self.tree = Tree(texts)
        self.symbols = symbols
        self.table = table
        self.declared = {frozenset(os.path.join(room(path), name) for name in re.findall(r"\w+\.c", match.group(1))): path
                         for path, text in texts.items() if path.endswith(".h")
                         for match in CIRCLE.finditer(re.sub(r"\s*\n\s*\*?\s*", " ", text))}

    def complain(self, what):
        print(what)
        self.bad = 1

    def listed(self):
        """The rows of the table as {(member, room)}, checked."""
        rows = set()
        for line in self.table:
            if not line.strip() or line.startswith("#"):
                continue
            member, setters, callers, why = (part.strip() for part in line.split("|"))
            key = tuple(member.split("."))
            where = room(callers.split()[0])
            rows.add((member, where))
            for what, written, real in (("set", setters, self.tree.sets.get(key, ())),
                                     ("called", callers, self.tree.calls.get(key, ()))):
                if written.split() != in_room(real, where):
                    self.complain(f"callbacks.txt: {member} is {what} in {where} by: {' '.join(in_room(real, where))}")
            if not why:
                self.complain(f"callbacks.txt: {member}: why is it no circle?")
        return rows

    def graph(self, listed):
        edges = collections.defaultdict(dict)
        for a, b in self.symbols:
            if room(a) == room(b) and a != b:
                edges[a].setdefault(b, "calls")
                edges.setdefault(b, {})
        for a, b, member in through_pointers(self.tree, listed):
            if a != b:
                edges[a].setdefault(b, f"calls through {member}")
                edges.setdefault(b, {})
        return edges

    def check(self):
        for unknown in sorted(self.tree.unknown):
            self.complain(f"{unknown}: a call through a pointer whose struct calls.py cannot find")
        listed = self.listed()
        edges = self.graph(listed)
        found = components(edges)
        for circle in found:
            if circle in self.declared:
                continue
            self.complain(f"{room(min(circle))}: a circle of {len(circle)} sources: {' '.join(map(os.path.basename, sorted(circle)))}")
            for a in sorted(circle):
                for b in sorted(circle & set(edges[a])):
                    print(f"    {os.path.basename(a)} {edges[a][b]} {os.path.basename(b)}")
        for circle, path in self.declared.items():
            if circle not in found:
                self.complain(f"{path}: is no circle: {' '.join(sorted(map(os.path.basename, circle)))}")
        for row in sorted(listed):
            without = components(self.graph(listed - {row}))
            if len(without) == len(found) and set(without) == set(found):
                self.complain(f"callbacks.txt: {row[0]} in {row[1]} is not needed: there is no circle without it")
        return self.bad

    def print_all(self):
        for member in sorted(set(self.tree.sets) | set(self.tree.calls)):
            print(".".join(member))
            print("    set by   ", " ".join(sorted(self.tree.sets.get(member, ()))))
            print("    called by", " ".join(sorted(self.tree.calls.get(member, ()))))


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--list"]
    root, build = arguments or (os.environ["BALE_SOURCE"], os.environ["BALE_BUILD"])
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "callbacks.txt"), encoding="utf-8") as file:
        check = Check(sources(root), direct(objects(root, build)), file.readlines())
    if "--list" in sys.argv:
        check.print_all()
    return check.check()


if __name__ == "__main__":
    sys.exit(main())
