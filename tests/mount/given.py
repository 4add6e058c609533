#!/usr/bin/python3
"""Small files that are opened, read and changed by several processes at once.

    given.py fill|opened|change|check MNT
    given.py read MNT STORE

A file's bytes tell its number, its version and their place. Each process changes files of its own, which must always be as
it has left them, and reads those of all, so that they are opened while others change them.
"""
from __future__ import annotations

import ctypes
import mmap
import os
import random
import sys

PROCESSES = 4
FILES = 6       # of each
CHANGES = 1500  # by each
DIRECTORIES = 7
MOST = 70000    # some are too long to be given
PAGE = 4096
ATTEMPTS = 5    # another test may drop the caches
UNREAD = 40     # files of a directory that are opened
GIVEN = 15      # so many of them are given after a read


def data_of(number: int, version: int, length: int) -> bytes:
    line = b"file %d version %d " % (number, version)
    text = b"".join(b"%s%d\n" % (line, i) for i in range(length // (len(line) + 2) + 1))
    return text[:length]


def path_of(top: str, number: int) -> str:
    return os.path.join(top, f"dir{number % DIRECTORIES}", f"file{number}")


def length_of(rng: random.Random) -> int:
    return rng.choice((0, 1, PAGE, 65536, rng.randrange(MOST), rng.randrange(MOST)))


def read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()


def write(path: str, data: bytes, how: int) -> None:
    """Replaces all that is in the file."""
    if how == 0:
        with open(path, "wb") as file:
            file.write(data)
        return
    if how == 1:
        os.truncate(path, len(data))
    with open(path, "r+b") as file:
        file.truncate(len(data))
        if how == 2 and data:
            with mmap.mmap(file.fileno(), len(data)) as memory:
                memory[:] = data
        else:
            file.write(data)


def filled(numbers: range) -> dict[int, bytes]:
    """What the files have after `fill`."""
    return {number: data_of(number, 0, length_of(random.Random(number))) for number in numbers}


def all_filled() -> dict[int, bytes]:
    return filled(range(PROCESSES * FILES))


def fill(top: str) -> None:
    for i in range(DIRECTORIES):
        os.mkdir(os.path.join(top, f"dir{i}"))
    for number, data in all_filled().items():
        write(path_of(top, number), data, 0)
    for attempt in range(ATTEMPTS):
        os.mkdir(os.path.join(top, f"unread{attempt}"))
        for i in range(UNREAD):
            write(os.path.join(top, f"unread{attempt}", str(i)), data_of(i, 0, 3000), 0)


def is_cached(fd: int) -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    at = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(PAGE), mmap.PROT_READ, mmap.MAP_SHARED, fd, ctypes.c_long(0)))
    pages = (ctypes.c_ubyte * 1)()
    assert libc.mincore(at, ctypes.c_size_t(PAGE), pages) == 0
    libc.munmap(at, ctypes.c_size_t(PAGE))
    return bool(pages[0] & 1)


def opened(top: str) -> None:
    """After a read, the data of the files that are opened next is given, but not of any number of them."""
    seen = []
    for attempt in range(ATTEMPTS):
        paths = [os.path.join(top, f"unread{attempt}", str(i)) for i in range(UNREAD)]
        read(paths[0])
        fds = [os.open(path, os.O_RDONLY) for path in paths[1:]]
        seen = [is_cached(fd) for fd in fds]
        for fd in fds:
            os.close(fd)
        if seen == [i < GIVEN for i in range(UNREAD - 1)]:
            return
    assert False, seen


def read_all(top: str, store: str) -> None:
    """The first reads since the kernel has known the files, which were written at a time that is now past."""
    for number, data in all_filled().items():
        path, container = path_of(top, number), path_of(store, number)
        os.stat(path)
        before = os.stat(container)
        assert read(path) == data, path
        seen, now = os.stat(path), os.stat(container)
        assert seen.st_atime_ns == now.st_atime_ns, (path, seen, now)
        assert now.st_mtime_ns == before.st_mtime_ns, path


def change(top: str, process: int) -> None:
    rng = random.Random(process)
    state = filled(range(process * FILES, (process + 1) * FILES))
    for version in range(1, CHANGES + 1):
        number = rng.choice(list(state))
        if rng.random() < 0.5:
            state[number] = data_of(number, version, length_of(rng))
            write(path_of(top, number), state[number], rng.randrange(4))
        found = read(path_of(top, number))
        assert found == state[number], (number, version, len(found), len(state[number]))
        for _ in range(3):
            read(path_of(top, rng.randrange(PROCESSES * FILES)))
        if version % 8 == 0:
            with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
                file.write("2" if version % 80 else "3")
    with open(os.path.join(top, f"state{process}"), "wb") as file:
        for number, data in state.items():
            file.write(b"%d %d\n" % (number, len(data)) + data)


def check(top: str) -> None:
    for process in range(PROCESSES):
        with open(os.path.join(top, f"state{process}"), "rb") as file:
            while head := file.readline():
                number, length = map(int, head.split())
                assert read(path_of(top, number)) == file.read(length), number


def main() -> None:
    step, top, *rest = sys.argv[1:]
    if step == "fill":
        fill(top)
    elif step == "read":
        read_all(top, *rest)
    elif step == "opened":
        opened(top)
    elif step == "check":
        check(top)
    else:
        children = []
        for process in range(PROCESSES):
            child = os.fork()
            if child == 0:
                change(top, process)
                os._exit(0)
            children.append(child)
        failed = [child for child in children if os.waitpid(child, 0)[1] != 0]
        assert not failed, failed


if __name__ == "__main__":
    main()
