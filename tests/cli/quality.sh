#!/usr/bin/env bash
# quality: what it says of copies with known errors, and its picture.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

cd "$work"
# field.f32 is 40 x 30 x 5; good.f32 has errors of 0.25 and of exactly the bound, 0.5; bad.f32 one that is a bit more, and a
# NaN that became a number; big.f64 has a head of 16 bytes and is big-endian.
/usr/bin/python3 - <<'END'
import struct
values = [x * 0.5 + y - z * z for z in range(5) for y in range(30) for x in range(40)]
nan = struct.pack("<I", 0x7fc12345)
def store(name, values):
    data = bytearray(struct.pack("<6000f", *values))
    data[400:404] = nan
    open(name, "wb").write(data)
store("field.f32", values)
good = list(values)
good[10] += 0.25
good[20] -= 0.5
store("good.f32", good)
good[30] += 0.500001
store("bad.f32", good)
data = bytearray(open("good.f32", "rb").read())
data[400:404] = bytes(4)
open("number.f32", "wb").write(data)
for name, of in ("big.f64", values), ("copy.f64", [v + 1e-3 for v in values]):
    open(name, "wb").write(bytes(16) + struct.pack(">6000d", *of))
END

quality() { run "$1" quality --type f32 --dims 40x30x5 --bound 0.5 --json field.f32 "$2"; }
quality 0 good.f32
is 'true 0 2 0.5 20' "$(json '"%s %d %d %s %d" % (str(d["kept"]).lower(), d["beyond"], d["different"], d["largest_error"], d["largest_error_at"])')" "good.f32"
is '6000 5999 -16.0 48.5' "$(json '"%d %d %s %s" % (d["elements"], d["numbers"], d["low"], d["high"])')" "its numbers"
is '0.5 [1, 5997, 1]' "$(json '"%s %s" % (d["histogram"]["to"], [n for n in d["histogram"]["counts"] if n])')" "its histogram"
# sqrt((0.25^2 + 0.5^2) / 5999) of a range of 64.5
is '79.02' "$(json '"%.2f" % d["psnr"]')" "its PSNR"
quality 1 bad.f32
is 'false 1' "$(json '"%s %d" % (str(d["kept"]).lower(), d["beyond"])')" "bad.f32"
quality 1 number.f32
is 'false 1' "$(json '"%s %d" % (str(d["kept"]).lower(), d["beyond"])')" "a NaN that became a number"
quality 0 field.f32
is 'true None' "$(json '"%s %s" % (str(d["kept"]).lower(), d["psnr"])')" "the same"

# Without errors and without a bound there is no range of errors.
run 0 quality --type f32 --json field.f32 field.f32
is '0.0 0.0 5999' "$(json '"%s %s %d" % (d["histogram"]["from"], d["histogram"]["to"], d["histogram"]["counts"][8])')" "a histogram of no errors"
run 0 quality --type f32 --dims 40x30x5 --svg same.svg field.f32 field.f32
prints '^largest error  0$'
[[ $out != *errors:* ]] || fail "a histogram of no errors: $out"
grep -q '>0</text>' same.svg || fail "the picture of no errors"

run 0 quality --type f64 --big-endian --offset 16 big.f64 copy.f64
prints '^largest error +0.001, '
prints '^elements +6000, 6000 '
prints '^different +6000 elements'

# Errors beyond binary64, and errors whose squares are below it.
/usr/bin/python3 - <<'END'
import struct
def store(name, values):
    open(name, "wb").write(struct.pack("<4d", *values))
store("huge", [1.7e308, -1.7e308, 0, 1])
store("turned", [-1.7e308, 1.7e308, 0, 1])
store("tiny", [0, 1e-320, 0, 0])
store("tinier", [1e-321, 1e-320, 0, 0])
END
run 0 quality --type f64 --dims 2x2 --svg huge.svg huge turned
prints '^largest error  3\.4e\+308, at element 0$'
prints '^PSNR           3\.01 dB$'
prints '^ +3e\+308 to 3\.4e\+308    1$'
[ "$(grep -c '>3.4e+308</text>' huge.svg)" = 1 ] || fail "the picture of huge errors"
run 0 quality --type f64 --json huge turned
is '[1, 2, 1] None 0.7071' "$(json '"%s %s %.4f" % ([n for n in d["histogram"]["counts"] if n], d["largest_error"], d["nrmse"])')" "huge errors"
run 0 quality --type f64 --json tiny tinier
is '[3, 1] 0.050 26.0' "$(json '"%s %.3f %.1f" % ([n for n in d["histogram"]["counts"] if n], d["nrmse"], d["psnr"])')" "tiny errors"

# An array in NumPy's format says itself what it is.
/usr/bin/python3 - <<'END'
import struct
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 30, 40), }".ljust(117) + "\n"
for name in "field", "good":
    with open(name + ".npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + open(name + ".f32", "rb").read())
END
run 0 quality --type npy --bound 0.5 --json field.npy good.npy
is 'true 2 6000 0.5 20' "$(json '"%s %d %d %s %d" % (str(d["kept"]).lower(), d["different"], d["elements"], d["largest_error"], d["largest_error_at"])')" "npy"
fails 1 "field.f32: its beginning is no header of NumPy's format for an array of f32 or f64" quality --type npy field.f32 good.f32
# Both headers have to say the same.
sed "s/'<f4'/'<i4'/" good.npy >whole.npy
fails 1 "whole.npy: its beginning is no header of NumPy's format for an array of f32 or f64" quality --type npy field.npy whole.npy
sed "s/(5, 30, 40), }/(30, 5, 40), }/" good.npy >other.npy
fails 1 "other.npy: its header describes another array than that of field.npy: type, byte order, shape and the header's length have to be the same" \
    quality --type npy field.npy other.npy
if setfattr -n user.balefs.codec -v cusz:npy,abs=0.5 good.npy 2>/dev/null; then
    run 0 quality field.npy good.npy
    prints '^bound +0.5: kept, 0 elements beyond it$'
fi

# The picture: three slices and the histogram; without dims the histogram alone.
run 0 quality --type f32 --dims 40x30x5 --bound 0.5 --svg quality.svg field.f32 good.f32
/usr/bin/python3 - <<'END' || fail "the picture is not as it should be"
import base64, struct, xml.etree.ElementTree as tree, zlib
svg = "{http://www.w3.org/2000/svg}"
root = tree.parse("quality.svg").getroot()
images = [i.get("href") for i in root.iter(svg + "image")]
assert len(images) == 3 and len([r for r in root.iter(svg + "rect")]) == 18
pixels = []
for image in images:
    png = base64.b64decode(image.removeprefix("data:image/png;base64,"))
    at = 8
    while at < len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        data = png[at + 8:at + 8 + length]
        assert zlib.crc32(kind + data) == struct.unpack_from(">I", png, at + 8 + length)[0]
        if kind == b"IHDR":
            assert struct.unpack_from(">II", data) == (40, 30)
        if kind == b"IDAT":
            rows = zlib.decompress(data)
            assert len(rows) == 30 * 121
            pixels.append(rows)
        at += 12 + length
assert pixels[0] == pixels[1] and pixels[2][1:4] == bytes([247] * 3)
END
run 0 quality --type f32 --svg - field.f32 good.f32
prints '^<svg '
case $out in *'<image'*) fail "slices of one dimension" ;; esac
run 2 quality --type f32 --json --svg - field.f32 good.f32
says '--svg -: --json is on standard output: name a file: see balefs quality --help'
echo text >other.txt
run 1 quality --type f32 --svg other.txt field.f32 good.f32
says 'other.txt'
is text "$(cat other.txt)" "what is no picture"

# Dims that the file has several times, as one time step behind the other: all of it is compared.
run 0 quality --type f32 --dims 40x30 --bound 0.5 --json field.f32 good.f32
is 6000 "$(json 'd["elements"]')" "elements of an array with dims of a part"

refused() { # STATUS PATTERN ARGUMENT...
    run "$1" quality "${@:3}"
    says "$2"
}
refused 2 'give --type' field.f32 good.f32
refused 2 '^balefs: --type i32: it is f32, f64 or npy: see' --type i32 field.f32 good.f32
refused 2 '^balefs: --type f32,abs=1: it is f32, f64 or npy: see' --type f32,abs=1 field.f32 good.f32
refused 2 '^balefs: --dims 3x: give the elements along' --type f32 --dims 3x field.f32 good.f32
refused 2 '^balefs: --dims 3,be: give the elements along' --type f32 --dims 3,be field.f32 good.f32
refused 2 '^balefs: --dims 1152921504606846976: no file has' --type f64 --dims 1152921504606846976 field.f32 good.f32
refused 2 '^balefs: --offset -1: give a number of bytes: see' --type f32 --offset -1 field.f32 good.f32
refused 2 '^balefs: --bound 0: give a number from 2' --type f32 --bound 0 field.f32 good.f32
refused 2 '^balefs: --type npy: give neither --dims' --type npy --dims 3 field.npy good.npy
refused 2 'need --type' --dims 3 field.f32 good.f32
refused 2 'ORIGINAL and COPY' --type f32 field.f32
refused 1 'same size' --type f32 field.f32 big.f64
refused 1 'give other --dims' --type f32 --dims 100x100 field.f32 good.f32
refused 1 'none: cannot be compared' --type f32 none good.f32

# compress with a bound: it is kept, and the ratio is that of an array; what is no array stays exact.
run 0 compress --codec cusz:f32,abs=0.5,dims=40x30x5 field.f32
is "balefs: field.f32: rounded, each element by 0.5 at most" "$err" "what compress says"
run 0 decompress -o back.f32 field.f32.bale
quality 0 back.f32
is 'true True' "$(json '"%s %s" % (str(d["kept"]).lower(), d["different"] > 1000)')" "what compress made"
[ "$(stat -c %s field.f32.bale)" -lt 8000 ] || fail "24000 bytes became $(stat -c %s field.f32.bale)"
run 0 compress --codec cusz:f32,abs=0.5 other.txt
says 'other.txt: stored without loss: it is text'
run 0 decompress -c other.txt.bale
is text "$out" "text with a bound"
{
    head -c 8192 /dev/zero
    printf '\211HDF\r\n\032\n'
    cat field.f32
} >user-block.h5
run 0 compress --codec cusz:f32,abs=0.5 user-block.h5
says 'user-block.h5: stored without loss: it is HDF5 behind a user block'
run 0 decompress -o back.h5 user-block.h5.bale
cmp user-block.h5 back.h5 || fail "HDF5 behind a user block differs"
run 0 compress -f --codec cusz:npy,abs=0.5 field.f32
says 'field.f32: stored without loss: it is no NumPy array of f32 or f64'
{
    printf '\223NUMPY\1\0\166\0%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 30, 40), }"
    cat field.f32
} >field.npy
run 0 compress --codec cusz:npy,abs=0.5 field.npy
run 0 decompress -o back.npy field.npy.bale
run 0 quality --type f32 --dims 40x30x5 --offset 128 --bound 0.5 --json field.npy back.npy
is True "$(json 'd["kept"] and d["different"] > 1000')" "what compress made of field.npy"
cmp -n 128 field.npy back.npy || fail "the header differs"

# What lies behind the array that the header describes is no part of it: it stays exact, and is not compared.
cat field.npy field.npy >two.npy
run 0 compress --codec cusz:npy,abs=0.5 two.npy
run 0 decompress -o back-two.npy two.npy.bale
cmp -i 24128 two.npy back-two.npy || fail "what lies behind the array differs"
run 0 quality --type npy --bound 0.5 --json two.npy back-two.npy
is 'True 6000 True' "$(json '"%s %d %s" % (d["kept"], d["elements"], d["different"] > 1000)')" "an array and more behind it"

# A relative bound without a range is one of each file's own range, in the same bytes as with the range said. Elements
# that are not finite have no part in it, nor has what lies before and behind the array.
same_bytes() { # RANGE TYPE FILE: TYPE with rel=1e-3
    run 0 compress -f -o relative.bale --codec "cusz:$2,rel=1e-3" "$3"
    run 0 compress -f -o said.bale --codec "cusz:$2,rel=1e-3,range=$1" "$3"
    cmp relative.bale said.bale || fail "$3 with $2: the range was not $1"
}
same_bytes -16:48.5 f32,dims=40x30x5 field.f32
same_bytes -16:48.5 f32,offset=128 field.npy
same_bytes -16:48.5 f64,be,offset=16 big.f64
same_bytes -16:48.5 npy field.npy
/usr/bin/python3 - <<'END'
import array, math, struct
wild = array.array("f", [math.inf, -math.inf, math.nan])
# More than is read at once, the least element across its end, and the largest one last.
numbers = array.array("f", (math.sin(i * 0.01) for i in range(600000))) + wild + array.array("f", [5])
numbers[262143] = -4
open("long", "wb").write(b"abc" + numbers.tobytes())
open("behind.npy", "wb").write(open("field.npy", "rb").read() + struct.pack("<2f", -1e9, 1e9))
wild.tofile(open("wild", "wb"))
array.array("f", [2.5] * 5000 + [math.nan]).tofile(open("constant", "wb"))
array.array("d", [-1e308, 1e308]).tofile(open("huge", "wb"))
open("late.h5", "wb").write(numbers.tobytes()[:2 << 20] + b"\211HDF\r\n\032\n" + bytes(5000))
open("empty", "wb")
END
same_bytes -4:5 f32,offset=3 long
same_bytes -16:48.5 npy behind.npy
stays() { # FILE TYPE PATTERN
    run 0 compress -f -o exact.bale --codec "cusz:$2,rel=1e-3" "$1"
    says "^balefs: $1: stored without loss: $3\$"
    [[ $err != *rounded* ]] || fail "$1: $err"
    run 0 decompress -f -o exact exact.bale
    cmp "$1" exact || fail "$1 differs"
}
stays wild f32 'a relative bound needs a range, and there are no finite values in it'
stays empty f32 'a relative bound needs a range, and there are no finite values in it'
stays constant f32 'a relative bound needs a range, and its finite values are all 2\.5'
stays other.txt f32 'it is text'
stays field.npy f32 'it is NumPy'
stays field.f32 npy 'it is no NumPy array of f32 or f64'
stays late.h5 f32 'it is HDF5 behind a user block'
run 0 compress -f --codec cusz:f32,abs=0.125 late.h5
is "balefs: late.h5: stored without loss from byte 2097152 on: it is HDF5 behind a user block
balefs: late.h5: rounded, each element by 0.125 at most" "$err" "a signature behind what was rounded"
run 1 compress -f -o huge.bale --codec cusz:f64,rel=0.9 huge
says '^balefs: huge: its values are from -1e\+308 to 1e\+308: cusz needs a step, twice the bound, from 2\^-1021 to 2\^1021'
[ ! -e huge.bale ] || fail "a file was made with a bound that no array can have"
run 0 compress -c --codec cusz:f32,rel=1e-3,offset=3 long
is "balefs: long: rounded, each element by 0.009 at most" "$err" "a relative bound"
# Each file has its own range, and a descriptor's place is where its file begins.
tail -c +4 long >long.f32
run 0 compress -f --codec cusz:f32,rel=1e-3 long.f32 field.f32
cmp long.f32.bale <("$balefs" compress -c --codec cusz:f32,rel=1e-3,range=-4:5 long.f32) || fail "the first file"
cmp field.f32.bale <("$balefs" compress -c --codec cusz:f32,rel=1e-3,range=-16:48.5 field.f32) || fail "the second file"
{
    head -c 128 >/dev/null
    "$balefs" compress --codec cusz:f32,rel=1e-3 >place.bale
} < <(cat field.npy) 2>err && fail "a pipe was read twice"
is "balefs: standard input: cannot be read twice, to find the range first: give range=LOW:HIGH with rel=E, or name a regular file" \
    "$(cat err)" "a pipe"
{
    /usr/bin/python3 -S -c 'import os; os.lseek(0, 128, 0)'
    "$balefs" compress --codec cusz:f32,rel=1e-3,dims=40x30x5 >place.bale
} <field.npy
same_bytes -16:48.5 f32,dims=40x30x5 field.f32
cmp place.bale relative.bale || fail "a file that was opened at a place"
# Where no array is seen as a whole, the range has to be said.
run 2 bench --codec cusz:f32,rel=1e-3 field.f32
says 'range=LOW:HIGH with rel=E'
