"""What is measured: codecs of balefs, in memory, and programs. Each adds samples to the results: what, kind of data,
system."""

import filecmp
import json
import shutil
import subprocess
import time

from mountbench.machine import Failed, run

COMPRESS, DECOMPRESS, SIZE = "compress", "decompress", "compressed size"
ONE, GPU, HOST = "1 core", "GPU", "GPU from host"
LIBRARIES = ("lz4", "zstd:1")  # whose bytes on the GPU are others than on the CPU
SETTINGS = 64  # that one balefs bench takes
FLIGHT = 128 << 10  # bytes in flight are whole extents of that


def named(codec, where):
    """A system: a codec on so many cores, or on the GPU."""
    return f"{codec}, {where}"


class Meter:
    def __init__(self, results, balefs, threads, quick):
        self.results = results
        self.balefs = balefs
        self.threads = threads
        self.samples = 1 if quick else 3  # what balefs bench takes the median of
        self.seconds = 0.01 if quick else 0.5  # that each is measured with the GPU from host
        self.all = ONE if threads == 1 else f"{threads} cores"
        self.extent = None  # bytes; None: what balefs bench takes
        self.gpu = None  # its name
        self.no_gpu = ""  # why there is none

    def add(self, what, kind, system, value):
        self.results.add(what, kind, "%" if what == SIZE else "MB/s", system, value)

    # ---- balefs ----

    def find_gpu(self, path):
        found = self._engine(path, 1 << 20, 0.01, "--codec", "store")
        self.gpu, self.no_gpu = (found["gpu"] or {}).get("device"), found.get("no_gpu", "")

    def _engine(self, path, flight, seconds, *words):
        return json.loads(run(self.balefs, "bench", "engine", "--json", "--threads", self.threads, "--sizes", flight,
                              "--seconds", seconds, *words, path))

    def _bench(self, kind, path, settings, names):
        words = [word for setting in settings for word in ("--codec", setting)]
        words += ["--extent", self.extent] if self.extent else []
        found = json.loads(run(self.balefs, "bench", "--json", "--runs", self.samples, "--threads", self.threads,
                               "--limit", path.stat().st_size, *words, path))
        for setting, result in zip(names, found["codecs"], strict=True):
            self.add(SIZE, kind, setting, 100 * result["stored"] / found["bytes"])
            for key, where in (("one", ONE), ("all", self.all), ("gpu", GPU)):
                if result.get(key) and (key != "all" or self.threads > 1):
                    self.add(COMPRESS, kind, named(setting, where), result[key]["compress"])
                    self.add(DECOMPRESS, kind, named(setting, where), result[key]["decompress"])

    def codecs(self, kind, path, settings, names=None):
        """On one core, on all, and, if the GPU does it, by its kernels alone. names: of the systems, if these are not the
        settings."""
        names = names or settings
        for first in range(0, len(settings), SETTINGS):
            self._bench(kind, path, settings[first:first + SETTINGS], names[first:first + SETTINGS])

    def from_host(self, kind, path, settings):
        """On the GPU, from the host's memory to the host's. settings: by the name of the codec, as balefs bench engine
        has it, what it is for us."""
        if not self.gpu:
            return
        flight = max(path.stat().st_size // FLIGHT, 1) * FLIGHT
        for row in self._engine(path, flight, self.seconds)["codecs"]:
            setting = settings.get(row["codec"].split(":")[0])
            if setting and row["gpu"]:
                what = COMPRESS if row["direction"] == "encode" else DECOMPRESS
                self.add(what, kind, named(setting, HOST), row["gpu"]["speeds"][0]["rate"] * 1e3)
                if what == COMPRESS and setting in LIBRARIES:
                    self.add(SIZE, kind, named(setting, GPU), 100 / row["gpu"]["ratio"])

    def swept(self, kind, system, found):
        """Of a program that compresses on one core."""
        self.add(SIZE, kind, system, 100 * found["stored"] / found["raw"])
        for what in (COMPRESS, DECOMPRESS):
            self.add(what, kind, system, found[what])

    # ---- Programs ----

    def program(self, kind, path, name, words):
        """A program that compresses as gzip does, from file to file. What comes back is compared."""
        packed, back = path.with_suffix(".packed"), path.with_suffix(".back")
        size = path.stat().st_size
        try:
            self.add(COMPRESS, kind, name, size / 1e6 / _time([*words, "-c"], path, packed))
            self.add(DECOMPRESS, kind, name, size / 1e6 / _time([*words, "-dc"], packed, back))
            if not filecmp.cmp(path, back, shallow=False):
                raise Failed(f"{name}: {kind}: other bytes came back than went in: check this machine's memory")
            self.add(SIZE, kind, name, 100 * packed.stat().st_size / size)
        finally:
            packed.unlink(missing_ok=True)
            back.unlink(missing_ok=True)


def _time(words, source, target):
    with open(source, "rb") as stdin, open(target, "wb") as stdout:
        begin = time.perf_counter()
        run(*words, stdin=stdin, stdout=stdout)
        return time.perf_counter() - begin


def lacks(program):
    """Why a program cannot be measured; None: it can."""
    return None if shutil.which(program) else "it is not here: install it"


def version(program):
    """What it calls itself. (bzip2 compresses nothing beside it, and tells it as an error.)"""
    if lacks(program):
        return "none"
    done = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    lines = (done.stderr + b"\n" + done.stdout).decode(errors="replace").splitlines()
    return next((line.strip() for line in lines if line.strip()), "none")
