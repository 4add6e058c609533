#!/usr/bin/python3
"""Containers made to deceive, through fsck, cat, export, a mount and the reader in Python.

    mutants.py [--mount] [--seed N] [--keep] COUNT

Fields of slots, pages, segments and frames of good containers are changed, and every checksum above
them is put right again. Nothing may crash or hang; fsck and the reader agree which containers are
damaged; and cat, export, a mount and the reader never give different bytes.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
from typing import Callable, Iterator, NamedTuple, Optional

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "reader"))
from balefs_reader import Container, Fault, Piece, Store, Unsupported, checksum
from test_reader import LZ4, STORE, ZERO, ZSTD, Builder, inner, noise, segment, text

BALEFS = os.environ["BALEFS"]
SLOT, EXTENT = 112, 16384
STORES = 500                                    # containers in one store
SESSIONS = ({"last": 9, "uncertain": []},
            {"last": 9, "uncertain": [{"session": s, "boot": "another"} for s in range(1, 10)]},
            {"first": 900, "last": 999, "uncertain": []})
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "exitcode=99:detect_leaks=0",
               "UBSAN_OPTIONS": "halt_on_error=1:exitcode=99"}


# Good containers

def direct(kind: int) -> bytes:
    data = (text(5000), noise(9000), b"\7" * 6000, text(16384, 3))[kind % 4]
    return bytes(Builder().direct(data, (LZ4, STORE, ZERO, ZSTD)[kind % 4]).data)


def extents(_: int) -> bytes:
    """Three extents, a frame that two segments share, a hole and an unwritten segment."""
    b = Builder(2)
    old = b.frame(text(EXTENT), EXTENT, LZ4)
    records = [b.extent(noise(3000), 0), b.segment(old, EXTENT, 3000),
               b.extent(text(1000), EXTENT + 3000, ZSTD),
               b.segment(old, EXTENT + 4000, EXTENT - 5000, 4000),
               segment(2 * EXTENT, 0, 0, 5000, 0, 0, 0, 0, 1),
               b.extent(b"\0" * 400, 3 * EXTENT, ZERO)]
    return bytes(b.root(3 * EXTENT + 999, b.page(1, records)).data)


def levels(_: int) -> bytes:
    b = Builder(2)
    records = [b.extent(text(90, i), 100 * i, LZ4) for i in range(30)]
    leaves = [(i, b.page(1, records[i:i + 10])) for i in range(0, 30, 10)]
    top = b.page(2, [inner(100 * i, position, 2, made) for i, (position, made) in leaves])
    return bytes(b.root(3000, top).data)


def two_roots(kind: int) -> bytes:
    b = Builder().direct(text(3000))
    b.generation = 2
    return bytes(b.direct(noise(2000), slot=1, durable=kind % 2, session=2).data)


GOOD: list[Callable[[int], bytes]] = [direct, extents, levels, two_roots]


# Mutation

class Place(NamedTuple):
    """A structure in the container, and how its checksum is put right."""
    kind: str
    at: int
    length: int
    height: int = 0


def u(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at:at + size], "little")


def put(data: bytearray, at: int, size: int, value: int) -> None:
    data[at:at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")


def head_length(data: bytes, at: int) -> int:
    if at + 52 > len(data) or data[at + 6] > 31:
        return 52
    chunks = 0 if data[at + 5] == ZERO else -(-u(data, at + 12, 4) // (1 << data[at + 6]))
    return 52 + 12 * chunks


def places(data: bytes) -> list[Place]:
    """Slots, then what they refer to, each after what refers to it."""
    found = [Place("slot", slot, SLOT) for slot in (0, SLOT) if any(data[slot:slot + SLOT])]
    for slot in list(found):
        follow(data, u(data, slot.at + 48, 8), u(data, slot.at + 56, 4), data[slot.at + 60], found)
    return found


def follow(data: bytes, at: int, length: int, height: int, found: list[Place]) -> None:
    if height == 0 or at + length > len(data) or any(p.at == at for p in found) or \
            len(found) > 200 or length < (52 if height == 255 else 32):
        return
    if height == 255:
        found.append(Place("frame", at, length))
        return
    if height > 8:
        return
    found.append(Place("page", at, length, height))
    size = 48 if height == 1 else 36
    for i in range(u(data, at + 6, 2)):
        record = at + 24 + i * size
        if record + size > at + length - 8:
            break
        if height > 1:
            follow(data, u(data, record + 8, 8), u(data, record + 24, 4), height - 1, found)
        elif not data[record + 38] & 1:
            follow(data, u(data, record + 8, 8), u(data, record + 32, 4), 255, found)


def seal(data: bytearray) -> None:
    """Puts every checksum right, from the frames up, and what refers to them."""
    for place in reversed(places(data)):
        if place.kind == "frame":
            head = head_length(data, place.at)
            if head <= place.length:
                put(data, place.at + head - 8, 8,
                    checksum(bytes(data[place.at:place.at + head - 8])))
            continue
        if place.kind == "page":
            size = 48 if place.height == 1 else 36
            for i in range(u(data, place.at + 6, 2)):
                record = place.at + 24 + i * size
                if record + size > place.at + place.length - 8:
                    break
                if place.height > 1:
                    seal_reference(data, u(data, record + 8, 8), u(data, record + 24, 4),
                                   place.height - 1, record + 28)
                elif not data[record + 38] & 1:
                    seal_reference(data, u(data, record + 8, 8), u(data, record + 32, 4), 255,
                                   record + 40)
            put(data, place.at + place.length - 8, 8,
                checksum(bytes(data[place.at:place.at + place.length - 8])))
            continue
        seal_reference(data, u(data, place.at + 48, 8), u(data, place.at + 56, 4),
                       data[place.at + 60], place.at + 64)
        put(data, place.at + 104, 8, checksum(bytes(data[place.at:place.at + 104])))


def seal_reference(data: bytearray, at: int, length: int, height: int, field: int) -> None:
    if at + length > len(data) or height == 0 or length < (52 if height == 255 else 32):
        return
    end = length if height != 255 else head_length(data, at)
    if 8 <= end <= length:
        put(data, field, 8, u(data, at + end - 8, 8))


# Fields: (offset, size); of a record they repeat.
FIELDS = {
    "slot": [(4, 1), (5, 1), (6, 2), (8, 8), (16, 8), (24, 4), (28, 4), (32, 8), (40, 8), (48, 8),
             (56, 4), (60, 1), (61, 1), (62, 2), (72, 8), (80, 8), (88, 4), (96, 8)],
    "page": [(4, 1), (5, 1), (6, 2), (8, 8), (16, 8)],
    "leaf": [(0, 8), (8, 8), (16, 8), (24, 4), (28, 4), (32, 4), (36, 1), (37, 1), (38, 1), (39, 1)],
    "inner": [(0, 8), (8, 8), (16, 8), (24, 4)],
    "frame": [(4, 1), (5, 1), (6, 1), (7, 1), (8, 2), (10, 2), (12, 4), (16, 8), (24, 8), (32, 8),
              (40, 4), (44, 4), (48, 8)],
}


def near(rng: random.Random, value: int, size: int) -> int:
    edges = (0, 1, 2, 223, 224, 4095, 4096, EXTENT - 1, EXTENT, EXTENT + 1, (1 << 31) - 1, 1 << 31,
             (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
    return rng.choice((value + 1, value - 1, value ^ 1 << rng.randrange(8 * size), rng.choice(edges),
                       rng.getrandbits(8 * size), value * 2))


def change(rng: random.Random, data: bytearray) -> None:
    found = places(data)
    place = rng.choice(found)
    base, kind = place.at, place.kind
    if kind == "page" and rng.random() < 0.8:
        kind, size = ("leaf", 48) if place.height == 1 else ("inner", 36)
        base += 24 + size * rng.randrange(max(1, min(u(data, place.at + 6, 2),
                                                     (place.length - 32) // size)))
    at, size = rng.choice(FIELDS[kind])
    if base + at + size > len(data):
        return
    how = rng.random()
    if how < 0.1 and place.kind == "page":      # one record becomes another one's copy
        other = rng.choice(found)
        data[base:base + 8] = data[other.at:other.at + 8]
    elif how < 0.2:                             # bytes that no checksum is made right for
        where = place.at + rng.randrange(place.length)
        if where < len(data):
            data[where] ^= 1 << rng.randrange(8)
    else:
        put(data, base + at, size, near(rng, u(data, base + at, size), size))


def mutant(rng: random.Random, index: int) -> bytes:
    data = bytearray(GOOD[index % len(GOOD)](rng.randrange(8)))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        change(rng, data)
        if rng.random() < 0.9:
            seal(data)
    how = rng.random()
    if how < 0.05:
        del data[rng.randrange(len(data)):]
    elif how < 0.1:
        at = rng.randrange(len(data))
        end = min(len(data), at + rng.choice((8, 100, 4096)))
        data[at:end] = bytes(end - at)
    return bytes(data)


# What is read

class Reading(NamedTuple):
    """Of the reader: the pieces (None: cannot be opened), whether anything is wrong, unsupported, and
    whether a root was found wanting."""
    pieces: Optional[list[Piece]]
    size: int
    faulty: bool
    unsupported: bool
    rejected: bool = False


def read(path: str, store: Store) -> Reading:
    faults: list[Fault] = []
    with Container(path, store) as container:
        try:
            root = container.choose(faults.append)
            if root is None:
                return Reading([], 0, bool(faults), False, bool(container.notes))
            index = container.walk(root, 0, faults.append)
            container.check_rules(root, index, faults.append)
            pieces = list(container.pieces(root, index, faults.append))
        except Unsupported:
            return Reading(None, 0, True, True)
        except Fault:
            return Reading(None, 0, True, False)
        return Reading(pieces, root.size, bool(faults),
                       any(isinstance(f, Unsupported) for f in faults), bool(container.notes))


def differs(found: bytes, pieces: list[Piece]) -> Optional[int]:
    """Where found, which may end early, is not what the reader read."""
    for offset, length, data in pieces:
        if data == b"":
            continue                            # the reader could not decode it
        part = found[offset:offset + length]
        if part != (bytes(len(part)) if data is None else bytes(data[:len(part)])):
            return offset
    return None


def run(*words: str, limit: int = 300) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run([BALEFS, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=ENVIRONMENT, timeout=limit, check=False)
    assert 0 <= done.returncode != 99 and b"Sanitizer" not in done.stderr and \
        b"runtime error" not in done.stderr, (words, done.returncode, done.stderr[-5000:].decode())
    return done


class Round:
    """One store full of mutants."""

    def __init__(self, work: str, seed: int, count: int, mount: bool) -> None:
        self.rng = random.Random(seed)
        self.store, self.work, self.mount = os.path.join(work, "store"), work, mount
        os.makedirs(os.path.join(self.store, ".balefs"))
        volume = {"format": 1, "uuid": "6ba7b810-9dad-41d1-80b4-00c04fd430c8", "features": [],
                  "modes": "inode", "codec": "lz4", "extent": EXTENT, "match": []}
        for name, value in (("volume", volume), ("volume-copy", volume),
                            ("sessions", self.rng.choice(SESSIONS))):
            with open(os.path.join(self.store, ".balefs", name + ".json"), "w",
                      encoding="utf-8") as file:
                json.dump(value, file)
        self.names = [f"m{i}" for i in range(count)]
        for i, name in enumerate(self.names):
            with open(os.path.join(self.store, name), "wb") as file:
                file.write(mutant(self.rng, i))
        reader = Store(self.store)
        self.readings = {name: read(os.path.join(self.store, name), reader) for name in self.names}
        self.wrong: list[str] = []
        self.either: set[str] = set()           # corrupt for the reader, unsupported for the program

    def say(self, name: str, what: str) -> None:
        self.wrong.append(f"{name}: {what}")

    def check(self) -> None:
        self.check_fsck()
        self.check_export()
        self.check_cat()
        if self.mount:
            self.check_mount()

    def check_fsck(self) -> None:
        done = run("fsck", "--data", "--json", self.store)
        report = json.loads(done.stdout)
        damaged = {p["path"] for p in report["problems"]}
        unread = {line.split(": ")[1].rsplit("/", 1)[1]: line
                  for line in done.stderr.decode().splitlines() if line.startswith("balefs: ")}
        for name, reading in self.readings.items():
            if reading.unsupported:             # beside damage, what is found first decides
                continue
            if reading.rejected and "use a newer one" in unread.get(name, ""):
                self.either.add(name)
                continue
            if reading.faulty != (name in damaged or name in unread):
                self.say(name, f"faulty for the reader: {reading.faulty}, for fsck: "
                               f"{name in damaged or name in unread}")

    def compare(self, name: str, found: bytes, how: str) -> None:
        reading = self.readings[name]
        if name in self.either:
            return
        if reading.pieces is None:
            if found and not reading.unsupported:
                self.say(name, f"{how} gives {len(found)} bytes, and the reader none")
            return
        at = differs(found, reading.pieces)
        if at is not None:
            self.say(name, f"{how} differs at {at}")
        if not reading.faulty and reading.size <= 1 << 22 and len(found) != reading.size:
            self.say(name, f"{how} gives {len(found)} bytes of {reading.size}")

    def check_export(self) -> None:
        """Files are sparse, but not all of their size can be written everywhere."""
        small = os.path.join(self.work, "small")
        target = os.path.join(self.work, "exported")
        os.makedirs(small)
        shutil.copytree(os.path.join(self.store, ".balefs"), os.path.join(small, ".balefs"))
        for name in self.names:
            if self.readings[name].size <= 1 << 22:
                os.link(os.path.join(self.store, name), os.path.join(small, name))
        run("export", small, target)
        for name in self.names:
            path = os.path.join(target, name)
            if os.path.exists(path):
                with open(path, "rb") as file:
                    self.compare(name, file.read(), "export")
        shutil.rmtree(target)

    def check_cat(self) -> None:
        """All that is good at once, and some of the rest alone."""
        good = [n for n in self.names if not self.readings[n].faulty and
                n not in self.either and self.readings[n].size <= 1 << 22]
        done = run("cat", *(os.path.join(self.store, name) for name in good))
        at = 0
        for name in good:
            self.compare(name, done.stdout[at:at + self.readings[name].size], "cat")
            at += self.readings[name].size
        if len(done.stdout) != at:
            self.say("cat", f"{len(done.stdout)} bytes, not {at}")
        bad = [n for n in self.names if self.readings[n].faulty]
        for name in self.rng.sample(bad, min(len(bad), 12)):
            for root in ((), ("--root=older",), ("--root=newest",)):
                if self.readings[name].size <= 1 << 22:
                    found = run("cat", *root, os.path.join(self.store, name)).stdout
                    if not root:
                        self.compare(name, found, "cat alone")

    def check_mount(self) -> None:
        """Read-only: all of it. Then for writing, where what is found is only used: a root may
        claim to be of the session that begins."""
        with self.mounted("-o", "ro") as mnt:
            for name in self.names:
                self.compare(name, self.use(os.path.join(mnt, name), False), "the mount")
        with self.mounted() as mnt:
            for name in self.names:
                self.use(os.path.join(mnt, name), True)

    @staticmethod
    def use(path: str, write: bool) -> bytes:
        found = bytearray()
        try:
            size = min(os.stat(path).st_size, 1 << 22)
            with open(path, "r+b" if write else "rb", buffering=0) as file:
                if write:
                    os.pwrite(file.fileno(), b"more", min(size, 5000))
                    os.fsync(file.fileno())
                while len(found) < size and (part := file.read(4096)):
                    found += part
        except OSError:
            pass
        return bytes(found[:1 << 22])

    @contextlib.contextmanager
    def mounted(self, *options: str) -> Iterator[str]:
        mnt, log = os.path.join(self.work, "mnt"), os.path.join(self.work, "log")
        os.makedirs(mnt, exist_ok=True)
        assert run("mount", "--log", log, *options, self.store, mnt).returncode == 0
        try:
            yield mnt
        finally:
            run("umount", mnt)
        with open(log, encoding="utf-8") as file:
            text_of = file.read()
        assert "Sanitizer" not in text_of and "runtime error" not in text_of, text_of[-5000:]


def check_lost_index(work: str) -> None:
    """An index that is lost costs no time and space for each extent of a file of 4 TiB."""
    one = Round(work, 1, 0, False)
    b = Builder()
    data = bytearray(b.root(1 << 42, b.page(1, [b.extent(noise(3000), 1 << 30)])).data)
    data[-20] ^= 1
    with open(os.path.join(one.store, "lost"), "wb") as file:
        file.write(data)
    target, tar = os.path.join(work, "exported"), os.path.join(work, "exported.tar")
    for words in ((one.store, target), ("--tar", "-o", tar, one.store)):
        done = run("export", *words)
        assert b"/lost: bytes 0 to 4398046511104 are damaged (index page)" in done.stderr, done
    st = os.stat(os.path.join(target, "lost.damaged"))
    assert (st.st_size, st.st_blocks * 512 < 1 << 20) == (1 << 42, True), st
    assert os.path.getsize(tar) < 1 << 20
    assert run("cat", os.path.join(one.store, "lost")).stdout == b""


def check_holes(work: str) -> None:
    """A hole costs no time for each of its bytes; one that would, in an archive, is refused."""
    one = Round(work, 1, 0, False)
    for name, size in (("hole", 1 << 50), ("greater", 1 << 62)):
        b = Builder()
        data = b.root(size, b.page(1, [b.extent(b"end", size - EXTENT)])).data
        with open(os.path.join(one.store, name), "wb") as file:
            file.write(bytes(data))
    tar = os.path.join(work, "exported.tar")
    done = run("export", "--tar", "-o", tar, one.store)
    assert done.returncode == 1 and b"/greater: is larger than 1 PiB" in done.stderr, done
    with tarfile.open(tar) as archive:
        assert {m.name: m.size for m in archive} == {".": 0, "hole": 1 << 50}
    assert run("fsck", "--data", one.store).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mount", action="store_true")
    parser.add_argument("--keep", action="store_true", help="keep a store in which something is wrong")
    args = parser.parse_args()
    failed = faulty = done = 0
    for check in (check_lost_index, check_holes):
        with tempfile.TemporaryDirectory(prefix="bale-mutants.") as work:
            check(work)
    for number in range(-(-args.count // STORES)):
        work = tempfile.mkdtemp(prefix="bale-mutants.")
        one = Round(work, args.seed * 1000003 + number, min(STORES, args.count - done), args.mount)
        one.check()
        done += len(one.names)
        faulty += sum(r.faulty for r in one.readings.values())
        for line in one.wrong:
            print(f"seed {args.seed}, store {number}, {line}", flush=True)
        failed += len(one.wrong)
        if one.wrong and args.keep:
            print(f"kept: {work}")
        else:
            shutil.rmtree(work)
    print(f"{done} mutants, {faulty} of them damaged, {failed} differences")
    return 1 if failed or not 0.2 * done < faulty < 0.95 * done else 0


if __name__ == "__main__":
    sys.exit(main())
