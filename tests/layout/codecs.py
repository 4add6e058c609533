#!/usr/bin/python3
"""What cannot read the list of codecs, format/codecs.h, agrees with it: FORMAT.md, balefs(1), the reader in Python, and
the codecs' directories.

usage: codecs.py [ROOT]
"""
import ast
import glob
import os
import re
import sys

HAVE = "spec.md", "cpu.c"
DEVICE = "cuda.cu"


class Codecs:
    def __init__(self, root):
        self.root = root
        self.bad = 0
        text = self.read("format/codecs.h")
        lines = re.findall(r"^ +(BUILT_IN|CODEC)\((\w+), (\w+), (\d+),", text, re.M)
        devices = text.split("#define BALE_DEVICE_CODEC_LIST(CODEC)")[1].split("#define")[0]
        self.devices = re.findall(r"^ +CODEC\((\w+),", devices, re.M)
        self.kinds = {name: kind for kind, name, _, _ in lines}
        self.ids = {name: int(number) for _, name, _, number in lines}
        for _, name, constant, _ in lines:
            self.check(constant == name.upper(), f"format/codecs.h: {name} is not {constant}")
        self.check(len(self.ids) == len(set(self.ids.values())) == len(lines) >= 6, "format/codecs.h: a name or id twice")

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def check(self, good, complaint):
        if not good:
            print(complaint)
            self.bad = 1

    def check_format(self):
        rows = dict((name, int(number)) for number, name in re.findall(r"^\| (\d+) \| `(\w+)` \|", self.read("format/FORMAT.md"), re.M))
        self.check(rows == self.ids, f"format/FORMAT.md, section 7: {rows}, not {self.ids}")

    def check_reader(self):
        found = re.search(r"^CODECS = (\{.*?\})", self.read("tests/reader/balefs_reader.py"), re.M | re.S)
        codecs = {name: number for number, name in ast.literal_eval(found.group(1)).items()}
        self.check(codecs == self.ids, f"tests/reader/balefs_reader.py: {codecs}, not {self.ids}")

    def check_page(self):
        text = self.read("tools/man/balefs.1").split(".Sh CODECS")[1].split("\n.Sh ")[0]
        for name in self.kinds:
            self.check(re.search(rf"^\.(It )?Cm {name}\b", text, re.M), f"tools/man/balefs.1, CODECS: no {name}")

    def check_directories(self):
        for name, kind in self.kinds.items():
            for file in HAVE if kind == "CODEC" else HAVE[:1]:
                path = f"kernels/{name}/{file}"
                self.check(os.path.isfile(os.path.join(self.root, path)), f"{path}: is missing")
        for name in self.devices:
            path = f"kernels/{name}/{DEVICE}"
            self.check(os.path.isfile(os.path.join(self.root, path)), f"{path}: is missing")
        for path in glob.glob(os.path.join(self.root, "kernels/*/cuda.cu")):
            name = os.path.basename(os.path.dirname(path))
            self.check(name in self.devices, f"kernels/{name}: is not in BALE_DEVICE_CODEC_LIST of format/codecs.h")


def main():
    codecs = Codecs(sys.argv[1] if len(sys.argv) > 1 else os.environ["BALE_SOURCE"])
    codecs.check_format()
    codecs.check_reader()
    codecs.check_page()
    codecs.check_directories()
    return codecs.bad


if __name__ == "__main__":
    sys.exit(main())
