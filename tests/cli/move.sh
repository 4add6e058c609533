#!/usr/bin/env bash
# import --move and export --move: what is copied durably leaves its origin, and everything else stays.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=moving.sh
. "$(dirname "$0")/moving.sh"

# --- into a store, and out of it
no_lease=${1:?usage: move.sh NO_LEASE}
tree=$work/tree
store=$work/store
make_tree "$tree"
state "$tree" >"$work/before"
run 0 import --move --create "$tree" "$store"
prints "^$store: 4 files, .* imported, 7 removed from $tree$"
[ -z "$err" ] || fail "import --move said: $err"
is_empty "$tree"
run 0 fsck --data "$store"
run 0 import --move "$tree" "$store" # nothing is left to do
prints "^$store: 0 files, 0 B imported, 0 removed from $tree$"
run 0 export --move "$store" "$work/out"
prints "^$work/out: 4 files, .* exported, 7 removed from $store$"
is_empty "$store"
same "$work/out" "what was moved out"
run 0 fsck "$store"

# --- what is there from an earlier run is read back, and then the origin goes; with all the names that are left
run 0 import "$work/out" "$store"
rm "$work/out/text"
touch -d '2002-02-03 04:05:06.7' "$work/out"
run 0 import --move "$work/out" "$store"
prints "files, 0 B imported, [0-9] were there, [0-9] removed from $work/out$"
is_empty "$work/out"
run 0 export "$store" "$work/out"
same "$work/out" "what came in twice"
run 0 import --create "$work/out" "$work/parts"
run 1 export --move "$work/parts/dir" "$work/part"
says "^balefs: $work/parts/dir/below/linked: was copied and stays: it has other names, outside of what is moved$"
prints "removed from $work/parts/dir, and not everything could be$"
is "below below/linked" "$(cd "$work/parts/dir" && find . -mindepth 1 -printf '%P\n' | sort | paste -sd' ')" "what is left of a part"
is "dir hole nothing text" "$(cd "$work/parts" && find . -maxdepth 1 '(' -type d -o -type f ')' -name '[a-z]*' -printf '%P\n' | sort | paste -sd' ')" "the rest of the store"

# --- a copy that differs, though it has the size and time of the original
mkdir "$work/one"
echo original >"$work/one/file"
run 0 init "$work/other"
run 0 import "$work/one" "$work/other"
touch -r "$work/one/file" "$work/time"
echo different | head -c 9 >"$work/one/file"
touch -r "$work/time" "$work/one/file"
fails_and_stays() { # MESSAGE FILE ARGUMENT...
    local message=$1 file=$2
    shift 2
    run 1 "$@"
    is "balefs: $message" "$err" "balefs $*"
    [ -e "$file" ] || fail "balefs $*: $file is gone"
}
fails_and_stays "$work/one/file: stays: what is in $work/other differs from it: remove that and run it again" \
    "$work/one/file" import --move "$work/one" "$work/other"
rm "$work/other/file"

# --- what others have open, and what has names elsewhere
mkdir "$work/one/dir"
echo linked >"$work/one/dir/linked"
ln "$work/one/dir/linked" "$work/elsewhere"
exec 7<"$work/one/file"
run 1 import --move "$work/one" "$work/other"
says "^balefs: $work/one/file: was copied and stays: somebody has it open: run it again later$"
says "^balefs: $work/one/dir/linked: was copied and stays: it has other names, outside of what is moved$"
is 2 "$(wc -l <<<"$err")" "messages of a move"
prints "^$work/other: 2 files, .* imported, 0 removed from $work/one, and not everything could be$"
exec 7<&-
rm "$work/elsewhere"
run 0 import --move "$work/one" "$work/other"
is_empty "$work/one"

# --- without leases nobody knows who has it open: nothing is removed unless the user says so
mkdir "$work/one/dir"
for i in {1..40}; do echo "file $i" >"$work/one/dir/$i"; done
export LD_PRELOAD=$no_lease
fails 1 "$work/one: its file system has no leases, so whether somebody else has a file open cannot be found out: nothing was removed: if nobody writes there, run it again with --no-lease" \
    import --move "$work/one" "$work/other"
is 40 "$(find "$work/one/dir" -type f | wc -l)" "files after a move without leases"
run 0 import --move --no-lease "$work/one" "$work/other"
unset LD_PRELOAD
is_empty "$work/one"

# --- a match line that rounds: the exact original is not given up
printf '%04096d' 0 >"$work/one/a.f32"
setfattr -n user.balefs.match -v '*.f32 cusz:f32,abs=0.1' "$work/one" 2>/dev/null && {
    run 1 import --move "$work/one" "$work/other"
    says "^balefs: $work/one/a.f32: left as it is: a match line rounds such files \(cusz:.*\): --codec moves it exactly"
    [ -e "$work/one/a.f32" ] || fail "a file that would be rounded is gone"
    [ ! -e "$work/other/a.f32" ] || fail "a file was rounded by a move"
    run 0 import --move --codec zstd "$work/one" "$work/other"
    is_empty "$work/one"
    rm "$work/other/a.f32"
    run 0 set --unset --match "*.f32" "$work/other"
}

# --- damage stays where it is
mkdir "$work/bad"
head -c 3000000 /dev/urandom >"$work/one/random"
run 0 import --move "$work/one" "$work/other"
run 0 inspect --json "$work/other/random"
flip "$work/other/random" "$(json 'd["extents"][1]["position"] + d["extents"][1]["stored"] - 2')"
run 1 export --move "$work/other" "$work/bad"
for file in "$work/other/random" "$work/bad/random.damaged"; do
    [ -e "$file" ] || fail "a damaged file was moved: $file is missing"
done
[ -z "$(ls "$work/other/dir" 2>/dev/null)" ] || fail "a good file beside a damaged one was not moved"

# --- wrong usage, and what is refused
run 2 import --no-lease "$tree" "$store"
run 2 export --no-lease "$store" "$work/bad"
run 2 export --move --tar "$store"
run 2 export --move --root older "$store" "$work/bad"
exec 9<>"$store/.balefs/lock"
flock -x 9
run 1 export --move "$store" "$work/bad"
says "^balefs: $store: is in use, so that nothing can be removed from it: unmount it first, or be its owner$"
exec 9>&-

# --- an ordinary user, who may not remove files from a directory of another's
if [ "$(id -u)" = 0 ]; then
    copy_for_users
    mkdir -m 777 "$work/home" "$work/home/tree" "$work/home/tree/shared"
    mkdir -m 755 "$work/home/tree/mine"
    as_user mkdir "$work/home/tree/own"
    echo root >"$work/home/tree/mine/file"
    echo root >"$work/home/tree/shared/file"
    as_user sh -c "echo own >'$work/home/tree/own/file'"
    got=0
    as_user "$work/balefs" import --move --create "$work/home/tree" "$work/home/store" >"$work/.out" 2>"$work/.err" || got=$?
    is 1 "$got" "a user's move"
    err=$(<"$work/.err")
    says "^balefs: $work/home/tree/mine: left as it is: nothing can be removed from it: Permission denied$"
    says "^balefs: $work/home/tree/shared/file: was copied and stays: it is another user's: let its owner or root remove it$"
    is mine/file "$(cd "$work/home/tree" && find mine shared own -type f 2>/dev/null | grep mine)" "what a user's move left"
    [ ! -e "$work/home/tree/own" ] || fail "a user's own files were not moved"
fi

# --- a disk that has room for one file and not for a copy of all
if [ "$(id -u)" = 0 ] && mkdir "$work/small" && mount -t tmpfs -o size=40m tmpfs "$work/small" 2>"$work/.err"; then
    mkdir -p "$work/small/tree/dir"
    for i in {1..7}; do head -c 4000000 /dev/urandom >"$work/small/tree/file$i"; done
    for i in {1..100}; do echo "small $i" >"$work/small/tree/dir/$i"; done
    sums=$(cd "$work/small/tree" && find . -type f -exec cksum {} + | sort)
    run 1 import --create "$work/small/tree" "$work/small/store"
    rm -rf "$work/small/store"
    run 0 import --move --create "$work/small/tree" "$work/small/store"
    is "" "$err" "messages of a move on a full disk"
    is_empty "$work/small/tree"
    run 0 fsck --data "$work/small/store"
    run 0 export --move "$work/small/store" "$work/small/out"
    is_empty "$work/small/store"
    is "$sums" "$(cd "$work/small/out" && find . -type f -exec cksum {} + | sort)" "what was moved on a full disk"
    # Nothing helps where the largest file does not fit; everything stays, here or there.
    head -c 30000000 /dev/urandom >"$work/large"
    mkdir "$work/from"
    mv "$work/large" "$work/from"
    run 1 import --move "$work/from" "$work/small/store"
    says "^balefs: $work/from/large: cannot be stored in $work/small/store: "
    [ -e "$work/from/large" ] || fail "a file that does not fit is gone"
fi
