#!/usr/bin/python3
"""A writer that rewrites files without end, and a reader that checks each page that it sees through another mount.

usage: follow.py write MNT SHARED
       follow.py read MNT SHARED READS [exact] [whole] [again]

SHARED is a file for both, where the writer notes what is acknowledged. The reader reads files that it opens, that it
keeps open, and that it has mapped; then it ends the writer, and waits until each of them shows the last version. Each
page says of which version it is.

exact: a file that is opened shows what was acknowledged before, but for its name. whole: what is read at once belongs
to one version. again: a file that is replaced or removed while its name is looked up is opened again after ESTALE or
ENOENT, which is counted: on GlusterFS and JuiceFS a name that was just replaced leads to the file before for a second,
also without balefs. JuiceFS forgets a file that another client has removed although it is open; that is counted, too.
"""
import errno
import mmap
import os
import random
import struct
import sys
import time

PAGE = 4096
BLOB = random.Random(1).randbytes(1 << 20)
WHOLE, SMALL, LARGE, SIZED, REPLACED, APPENDED = NAMES = ["whole", "small", "large", "sized", "replaced", "appended"]
LINE = 64
LINES = 300  # after so many, another file gets the name
WAIT = 120


def page_of(version, index):
    at = (version * 7919 + index * 40503) % (len(BLOB) - PAGE)
    return struct.pack("<QQ", version, index) + BLOB[at : at + PAGE - 16]


def size_of(name, version):
    return {WHOLE: 100000, SMALL: 500, LARGE: 1000000}.get(name) or 1 + version * 7919 % 200000


def contents(name, version):
    size = size_of(name, version)
    return b"".join(page_of(version, i) for i in range((size + PAGE - 1) // PAGE))[:size]


class Shared:
    """For each file the version that was acknowledged last; then whether to stop, and whether the writer has."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 8 * (len(NAMES) + 2))

    def get(self, i):
        return struct.unpack_from("<Q", self.map, 8 * i)[0]

    def set(self, i, value):
        struct.pack_into("<Q", self.map, 8 * i, value)


STOP, STOPPED = len(NAMES), len(NAMES) + 1


def write_version(mnt, name, version):
    path = os.path.join(mnt, name)
    if name == REPLACED:
        with open(path + ".new", "wb") as file:
            file.write(contents(name, version))
        os.rename(path + ".new", path)
        return
    flags = os.O_WRONLY | os.O_CREAT
    if name == APPENDED:
        flags |= os.O_APPEND
        if version % LINES == 1 and version > 1:
            os.unlink(path)
    fd = os.open(path, flags, 0o644)
    if name == SIZED:
        os.ftruncate(fd, size_of(name, version))
    os.write(fd, b"%063d\n" % version if name == APPENDED else contents(name, version))
    os.fsync(fd)
    os.close(fd)


def write(mnt, shared):
    version = shared.get(0)
    while not shared.get(STOP):
        version += 1
        for i, name in enumerate(NAMES):
            write_version(mnt, name, version)
            shared.set(i, version)
    shared.set(STOPPED, 1)
    print(version, "versions")


def check_page(name, index, page):
    """The page's version; None: too little of it is there to tell."""
    if len(page) < 16 or not any(page):
        if name == SIZED or len(page) < 16:
            return None
    version, number = struct.unpack_from("<QQ", page)
    expected = page_of(version, index)[: len(page)]
    if page != expected:
        # A file that was made longer ends in zeros, until that is written too.
        same = next((i for i, (a, b) in enumerate(zip(page, expected)) if a != b), len(page))
        if name != SIZED or any(page[same:]):
            raise ValueError(f"{name}: page {index} says version {version}, page {number}, and is wrong from {same} on")
    return version


def check(name, data, whole):
    """The least version in it."""
    if name == APPENDED:
        lines = data.splitlines(keepends=True)
        numbers = [int(line) for line in lines]
        if data != b"".join(b"%063d\n" % n for n in range(numbers[0], numbers[-1] + 1)):
            raise ValueError(f"{name}: wrong lines")
        return numbers[-1]
    found = {check_page(name, i, data[i * PAGE : (i + 1) * PAGE]) for i in range((len(data) + PAGE - 1) // PAGE)}
    found.discard(None)
    if not found:
        return None
    if name != SIZED and len(data) not in {size_of(name, v) for v in found}:
        raise ValueError(f"{name}: {len(data)} bytes of the versions {sorted(found)}")
    if whole and len(found) > 1:
        raise ValueError(f"{name}: pages of the versions {sorted(found)}")
    return min(found)


def read_all(fd):
    return os.pread(fd, 1 << 20, 0)  # one request, if the kernel keeps no pages


class Reader:
    def __init__(self, mnt, shared, exact, whole, again):
        self.mnt, self.shared, self.exact, self.whole = mnt, shared, exact, whole
        self.stale, self.gone, self.again = 0, 0, again
        self.kept = {name: self.named(os.open, name, os.O_RDONLY) for name in NAMES}
        self.map = mmap.mmap(self.kept[LARGE], size_of(LARGE, 0), prot=mmap.PROT_READ)
        self.seen = {}

    def named(self, call, name, *arguments):
        for _ in range(60):
            try:
                return call(os.path.join(self.mnt, name), *arguments)
            except OSError as e:
                if e.errno not in (errno.ESTALE, errno.ENOENT) or name not in (REPLACED, APPENDED) or not self.again:
                    raise
                self.stale += 1
                time.sleep(0.05)
        raise ValueError(f"{name}: stale again and again")

    def opened(self, name):
        before = self.shared.get(NAMES.index(name))
        try:
            fd = self.named(os.open, name, os.O_RDONLY)
        except FileNotFoundError:
            if name == APPENDED:
                return None
            raise
        try:
            one = name == REPLACED or self.whole and name in (WHOLE, SMALL, LARGE)
            data = read_all(fd)
            if not data and name in (APPENDED, SIZED):
                return None
            version = check(name, data, one)
        finally:
            os.close(fd)
        if self.exact and version is not None and version < before and name in (WHOLE, SMALL, LARGE):
            raise ValueError(f"{name}: opened at version {version} after {before} was acknowledged")
        return version

    def is_newer(self, key, version):
        if version is not None and version < self.seen.get(key, 0):
            raise ValueError(f"{key}: version {version} after {self.seen[key]}")
        self.seen[key] = version or self.seen.get(key, 0)
        return version

    def kept_open(self, name):
        if name in (WHOLE, SMALL, LARGE):
            index = random.randrange((size_of(name, 0) + PAGE - 1) // PAGE)
            page = os.pread(self.kept[name], PAGE, index * PAGE)
            return self.is_newer((name, index), check_page(name, index, page))
        try:
            return check(name, read_all(self.kept[name]), False)
        except OSError as e:
            if e.errno != errno.ENOENT or name not in (REPLACED, APPENDED) or not self.again:
                raise
            self.gone += 1

    def mapped(self):
        index = random.randrange(size_of(LARGE, 0) // PAGE)
        return self.is_newer((LARGE, index), check_page(LARGE, index, self.map[index * PAGE : (index + 1) * PAGE]))

    def listed(self):
        for name in os.listdir(self.mnt):
            try:
                size = self.named(os.stat, name).st_size
            except OSError as e:
                if e.errno == errno.ENOENT or self.again and e.errno == errno.ESTALE:
                    continue
                raise
            if name in (WHOLE, SMALL, LARGE) and size != size_of(name, 0):
                raise ValueError(f"{name}: {size} bytes")

    def read(self, i):
        name = NAMES[i % len(NAMES)]
        [self.opened, self.kept_open][i // len(NAMES) % 2](name)
        if i % 5 == 0:
            self.mapped()
        if i % 20 == 0:
            self.listed()

    def shows_last(self):
        last = self.shared.get(0)
        for name in NAMES:
            size = self.named(os.stat, name).st_size
            if name != APPENDED and size != size_of(name, last) or self.opened(name) != last:
                return name
        for name in (WHOLE, SMALL, LARGE, SIZED):
            if os.fstat(self.kept[name]).st_size != size_of(name, last):
                return name + ", kept: size"
            data = read_all(self.kept[name])
            if len(data) != size_of(name, last) or check(name, data, True) != last:
                return name + ", kept"
        if self.map[:] != contents(LARGE, last):
            return "mapped"
        return None


def read(mnt, shared, reads, *options):
    end = time.monotonic() + WAIT
    while not all(shared.get(i) for i in range(len(NAMES))):
        time.sleep(0.01)
    missing = NAMES
    while missing and time.monotonic() < end:
        missing = [name for name in NAMES if not os.path.exists(os.path.join(mnt, name))]
    reader = Reader(mnt, shared, *(option in options for option in ("exact", "whole", "again")))
    errors = []
    for i in range(reads):
        try:
            reader.read(i)
        except (OSError, ValueError) as e:
            errors.append(f"read {i}, {NAMES[i % len(NAMES)]}, {i // len(NAMES) % 2}: {e}")
    shared.set(STOP, 1)
    while not shared.get(STOPPED):
        time.sleep(0.01)
    began = time.monotonic()
    end = began + WAIT
    while (late := reader.shows_last()) and time.monotonic() < end:
        time.sleep(0.05)
    took = time.monotonic() - began
    if late:
        errors.append(f"{late}: does not show version {shared.get(0)}")
    for error in errors[:20]:
        print(error, file=sys.stderr)
    wrong = sum("Errno" not in e for e in errors)
    print(f"{reads} reads beside {shared.get(0)} versions: {len(errors) - wrong} errors, {wrong} wrong; "
          f"{reader.stale} opened again, {reader.gone} removed; everything shows the last version after {took:.1f} s")
    return 1 if errors else 0


def main():
    shared = Shared(sys.argv[3])
    if sys.argv[1] == "write":
        return write(sys.argv[2], shared)
    return read(sys.argv[2], shared, int(sys.argv[4]), *sys.argv[5:])


if __name__ == "__main__":
    sys.exit(main())
