"""Calls of every kind that wait in a mount whose store stalls, each made by a process of its own that is then killed.

usage: stall_calls.py prepare DIR | forget STORE | run DIR, with a line on standard input for the calls, and one for
the kill | check DIR, with the output of run on standard input
"""
import ctypes, fcntl, mmap, os, signal, struct, sys, time

SMALL, WRITTEN, COUNT = 20000, 5000, 2
LARGE = 16 << 20  # in extents of 16 KiB: its index has many pages, of which an open reads the first
AT_FDCWD, O_TMPFILE = -100, 0o20000000 | os.O_DIRECTORY


def write_some(fd, at=0):
    os.pwrite(fd, b"w" * WRITTEN, at)


def renew(p):
    fd = os.open(p, os.O_RDWR)
    write_some(fd)
    return fd


def copy_as_user(p):
    """The copy first takes the set-id bit of its target away. Nobody else has the target open."""
    source, target = os.open(p, os.O_RDONLY), os.open(p + ".set_id", os.O_RDWR)
    os.setuid(1235)
    os.copy_file_range(source, target, SMALL)


CALLS = {
    "copy_set_id": copy_as_user,
    "chmod": lambda p: os.chmod(p, 0o600),
    "create": lambda p: os.open(p + ".new", os.O_CREAT | os.O_RDWR),
    "mkdir": lambda p: os.mkdir(p + ".dir"),
    "mknod": lambda p: os.mkfifo(p + ".fifo"),
    "symlink": lambda p: os.symlink("x", p + ".link"),
    "link": lambda p: os.link(p, p + ".other"),
    "unlink": os.unlink,
    "rmdir": lambda p: os.rmdir(p + ".empty"),
    "rename": lambda p: os.rename(p, p + ".moved"),
    "tmpfile": lambda p: os.open(os.path.dirname(p), O_TMPFILE | os.O_RDWR),
    "chmod_open": lambda p: os.fchmod(os.open(p, os.O_RDWR), 0o640),
    "chown": lambda p: os.chown(p, 1234, 1234),
    "utimes": lambda p: os.utime(p, (1, 1)),
    "truncate": lambda p: os.truncate(p, 100),
    "open_truncate": lambda p: os.open(p, os.O_WRONLY | os.O_TRUNC),
    "setxattr": lambda p: os.setxattr(p, "user.a", b"b"),
    "removexattr": lambda p: os.removexattr(p, "user.there"),
    "fsync": lambda p: os.fsync(renew(p)),
    "fallocate": lambda p: os.posix_fallocate(os.open(p, os.O_RDWR), 0, 1 << 20),
    "write_sync": lambda p: os.pwrite(os.open(p, os.O_RDWR | os.O_SYNC), b"z" * 9000, 0),
    "close": lambda p: os.close(renew(p)),
    "fsync_directory": lambda p: os.fsync(os.open(os.path.dirname(p), os.O_RDONLY)),
    "read": lambda p: os.pread(os.open(p, os.O_RDONLY), 4096, 8192),
    "open": lambda p: os.open(p, os.O_RDONLY),
    "stat": os.stat,
    "getxattr": lambda p: os.getxattr(p, "user.there"),
    "listxattr": os.listxattr,
    "readlink": lambda p: os.readlink(p + ".symbolic"),
    "readdir": lambda p: os.listdir(os.path.dirname(p)),
    "seek_hole": lambda p: os.lseek(os.open(p, os.O_RDONLY), 0, os.SEEK_HOLE),
    "statfs": lambda p: os.statvfs(os.path.dirname(p)),
}

# fs/daemon/control.h
IOC_SYNC = 0xba01
IOC_RECOMPRESS = 3 << 30 | 72 << 16 | 0xba05

TARGETS = {}  # of copies: descriptors of new files, by those of their sources

# These files are open before the store stalls.
OPENED = {
    "seek": lambda fd, p: os.lseek(fd, 0, os.SEEK_HOLE),
    "write_inside": lambda fd, p: write_some(fd, LARGE // 2 + 100),
    "mapped": lambda fd, p: mmap.mmap(fd, LARGE)[LARGE // 2],
    "sync": lambda fd, p: fcntl.ioctl(fd, IOC_SYNC),
    "rename_written": lambda fd, p: (write_some(fd), os.rename(p, p + ".moved")),
    "link_written": lambda fd, p: (write_some(fd), os.link(p, p + ".other")),
    "copy": lambda fd, p: os.copy_file_range(fd, TARGETS[fd], LARGE),
    "recompress": lambda fd, p: fcntl.ioctl(fd, IOC_RECOMPRESS, struct.pack("<QQIHh6Q", 0, LARGE, 4, 0, 0, *[0] * 6)),
}


def path(top, name, i):
    return f"{top}/{name}.{i}/file"


def prepare(top):
    for name in OPENED | CALLS:
        for i in range(COUNT):
            p = path(top, name, i)
            os.mkdir(os.path.dirname(p))
            if name in OPENED:
                os.setxattr(os.path.dirname(p), "user.balefs.extent", b"16K")
            with open(p, "wb") as f:
                f.write(LARGE * b"y" if name in OPENED else os.urandom(SMALL))
            os.setxattr(p, "user.there", b"1")
            if name == "copy_set_id":
                os.close(os.open(p + ".set_id", os.O_CREAT | os.O_RDWR))
                os.chmod(p + ".set_id", 0o4755)
            os.mkdir(p + ".empty")
            os.symlink("file", p + ".symbolic")


def forget(store):
    """Takes the containers out of the page cache."""
    os.sync()
    for top, _, names in os.walk(store):
        for name in names:
            fd = os.open(os.path.join(top, name), os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def is_gone(pid):
    return os.waitpid(pid, os.WNOHANG)[0] == pid


def run(top):
    waiting = {}
    opened = {(name, i): os.open(path(top, name, i), os.O_RDWR) for name in OPENED for i in range(COUNT)}
    for i in range(COUNT):
        TARGETS[opened["copy", i]] = os.open(path(top, "copy", i) + ".to", os.O_CREAT | os.O_RDWR)
    print("opened", flush=True)
    sys.stdin.readline()
    for name, call in (OPENED | CALLS).items():  # these first: each user has few threads
        for i in range(COUNT):
            pid = os.fork()
            if pid == 0:
                ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it ends with its parent
                try:
                    call(*[fd for at, fd in opened.items() if at == (name, i)], path(top, name, i))
                    print(f"{name} {i} ended", flush=True)
                except OSError as e:
                    print(f"{name}: {e}", flush=True)
                # The kernel drops a SIGKILL that comes while a program ends by itself, and its close waits as any.
                signal.pause()
            waiting[pid] = name
    print("started", flush=True)
    sys.stdin.readline()
    for pid in waiting:
        os.kill(pid, signal.SIGKILL)
    for _ in range(1200):
        waiting = {pid: name for pid, name in waiting.items() if not is_gone(pid)}
        if not waiting:
            print("gone", flush=True)
            return
        time.sleep(0.05)
    for pid in waiting:
        with open(f"/proc/{pid}/wchan") as f:
            print(f"stays: {waiting[pid]} in {f.read()}", flush=True)


def check(top):
    """In a new mount: what waited for the store was not done when its program was gone."""
    ended = sys.stdin.read()
    for i in range(COUNT):
        # Where a copy is not supported, the kernel may have written a part of it before the kill.
        if os.stat(path(top, "copy", i) + ".to").st_size == LARGE and f"copy {i} ended" not in ended:
            sys.exit(f"copy {i} was done late")
        with open(path(top, "write_inside", i), "rb") as f:
            # A write that is killed while it still asks for attributes is sent all the same, up to its first page's end.
            if f.read().count(b"w") == WRITTEN and f"write_inside {i} ended" not in ended:
                sys.exit(f"write_inside {i} was done late")


{"prepare": prepare, "forget": forget, "run": run, "check": check}[sys.argv[1]](sys.argv[2])
