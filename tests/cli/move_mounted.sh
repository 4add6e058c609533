#!/usr/bin/env bash
# import --move into a mount.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=moving.sh
. "$(dirname "$0")/moving.sh"
needs_fuse
[ "$(id -u)" = 0 ] || needs_fusermount

tree=$work/tree
make_store_and_mnt
make_tree "$tree"
state "$tree" >"$work/before"

run 0 mount "$store" "$mnt"
run 0 import --move "$tree" "$mnt/sub"
prints "^$mnt/sub: 4 files, .* imported, 7 removed from $tree$"
is_empty "$tree"
same "$mnt/sub" "what was moved into a mount"
fails 1 "$mnt/sub: lies in the same mount as $mnt: use mv" import --move "$mnt/sub" "$mnt"
fails 1 "$mnt: lies in a mount: use cp -a or --move, or unmount it first" import "$tree" "$mnt"
run 1 import --move "$store" "$mnt"
says "$store"
run 1 export --move "$store" "$work/out"
says "is in use, so that nothing can be removed from it"

# A match line that rounds, and --codec; the settings of the tree
printf '%04096d' 0 >"$tree/a.f32"
printf '%04096d' 0 >"$tree/b.txt"
mkdir "$tree/set"
yes log | head -c 100000 >"$tree/set/log" || true
run 0 set --match '*.f32' "$mnt" cusz:f32,abs=0.1
if setfattr -n user.balefs.codec -v zstd:9 "$tree/set" 2>/dev/null; then
    run 1 import --move "$tree" "$mnt"
    is "balefs: $tree/a.f32: left as it is: a match line rounds such files (cusz:f32,abs=1e-1): --codec moves it exactly, and import without --move makes a rounded copy" "$err" "a file that would be rounded"
    is a.f32 "$(ls "$tree")" "what a move leaves"
    [ ! -e "$mnt/a.f32" ] || fail "a file that would be rounded was made"
    run 0 get "$mnt/set" "$mnt/set/log"
    is 2 "$(grep -c 'codec zstd:9' <<<"$out")" "settings that came with the tree"
    run 0 import --move --codec lz4 "$tree" "$mnt"
    run 0 get "$mnt/a.f32"
    prints "codec lz4"
    is_empty "$tree"
fi

# From one mount into another
mkdir "$work/second" "$work/mnt2"
run 0 init "$work/second/store"
run 0 mount "$work/second/store" "$work/mnt2"
state "$mnt" >"$work/before"
run 0 import --move --no-lease "$mnt" "$work/mnt2"
is_empty "$mnt"
same "$work/mnt2" "what was moved between mounts"
run 0 get "$work/mnt2/set/log" "$work/mnt2/b.txt" # a mount has a value for each setting, also for those not chosen
is 1 "$(grep -c '(default), extent' <<<"$out")" "settings that were not chosen"
run 0 umount "$work/mnt2"
run 0 umount "$mnt"
run 0 fsck --data "$store"
