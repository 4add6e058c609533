"""The machine: what it is, what its processors do, and commands run on it."""

import datetime
import mmap
import os
import pathlib
import subprocess

TICKS = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """A failure: what happened and what to do, for the user."""


def run(*command, **options):
    """Runs a command that must succeed, and returns what it printed."""
    words = [str(word) for word in command]
    options.setdefault("stdout", subprocess.PIPE)
    try:
        done = subprocess.run(words, stderr=subprocess.PIPE, text=True, errors="replace", check=False, **options)
    except OSError as error:
        raise Failed(f"{words[0]}: {error.strerror}: install it") from error
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)}: exit status {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


def drop_caches(below):
    """Drops the kernel's caches, after a sync of the file system of `below`."""
    run("sync", "-f", below)
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


def touch_free(size):
    """Touches so many bytes of free memory: what a virtual machine has given back to its host takes as long to come back
    as to be filled."""
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    parts = processors()
    each = min(size, available // 2) // parts
    children = []
    for _ in range(parts if each > 0 else 0):
        child = os.fork()
        if child == 0:
            mmap.mmap(-1, each, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def is_mounted(path):
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        return any(line.split()[1] == str(path) for line in mounts)


def processors():
    return len(os.sched_getaffinity(0))


def model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return os.uname().machine


def first_line(*command):
    try:
        return run(*command).splitlines()[0].strip()
    except (Failed, IndexError):
        return "none"


def describe(arguments, balefs, others):
    """others: versions of what else is measured, by name."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    source = pathlib.Path(__file__).resolve().parents[3]
    return {
        "machine": f"{model()}, {processors()} cores, {memory / 2**30:.0f} GiB",
        "kernel": f"{os.uname().sysname} {os.uname().release}",
        "load": " ".join(f"{value:.2f}" for value in os.getloadavg()),
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "versions": {
            "balefs": first_line(balefs, "--version") + " "
            + first_line("git", "-C", source, "describe", "--always", "--dirty"),
            **others,
        },
        "command": " ".join(arguments),
    }


def _stat(pid):
    """Parent, begin, ticks used of a process, its threads and the children that it has waited for included; None: it is
    gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return int(fields[1]), int(fields[19]), sum(int(field) for field in fields[11:15])


class Cpu:
    """CPU time from now on: of the trees of processes below `roots`, and of all kernel threads, which write back,
    compress and serve loop devices. Other programs' work counts nowhere, but for what kernel threads do for them. The
    whole machine's, from /proc/stat, is measured beside it: on an otherwise idle machine it is the same and interrupts.
    """

    def __init__(self, roots):
        self.roots = set(roots)
        self.before = self._used()
        self.machine_before = self._machine()

    def _used(self):
        stats = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                stat = _stat(name)
                if stat:
                    stats[int(name)] = stat
        used = {}
        for pid, (parent, begin, ticks) in stats.items():
            above = pid
            while above in stats and above not in self.roots and above != 2:
                above = stats[above][0]
            if above == 2 or above in self.roots:
                used[pid, begin] = ticks
        return used

    @staticmethod
    def _machine():
        with open("/proc/stat", encoding="utf-8") as file:
            fields = [int(word) for word in file.readline().split()[1:9]]
        return sum(fields) - fields[3] - fields[4]

    def seconds(self):
        """Since the beginning: ours, and the whole machine's."""
        after = self._used()
        ours = sum(ticks - self.before.get(key, 0) for key, ticks in after.items())
        return ours / TICKS, (self._machine() - self.machine_before) / TICKS
