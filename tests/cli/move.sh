#!/usr/bin/env bash
# import --move and export --move: what is copied durably leaves its origin, and everything else stays.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# make_tree DIR: all kinds of files
make_tree() {
    mkdir -p "$1"/dir/{below,empty}
    yes 'a line that repeats' | head -c 3000000 >"$1/text" || true
    head -c 300000 /dev/urandom >"$1/dir/below/random"
    : >"$1/nothing"
    truncate -s 100M "$1/hole"
    printf 'in the middle' | dd of="$1/hole" bs=1 seek=50000000 conv=notrunc status=none
    ln "$1/text" "$1/dir/below/linked"
    ln -s ../text "$1/dir/link"
    mkfifo -m 640 "$1/fifo"
    setfattr -n user.mine -v value "$1/dir/below/random" "$1/dir" 2>/dev/null || true
    chmod 6751 "$1/dir/below/random"
    chmod 711 "$1/dir/empty"
    touch -h -d '2001-02-03 04:05:06.000000001' "$1/text" "$1/dir/link" "$1/fifo"
    touch -d '2002-02-03 04:05:06.7' "$1/dir/below" "$1/dir/empty" "$1/dir" "$1"
}

# state TREE: all that a move keeps
state() {
    (
        cd "$1"
        find . -name .balefs -prune -o -printf '%p %y %m %U %G %T@ %l %n ' '(' -type d -o -printf '%s' ')' -printf '\n' | sort
        find . -name .balefs -prune -o -type f -exec cksum {} + | sort
        getfattr -R -h -d -m - . 2>/dev/null | grep -v '^user.balefs'
    )
}

is_empty() { [ -z "$(ls -A "$1" | grep -vx .balefs)" ] || fail "$1 still has: $(ls -A "$1")"; }

same() { diff -u "$work/before" <(state "$1") >&2 || fail "$2 is not as it was"; }

# --- into a store, and out of it
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
[ -e "$work/other/random" ] && [ -e "$work/bad/random.damaged" ] || fail "a damaged file was moved"
[ ! -e "$work/other/dir" ] || fail "a good file beside a damaged one was not moved"

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

# --- into a mount
[ -c /dev/fuse ] && [ -r /dev/fuse ] && [ -w /dev/fuse ] || exit 0
[ "$(id -u)" = 0 ] || command -v fusermount3 >/dev/null || exit 0
mnt=$work/mnt
mkdir "$mnt"
rm -rf "$tree"
make_tree "$tree"
state "$tree" >"$work/before"
run 0 init "$work/third"

run 0 mount "$work/third" "$mnt"
run 0 import --move "$tree" "$mnt/sub"
prints "^$mnt/sub: 4 files, .* imported, 7 removed from $tree$"
is_empty "$tree"
same "$mnt/sub" "what was moved into a mount"
fails 1 "$mnt/sub: lies in the same mount as $mnt: use mv" import --move "$mnt/sub" "$mnt"
fails 1 "$mnt: lies in a mount: use cp -a or --move, or unmount it first" import "$tree" "$mnt"
run 1 import --move "$work/third" "$mnt"
says "$work/third"
run 1 export --move "$work/third" "$work/bad"
says "is in use, so that nothing can be removed from it"
run 0 umount "$mnt"
run 0 fsck --data "$work/third"
