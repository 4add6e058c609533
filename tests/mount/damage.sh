#!/usr/bin/env bash
# Damaged containers: an error where the damage is and nowhere else, a line in the log, and fsck finds each.
# usage: damage.sh, with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
damage=("/usr/bin/python3" "$here/damage.py")
mount_begin damage
store=$work/store mnt=$work/mnt plain=$work/plain
mkdir "$mnt" "$plain"

# A megabyte of words, so that each extent is compressed.
words() { seq -f '%.0f words that repeat themselves' "$1" 2000000 | head -c 1048576 || true; }

"$BALEFS" init "$store"
mount_up "$store" "$mnt"
names=(chunk page old new both version cut good)
for i in "${!names[@]}"; do
    words $((1000 * i)) >"$plain/${names[i]}"
    cp "$plain/${names[i]}" "$mnt/${names[i]}"
    # A second commit, so that both slots hold a root.
    printf 'x' | tee -a "$plain/${names[i]}" >>"$mnt/${names[i]}"
done
mount_down "$mnt"
fsck_clean "$store"

# expect_fsck STATUS NAME...: these files and no others are named; as fsck(8), 4: problems, 8: not all could be checked
expect_fsck() {
    local status=0 name expected=$1
    shift
    "$BALEFS" fsck --data "$store" >"$work/fsck" 2>&1 || status=$?
    [ "$status" = "$expected" ] || fail "fsck: exit status $status, not $expected: $(cat "$work/fsck")"
    for name in "${names[@]}"; do
        case " $* " in
        *" $name "*) grep -qw "$name" "$work/fsck" || fail "fsck does not name $name: $(cat "$work/fsck")" ;;
        *) ! grep -qE "^(balefs: )?([^ ]*/)?$name:" "$work/fsck" || fail "fsck names $name: $(cat "$work/fsck")" ;;
        esac
    done
}

# expect_errors NAME RANGES: what fails of a file; the rest must be right
expect_errors() {
    local found
    found=$("${damage[@]}" read "$mnt/$1" "$plain/$1") || fail "$1: what can be read is wrong"
    [ "$found" = "$2" ] || fail "$1: errors at '$found', not at '$2'"
}

# expect_refused NAME: it cannot be read at all, and that is an error
expect_refused() {
    if head -c 1 "$mnt/$1" >/dev/null 2>"$work/refused"; then
        fail "$1: can be read"
    fi
    grep -qE 'Input/output error|Structure needs cleaning|not supported' "$work/refused" ||
        fail "$1: $(cat "$work/refused")"
}

range=$("${damage[@]}" chunk "$store" chunk 500000)
expect_fsck 4 chunk
"${damage[@]}" page "$store" page
expect_fsck 4 chunk page
"${damage[@]}" slot "$store" old old
expect_fsck 4 chunk page old
"${damage[@]}" slot "$store" new new
"${damage[@]}" slot "$store" both both
expect_fsck 4 chunk page old new both
"${damage[@]}" version "$store" version
expect_fsck 12 chunk page old new both version
cut=$("${damage[@]}" cut "$store" cut 700000)
expect_fsck 12 chunk page old new both version cut
if /usr/bin/python3 "$BALE_SOURCE/tests/reader/read_store.py" "$store" >"$work/reader" 2>&1; then
    fail "read_store.py finds nothing"
fi

: >"$work/log"
mount_up "$store" "$mnt"
expect_errors good ''
expect_errors chunk "$range EIO"
grep -E 'chunk' "$work/log" | grep -E "${range% *}" | grep -E 'expected [0-9a-f]+' | grep -qE 'found [0-9a-f]+' ||
    fail "no line about chunk in the log"
lines=$(grep -cE '^.*[^a-z]chunk: ' "$work/log") || true
[ "$lines" = 1 ] || fail "$lines lines about one damaged chunk"
expect_refused page
lines=$(grep -cE '[^a-z]page: the list of its extents is damaged: .*; save the rest with balefs export' "$work/log") || true
[ "$lines" = 1 ] || fail "$lines lines about one damaged list of extents"
expect_errors old ''
expect_refused both
expect_refused version
grep -E 'version' "$work/log" | grep -q 'version' || fail "no line about version in the log"
"${damage[@]}" read "$mnt/cut" "$plain/cut" >"$work/cut" || fail "cut: what can be read is wrong"
grep -q 'EIO' "$work/cut" || fail "cut: no error: $(cat "$work/cut"), damaged $cut"
awk -v from="${cut% *}" '$2 <= from { bad = 1 } END { exit bad }' "$work/cut" ||
    say "cut: errors before the cut, as frames lie in any order: $(cat "$work/cut")"
# The newest root is gone: the file as one of its commits, or an error, never anything else.
if cat "$mnt/new" >"$work/new" 2>/dev/null; then
    cmp -s "$work/new" "$plain/new" || cmp -s "$work/new" <(head -c 1048576 "$plain/new") ||
        fail "new: what is read was never committed"
fi

# Writing over damage repairs it; damaged files can be deleted.
dd if="$plain/chunk" of="$mnt/chunk" bs=131072 conv=notrunc status=none || fail "chunk: writing over it"
expect_errors chunk ''
for name in page new both version cut; do
    rm "$mnt/$name" || fail "$name: cannot be deleted"
done
mount_down "$mnt"
fsck_clean "$store" # opening old replaced its damaged slot
mount_up "$store" "$mnt"
expect_errors chunk ''
mount_down "$mnt"

# A newer store is not touched at all.
sed -i -E 's/"format": *1/"format": 2/' "$store/.balefs/volume.json"
if "$BALEFS" mount "$store" "$mnt" 2>"$work/refused"; then
    fail "a store of format 2 was mounted"
fi
grep -q 2 "$work/refused" || fail "format 2: $(cat "$work/refused")"
status=0
"$BALEFS" fsck "$store" >"$work/fsck" 2>&1 || status=$?
[ "$status" = 8 ] || fail "fsck of format 2: exit status $status: $(cat "$work/fsck")"
