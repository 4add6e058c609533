#!/usr/bin/env bash
# The manual pages: one for each command, with the options that its --help has and no others, and well formed.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

cd "${BALE_SOURCE:?}/tools/man"
pages=$(sed -nE 's/^ +([a-z.-]+\.[1-8])\)?$/\1/p' CMakeLists.txt)
mapfile -t commands < <("$balefs" --help | sed -nE 's/^  ([a-z]+( [a-z]+)?)  .*/\1/p')
[ "${#commands[@]}" -gt 0 ] || fail "no commands"

# "-c, --codec CODEC", a line each, as the help text and as the page have it
shown() { sed -nE "s/^ +(-[^ ]+( [^ ]+)*)(  .*)?$/\1/p" "$work/help"; }
written() { sed -nE '/^\.It Fl /{s/^\.It Fl /-/; s/ Ns Op = Ns Ar (.*)/[=\1]/; s/ Op Ar (.*)/ [\1]/; s/ , -/, --/; s/ Ar / /; s/"//g; p}' "$1"; }
mount_shown() { sed -nE '/^Options of balefs/,/^$/s/^  ([a-z_-]+(, [a-z]+|=[^ ]+)?)( .*)?$/\1/p' "$work/help"; }
mount_written() { sed -nE '/^\.It Cm /{s/^\.It Cm //; s/ Ns / /g; s/ (Ar|Cm) / /g; s/ ([=|]) /\1/g; s/ ,/,/g; p}' "$1"; }

for command in "${commands[@]}"; do
    page=balefs-${command/ /-}.1
    grep -qx "$page" <<<"$pages" || fail "$command: has no page in tools/man/CMakeLists.txt"
    # shellcheck disable=SC2086 # one is two words
    "$balefs" $command --help >"$work/help"
    diff -u --label "$command --help" --label "$page" <(shown | sort) <(written "$page" | sort) || fail "$page: other options than --help"
    if [ "$command" = mount ]; then
        diff -u --label "$command --help" --label "$page" <(mount_shown | sort) <(mount_written "$page" | sort) || fail "$page: other mount options than --help"
    fi
    [ -n "$(shown)" ] || fail "$command: no options found in its --help"
    summary=$("$balefs" --help | sed -nE "s/^  $command +//p")
    grep -qx "\.It Cm $command" balefs.1 || fail "balefs.1 lacks $command ($summary)"
    grep -q "^\.Xr $page" <<<"$(sed -nE 's/^(\.Xr balefs-[a-z-]+) 1.*/\1.1/p' balefs.1)" || fail "balefs.1 does not refer to $page"
    for section in NAME SYNOPSIS DESCRIPTION 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
        grep -qx "\.Sh $section" "$page" || fail "$page has no section $section"
    done
done
for page in $pages; do
    [ -f "$page" ] || fail "$page is missing"
    case $page in
    balefs-*) printf '%s\n' "${commands[@]}" | grep -qx "$(sed 's/balefs-//; s/-/ /; s/\..*//' <<<"$page")" || fail "$page: there is no such command" ;;
    esac
done

checked=
for page in $pages; do
    if command -v groff >/dev/null; then
        checked=yes
        warnings=$(groff -mdoc -Tutf8 -ww -z "$page" 2>&1)
        is "" "$warnings" "groff's warnings of $page"
    fi
    if command -v mandoc >/dev/null; then
        checked=yes
        warnings=$(mandoc -Tlint -W warning "$page" 2>/dev/null || true)
        is "" "$warnings" "mandoc's warnings of $page"
    fi
    if [ "$page" = balefs.1 ] && command -v man >/dev/null; then
        warnings=$(MANWIDTH=80 man --warnings -l "$page" 2>&1 >"$work/page" || true)
        is "" "$warnings" "man's warnings of $page"
        grep -q "balefs" "$work/page" || fail "man shows nothing of $page"
    fi
done
[ -n "$checked" ] || skip "there is neither groff nor mandoc"
