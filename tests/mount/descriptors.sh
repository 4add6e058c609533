#!/usr/bin/env bash
# A user who opens as many files and directories as he can leaves some for others, and for the daemon's own work.
# usage: descriptors.sh, with BALEFS in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin descriptors
mnt=$work/mnt limit=800 files=900
mkdir "$mnt"
chmod 755 "$work"
"$BALEFS" init "$work/store"
# The kernel keeps listings: a directory for each open one.
mkdir "$work/store/listed"
for ((i = 0; i < files / 3; i++)); do
    mkdir -p "$work/store/listed/$i"/{a,b,c}
done
ulimit -Sn $limit
ulimit -Hn $limit
mount_up "$work/store" "$mnt" -o memory=32M
mkdir -m 1777 "$mnt/hostile" "$mnt/others"

# hoard WHAT: as user 1001, holds what it gets until its standard input ends. The program's own limit is not met: it
# consists of several processes.
cat >"$work/hoard.py" <<'PYTHON'
import errno, os, sys
what, top, listed_in, most = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
os.setgid(1001)
os.setuid(1001)
held, failed, listed = 0, set(), set()
children = []
def part():
    global held
    for i in range(most // 3):
        try:
            if what == "directories":
                fd = os.open(f"{listed_in}/{i}", os.O_RDONLY)
                listed.add(len(os.listdir(fd)))
            else:
                name = f"{top}/{os.getpid()}.{i}"
                fd = os.open(name, os.O_CREAT | os.O_RDWR)
                if what == "unlinked":
                    os.unlink(name)
            held += 1
        except OSError as e:
            failed.add(errno.errorcode[e.errno])
for _ in range(3):
    report_end, report = os.pipe()
    pid = os.fork()
    if pid == 0:
        part()
        os.write(report, f"{held} {','.join(sorted(failed))} {','.join(map(str, listed))}\n".encode())
        os.close(report)
        sys.stdin.read()
        os._exit(0)
    os.close(report)
    children.append(pid)
    with os.fdopen(report_end) as f:
        print(f.readline().strip(), flush=True)
print("all", flush=True)
for pid in children:
    os.waitpid(pid, 0)
PYTHON

for what in files unlinked directories; do
    mkfifo "$work/$what.end"
    python3 "$work/hoard.py" "$what" "$mnt/hostile" "$mnt/listed" $files <"$work/$what.end" >"$work/$what.out" &
    hoarder=$!
    exec 9>"$work/$what.end"
    for ((i = 0; i < 2000; i++)); do
        if grep -q all "$work/$what.out"; then break; fi
        sleep 0.05
    done
    grep -q all "$work/$what.out" || fail "$what: the hoarder did not end"
    held=$(awk '{ n += $1 } END { print n }' "$work/$what.out")
    if [ "$what" = directories ]; then
        # These are not refused, but read again each time.
        [ "$held" = $files ] || fail "only $held open directories: $(cat "$work/$what.out")"
        grep -v all "$work/$what.out" | awk '$2 != "3" { exit 1 }' || fail "entries are missing: $(cat "$work/$what.out")"
    else
        if [ "$held" -lt 50 ] || [ "$held" -ge $((limit / 2)) ]; then
            fail "$what: one user has $held of $limit"
        fi
        if ! grep -q ' ENFILE$' "$work/$what.out" || grep -q 'EIO\|EMFILE' "$work/$what.out"; then
            fail "$what: not ENFILE: $(cat "$work/$what.out")"
        fi
    fi
    # Another user has his share, root more, and the daemon works.
    python3 - "$mnt/others" <<'PYTHON' || fail "$what: another user"
import os, sys
os.setuid(1002)
held = [os.open(f"{sys.argv[1]}/{i}", os.O_CREAT | os.O_RDWR) for i in range(60)]
for fd in held:
    os.write(fd, b"x" * 5000)
    os.fsync(fd)
PYTHON
    for ((i = 0; i < 20; i++)); do
        echo root >"$mnt/root$i" || fail "$what: root"
    done
    [ "$(find "$mnt/others" -type f -size +1 | wc -l)" = 60 ] || fail "$what: ls of others"
    "$BALEFS" sync "$mnt" || fail "$what: sync"
    exec 9>&-
    wait "$hoarder" || fail "$what: the hoarder failed"
    say "$what: $held held of $limit descriptors"
done
# What was given back can be taken again.
setpriv --reuid 1001 --clear-groups touch "$mnt/hostile/after" || fail "after the hoarders"
! grep -i 'input/output' "$work/log" || fail "the log blames the disk"
grep -q 'user 1001 has as many files open as are left for others' "$work/log" || fail "no word in the log"
mount_down "$mnt"
fsck_clean "$work/store"
