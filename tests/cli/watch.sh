#!/usr/bin/env bash
# balefs stat --watch: a line or an object for each interval until the mount ends; and what the mount leaves behind.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_fuse
make_store_and_mnt
run 0 mount "$store" "$mnt"

fails 2 "--watch=often: give seconds, 0.1 to 3600: see balefs stat --help" stat --watch=often "$mnt"
fails 2 "--watch=0: give seconds, 0.1 to 3600: see balefs stat --help" stat --watch=0 "$mnt"
fails 2 "--watch often: give seconds, 0.1 to 3600: see balefs stat --help" stat --watch often "$mnt"
fails 2 "--watch needs one MNT, and nothing but --json: see balefs stat --help" stat --watch "$mnt" "$mnt"
fails 2 "--watch needs one MNT, and nothing but --json: see balefs stat --help" stat --watch --by-type "$mnt"
fails 1 "$store: is no mount point: name that of a mounted store" stat --watch "$store"
mkdir "$mnt/below"
fails 1 "$mnt/below: is no mount point: name that of a mounted store" stat --watch "$mnt/below"

# lines FILE COUNT: waits until it has so many
lines() { soon has_lines "$@" || fail "no $2 lines in $1: $(cat "$1")"; }
has_lines() { [ "$(wc -l <"$1")" -ge "$2" ]; }

: >"$work/lines"
: >"$work/objects"
"$balefs" stat --watch=0.1 "$mnt" >"$work/lines" 2>"$work/lines.err" &
text=$!
"$balefs" stat --json "$mnt" --watch 0.1 >"$work/objects" 2>"$work/objects.err" &
json=$!
lines "$work/objects" 2
yes 'a line of text that repeats' | head -c 3000000 >"$mnt/file" || true
run 0 sync "$mnt"
count=$(wc -l <"$work/objects")
lines "$work/objects" $((count + 2))
lines "$work/lines" 3
run 0 umount "$mnt" # the watchers do not keep it busy, and end with it
wait "$text" || fail "a watch of a mount that ends: $(cat "$work/lines.err")"
wait "$json" || fail "a watch of a mount that ends: $(cat "$work/objects.err")"
[ ! -s "$work/lines.err" ] || fail "$(cat "$work/lines.err")"
is "written/s stored/s read/s ratio saved dirty frames/s waits cpu" "$(head -n 1 "$work/lines" | xargs)" "the head of the lines"
! tail -n +2 "$work/lines" | grep -Ev '^( +[0-9.]+[KMG]?){3} +[0-9.-]+( +[0-9.]+[KMG]?){2} +[0-9]+ +[0-9]+ +[0-9]+%$' ||
    fail "a line is not as it should be"
! grep -E '^.{80}' "$work/lines" || fail "a line is too wide"
/usr/bin/python3 - "$work/objects" <<'END' || fail "the objects: $(cat "$work/objects")"
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert rows[0]['written'] == 0 and rows[-1]['written'] == 3000000, rows
assert any(row['written_per_second'] > 0 for row in rows), rows
assert any(row['compressed_per_second'] > 0 for row in rows), rows
assert rows[-1]['saved'] == rows[-1]['compressed'] - rows[-1]['stored'] > 2000000, rows
assert all(b['written'] >= a['written'] for a, b in zip(rows, rows[1:])), rows
END

# --- nobody reads: quiet
run 0 mount "$store" "$mnt"
for words in "--watch=0.1" "--watch=0.1 --json"; do
    got=0
    # shellcheck disable=SC2086
    unread_ignoring timeout 60 "$balefs" stat $words "$mnt" 2>"$work/err" || got=$?
    [ ! -s "$work/err" ] || fail "$words into a closed pipe: $(cat "$work/err")"
    is 1 "$got" "$words into a closed pipe"
done

# --- on a terminal one line, redrawn
if command -v script >/dev/null; then
    script -qefc "echo \$\$ >'$work/pid'; exec '$balefs' stat --watch=0.1 '$mnt'" /dev/null >"$work/tty" </dev/null &
    terminal=$!
    redrawn() { [ "$(tr '\r' '\n' <"$work/tty" | grep -c '%$')" -gt 2 ]; }
    soon redrawn || fail "a terminal: $(cat -v "$work/tty")"
    kill "$(cat "$work/pid")"
    wait "$terminal" || true
    [ "$(wc -l <"$work/tty")" -le 2 ] || fail "a terminal gets lines: $(cat -v "$work/tty")"
fi

# --- saved, and what the end of a mount leaves
run 0 stat --json "$mnt"
is "3000000 True" "$(json 'd["logical"], d["saved"] == d["data"] - d["stored"] > 2000000')" "saved"
run 0 stat "$mnt"
prints '^saved    2\.[0-9] MiB of 2\.9 MiB, 99%$|^saved    2\.[0-9] MiB of 2\.9 MiB, 100%$'
cp "$mnt/file" "$mnt/again"
run 0 umount "$mnt"
out=$(cat "$store/.balefs/last-unmount.json")
is "True 3000000 3000000 True 0 True" \
    "$(json 'd["clean"], d["written"], d["compressed"], d["stored"] < 300000, d["errors"], d["cpu_ms"] >= 0 and d["throttled"] >= 0 and d["read"] >= 0')" \
    "last-unmount.json"

# --- a mount that is frozen: what waits, and a directory that a change keeps locked. Its listing ends, too.
run 0 mount "$store" "$mnt"
mkdir "$mnt/locked"
run 0 freeze "$mnt"
rmdir "$mnt/locked" &
remover=$!
kept_back() {
    "$balefs" stat --watch=0.1 --json "$mnt" 2>/dev/null | head -n 1 >"$work/.out" || true
    out=$(cat "$work/.out")
    [ "$(json 'd["waiting"], d["frozen"]')" = "1 True" ]
}
soon kept_back || fail "what the freeze keeps back is not shown: $out"
run 1 stat "$mnt"
is "balefs: $mnt: not everything is counted: something in it waits for balefs thaw" "$err" "stat of a frozen mount"
prints '^frozen   thaws by itself in [1-9][0-9]* s; 1 requests wait for that$'
run 1 stat --json "$mnt"
is "False 1 True" "$(json 'd["complete"], d["mount"]["waiting"]["thaw"], 0 < d["mount"]["freeze_left"] <= 60')" "JSON of a frozen mount"
run 0 thaw "$mnt"
wait "$remover" || fail "rmdir in a frozen mount"
run 0 stat --json "$mnt"
is "True 0" "$(json 'd["complete"], d["mount"]["waiting"]["thaw"]')" "JSON after the thaw"
run 0 umount "$mnt"
