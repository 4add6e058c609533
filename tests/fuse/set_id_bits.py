"""Compares what changes of files leave of their set-id bits in two directories.

usage: set_id_bits.py PLAIN MOUNT, as root; both directories may be written to by everybody"""

import os
import sys

MODES = (0o6755, 0o2745, 0o2667, 0o2766, 0o4666, 0o6777, 0o2777)
OWNER, GROUP, OTHER = 65531, 65532, 65533
CALLERS = {
    "root": (0, 0, []),
    "the owner": (OWNER, OWNER, []),
    "a member": (OTHER, OTHER, [GROUP]),
    "one of many groups": (OTHER, OTHER, [*range(1000, 1100), GROUP]),
    "a stranger": (OTHER, OTHER, []),
}


def write(path):
    with open(path, "r+b", buffering=0) as file:
        file.write(b"x")


def overwrite(path):
    os.close(os.open(path, os.O_WRONLY | os.O_TRUNC))


def allocate(path):
    fd = os.open(path, os.O_WRONLY)
    os.posix_fallocate(fd, 0, 8192)
    os.close(fd)


def give(path):
    os.chown(path, -1, os.getegid())


def touch(path):
    os.utime(path)


CHANGES = {"write": write, "truncate": lambda path: os.truncate(path, 1), "O_TRUNC": overwrite,
           "fallocate": allocate, "chgrp": give, "chown": lambda path: os.chown(path, OWNER, -1), "touch": touch}


def left(top, caller):
    """What the caller's changes leave in top: "0755", or with the error, by change and mode."""
    cases = [(how, mode) for how in CHANGES for mode in MODES]
    paths = [os.path.join(top, "%s %o" % case) for case in cases]
    for path, (_, mode) in zip(paths, cases):
        with open(path, "wb") as file:
            file.write(b"text")
        os.chown(path, OWNER, GROUP)
        os.chmod(path, mode)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        uid, gid, groups = CALLERS[caller]
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        for path, (how, _) in zip(paths, cases):
            try:
                CHANGES[how](path)
                os.write(writer, b"\0")
            except OSError as error:
                os.write(writer, bytes([error.errno]))
        os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    errors = os.read(reader, len(cases) + 1)
    os.close(reader)
    assert len(errors) == len(cases), errors
    found = {}
    for path, case, error in zip(paths, cases, errors):
        found[case] = "%04o" % (os.stat(path).st_mode & 0o7777) + (", " + os.strerror(error) if error else "")
        os.unlink(path)
    return found


def main():
    plain, mount = sys.argv[1:]
    failed = changed = 0
    for caller in CALLERS:
        want, got = left(plain, caller), left(mount, caller)
        for how, mode in want:
            changed += want[how, mode] == "%04o" % (mode & 0o777)
            if want[how, mode] != got[how, mode]:
                failed += 1
                print("%s by %s of mode %04o: %s, not %s" % (how, caller, mode, got[how, mode], want[how, mode]),
                      file=sys.stderr)
    assert changed > 20, changed
    sys.exit(failed > 0)


main()
