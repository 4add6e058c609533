#!/usr/bin/env bash
# Holes larger than any disk: import, export, tar and cat jump them. What must step through one ends at a signal.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# Of the file systems that every machine has, tmpfs alone has files this large.
large=$(mktemp -d /dev/shm/balefs-holes.XXXXXX 2>/dev/null) || skip "there is no /dev/shm"
trap 'rm -rf "$large"; clean_up' EXIT
truncate -s 7E "$large/probe" 2>/dev/null || skip "/dev/shm has no file of 7 EiB"
rm "$large/probe"

tree=$large/tree
mkdir "$tree"
truncate -s 7E "$tree/hole"
printf start >"$tree/start"
truncate -s 7E "$tree/start"
printf 'in the middle' | dd of="$tree/middle" bs=1 seek=9000000000001 conv=notrunc status=none
truncate -s 7E "$tree/middle"
printf end | dd of="$tree/end" bs=1 seek=15000000000000 conv=notrunc status=none

# shape FILE: its size, and the words in it with their places
shape() {
    python3 - "$1" <<'EOF'
import os, re, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
size = os.fstat(fd).st_size
print(size)
at = 0
while at < size:
    try:
        at = os.lseek(fd, at, os.SEEK_DATA)
    except OSError:
        break
    end = os.lseek(fd, at, os.SEEK_HOLE)
    if end - at > 1 << 20:
        sys.exit("a hole was filled")
    for word in re.finditer(rb"[^\0]+", os.pread(fd, end - at, at)):
        print(at + word.start(), word.group().decode())
    at = end
EOF
}

same() {
    local name
    for name in hole start middle end; do
        diff <(shape "$tree/$name") <(shape "$1/$name") >&2 || fail "$2: $name is not as it was"
    done
}

run 0 import --create "$tree" "$work/store"
run 0 fsck --data "$work/store"
run 0 export "$work/store" "$large/out"
same "$large/out" "export"
run 0 export --tar -o "$work/tar" "$work/store"
mkdir "$large/untar"
tar -C "$large/untar" -xf "$work/tar"
same "$large/untar" "tar"
mkdir "$large/cat"
for name in hole start middle end; do
    "$balefs" cat "$work/store/$name" >"$large/cat/$name"
done
same "$large/cat" "cat"

# What was in the output is overwritten by the hole, too.
printf 'something that was there before' >"$large/old"
"$balefs" cat "$work/store/start" 1<>"$large/old"
diff <(shape "$tree/start") <(shape "$large/old") >&2 || fail "cat over a file that has contents"

# A pipe gets zeros until a signal comes.
mkfifo "$work/pipe"
head -c 1000000 "$work/pipe" >"$work/head" &
reader=$!
"$balefs" cat "$work/store/hole" 1<>"$work/pipe" &
cat=$!
wait "$reader"
kill -TERM "$cat"
status=0
wait "$cat" || status=$?
is 143 "$status" "cat into a pipe, and SIGTERM"

# compress finds a range without reading what is a hole: its zeros are the least values here.
/usr/bin/python3 - "$large/numbers" <<'END'
import array, sys
with open(sys.argv[1], "wb") as file:
    file.write(array.array("f", [1 + i % 5 for i in range(5000)]).tobytes())
    file.seek(9000000000000)
    file.write(array.array("f", [100]).tobytes())
END
truncate -s 7E "$large/numbers"
for range in "" ,range=0:100; do
    run 0 compress -f -o "$work/numbers$range.bale" --codec "cusz:f32,rel=1e-3$range" "$large/numbers"
done
cmp "$work/numbers.bale" "$work/numbers,range=0:100.bale" || fail "the range of what has holes"
