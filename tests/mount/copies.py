#!/usr/bin/python3
"""Every way in which containers, directories and stores are copied, as a table (FORMAT.md 8).

    copies.py BALEFS WORK

A store is filled, unmounted, and damaged in four ways. Each copy of it, and of its containers alone,
must give all that is readable, and say what is not: fsck by its status, the mount by its log, cat and
export by a message.
"""
from __future__ import annotations

import errno
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


def names() -> list[str]:
    return [f"{kind}.{damage}" for kind in ("once", "twice") for damage in DAMAGES]


def state_of(trust: str, name: str) -> State:
    kind, damage = name.split(".")
    return expected(trust, kind, damage)


def read_around(path: str) -> tuple[bytes, bool]:
    """What can be read, with zeros for what gives an error, and whether anything does."""
    out, lost = bytearray(), False
    fd = os.open(path, os.O_RDONLY)
    size = os.fstat(fd).st_size
    while len(out) < size:
        step = min(4096, size - len(out))
        try:
            out += os.pread(fd, step, len(out))
        except OSError:
            out += bytes(step)
            lost = True
    os.close(fd)
    return bytes(out), lost


def matches(found: bytes, lost: bool, state: State, what: str) -> None:
    """The bytes are right, or zeros where they are lost: in one extent of 128 KiB, or, as the index
    lies behind the frames of a container that is cut, everywhere."""
    assert len(found) == len(state.data), (what, len(found), len(state.data))
    assert lost == state.lost, (what, lost)
    wrong = [i for i in range(0, len(found), 4096)
             if found[i:i + 4096] != state.data[i:i + 4096]]
    assert not any(any(found[i:i + 4096]) for i in wrong), what
    assert (len(wrong) <= 33 or "cut" in what) and bool(wrong) == state.lost, (what, len(wrong))


def check_fsck(store: str, trust: str) -> None:
    states = {name: state_of(trust, name) for name in names()}
    done = balefs("fsck", "--data", "--json", store, status=None)
    report = json.loads(done.stdout)
    doubts = {d["path"]: d["serves"] for d in report["doubts"]}
    assert doubts == {n: s.doubt for n, s in states.items() if s.doubt}, doubts
    damaged = {p["path"] for p in report["problems"]}
    assert damaged == {n for n, s in states.items() if s.lost}, damaged
    notes = {n["path"] for n in report["notes"] if "crash" in n["note"]}
    assert notes == {n for n, s in states.items() if s.note}, notes
    assert done.returncode == (64 if doubts else 0) + (4 if damaged else 0), done.returncode


def check_cat_and_export(store: str, trust: str) -> None:
    target = os.path.join(WORK, "exported")
    done = balefs("export", store, target, status=None)
    said = done.stderr.decode()
    for name in names():
        state = state_of(trust, name)
        with open(os.path.join(target, name + (".damaged" if state.lost else "")), "rb") as file:
            matches(file.read(), state.lost, state, f"export of {name}")
        reported = f"/{name}: " in said
        assert reported == (state.lost or state.note or state.doubt is not None), (name, said)
        cat = balefs("cat", os.path.join(store, name), status=None)
        bad = state.lost or state.doubt is not None
        assert cat.returncode == int(bad), (name, cat)
        assert bool(cat.stderr) == reported, (name, cat.stderr)
        assert state.data.startswith(cat.stdout), name
        assert state.lost or cat.stdout == state.data, name
    assert done.returncode == int(any(state_of(trust, n).lost or state_of(trust, n).doubt
                                      for n in names())), done
    shutil.rmtree(target)


def check_either(store: str) -> None:
    """Both states of a file in doubt can be read."""
    for damage in ("flip", "zero", "cut"):
        path = os.path.join(store, f"twice.{damage}")
        assert balefs("cat", "--root=older", path).stdout == FIRST
        newest = balefs("cat", "--root=newest", path, status=1).stdout
        assert bool(newest) == (damage != "cut") and SECOND.startswith(newest), damage
    balefs("cat", "--root=older", os.path.join(store, "once.flip"), status=1)


def check_reader(store: str, trust: str) -> None:
    for name in names():
        state = state_of(trust, name)
        out, lost = bytearray(), []
        with Container(os.path.join(store, name), Store(store)) as container:
            root = container.choose()
            assert container.held == (state.doubt == "newest"), name
            if root is not None:
                index = container.walk(root, 0, lost.append)
                for _, length, data in container.pieces(root, index, lost.append):
                    out += bytes(data) if data else bytes(length)
        matches(bytes(out), bool(lost), state, f"reader of {name}")


def check_mount(store: str, trust: str) -> None:
    before = {}
    for name in names():
        with open(os.path.join(store, name), "rb") as file:
            before[name] = file.read()

    def work() -> None:
        for name in names():
            state = state_of(trust, name)
            path = os.path.join(MOUNT, name)
            matches(*read_around(path), state, f"mount of {name}")
            assert os.stat(path).st_size == len(state.data)
            try:
                with open(path, "ab") as file:
                    file.write(b"more")
                assert state.doubt != "newest", name
            except OSError as error:            # an index that is lost cannot be added to
                refusal = errno.EROFS if state.doubt == "newest" else errno.EUCLEAN
                assert state.lost and error.errno == refusal, (name, error)

    log = mounted(store, work)
    for name in names():
        state = state_of(trust, name)
        said = [line for line in log.splitlines() if f" {name}: " in line and "last commit" in line]
        assert len(said) == int(state.note or state.doubt is not None), (name, log)
        if state.doubt == "newest":             # not a byte of it was written
            with open(os.path.join(store, name), "rb") as file:
                assert file.read() == before[name], name


def check_repair(store: str, older: bool) -> None:
    """What is in doubt is settled; then it can be written, and nothing is in doubt any more."""
    chosen = ("--root=older",) if older else ()
    done = balefs("fsck", "--repair", "--json", *chosen, store, status=None)
    # Corrected, also an index that was cut off; files without an older root stay in doubt.
    assert done.returncode == 1 + (64 + 8 if older else 0), done
    for name in names():
        state = state_of(UNKNOWN, name)
        if older and name.startswith("once"):
            continue
        if older and state.doubt:
            state = State(FIRST, False, None)
        settled = State(state.data, state.lost, None)

        def work(name: str = name, settled: State = settled) -> None:
            matches(*read_around(os.path.join(MOUNT, name)), settled, f"repaired {name}")
            with open(os.path.join(MOUNT, name), "r+b") as file:
                file.write(settled.data)
            assert read_around(os.path.join(MOUNT, name)) == (settled.data, False), name

        if state_of(UNKNOWN, name).doubt:
            mounted(store, work)


def main() -> None:
    os.mkdir(MOUNT)
    for store in (SOURCE, OTHER):
        balefs("init", "--codec", "store", store)
    mounted(SOURCE, lambda: None)
    run("cp", "-a", SOURCE, OLDER)
    mounted(SOURCE, fill)
    mounted(OTHER, lambda: write(os.path.join(MOUNT, "own"), FIRST))
    os.unlink(os.path.join(OTHER, "own"))
    for name in names():
        spoil(os.path.join(SOURCE, name), name.split(".")[1])
    for copy, trust in TABLE:
        store = os.path.join(WORK, copy.__name__)
        print(copy.__name__, trust, flush=True)
        copy(store)
        check_fsck(store, trust)
        check_cat_and_export(store, trust)
        check_reader(store, trust)
        if trust == UNKNOWN:
            check_either(store)
        if copy is by_cp or copy is by_tar_of_files:
            again = store + ".again"
            run("cp", "-a", store, again)
            check_repair(again, copy is by_cp)
            shutil.rmtree(again)
        check_mount(store, trust)
        shutil.rmtree(store)


if __name__ == "__main__":
    main()
