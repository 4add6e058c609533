#!/usr/bin/env bash
# Root works in directories of other users, who have put links, fifos and devices in the way: nothing outside is read,
# written or waited for.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_root

theirs=$work/theirs
victim=$work/victim
mkdir -m 700 "$victim"
echo untouched >"$victim/file"
mkdir "$theirs"
chown 65534:65534 "$theirs"
echo evil >"$work/evil"
run 0 compress -o "$theirs/x.bale" "$work/evil"
chown 65534:65534 "$theirs/x.bale"

# untouched WHAT: nothing has changed for the victim
untouched() {
    is "untouched file" "$(cat "$victim/file") $(ls -A "$victim")" "$1: the victim's files"
    is "0:0 644" "$(stat -c '%u:%g %a' "$victim/file")" "$1: owner and mode of the victim's file"
}

# --- decompress and compress: the name beside the source is no way out
as_user ln -s "$victim/file" "$theirs/x"
fails 1 "$theirs/x: is a symbolic link: give -o with the name of the output" decompress "$theirs/x.bale"
fails 1 "$theirs/x: is a symbolic link: give -o with the name of the output" decompress -f "$theirs/x.bale"
rm "$theirs/x"
as_user ln -s "$victim/none" "$theirs/x"
fails 1 "$theirs/x: is a symbolic link: give -o with the name of the output" decompress -f "$theirs/x.bale"
rm "$theirs/x"
as_user mkfifo "$theirs/x"
fails 1 "$theirs/x: is no regular file: give -o with the name of the output" decompress -f "$theirs/x.bale"
rm "$theirs/x"
as_user sh -c "echo mine >'$theirs/y'; ln -s '$victim/file' '$theirs/y.bale'"
fails 1 "$theirs/y.bale: is a symbolic link: give -o with the name of the output" compress -f "$theirs/y"
untouched "compress and decompress"
# A fifo in place of the source is not waited for.
as_user mkfifo "$theirs/z.bale"
fails 1 "$theirs/z.bale: not a regular file: give -o or -c" decompress "$theirs/z.bale"
rm "$theirs/y" "$theirs/y.bale" "$theirs/z.bale"

# A directory that is exchanged while the output is written: it goes to the one that was there.
as_user mkdir "$theirs/dir"
mkfifo "$work/slow"
"$balefs" decompress -o "$theirs/dir/file" <"$work/slow" 2>"$work/err" &
child=$!
exec 9>"$work/slow"
soon compgen -G "$theirs/dir/.file.*" >/dev/null || fail "no temporary file"
as_user mv "$theirs/dir" "$theirs/moved"
as_user ln -s "$victim" "$theirs/dir"
cat "$theirs/x.bale" >&9
exec 9>&-
wait "$child" || fail "decompress into a directory that was moved: $(cat "$work/err")"
is evil "$(cat "$theirs/moved/file")" "the output in a directory that was moved"
untouched "an exchanged directory"
rm -r "$theirs/dir" "$theirs/moved"

# --- export: links in the target are replaced, and not followed
store=$work/store
mkdir -p "$work/tree/sub"
echo stored >"$work/tree/file"
echo stored >"$work/tree/sub/file"
mkfifo "$work/tree/fifo"
run 0 import --create "$work/tree" "$store"
mkdir "$theirs/out"
chown 65534 "$theirs/out"
as_user ln -s "$victim/file" "$theirs/out/file"
as_user ln -s "$victim/file" "$theirs/out/fifo"
as_user ln -s "$victim" "$theirs/out/sub"
run 1 export "$store" "$theirs/out"
says "^balefs: $store/sub: cannot be made below $theirs/out: something else has its name$"
[ -p "$theirs/out/fifo" ] || fail "a link was not replaced by a fifo"
is "stored" "$(cat "$theirs/out/file")" "an exported file"
[ ! -L "$theirs/out/file" ] || fail "a link was written through"
untouched "export"

# --- import: links in the source come as links
as_user mkdir "$theirs/in"
as_user ln -s "$victim" "$theirs/in/dir"
as_user ln -s "$victim/file" "$theirs/in/link"
as_user mkfifo "$theirs/in/fifo"
as_user sh -c "echo theirs >'$theirs/in/plain'"
run 0 import "$theirs/in" "$store"
is "$victim" "$(readlink "$store/dir")" "a link to a directory, imported"
is "$victim/file" "$(readlink "$store/link")" "a link to a file, imported"
run 0 cat "$store/plain"
is theirs "$out" "a file, imported"
run 1 cat "$store/link"
untouched "import and cat"

# A store of theirs: links and fifos in it, and in .balefs, lead nowhere either.
as_user "$balefs" init "$theirs/store" 2>/dev/null || { copy_for_users; as_user "$work/balefs" init "$theirs/store"; }
as_user ln -s "$victim/file" "$theirs/store/link"
as_user mkfifo "$theirs/store/fifo"
as_user ln -s "$victim" "$theirs/store/dir"
run 0 fsck --data "$theirs/store"
run 0 stat "$theirs/store"
run 0 export --tar -o "$work/archive" "$theirs/store"
is "./
dir
fifo
link" "$(tar -tf "$work/archive" | sort)" "an archive of a store with links"
run 1 cat "$theirs/store/link"
run 1 cat "$theirs/store/dir/file"
as_user rm -f "$theirs/store/.balefs/reserve"
as_user ln -s "$victim/file" "$theirs/store/.balefs/reserve"
run 1 import "$work/tree" "$theirs/store"
says "reserve: is a symbolic link"
as_user rm "$theirs/store/.balefs/reserve"
as_user mkfifo "$theirs/store/.balefs/sessions.json.new"
run 0 import "$work/tree" "$theirs/store"
untouched "a user's store"
