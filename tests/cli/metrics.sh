#!/usr/bin/env bash
# balefs stat --prometheus: the format, the values, and the names that the documentation lists.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

fails 2 "--prometheus needs MNT, and goes with no other option: see balefs stat --help" stat --prometheus
fails 2 "--prometheus needs MNT, and goes with no other option: see balefs stat --help" stat --prometheus --json "$work"
run 1 stat --prometheus "$work"
is "balefs: $work: no daemon answers: no balefs of this version is mounted there" "$err" "no mount"
prints "^balefs_up\{mountpoint=\"$work\"\} 0$"
! grep -q '^balefs_written' <<<"$out" || fail "metrics of what is no mount: $out"

needs_fuse
make_store_and_mnt
odd=$work/$'odd "name\\ \n\xff'
mkdir "$odd"
run 0 init "$work/other"
run 0 mount "$store" "$mnt"
run 0 mount -o ro "$work/other" "$odd"
yes 'a line of text that repeats' | head -c 3000000 >"$mnt/file" || true
run 0 sync "$mnt"
run 0 freeze "$mnt"
run 1 stat --prometheus "$mnt" "$odd" "$mnt/." "$work"
is "balefs: $work: no daemon answers: no balefs of this version is mounted there" "$err" "one of three"
run 0 stat --prometheus "$mnt" "$odd" "$mnt/."
cp "$work/.out" "$work/metrics"
run 0 stat --json "$mnt"
/usr/bin/python3 - "$work/metrics" "$work/.out" "${BALE_SOURCE:?}/doc/usage.md" "$mnt" <<'END' || fail "the metrics: $(cat "$work/metrics")"
import json, re, sys
types, values, last = {}, {}, None
label = r'[a-z]+="(?:[^"\\\n]|\\["\\n])*"'
for line in open(sys.argv[1], encoding="utf-8"):
    assert line.endswith("\n"), line
    if head := re.fullmatch(r"# (HELP|TYPE) (balefs_[a-z_]+) (.+)\n", line):
        kind, last, text = head.groups()
        if kind == "TYPE":
            assert last not in types and text in ("gauge", "counter"), line
            types[last] = text
        continue
    name, labels, value = re.fullmatch(r"(balefs_[a-z_]+)\{(%s(?:,%s)*)\} ([0-9.]+)\n" % (label, label), line).groups()
    assert name == last and name in types, f"{line} is not with its type"
    assert (types[name] == "counter") == name.endswith("_total"), line
    assert (name, labels) not in values, f"{line} comes twice"
    values[name, labels] = float(value)
listed = dict(re.findall(r"^\| `(balefs_\w+)` \| (gauge|counter) \|", open(sys.argv[3]).read(), re.M))
assert listed == types, (set(listed.items()) ^ set(types.items()))

mount = json.load(open(sys.argv[2]))["mount"]
here = f'mountpoint="{sys.argv[4]}"'
get = lambda name, more="": values[name, here + more]
assert get("balefs_up") == 1 and get("balefs_frozen") == 1 and 0 < get("balefs_freeze_left_seconds") <= 60
assert get("balefs_written_bytes_total") == 3000000 == mount["written"] and get("balefs_read_only") == 0
assert get("balefs_stored_bytes_total") == mount["stored_bytes"] > 0 and get("balefs_commits_total") == mount["commits"]
assert get("balefs_engine_bytes_total", ',engine="cpu",direction="encode"') == mount["engines"]["cpu"]["encoded"]
assert get("balefs_waiting_requests", ',for="store"') == 0 and get("balefs_memory_limit_bytes") == mount["memory_cap"]
assert len([key for key in values if key[0] == "balefs_up"]) == 2, "a mount that is named twice"
other = [key[1] for key in values if key[0] == "balefs_read_only" and values[key] == 1]
assert len(other) == 1 and other[0].endswith('/odd \\"name\\\\ \\n\ufffd"'), other
END
run 0 thaw "$mnt"

# --- an ordinary user may not ask, and says so
if [ "$(id -u)" = 0 ]; then
    copy_for_users
    got=0
    as_user "$work/balefs" stat --prometheus "$mnt" >"$work/.out" 2>"$work/err" || got=$?
    is "1 balefs: $mnt: no daemon answers: only root and the mount's owner may ask" "$got $(cat "$work/err")" "another user"
    is 0 "$(sed -n 's/^balefs_up{.*} //p' "$work/.out")" "up, of another user"
fi
run 0 umount "$mnt" "$odd"
