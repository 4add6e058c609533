#!/usr/bin/env bash
# set, get, stat, inspect, sync, freeze and thaw in a mount.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_fuse

store=$work/closed/store # closed to other users, unlike the mount
mkdir -m 700 "$work/closed"
mnt=$work/mnt
mkdir "$mnt"
run 0 init --codec zstd:3 "$store"
run 0 mount -o engine=cpu "$store" "$mnt" # whose figures are looked at below
# The thread of the log runs only where the system has none; those of the lanes while requests come.
# A thread that has just begun has its maker's name.
names() { sort -u /proc/"$(process "$mnt")"/task/*/comm | grep -vxE 'balefs-(log|lane)' | paste -sd' '; }
wanted="balefs balefs-cpu balefs-drop balefs-fetch balefs-flush balefs-lock balefs-pool balefs-read balefs-relief balefs-session balefs-thaw"
names_are() { [ "$(names)" = "$wanted" ]; }
soon names_are || is "$wanted" "$(names)" "names of the threads"
yes 'a line that repeats, and a number: 0123456789' | head -c 1000000 >"$work/text" || true

# --- settings: files, directories, names
run 0 get "$mnt"
is "$mnt: codec zstd:3 (default), extent 131072 (default)" "$out" "get of a new mount"
mkdir "$mnt/dir"
run 0 set "$mnt/dir" --match '*.log' zstd:9
run 0 set "$mnt/dir" lz4
run 0 set --extent 256K "$mnt/dir"
run 0 get --json "$mnt/dir"
is "lz4 True 262144 True ['*.log zstd:9']" \
    "$(json 'd["codec"], d["codec_chosen"], d["extent"], d["extent_chosen"], d["match"]')" "get of a directory"
mkdir "$mnt/dir/below"
cp "$work/text" "$mnt/dir/below/a.log"
cp "$work/text" "$mnt/dir/below/a.txt"
cp "$work/text" "$mnt/a.txt"
run 0 get "$mnt/dir/below/a.log" "$mnt/dir/below/a.txt" "$mnt/a.txt"
is "$mnt/dir/below/a.log: codec zstd:9, extent 262144
$mnt/dir/below/a.txt: codec lz4, extent 262144
$mnt/a.txt: codec zstd:3 (default), extent 131072 (default)" "$out" "what files inherit"
run 0 set "$mnt/a.txt" zstd:7
run 0 get "$mnt/a.txt"
is "$mnt/a.txt: codec zstd:7, extent 131072 (default)" "$out" "get of a file after set"
run 0 set --unset "$mnt/a.txt"
run 0 get "$mnt/a.txt"
is "$mnt/a.txt: codec zstd:3 (default), extent 131072 (default)" "$out" "get of a file after --unset"
run 1 set --extent 1M "$mnt/a.txt"
says "^balefs: $mnt/a.txt: has data already"
: >"$mnt/empty"
run 0 set --extent 1M "$mnt/empty" store
run 0 get "$mnt/empty"
is "$mnt/empty: codec store, extent 1048576" "$out" "get of an empty file after set"
run 1 set --unset --match '*.none' "$mnt/dir"
says "^balefs: $mnt/dir: has no match line for \*.none: balefs get $mnt/dir prints those it has$"
run 1 set --match '*.log' "$mnt/a.txt" lz4
says "^balefs: $mnt/a.txt: is no directory"
is lz4 "$(getfattr --only-values -n user.balefs.codec "$mnt/dir" 2>/dev/null)" "the attribute that set sets"

# --- stat: the same from the mount and from the store
run 0 sync "$mnt"
run 0 stat --json "$mnt"
is "4 3000000" "$(json 'd["files"], d["logical"]')" "stat of a mount"
is "3000000 True" "$(json 'd["data"], d["stored"] < 300000')" "stat of a mount"
is "$store cpu False" "$(json 'd["mount"]["store"], d["mount"]["engine"], d["mount"]["frozen"]')" "the mount's state"
mounted=$(json 'd["files"], d["logical"], d["data"], d["stored"], d["codecs"]')
run 0 stat --json "$store"
is "$mounted" "$(json 'd["files"], d["logical"], d["data"], d["stored"], d["codecs"]')" "stat of the store, beside that of its mount"
run 0 stat --by-type "$mnt"
prints '^ +2 .*  \.txt$'
prints '^memory   '
prints '^reserve  [0-9.]+ [KMG]iB of the disk '
prints '^cpu      compressed 2\.9 MiB, decompressed 0 B, in [0-9]+ pieces$'
prints "^store    $store$"
run 0 stat "$mnt/dir"
! grep -q '^memory' <<<"$out" || fail "the mount's state is shown for a directory in it"

# What was overwritten stays in its frame: raw, but not referenced. Holes have no data, and preallocated space too.
mkdir "$mnt/space"
head -c 131072 "$work/text" >"$mnt/space/overwritten"
run 0 sync "$mnt"
head -c 8192 /dev/urandom | dd of="$mnt/space/overwritten" bs=4096 seek=3 conv=notrunc,fsync status=none
truncate -s 3M "$mnt/space/hole"
fallocate -l 10M "$mnt/space/preallocated"
run 0 sync "$mnt"
for where in "$mnt" "$store"; do
    run 0 stat --json "$where/space"
    is "131072 122880 8192 8192" \
        "$(json 'sum(c["raw"] for n, c in d["codecs"].items() if n != "store"), sum(c["logical"] for n, c in d["codecs"].items() if n != "store"), d["codecs"]["store"]["raw"], d["codecs"]["store"]["logical"]')" \
        "raw and referenced in $where"
    is "13762560 131072 10485760 True True" \
        "$(json 'd["logical"], d["data"], d["preallocated"], d["disk"] >= 10485760 + d["stored"], d["complete"]')" "space in $where"
    run 0 stat "$where/space"
    prints "^ +3 +13\.1 MiB +128\.0 KiB +[0-9.]+ KiB +[0-9.]+ +10\.[0-9] MiB  $where/space$"
    prints '^ +1 +128\.0 KiB +120\.0 KiB .*  (lzr|zstd)$'
    prints '^unused   10\.0 MiB on disk, '
done
rm -r "$mnt/space"
run 0 stat --json "$mnt"
syncs=$(json 'd["mount"]["syncs"]')
run 0 sync "$mnt"
run 0 stat --json "$mnt"
[ "$(json 'd["mount"]["syncs"]')" -gt "$syncs" ] || fail "a sync that is not counted"
is False "$(json 'd["mount"]["read_only"]')" "read_only"
is "True True" "$(json 'd["mount"]["engines"]["cpu"]["encoded"] >= 3000000, d["mount"]["engines"]["cpu"]["items"] > 0')" "what the CPU did"
is "0 0 False None" "$(json '[d["mount"]["engines"]["gpu"][k] for k in ("items", "batches", "used", "device")]' | tr -d '[],')" "what no GPU did"
cd "$mnt/dir"
run 0 stat --json below/a.log .
is "below/a.log 1 . 2" "$(json 'd[0]["path"], d[0]["files"], d[1]["path"], d[1]["files"]')" "relative paths"

# --- inspect finds the container
cd "$mnt"
run 0 inspect --json dir/below/a.log
is "$store/dir/below/a.log 4 262144" "$(json 'd["container"], len(d["extents"]), d["extents"][0]["length"]')" "inspect in a mount"
run 0 inspect "$mnt/dir/below/a.log"
prints "^stored   $store/dir/below/a.log$"
cd "$work"

# --- odd names on the way from the mount table to the store
run 0 umount "$mnt"
odd=$work/closed/$'st ore\\\t\n#'
mv "$store" "$odd"
mkdir "$work/m nt"
run 0 mount "$odd" "$work/m nt"
run 0 inspect --json "$work/m nt/a.txt"
is "$(printf '%s/a.txt' "$odd" | od -An -tx1 -v)" "$(json 'd["container"]' | head -c -1 | od -An -tx1 -v)" "the container of an odd store"
run 0 umount "$work/m nt"
mv "$odd" "$store"

# --- freeze holds back changes, thaw lets them go on
run 0 mount -o memory=32M "$store" "$mnt" # the reserve, which is copied too, is as large as what may be dirty
run 0 freeze "$mnt"
run 0 stat --json "$mnt"
is True "$(json 'd["mount"]["frozen"]')" "frozen"
fails 1 "$mnt: is frozen already: balefs thaw ends it" freeze "$mnt"
"$balefs" set "$mnt/dir" store 2>"$work/set" &
setter=$!
(echo late >"$mnt/late") &
writer=$!
soon test -s "$work/set" || fail "set says nothing"
kill -0 "$writer" || fail "written while frozen"
cp -a "$store" "$work/copy"
is "balefs: $mnt/dir: its mount is frozen: waiting for balefs thaw" "$(cat "$work/set")" "set in a frozen mount"
kill -0 "$setter" || fail "set while frozen"
run 0 thaw "$mnt"
wait "$setter" || fail "a set that waited failed"
run 0 get --json "$mnt/dir"
is store "$(json 'd["codec"]')" "what was set after thaw"
wait "$writer" || fail "a write that waited failed"
is late "$(cat "$mnt/late")" "what was written after thaw"
run 0 fsck --data "$work/copy"
[ ! -s "$work/copy/late" ] || fail "the copy has what was held back"

# --- meanwhile new names can be made, and listings go on; a copy has new files whole, as empty ones
mkdir "$mnt/busy"
echo old >"$mnt/busy/old"
mkdir -p "$mnt/part"
run 0 freeze "$mnt/part"
is "balefs: $mnt/part: all of $mnt is frozen, since only whole mounts can be" "$err" "freezing a directory"
run 0 thaw "$mnt"
rmdir "$mnt/part"
run 0 freeze --for 2h "$mnt"
[ -z "$err" ] || fail "freezing a mount: $err"
touch_new() { : >"$mnt/busy/$1" && mkdir "$mnt/busy/$1.dir" && ln -s x "$mnt/busy/$1.link" && mkfifo "$mnt/busy/$1.fifo"; }
timeout 200 bash -c "$(declare -f touch_new); mnt='$mnt'; touch_new new" || fail "new names wait for the thaw"
(echo text >"$mnt/busy/written") &
writer=$!
soon test -e "$mnt/busy/written" || fail "a file that is to be written does not appear"
is "new new.dir new.fifo new.link old written" "$(timeout 200 ls "$mnt/busy" | xargs)" "a listing while frozen"
cp -a "$store" "$work/frozen"
run 0 fsck --data "$work/frozen"
is "" "$("$balefs" cat "$work/frozen/busy/written")" "what was written while frozen, in a copy"
run 0 thaw "$mnt"
wait "$writer" || fail "a write that waited failed"
is text "$(cat "$mnt/busy/written")" "what was written while frozen, after thaw"
run 0 thaw "$mnt"

# --- a freeze ends by itself, and thaw then says so; with CMD it lasts as long as that
run 0 freeze --for 1 "$mnt"
echo after >"$mnt/busy/old" # waits until then
run 1 thaw "$mnt"
says "^balefs: $mnt: had thawed before, so what was copied is not of one state: "
run 0 thaw "$mnt"
for arguments in "--for 0 $mnt" "--for soon $mnt" "--for 8d $mnt" "$mnt --" "-- true" "--for 5 $mnt -- true"; do
    # shellcheck disable=SC2086
    run 2 freeze $arguments
done
run 7 freeze "$mnt" -- sh -c "'$balefs' stat --json '$mnt' >'$work/during'; exit 7"
is True "$(out=$(cat "$work/during") json 'd["mount"]["frozen"]')" "frozen while CMD runs"
run 0 stat --json "$mnt"
is False "$(json 'd["mount"]["frozen"]')" "frozen after CMD"
run 125 freeze "$mnt" -- "$balefs" thaw "$mnt"
says "^balefs: $mnt: had thawed before"
run 127 freeze "$mnt" -- "$work/none"
run 125 freeze "$mnt" "$work" -- touch "$work/ran"
[ ! -e "$work/ran" ] || fail "CMD ran although a mount was not frozen"
run 0 stat --json "$mnt"
is False "$(json 'd["mount"]["frozen"]')" "frozen after a freeze that failed"

# --- other users: any may sync, none may freeze; they see what they may see
needs_root
copy_for_users
mkdir -m 777 "$mnt/all"
as_user sh -c "echo mine >'$mnt/all/mine'"
as_user "$work/balefs" sync "$mnt" || fail "an ordinary user cannot sync"
for command in freeze thaw; do
    got=0
    as_user "$work/balefs" "$command" "$mnt" 2>"$work/err" || got=$?
    is 1 "$got" "exit status of an ordinary user's $command"
    is "balefs: $mnt: only root and the mount's owner may $command it" "$(cat "$work/err")" "$command"
done
as_user "$work/balefs" stat --json "$mnt/all" >"$work/.out" || fail "an ordinary user's stat"
out=$(cat "$work/.out")
is "1 5" "$(json 'd["files"], d["logical"]')" "an ordinary user's stat"
as_user "$work/balefs" set "$mnt/all/mine" lz4 || fail "an owner cannot set"
is "$mnt/all/mine: codec lz4, extent 131072 (default)" "$(as_user "$work/balefs" get "$mnt/all/mine")" "an ordinary user's get"
is "$mnt/all: codec ? (default), extent ? (default)" "$(as_user "$work/balefs" get "$mnt/all")" "get, defaults out of reach"
chmod 600 "$mnt/a.txt"
got=0
as_user "$work/balefs" stat "$mnt/a.txt" >/dev/null 2>"$work/err" || got=$?
is 1 "$got" "stat of a file that may not be read"
got=0
as_user "$work/balefs" set "$mnt/a.txt" lz4 2>"$work/err" || got=$?
is 1 "$got" "set of somebody else's file"
is "balefs: $mnt/a.txt: may not be changed: be its owner or root" "$(cat "$work/err")" "set of somebody else's file"
run 0 umount "$mnt"
