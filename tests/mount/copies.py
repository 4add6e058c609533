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
import shutil
import sys

sys.dont_write_bytecode = True
from copies_ways import (
    FIRST, MOUNT, OLDER, OTHER, SECOND, SOURCE, State, TABLE, UNKNOWN, WORK, balefs, by_cp,
    by_tar_of_files, expected, fill, mounted, names, run, spoil, write)
from balefs_reader import Container, Store


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
            # The mount reports a file once for as long as the kernel knows it; this keeps it known
            # when another test drops the caches.
            known = os.open(path, os.O_PATH)
            matches(*read_around(path), state, f"mount of {name}")
            assert os.stat(path).st_size == len(state.data)
            try:
                with open(path, "ab") as file:
                    file.write(b"more")
                assert state.doubt != "newest", name
            except OSError as error:            # an index that is lost cannot be added to
                refusal = errno.EROFS if state.doubt == "newest" else errno.EUCLEAN
                assert state.lost and error.errno == refusal, (name, error)
            os.close(known)

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
