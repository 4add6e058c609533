"""What paper-culzss, paper-gpulz, paper-fsst and paper-cusz have in common: their options, where they work, how they end."""

import argparse
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile

from mountbench import picture
from mountbench.machine import Failed, describe, processors
from mountbench.measure import Results

from . import measure, report

ROOT = pathlib.Path(__file__).resolve().parents[3]
NAMES = 215  # how wide those of systems are in the picture
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
HOW = """how it is measured:
  balefs    balefs bench: from memory to memory; extents of 128 KiB (paper-fsst, paper-cusz: 1 MiB), chunks of 64 KiB
            (paper-cusz: of four planes, at most 1 MiB); what comes back is compared
  GPU       kernels alone, on data that is in the GPU's memory; what comes back is compared
  GPU from host  balefs bench engine: from memory to memory, all of the data under way; includes that what was encoded
            is decoded on the GPU and compared
  rounds    --runs times everything, one kind of data and one system after the other, so that noise meets all alike; of
            balefs each is a median of three; tables have the medians, the JSON has all
  MB, GB    10^6 and 10^9 bytes of raw data
  -         not measured: there is no GPU, or it does not do it
"""


def size(text):
    factor = UNITS.get(text[-1:].upper(), 1)
    value = int(text[:-1] if factor > 1 else text) * factor
    if value < 64 << 10:
        raise argparse.ArgumentTypeError("give 64K or more")
    return value


def count(text):
    if int(text) < 1:
        raise argparse.ArgumentTypeError("give 1 or more")
    return int(text)


def names(choices):
    def parse(text):
        words = text.split(",")
        for word in words:
            if word not in choices:
                raise argparse.ArgumentTypeError(f"no {word}: there are {', '.join(choices)}")
        return words
    return parse


class Program:
    """A benchmark. .kinds: of data; make(), settle(), measure() and tables() are its own."""

    def __init__(self, name, description, epilog, defaults):
        self.name = name
        self.title = ""  # of the picture
        self.defaults = defaults
        self.parser = argparse.ArgumentParser(prog=name, description=description, epilog=epilog,
                                              formatter_class=argparse.RawDescriptionHelpFormatter)
        self.plan = None
        self.programs = {}
        self.sources = {}  # kind: path
        self.described = {}     # kind: what it is

    def add_options(self, kinds):
        add = self.parser.add_argument
        add("--build", type=pathlib.Path, default=ROOT / "build" / "release", metavar="DIR", help="[build/release]")
        add("--size", type=size, default=self.defaults["size"],
            help=f"of each kind of data [{self.defaults['size'] >> 20}M]")
        add("--runs", type=count, default=self.defaults["runs"], metavar="N", help="of everything [%(default)s]")
        add("--threads", type=count, default=processors(), metavar="N", help="that all cores means [%(default)s]")
        add("--kinds", type=names(kinds), metavar="LIST", help=f"of data: {','.join(kinds)} [all]")
        add("--quick", action="store_true", help="256K, one run of one sample: to see that it works")
        add("--svg", type=pathlib.Path, metavar="FILE", help="a picture of it")
        add("--json", type=pathlib.Path, metavar="FILE", help="everything that was measured")

    def parse(self):
        plan = self.plan = self.parser.parse_args()
        for name, value in ({"size": 256 << 10, "runs": 1} if plan.quick else {}).items():
            if getattr(plan, name) == self.parser.get_default(name):
                setattr(plan, name, value)
        tools = plan.build.resolve() / "tools"
        self.programs = {"balefs": tools / "balefs", "solver": tools / "examples" / "solver" / "bale-solver"}

    # ---- A program's own ----

    def make(self, work):
        """Fills .sources and .described."""
        raise NotImplementedError

    def others(self):
        """Versions of what else is measured."""
        return {}

    def measure(self, meter, kind, path):
        """One round of one kind."""
        raise NotImplementedError

    def tables(self, medians, meter):
        """Lines."""
        raise NotImplementedError

    def pictured(self, meter):
        """Systems."""
        raise NotImplementedError

    def picture(self, meter, machine):
        """As SVG."""
        return picture.draw(report.only(meter.results, self.sources, self.pictured(meter)), machine, self.title, NAMES)

    # ---- The run ----

    def tell(self, text):
        if sys.stderr.isatty():
            print(f"\r{text:78}", end="", file=sys.stderr, flush=True)

    def show(self, meter, machine):
        self.tell("")
        if not meter.results.rows:
            return
        medians = report.Medians(meter.results)
        measured = medians.systems(measure.COMPRESS)
        machine["systems"] = "; ".join(system for system in self.pictured(meter) if system in measured)
        print(*report.head(machine, self.described), "", *self.tables(medians, meter), sep="\n")
        if self.plan.svg:
            both = {**machine, "machine": machine["machine"] + (f", {meter.gpu}" if meter.gpu else "")}
            self.plan.svg.write_text(self.picture(meter, both), encoding="utf-8")
        if self.plan.json:
            self.plan.json.write_text(json.dumps({"machine": machine, "data": self.described,
                                                  "results": meter.results.as_json()}, indent=1) + "\n",
                                      encoding="utf-8")

    def run_in(self, work):
        balefs = self.programs["balefs"]
        if not os.access(balefs, os.X_OK):
            raise Failed(f"{balefs}: is not there: build it, or give --build")
        meter = measure.Meter(Results(), balefs, self.plan.threads, self.plan.quick)
        machine = {**describe(sys.argv, balefs, self.others()), "complete": False}
        self.make(work)
        meter.find_gpu(next(iter(self.sources.values())))
        if not meter.gpu:
            print(f"left out: GPU: there is none: {meter.no_gpu}")
        machine["gpu"] = meter.gpu or "none"
        try:
            for number in range(self.plan.runs):
                for kind, path in self.sources.items():
                    self.tell(f"run {number + 1}, {kind}")
                    self.measure(meter, kind, path)
            machine["complete"] = True
        finally:  # what was measured until something failed is worth having
            self.show(meter, machine)

    def main(self):
        """The exit status."""
        self.parse()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        work = pathlib.Path(tempfile.mkdtemp(prefix="bale-paper.", dir=os.environ.get("TMPDIR", "/var/tmp")))
        try:
            self.run_in(work)
            return 0
        except Failed as failed:
            print(f"{self.name}: {failed}", file=sys.stderr)
            return 1
        except OSError as error:
            print(f"{self.name}: {error.filename or work}: {error.strerror}: give another, or more room",
                  file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return 130
        finally:
            shutil.rmtree(work, ignore_errors=True)
