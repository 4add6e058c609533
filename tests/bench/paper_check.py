#!/usr/bin/env python3
"""Checks what paper_test.sh measured: every figure is there, and every table shows it.

usage: paper_check.py culzss|gpulz|fsst|cusz DIR
"""

import json
import pathlib
import shutil
import sys
import xml.dom.minidom

CULZSS = ("C files", "DE map", "dictionary", "kernel tarball", "highly compressible")
GPULZ = ("quant-3d", "quant-2d", "quant-1d", "int32", "string", "float-3d", "float-2d", "float-1d")
FSST = ("comments", "lineitem", "gdelt", "urls", "emails", "cities", "uuids", "genome")
FSST_CODECS = ["fsst", "gpulz", "lzr", "lz4", "zstd:1"]
FSST_SWEPT = [f"split {split}, X {longs}, K {pairs}" for split, longs, pairs in (
    (512, 1024, 512), (256, 1024, 512), (1024, 1024, 512), (2048, 1024, 512), (512, 512, 512), (512, 2048, 512),
    (512, 1024, 256), (512, 1024, 1024))]
CUSZ = ("turbulence", "density", "halos", "gray-scott", "wavefield", "particles")
CUSZ_PIPELINES = ("auto", "huffman", "rle", "rle+huffman", "gpulz+huffman")
CUSZ_SWEPT = [f"segments of {segment} bits, codewords of {codeword}" for segment, codeword in (
    (1600, 32), (1600, 64), (400, 32), (800, 32), (3200, 32), (6400, 32))]
CUSZ_CURVES = {"cusz", "cusz, gpulz+huffman", "SZ3"}
GRID = [f"gpulz:s={s},w={w},c={c}" for c in (2048, 4096, 8192, 16384, 65536) for w in (32, 64, 128, 255)
        for s in (1, 2, 4, 8)]
LEVELS = [f"gpulz:level={level}" for level in (1, 2, 3, 4)]
OTHERS = ["gpulz", "culzss:v=1", "culzss:v=2"]


def expected_fsst(gpu):
    speeds = {f"{codec}, {place}" for codec in FSST_CODECS for place in ("1 core", "2 cores")} | set(FSST_SWEPT)
    sizes = {*FSST_CODECS, *FSST_SWEPT}
    if gpu:
        speeds |= {f"{codec}, {place}" for codec in ("gpulz", "lz4") for place in ("GPU", "GPU from host")}
        sizes.add("lz4, GPU")
    return {"compress": speeds, "decompress": speeds, "compressed size": sizes}


def expected(which, gpu):
    """Systems by what is measured."""
    if which == "fsst":
        return expected_fsst(gpu)
    if which == "cusz":
        return {what: set(CUSZ_SWEPT) for what in ("compress", "decompress", "compressed size")}
    codecs = OTHERS[1:] if which == "culzss" else [*GRID, *LEVELS, *OTHERS]
    libraries = [] if which == "culzss" and not gpu else ["lz4"] if which == "culzss" else ["lz4", "zstd:1"]
    speeds = {f"{codec}, {place}" for codec in [*codecs, *libraries] for place in ("1 core", "2 cores")}
    sizes = {*codecs, *libraries}
    if gpu:
        hosts = ["culzss:v=2", "lz4", *(["gpulz"] if which == "gpulz" else [])]
        speeds |= {f"{codec}, GPU" for codec in [*codecs, "lz4"]} | {f"{codec}, GPU from host" for codec in hosts}
        sizes.add("lz4, GPU")
    if which == "culzss":
        programs = {name for name in ("bzip2", "pbzip2", "lbzip2") if shutil.which(name)}
        speeds |= programs
        sizes |= programs
    return {"compress": speeds, "decompress": speeds, "compressed size": sizes}


def check_results(which, found, gpu, kinds):
    assert found["machine"]["complete"] is True
    assert set(found["machine"]) >= {"machine", "kernel", "load", "date", "versions", "command", "gpu"}
    assert tuple(found["data"]) == kinds
    rows = {(row["what"], row["detail"]): row["systems"] for row in found["results"]}
    for what, systems in expected(which, gpu).items():
        for kind in kinds:
            assert set(rows[what, kind]) == systems, (what, kind, set(rows[what, kind]) ^ systems)
            assert all(len(values) == 1 and values[0] > 0 for values in rows[what, kind].values()), (what, kind)
    return rows


def check_culzss(rows, text, gpu, kinds):
    for title in ("table I: ", "table II: ", "table III: "):
        assert title in text, title
    for name in ("serial LZSS: culzss:v=2, 1 core", "threaded LZSS: culzss:v=2, 2 cores", "culzss:v=1, 2 cores",
                 "culzss:v=2, GPU from host", "lz4, GPU  "):
        lines = [line for line in text.splitlines() if line.startswith(name)]
        assert len(lines) == (3 if name == "lz4, GPU  " else 2), name
        dashes = sum(line.split().count("-") for line in lines)
        assert dashes == (0 if gpu or "GPU" not in name else len(kinds) * len(lines)), (name, lines)
    for kind in kinds:
        size = {system: values[0] for system, values in rows["compressed size", kind].items()}
        assert size["culzss:v=2"] < size["culzss:v=1"] < 90, kind
    assert size["culzss:v=2"] < 5  # of what is highly compressible


def check_gpulz(rows, text, gpu, kinds):
    titles = ["table 1: ratio", "table 2: compress, GB/s, 2 cores", "table 2: decompress, GB/s, 2 cores"]
    titles += ["table 2: compress, GB/s, GPU", "table 2: decompress, GB/s, GPU"] if gpu else []
    parts = text.split("\n\n")
    for title in titles:
        table = next(part for part in parts if part.startswith(title)).splitlines()
        assert len(table) == 3 + 4 * len(kinds), title
        assert all(len(line[16:].split()) == 20 and "-" not in line[16:].split() for line in table[3:]), title
    levels, others = (next(part for part in parts if part.startswith(title)).splitlines()
                      for title in ("levels", "figures 8 and 9"))
    assert len(levels) == 2 + 4 * len(kinds)
    assert len(others) == 2 + 7 * len(kinds)
    assert all(" - " not in line + " " for line in levels)
    for kind in kinds:
        size = {system: values[0] for system, values in rows["compressed size", kind].items()}
        assert size["gpulz:s=1,w=255,c=65536"] <= size["gpulz:s=1,w=32,c=2048"], kind
        assert size["gpulz:level=4"] == size["gpulz"], kind
        assert abs(size["gpulz:s=1,w=128,c=4096"] - size["culzss:v=2"]) < 0.01, kind  # the same streams


def check_stages(rows, text, kinds):
    stages, kernels = (next(part for part in text.split("\n\n") if title in part).splitlines()
                       for title in ("stages: ", "kernels: "))
    assert stages[0] == "left out: counters: ncu: ==ERROR== no counters here"
    assert len(stages) == 3 + 2 * 4 * len(kinds) and len(kernels) == 2 + 3 * 4
    assert stages[3].split()[-2:] == ["83.9", "419"]  # 8 MiB in 100 and 20 us
    for kind in kinds:
        for flight in (8, 128):
            assert rows["learn", f"{kind}, {flight} MiB"] == {f"split {split}": [50] for split in (512, 256, 1024, 2048)}


def check_fsst(rows, text, kinds):
    codecs, sizes, columns = (next(part for part in text.split("\n\n") if part.startswith(title)).splitlines()
                              for title in ("codecs: ", "splits and slots: ", "columns of "))
    assert len(codecs) == 2 + len(FSST_CODECS) * len(kinds)
    assert len(sizes) == 2 + 3 * len(FSST_SWEPT) and all(len(line.split()) >= len(kinds) for line in sizes[2:])
    assert [line.split()[0] for line in columns[2:]] == ["1", "2", "4", "8", "16"]
    for kind in kinds:
        size = {system: values[0] for system, values in rows["compressed size", kind].items()}
        assert abs(size[FSST_SWEPT[0]] - size["fsst"]) < 1, kind  # the same bytes, but for the frames' heads
        assert size["split 2048, X 1024, K 512"] <= size["split 256, X 1024, K 512"], kind
    assert size["fsst"] < 60


def check_cusz(rows, text, gpu, kinds):
    places = ["1 core", "2 cores", *(["GPU"] if gpu else [])]
    speeds = {f"{pipeline}, {place}" for pipeline in CUSZ_PIPELINES for place in places}
    for kind in kinds:
        for bound in ("0.01", "0.001", "0.0001"):
            for what in ("compress", "decompress"):
                assert set(rows[what, f"{kind}, {bound}"]) == speeds, (kind, bound, rows[what, f"{kind}, {bound}"])
            size = {one: values[0] for one, values in rows["compressed size", f"{kind}, {bound}"].items()}
            assert set(size) == set(CUSZ_PIPELINES)
            assert size["rle+huffman"] < size["rle"] < 100, (kind, bound)
            assert rows["tuples", f"{kind}, {bound}"]["rle+huffman"][0] % 4 == 0
            assert size["auto"] < 1.2 * min(size.values()), (kind, bound)
        assert len(rows["stage", f"{kind}, {CUSZ_SWEPT[0]}"]) == 11
        rate = {bound: rows["bits a value", f"{kind}, {bound:g}"] for bound in (3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5)}
        for bound, bits in rate.items():
            assert set(bits) == CUSZ_CURVES and bits["SZ3"] == [32]
            error = rows["largest error", f"{kind}, {bound:g}"]
            assert 0.5 < error["cusz"][0] <= 1 and error["cusz"] == error["cusz, gpulz+huffman"], (kind, bound, error)
        assert list(rate.values()) == sorted(rate.values(), key=lambda bits: bits["cusz"])
    assert list(rows["codebook", ""]) == ["8", "16", "32", "64", "128", "256", "371"]
    parts = text.split("\n\n")
    each = 3 * len(kinds)
    for title, lines in {"pipelines: ratio, ": each, "pipelines: ratios of their": each, "pipelines, 1 core": each, "codebooks": 1,
                         "deflate and inflate": 18, "stages": 11, "rate and distortion": 7 * len(kinds)}.items():
        table = next(part for part in parts if part.startswith(title)).splitlines()
        assert len(table) == 2 + lines, (title, len(table))
        assert all(" - " not in line + " " for line in table), title
    assert any(part.startswith("pipelines, GPU") for part in parts) == gpu
    assert "left out: PFPL: it is not here: give --pfpl DIR" in text and "left out: SZ3" not in text


def check_picture(which, picture, kinds, gpu):
    words = [node.firstChild.data for node in picture.getElementsByTagName("text") if node.firstChild]
    if which == "cusz":
        assert len(picture.getElementsByTagName("polyline")) == len(CUSZ_CURVES) * len(kinds)
        assert all(words.count(curve) == len(kinds) for curve in CUSZ_CURVES)
        return
    shown = "gpulz" if which == "fsst" else "culzss:v=2"
    assert words.count("compress") == len(kinds) and f"{shown}, 2 cores" in words
    assert (f"{shown}, GPU" in words) == gpu


def main(which, work):
    runs = {"cpu": False, "gpu": True, **({"file": False} if which == "gpulz" else {})}
    for name, gpu in runs.items():
        kinds = {"culzss": CULZSS, "gpulz": GPULZ, "fsst": FSST, "cusz": CUSZ}[which]
        kinds = {"cpu": kinds, "gpu": kinds[-2:], "file": ("int32", "file")}[name]
        found = json.loads((work / f"{name}.json").read_text(encoding="utf-8"))
        text = (work / f"{name}.out").read_text(encoding="utf-8")
        rows = check_results(which, found, gpu, kinds)
        assert ("left out: GPU: there is none: " in text) != gpu
        assert found["machine"]["gpu"] == ("A GPU" if gpu else "none")
        for word in ("machine ", "kernel ", "versions ", "command ", kinds[0]):
            assert word in text, word
        if which == "culzss":
            check_culzss(rows, text, gpu, kinds)
        elif which == "cusz":
            check_cusz(rows, text, gpu, kinds)
        elif which == "fsst":
            check_fsst(rows, text, kinds)
            if gpu:
                check_stages(rows, text, kinds)
        else:
            check_gpulz(rows, text, gpu, kinds)
        check_picture(which, xml.dom.minidom.parse(str(work / f"{name}.svg")), kinds, gpu)


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
