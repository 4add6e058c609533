#!/usr/bin/python3
"""Containers made to deceive, through fsck, cat, export, a mount and the reader in Python.

    mutants.py [--mount] [--seed N] [--keep] COUNT

mutate.py makes them. Nothing may crash or hang; fsck and the reader agree which containers are
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
from typing import Iterator, NamedTuple, Optional

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "reader"))
from balefs_reader import Container, Fault, Piece, Store, Unsupported
from mutate import EXTENT, mutant
from test_reader import Builder, noise

BALEFS = os.environ["BALEFS"]
STORES = 500                                    # containers in one store
SESSIONS = ({"last": 9, "uncertain": []},
            {"last": 9, "uncertain": [{"session": s, "boot": "another"} for s in range(1, 10)]},
            {"first": 900, "last": 999, "uncertain": []})
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "exitcode=99:detect_leaks=0",
               "UBSAN_OPTIONS": "halt_on_error=1:exitcode=99"}


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
