"""Stages of fsst on a GPU: how long each kernel takes, what it needs, and what ncu counts of it. The program is
kernels/fsst/stages.cu, compiled with each size of splits."""

import csv
import json
import shutil
import subprocess

from mountbench.machine import run

from . import report

KERNELS = ("learn", "encode", "decode")
SPLITS = (512, 256, 1024, 2048)
NEEDS = {"threads": "threads", "registers": "registers", "spilled": "B spilled", "shared": "shared, B",
         "blocks": "blocks/SM"}
COUNTERS = {"sm__warps_active.avg.pct_of_peak_sustained_active": "warps, %",
            "smsp__thread_inst_executed_per_inst_executed.ratio": "threads of 32",
            "sm__inst_executed.avg.per_cycle_active": "inst/cycle",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed": "shared, %",
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": "conflicts",
            "dram__throughput.avg.pct_of_peak_sustained_elapsed": "memory, %"}


class Stages:
    """build: where the programs are; flights: bytes in flight, whole MiB."""

    def __init__(self, build, flights):
        self.programs = {split: build / "tests" / "bench" / f"fsst_stages-{split}-1024-512" for split in SPLITS}
        self.flights = flights
        self.needs = {}     # (split, kernel): by NEEDS
        self.times = {}     # (kind, split, flight): by kernel, us; and bytes raw
        self.counters = {}  # (kind, kernel): by COUNTERS
        self.why = "" if all(path.exists() for path in self.programs.values()) else \
            "fsst_stages is not there: build bale_fsst_stages"
        self.why_no_counters = "" if shutil.which("ncu") else "ncu is not there: install Nsight Compute"

    def measure(self, meter, kind, path):
        if self.why:
            return
        for split, program in self.programs.items():
            for flight in self.flights:
                found = json.loads(run(program, path, flight))
                self.times[kind, split, flight] = {"raw": found["raw"], **{one: found[one]["us"] for one in KERNELS}}
                for one in KERNELS:
                    self.needs[split, one] = found[one]
                    meter.results.add(one, f"{kind}, {flight >> 20} MiB", "us", f"split {split}", found[one]["us"])
        self._count(meter, kind, path)

    def _count(self, meter, kind, path):
        """Of the first three kernels, with streams' sizes and the most in flight."""
        if self.why_no_counters:
            return
        words = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--launch-count", "3", "--clock-control",
                 "none", "--metrics", ",".join(COUNTERS), self.programs[SPLITS[0]], path, self.flights[-1]]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        first = next((at for at, line in enumerate(lines) if line.startswith('"ID"')), None)
        rows = list(csv.DictReader(lines[first:])) if first is not None else []
        for row in rows:
            one = next((one for one in KERNELS if one in row["Kernel Name"]), None)
            if one:
                self.counters[kind, one] = {name: float((row.get(name) or "nan").replace(",", "")) for name in COUNTERS}
                for name, what in COUNTERS.items():
                    meter.results.add(f"{one}: {what}", kind, "", f"split {SPLITS[0]}", self.counters[kind, one][name])
        if not self.counters:
            errors = [line for line in lines + done.stderr.splitlines() if "ERROR" in line]
            self.why_no_counters = f"ncu: {errors[0] if errors else f'exit status {done.returncode}'}"

    def left_out(self):
        why = {"stages": self.why, "counters": self.why or self.why_no_counters}
        return [f"left out: {what}: {reason}" for what, reason in why.items() if reason]

    def tables(self):
        return [*self._times(), "", *self._needs(), *(["", *self._counters()] if self.counters else [])]

    def _times(self):
        lines = []
        for (kind, split, flight), of in self.times.items():
            speeds = of["raw"] / (of["learn"] + of["encode"]), of["raw"] / of["decode"]
            lines.append((f"{kind:12}{split:6}{flight >> 20:6} MiB",
                          [*(f"{of[one]:.0f}" for one in KERNELS), *(report.speed(speed) for speed in speeds)]))
        return report.matrix("stages: microseconds by bytes of a split and in flight, and GB/s in and out",
                             [*KERNELS, "in", "out"], lines, (30, 9))

    def _needs(self):
        lines = [(f"{split:<8}{one}", [str(of[name]) for name in NEEDS]) for (split, one), of in self.needs.items()]
        return report.matrix("kernels: what a block needs, by bytes of a split", list(NEEDS.values()), lines, (16, 12))

    def _counters(self):
        lines = [(f"{kind:12}{one}", [f"{of[name]:.4g}" for name in COUNTERS]) for (kind, one), of in self.counters.items()]
        return report.matrix(f"counters: splits of {SPLITS[0]} bytes, {self.flights[-1] >> 20} MiB in flight",
                             list(COUNTERS.values()), lines, (20, 15))
