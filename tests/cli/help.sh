#!/usr/bin/env bash
# Help of the command and of each of its commands, the version, and words that are no commands.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

run 0 --help
diff -u expected/help.txt "$work/.out" || fail "--help is not as expected/help.txt"
run 0 -h
run 0 help
diff -u expected/help.txt "$work/.out" || fail "help is not as expected/help.txt"
run 0 --version
grep -Eqx 'balefs [0-9]+\.[0-9]+\.[0-9]+' "$work/.out" || fail "version: $out"

mapfile -t commands < <(sed -nE 's/^  ([a-z]+( [a-z]+)?)  .*/\1/p' expected/help.txt)
is 23 "${#commands[@]}" "commands"
for command in "${commands[@]}"; do
    read -ra words <<<"$command"
    run 0 "${words[@]}" --help
    long=$out
    [ -z "$err" ] || fail "$command --help: $err"
    run 0 "${words[@]}" -h
    is "$long" "$out" "$command -h"
    run 0 help "${words[@]}"
    is "$long" "$out" "help $command"
    is "usage: balefs $command" "$(grep -o "^usage: balefs $command" <<<"$out")" "$command --help"
    prints '^  -h, --help$'
    prints '^Exit status'
    prints '^Examples?:$'
    prints "^  (.*[ |])?balefs $command "
    ! grep -E '.{91}' <<<"$out" || fail "$command --help has lines over 90 columns"
    # Listings can all be had as JSON.
    case $command in
    get | stat | inspect | fsck | scrub | recompress | bench* | doctor) prints '^ +--json  ' ;;
    esac
done

# Every long option in the help text exists, and every option that exists is in it.
for command in "${commands[@]}"; do
    read -ra words <<<"$command"
    run 0 "${words[@]}" --help
    # That one has something to do without arguments too.
    [ "$command" != "bench engine" ] || words+=(one two)
    grep -oE -- '^ +(-[a-z], |     )?--[a-z-]+' <<<"$out" | grep -oE -- '--[a-z-]+' >"$work/shown"
    while read -r option; do
        "$balefs" "${words[@]}" "$option" </dev/null >"$work/.out" 2>"$work/.err" || true
        [[ $(<"$work/.err") != *"unknown or ambiguous"* ]] || fail "$command: $option is in the help text, but unknown"
    done <"$work/shown"
done

# The codecs, and the commands that have one.
mapfile -t names < <(sed -nE 's/^ +(BUILT_IN|CODEC)\((\w+),.*/\2/p' "${BALE_SOURCE:?}/format/codecs.h")
[ "${#names[@]}" -ge 6 ] || fail "format/codecs.h: ${names[*]}"
run 0 help codecs --json
sorted() { tr ' ' '\n' | sort | paste -sd' '; }
is "$(sorted <<<"auto ${names[*]}")" "$(json '" ".join(c["codec"] for c in d)' | sorted)" "codecs as JSON"
is "zstd:1 False True True 3 [{'key': 'level', 'values': '-7 to 19 without 0', 'default': '1'}]" \
    "$(json '[(c["default"], c["built_in"], c["gpu"], c["nvcomp"], c["gpu_most"], c["options"]) for c in d if c["id"] == 3][0]')" "zstd as JSON"
run 0 help codecs
is "$(sorted <<<"auto ${names[*]}")" "$(awk '/^  [a-z]/ { print $1 }' <<<"$out" | sort | paste -sd' ')" "codecs"
prints '^    level=  -7 to 19 without 0 \[1\]$'
prints '^    s=  1, 2, 4, 8, or 0 for the best of these \[0\]$'
prints '^    for=  ratio or speed \[ratio\]$'
prints '^    f32, f64 or npy, then abs=E, or rel=E,range=LOW:HIGH '
[ "$(wc -L <<<"$out")" -le 86 ] || fail "lines of $(wc -L <<<"$out") columns: $out"
for command in init set recompress import compress bench; do
    run 0 "$command" --help
    for codec in "${names[@]}"; do
        prints "(^|[ ,])$codec(\[:[^]]*\])?([ ,.]|\$)"
    done
    for codec in 'auto\[:for=ratio\|speed\]' 'zstd\[:level=N\]' 'gpulz\[:OPTIONS\]'; do
        prints "(^|[ ,])$codec([ ,.]|\$)"
    done
done

# --help before a command is help for it.
run 0 set --help
set_help=$out
for word in --help -h help; do
    run 0 "$word" set
    is "$set_help" "$out" "$word set"
done
fails 2 "frobnicate: no such command: see balefs --help" --help frobnicate

run 2
is "" "$out" "no command: stdout"
grep -q '^usage: balefs COMMAND' "$work/.err" || fail "no command: no usage on stderr"
fails 2 "frobnicate: no such command: see balefs --help" frobnicate
fails 2 "mont: no such command: did you mean balefs mount?" mont
fails 2 "unmount: no such command: did you mean balefs umount?" unmount
fails 2 "inpsect: no such command: did you mean balefs inspect?" inpsect
fails 2 "fskc: no such command: did you mean balefs fsck?" help fskc
fails 2 "unknown option --verison: see balefs --help" --verison
