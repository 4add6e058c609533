#!/usr/bin/env bash
# Set-user-ID and set-group-ID bits in containers: they are their owner's to set, survive what the daemon writes, and do
# not become somebody else's when root copies a store or gives it to another owner.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_root
fuse_for_all
needs_fuse
needs_fusermount

root_balefs=$balefs
be_user "$PATH"
user_balefs=$balefs
theirs=$store

as_root() { balefs=$root_balefs; }
as_owner() { balefs=$user_balefs; }
mode() { stat -c %a "$1"; }
# modes FILE MOUNT STORE: of a file in its mount, and of its container in its store; FILE must have both
modes() { is "$1" "$(as_user stat -c %a "$mnt/$2") $(stat -c %a "$theirs/$2")" "modes of $2 $3"; }
# in_slots FILE: the modes that its roots have
in_slots() {
    "$root_balefs" inspect --json "$1" | /usr/bin/python3 -c 'import json, sys
print(*sorted({"%o" % (r["mode"] & 0o7777) for r in json.load(sys.stdin)["roots"] if r.get("chosen")}))'
}

# --- by their owner, in a mount of theirs
run 0 mount "$store" "$mnt"
as_user sh -c "cp /usr/bin/id '$mnt/program' && chmod 6755 '$mnt/program' && seq 200000 >'$mnt/data' && chmod 4711 '$mnt/data' &&
    echo x >'$mnt/locking' && chmod 2644 '$mnt/locking' && echo x >'$mnt/group' && chmod 2755 '$mnt/group'"
modes "6755 6755" program "after chmod"
modes "4711 4711" data "after chmod"
modes "2644 2644" locking "after chmod"
as_user /usr/bin/python3 -c 'import os, sys
os.close(os.open(sys.argv[1], os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o6750))' "$mnt/made"
as_user chmod 6750 "$mnt/made"
# What the daemon writes by itself leaves them.
as_user touch -d 2001-02-03 "$mnt/program"
run 0 set "$mnt/data" lz4
run 0 recompress "$mnt/data"
run 0 sync "$mnt"
run 0 umount "$mnt"
run 0 mount "$store" "$mnt"
modes "6755 6755" program "after changes of the daemon's"
modes "4711 4711" data "after a rewrite"
modes "6750 6750" made "that was made with them"
as_user mv "$mnt/data" "$mnt/renamed"
modes "4711 4711" renamed "after a rename"
# A write takes them, in both places and for good.
as_user sh -c "echo more >>'$mnt/renamed'; truncate -s 3 '$mnt/made'"
run 0 sync "$mnt"
modes "711 711" renamed "after a write"
modes "750 750" made "after a truncation"
is 711 "$(in_slots "$theirs/renamed")" "the mode in the container after a write"
as_user chmod u-s "$mnt/program"
modes "2755 2755" program "after chmod u-s"
as_user chmod 6755 "$mnt/program"
run 0 umount "$mnt"
run 0 fsck --json "$store"
is "True True" "$(json 'len(d["notes"]) == 3, all("of user 65534" in n["note"] for n in d["notes"])')" "fsck names them: $out"
# Nor does a repair take them.
run 0 inspect --json "$theirs/program"
flip "$theirs/program" "$(json '112 * [r["slot"] for r in d["roots"] if not r.get("chosen")][0] + 20')"
run 1 fsck --repair "$store"
run 0 fsck "$store"
is "6755 6755" "$(mode "$theirs/program") $(in_slots "$theirs/program")" "modes after a repair"
# A bit that the daemon may not set on the backing file, though the caller may: chmod says so.
chgrp 65533 "$theirs/group"
run 0 mount "$store" "$mnt"
got=$(setpriv --reuid=65534 --regid=65534 --groups=65533 chmod 2755 "$mnt/group" 2>&1) && fail "chmod that is not kept"
grep -q ': Permission denied$' <<<"$got" || fail "chmod that is not kept: $got"
modes "755 755" group "after it"
run 0 umount "$mnt"
chgrp 65534 "$theirs/group"
run 0 mount "$store" "$mnt"
as_user chmod 2755 "$mnt/group"
run 0 umount "$mnt"
# Bits that only an older program set, or that a copy lost.
as_user chmod 0755 "$theirs/program"
as_user chmod g-x "$theirs/group"
run 0 mount "$store" "$mnt"
is "755 2745" "$(as_user stat -c %a "$mnt/program" "$mnt/group" | xargs)" "bits that the backing files lack"
run 0 umount "$mnt"
is 6755 "$(in_slots "$theirs/program")" "the mode in the container"
as_user chmod 6755 "$theirs/program"
fails 1 "-o set_id: only a mount of root hides them: leave it out: see balefs mount --help" mount -o set_id "$store" "$mnt"

# --- root gives the store to another owner, or copies it: nothing of it is root's
# somebody_runs: a third user runs the program in the mount; which rights it has
somebody_runs() { setpriv --reuid=65533 --regid=65533 --clear-groups "$mnt/program" -u; }
no_rights() {
    is "" "$(find "$mnt" -type f \( -perm /4000 -o -perm -2010 \))" "set-id files $1"
    is 65533 "$(somebody_runs)" "the rights of a program $1"
}
cp -a "$theirs" "$work/given"
chown -R root:root "$work/given"
is "2745 2644" "$(mode "$work/given/group") $(mode "$work/given/locking")" "what chown leaves"
mkdir "$work/kept" "$work/plain"
tar -C "$theirs" -cf - . | tar -C "$work/kept" --no-same-owner -xpf -
is "6755 0" "$(stat -c '%a %u' "$work/kept/program")" "what tar --no-same-owner makes"
chmod 755 "$work"
as_root
for options in rw set_id; do
    run 0 mount -o "$options" "$work/given" "$mnt"
    no_rights "of a store that was given to root, -o $options"
    run 0 umount "$mnt"
done
# What root takes from the files of the store is gone in a mount; what it adds is not there.
chmod go-rwx "$work/given/renamed"
chmod a+rwx "$work/given/made"
run 0 mount "$work/given" "$mnt"
is "700 750" "$(mode "$mnt/renamed") $(mode "$mnt/made")" "modes after root's chmod in the store"
run 0 umount "$mnt"
run 0 fsck "$work/given"
prints "^$work/given/program: note: mode 6755 is in the container, and the backing file has 0755: only what both have counts$"
run 0 export "$work/given" "$work/plain/given"
is 755 "$(mode "$work/plain/given/program")" "an exported program of a store that was given to root"
run 0 export --tar -o "$work/plain/given.tar" "$work/given"
tar -tvf "$work/plain/given.tar" >"$work/listed"
grep -q '^-rwxr-xr-x .*program$' "$work/listed" || fail "the archive: $(cat "$work/listed")"
/usr/bin/python3 "${BALE_SOURCE:?}/tests/reader/read_store.py" --container "$work/given/program" --dump >"$work/dump"
grep -qx 'permissions: 0755' "$work/dump" || fail "the reader: $(cat "$work/dump")"

# --- imported: the backing file gets them with its owner, as the target of cp -a does
mkdir "$work/tree"
install -m 6755 -o 65533 -g 65533 /usr/bin/id "$work/tree/of another"
install -m 6755 -o 65534 -g 65534 /usr/bin/id "$work/tree/program"
: >"$work/tree/empty"
chown 65534:65534 "$work/tree/empty"
chmod 4755 "$work/tree/empty"
run 0 init --modes container "$work/imported"
run 0 import "$work/tree" "$work/imported"
run 0 mount -o set_id "$work/imported" "$mnt"
is "6755 6755 4755" "$(mode "$mnt/of another") $(mode "$mnt/program") $(mode "$mnt/empty")" "what root has imported"
run 0 umount "$mnt"
as_owner
run 0 import "$work/tree" "$work/home/store/imported"
run 0 mount "$store" "$mnt"
is "755 6755 4755" "$(as_user stat -c %a "$mnt/imported/of another" "$mnt/imported/program" "$mnt/imported/empty" | xargs)" "what a user has imported"
run 0 umount "$mnt"
run 0 export "$store/imported" "$work/home/exported"
is "755 6755 4755" "$(stat -c %a "$work/home/exported/of another" "$work/home/exported/program" "$work/home/exported/empty" | xargs)" "and exported"
as_root

# --- a mount of root shows none, unless it is told to
run 0 mount "$work/kept" "$mnt"
no_rights "of a copy by root"
for bits in 4755 2755; do
    ! chmod "$bits" "$mnt/renamed" 2>"$work/err" || fail "chmod $bits in such a mount"
    grep -q 'Operation not permitted' "$work/err" || fail "chmod: $(cat "$work/err")"
done
chmod 0700 "$mnt/renamed"
# Others' writes take bits that do not show, too.
chown 65533 "$mnt/program"
run 0 umount "$mnt"
is "755 755" "$(mode "$work/kept/program") $(in_slots "$work/kept/program")" "hidden bits after chown"
chown root:root "$work/kept/program"
run 0 mount -o set_id "$work/kept" "$mnt"
chmod 4755 "$mnt/program"
is 4755 "$(mode "$mnt/program")" "with -o set_id"
if awk -v at="$mnt" '$2 == at { print "," $4 "," }' /proc/self/mounts | grep -q ',nosuid,'; then
    echo "no set-id programs here: the file system below is mounted nosuid"
else
    is 0 "$(somebody_runs)" "the rights with -o set_id"
fi
chmod 4777 "$mnt/program"
chmod 6755 "$mnt/renamed" "$mnt/made" "$mnt/group"
run 0 umount "$mnt"
run 0 mount "$work/kept" "$mnt"
setpriv --reuid=65533 --regid=65533 --clear-groups sh -c "echo x >>'$mnt/program'"
echo x >>"$mnt/renamed"
truncate -s 1 "$mnt/made"
: >"$mnt/group"
run 0 umount "$mnt"
is "755 755 755" "$(stat -c %a "$work/kept/renamed" "$work/kept/made" "$work/kept/group" | xargs)" "hidden bits after root's writes"
is "777 777" "$(mode "$work/kept/program") $(in_slots "$work/kept/program")" "hidden bits after somebody's write"
run 0 fsck --data "$work/kept"
