"""A store with files of which some are damaged, and the ways in which it is copied: TABLE."""
from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from typing import Callable, NamedTuple, Optional

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "reader"))
from balefs_reader import Container, Root, Store, parse_slot, SLOT

BALEFS, WORK = sys.argv[1], sys.argv[2]
SOURCE, OLDER, OTHER, MOUNT = (os.path.join(WORK, name)
                               for name in ("source", "older", "other", "mnt"))
CERTAIN, LISTED, UNKNOWN = "certain", "listed", "unknown"
SIZE = 400_000
DAMAGES = ("whole", "flip", "zero", "cut")


def content(seed: int, length: int = SIZE) -> bytes:
    return random.Random(seed).randbytes(length)


FIRST, SECOND = content(1), content(1)[:SIZE // 2] + content(2, SIZE)


def names() -> list[str]:
    return [f"{kind}.{damage}" for kind in ("once", "twice") for damage in DAMAGES]


class State(NamedTuple):
    """What a file must show: bytes, those of them that give an error, and what is said of it."""
    data: bytes
    lost: bool
    doubt: Optional[str]        # the root that serves; None: it is not in doubt
    note: bool = False          # a crash is reported


def expected(trust: str, kind: str, damage: str) -> State:
    """once: one commit, never synced. twice: the first of two was synced."""
    newest, older = (FIRST, None) if kind == "once" else (SECOND, FIRST)
    if damage == "whole":
        return State(newest, False, None)
    if trust == CERTAIN:
        return State(newest, True, None)
    if trust == LISTED:
        return State(older or b"", False, None, True)
    if damage == "flip" or older is None:
        return State(newest, True, "newest")
    return State(older, False, "older")


def balefs(*words: str, status: Optional[int] = 0) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run([BALEFS, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, check=False)
    assert status is None or done.returncode == status, (words, done)
    return done


def run(*words: str) -> None:
    subprocess.run(words, check=True)


def mounted(store: str, work: Callable[[], None], *options: str) -> str:
    """Does work in a mount of the store; the log."""
    log = os.path.join(WORK, "mount.log")
    with open(log, "w", encoding="utf-8"):
        pass
    balefs("mount", "--log", log, *options, store, MOUNT)
    try:
        work()
    finally:
        balefs("umount", MOUNT)
    with open(log, encoding="utf-8") as file:
        return file.read()


def write(path: str, data: bytes, sync: bool = False) -> None:
    with open(path, "wb") as file:
        file.write(data)
        if sync:
            file.flush()
            os.fsync(file.fileno())


def fill() -> None:
    for damage in DAMAGES:
        write(os.path.join(MOUNT, f"once.{damage}"), FIRST)
        path = os.path.join(MOUNT, f"twice.{damage}")
        write(path, FIRST, True)
        with open(path, "r+b") as file:
            file.seek(SIZE // 2)
            file.write(SECOND[SIZE // 2:])


def spoil(path: str, damage: str) -> None:
    """Damages the last frame in the container that only the newest root refers to."""
    with open(path, "r+b") as file, Container(path, Store(None)) as container:
        slots = [parse_slot(file.read(SLOT), i) for i in (0, 1)]
        newest = max((s for s in slots if isinstance(s, Root)), key=lambda root: root.generation)
        segments = [s for s in container.walk(newest).segments if s.generation > newest.durable]
        last = max(segments, key=lambda s: s.position)
        end = last.position + last.frame_length
        if damage == "flip":
            file.seek(end - 1)
            byte = file.read(1)[0]
            file.seek(end - 1)
            file.write(bytes([byte ^ 1]))
        elif damage == "zero":
            file.seek(last.position)
            file.write(bytes(last.frame_length))
        elif damage == "cut":
            file.truncate(last.position + last.frame_length // 2)


# The ways of copying: each makes the store `to` from the unmounted SOURCE.

def sessions_of(store: str) -> str:
    return os.path.join(store, ".balefs", "sessions.json")


def new_store(to: str) -> None:
    balefs("init", to)


def by_cp(to: str) -> None:
    new_store(to)
    run("cp", *(os.path.join(SOURCE, name) for name in names()), to)


def by_cp_sparse(to: str) -> None:
    new_store(to)
    run("cp", "-a", "--sparse=never", *(os.path.join(SOURCE, name) for name in names()), to)


def by_rsync(to: str) -> None:
    new_store(to)
    run("rsync", "-a", "--exclude=/.balefs", SOURCE + "/", to)


def by_whole_rsync(to: str) -> None:
    run("rsync", "-aSX", SOURCE + "/", to)


def by_whole_cp(to: str) -> None:
    run("cp", "-a", SOURCE, to)


def by_tar(to: str) -> None:
    os.mkdir(to)
    with subprocess.Popen(["tar", "-C", SOURCE, "-cS", "."], stdout=subprocess.PIPE) as tar:
        subprocess.run(["tar", "-C", to, "-x"], stdin=tar.stdout, check=True)
    assert tar.returncode == 0


def by_tar_of_files(to: str) -> None:
    new_store(to)
    with subprocess.Popen(["tar", "-C", SOURCE, "-c", *names()], stdout=subprocess.PIPE) as tar:
        subprocess.run(["tar", "-C", to, "-x"], stdin=tar.stdout, check=True)
    assert tar.returncode == 0


def by_merging(to: str) -> None:
    """Into a store that has sessions of its own, above and below those of the source."""
    run("cp", "-a", OTHER, to)
    with open(sessions_of(SOURCE), encoding="utf-8") as file:
        last = json.load(file)["last"]
    with open(sessions_of(to), encoding="utf-8") as file:
        sessions = json.load(file)
    sessions["first"], sessions["last"] = last + 1, last + 9
    with open(sessions_of(to), "w", encoding="utf-8") as file:
        json.dump(sessions, file)
    run("cp", "-a", *(os.path.join(SOURCE, name) for name in names()), to)


def by_restoring_a_snapshot(to: str) -> None:
    """A snapshot of the mounted store, after another boot."""
    by_whole_cp(to)
    with open(sessions_of(to), encoding="utf-8") as file:
        sessions = json.load(file)
    sessions["uncertain"] = [{"session": session, "boot": "another:1"}
                             for session in range(sessions["first"], sessions["last"] + 1)]
    with open(sessions_of(to), "w", encoding="utf-8") as file:
        json.dump(sessions, file)


def by_losing_sessions(to: str) -> None:
    by_whole_cp(to)
    os.unlink(sessions_of(to))


def by_losing_sessions_long_ago(to: str) -> None:
    by_losing_sessions(to)
    for _ in range(2):
        mounted(to, lambda: None)


def by_restoring_old_sessions(to: str) -> None:
    by_whole_cp(to)
    with open(sessions_of(to), encoding="utf-8") as file:
        sessions = json.load(file)
    sessions["first"], sessions["last"] = sessions["first"] - 900, sessions["first"] - 800
    with open(sessions_of(to), "w", encoding="utf-8") as file:
        json.dump(sessions, file)


def by_restoring_older_sessions(to: str) -> None:
    """Over the newer one. The numbers that follow are in the containers."""
    by_whole_cp(to)
    run("cp", sessions_of(OLDER), sessions_of(to))
    mounted(to, lambda: None)


def by_restoring_an_older_balefs(to: str) -> None:
    by_whole_cp(to)
    shutil.rmtree(os.path.join(to, ".balefs"))
    run("cp", "-a", os.path.join(OLDER, ".balefs"), to)
    for _ in range(2):
        mounted(to, lambda: None)


def by_crashing_after_restoring(to: str) -> None:
    """The session that crashed has the number of one that is in the containers."""
    by_whole_cp(to)
    run("cp", sessions_of(OLDER), sessions_of(to))
    balefs("mount", to, MOUNT)
    with open(os.path.join(to, ".balefs", "lock"), encoding="utf-8") as file:
        os.kill(json.load(file)["process"], signal.SIGKILL)
    run("umount", "-l", MOUNT)
    with open(sessions_of(to), encoding="utf-8") as file:
        sessions = json.load(file)
    for entry in sessions["uncertain"]:
        entry["boot"] = "another:1"
    with open(sessions_of(to), "w", encoding="utf-8") as file:
        json.dump(sessions, file)


def by_copying_newer_files(to: str) -> None:
    """A copy of the whole store, once; then it is used, and gets the newer files of the first."""
    run("cp", "-a", OLDER, to)
    for _ in range(2):
        mounted(to, lambda: None)
    run("rsync", "-a", "--exclude=/.balefs", SOURCE + "/", to)
    for _ in range(2):
        mounted(to, lambda: None)


TABLE: list[tuple[Callable[[str], None], str]] = [
    (by_cp, UNKNOWN),
    (by_cp_sparse, UNKNOWN),
    (by_rsync, UNKNOWN),
    (by_whole_rsync, CERTAIN),
    (by_whole_cp, CERTAIN),
    (by_tar, CERTAIN),
    (by_tar_of_files, UNKNOWN),
    (by_merging, UNKNOWN),
    (by_restoring_a_snapshot, LISTED),
    (by_losing_sessions, UNKNOWN),
    (by_losing_sessions_long_ago, UNKNOWN),
    (by_restoring_old_sessions, UNKNOWN),
    (by_restoring_older_sessions, UNKNOWN),
    (by_restoring_an_older_balefs, UNKNOWN),
    (by_crashing_after_restoring, UNKNOWN),
    (by_copying_newer_files, UNKNOWN),
]
