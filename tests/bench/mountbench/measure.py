"""The measurements. Each adds samples to the results: a row for what was measured, a list of values for each system."""

import json
import os
import subprocess
import time

from .machine import Cpu, Failed, run, touch_free

MIB = 1 << 20
GB = 1e9
ODD = 47008  # a record whose length is no multiple of a page or block
LIST_DIR = 1000
NAMES = ("write", "read", "random", "shared", "tree", "files", "list", "burst")
DEFAULT = NAMES[:-1]  # a burst waits longer than it works


class Results:
    def __init__(self):
        self.rows = {}

    def add(self, what, detail, unit, system, value):
        row = self.rows.setdefault((what, detail), {"unit": unit, "systems": {}})
        row["systems"].setdefault(system, []).append(value)

    def as_json(self):
        return [{"what": what, "detail": detail, "unit": row["unit"], "systems": row["systems"]}
                for (what, detail), row in self.rows.items()]


def work_on(programs, system, operation, below="", touch=True, **keys):
    """Runs the worker on a mounted system, in a directory of it; seconds, bytes, CPU seconds of ours and of the
    machine. Without touch the caller has touched free memory."""
    words = [str(programs["mount_worker"]), operation, f"dir={system.mnt / below}"]
    words += [f"{key}={value}" for key, value in {**keys, "within": system.within()}.items()]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as worker:
        try:
            ready = worker.stdout.readline()
            if touch:
                touch_free(2 * keys["size"] * keys["jobs"])
            cpu = Cpu([worker.pid, *system.pids()])
            if ready:
                worker.stdin.write("\n")
                worker.stdin.flush()
            done = worker.stdout.readline()
            used = cpu.seconds()
            said = worker.stdout.read()
        except BrokenPipeError:
            done, said = "", ""
        trouble = worker.stderr.read()
    if worker.returncode != 0 or said != "same\n":
        raise Failed(f"{system.name}: {' '.join(words)}: {trouble.strip() or 'ended early'}")
    result = json.loads(done)
    return result["seconds"], result["bytes"], *used


class Chain:
    """Everything that is done with one data file: written, read back cold, read and written at random."""

    def __init__(self, results, programs, plan):
        self.results = results
        self.programs = programs
        self.plan = plan

    def add(self, what, detail, system, done, unit="MB/s"):
        seconds, size, ours, machine = done
        value = size / 1e6 / seconds if unit == "MB/s" else size / 4096 / seconds
        self.results.add(what, detail, unit, system.name, value)
        if unit == "MB/s":
            self.results.add(f"{what}: CPU", detail, "s/GB", system.name, ours / (size / GB))
            self.results.add(f"{what}: CPU of the machine", detail, "s/GB", system.name, machine / (size / GB))

    def run(self, system, kind, source, jobs):
        """One system, one kind of data, one count of jobs, once."""
        only, plan = self.plan.only, self.plan
        size = plan.size // jobs // 4096 * 4096
        keys = {"source": source, "size": size, "jobs": jobs}
        detail = f"{kind}, {jobs} job{'s' if jobs > 1 else ''}"
        system.start()
        done = work_on(self.programs, system, "write", **keys)
        if "write" in only:
            self.add("sequential write until synced", detail, system, done)
        stored = system.stored() if jobs == min(plan.jobs) else None
        if stored:
            self.results.add("compression ratio", kind, "", system.name, done[1] / stored)
        system.cold()
        if "read" in only:
            self.add("sequential read, cold", detail, system, work_on(self.programs, system, "read", **keys))
        if "random" in only and kind in ("text", "solver"):
            self.random(system, keys, detail)
        system.stop()

    def random(self, system, keys, detail):
        count = max(16, self.plan.operations // keys["jobs"])
        unit, programs = "1/s", self.programs
        if "read" in self.plan.only:
            system.cold()
        self.add("random 4 KiB read, cold", detail, system,
                 work_on(programs, system, "randread", count=count, **keys), unit)
        self.add("random 4 KiB read, cached", detail, system,
                 work_on(programs, system, "randread", count=count * 8, warm=1, **keys), unit)
        self.add("random 4 KiB write until synced", detail, system,
                 work_on(programs, system, "randwrite", count=count, **keys), unit)
        system.cold()
        work_on(programs, system, "read", rewritten=count, **keys)

    def cached_in_daemon(self, system, kind, source, jobs):
        """Without the kernel's cache: from the daemon's, through the transport."""
        size = self.plan.size // jobs // 4096 * 4096
        keys = {"source": source, "size": size, "jobs": jobs}
        count = max(16, self.plan.operations // jobs)
        detail = f"{kind}, {jobs} job{'s' if jobs > 1 else ''}"
        system.start()
        work_on(self.programs, system, "write", **keys)
        self.add("random 4 KiB read, cached by the daemon (io=direct)", detail, system,
                 work_on(self.programs, system, "randread", count=count, warm=1, **keys), "1/s")
        system.stop()

    def shared(self, system, source, jobs, record):
        """Many on one file, and as many on files of their own."""
        size = self.plan.size // jobs // 4096 * 4096
        stride = "1 MiB" if record == MIB else f"{record} B"
        for name, shared in ((f"{jobs} writers on their own files", 0), (f"{jobs} writers on one file", 1)):
            system.start()
            keys = {"source": source, "size": size * jobs if shared else size, "jobs": jobs, "record": record,
                    "shared": shared}
            self.add(name, stride, system, work_on(self.programs, system, "write", **keys))
            system.cold()
            done = work_on(self.programs, system, "read", **keys)
            self.add(name.replace("writers", "readers"), stride, system, done)
            system.stop()


def timed(*command):
    begin = time.monotonic()
    run(*command)
    return time.monotonic() - begin


def tree(results, system, tar, count):
    """A source tree unpacked, compared, and deleted."""
    system.start()
    unpacked = timed("tar", "-C", system.mnt, "--no-same-owner", "-xf", tar)
    run("tar", "-C", system.mnt, "-df", tar)
    stored, logical = system.stored(), sum_sizes(system.mnt)
    deleted = sum(timed("rm", "-rf", system.mnt / name) for name in os.listdir(system.mnt) if name != ".balefs")
    system.stop()
    results.add("tree unpacked", f"{count} files", "files/s", system.name, count / unpacked)
    results.add("tree deleted", f"{count} files", "files/s", system.name, count / deleted)
    results.add("tree unpacked and deleted", f"{count} files", "files/s", system.name, count / (unpacked + deleted))
    if stored:
        results.add("compression ratio", "tree", "", system.name, logical / stored)


def sum_sizes(top):
    total = 0
    for path, _, names in os.walk(top):
        total += sum(os.lstat(os.path.join(path, name)).st_size for name in names)
    return total


def count_members(tar):
    return len(run("tar", "-tf", tar).splitlines())


def make_files(system, count, source):
    """count small files, in directories of 1000, of 100 to 2147 bytes each."""
    data = source.read_bytes()[:1 << 20]
    for first in range(0, count, LIST_DIR):
        directory = system.mnt / f"d{first // LIST_DIR:05}"
        directory.mkdir()
        for number in range(first, min(first + LIST_DIR, count)):
            with open(directory / f"file{number:07}", "wb", buffering=0) as file:
                begin = number * 64 % (len(data) - 4096)
                file.write(data[begin:begin + 100 + number % 2048])


def list_files(system, count):
    """Seconds of ls -lR; what it shows must be what was made."""
    out = system.work / "list"
    with open(out, "wb") as file:
        begin = time.monotonic()
        run("ls", "-lR", system.mnt, stdout=file, env={**os.environ, "LC_ALL": "C"})
        seconds = time.monotonic() - begin
    with open(out, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.startswith("-")]
    for words in lines:
        if int(words[4]) != 100 + int(words[8][4:]) % 2048:
            raise Failed(f"{system.name}: ls -lR: {words[8]} has {words[4]} bytes: report this")
    if len(lines) != count:
        raise Failed(f"{system.name}: ls -lR: {len(lines)} files of {count}: report this")
    return seconds


def listing(results, systems, plan, source):
    """All systems are mounted at the same time, so that the runs alternate."""
    count = plan.files
    for system in systems:
        system.start()
        make_files(system, count, source)
    for number in range(plan.runs):
        for system in systems:
            plan.tell(f"list, run {number + 1}, {system.name}")
            system.cold()
            for what in ("cold", "warm"):
                results.add(f"ls -lR, {what}", f"{count} files", "files/s", system.name,
                            count / list_files(system, count))
    for system in systems:
        system.stop()
