# Sourced by the tests of moves, after lib.sh.
# shellcheck shell=bash disable=SC2154 # work is lib.sh's

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
        cd "$1" || exit
        find . -name .balefs -prune -o -printf '%p %y %m %U %G %T@ %l %n ' '(' -type d -o -printf '%s' ')' -printf '\n' | sort
        find . -name .balefs -prune -o -type f -exec cksum {} + | sort
        getfattr -R -h -d -m - . 2>/dev/null | awk '/^# file: / { file = $0 } /^user/ && !/^user.balefs/ { print file, $0 }' | sort
    )
}

is_empty() {
    is "" "$(find "$1" -mindepth 1 -maxdepth 1 -not -name .balefs)" "what is left in $1"
}

same() { diff -u "$work/before" <(state "$1") >&2 || fail "$2 is not as it was"; }
