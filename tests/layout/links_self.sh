#!/usr/bin/env bash
# links.sh finds what it is there to find, and nothing in documents that keep the rules.
# shellcheck disable=SC2016 # backquotes are Markdown's
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/doc" "$tree/fs/cache"
echo 'int file_open(void);' >"$tree/fs/cache/file.c"
printf '# A title\n\n## What: it is, (2) here\n' >"$tree/doc/other.md"
failed=0

# expect good|bad TEXT [OPTION]: a document of that text beside the other
expect() {
    local want=$1 got=good
    printf '%b\n' "$2" >"$tree/doc/text.md"
    "$here/links.sh" "${@:3}" "$tree" >/dev/null || got=bad
    if [ "$got" != "$want" ]; then
        printf '%s: %s, should be %s\n' "$2" "$got" "$want"
        failed=1
    fi
}

expect good 'See [other](other.md), [it](../doc/other.md#what-it-is-2-here) and [web](https://localhost/x).'
expect bad 'See [other](doc/other.md).'
expect bad 'See [other](other.md#what).'
expect good '# Here\n[above](#here)'
expect bad '# Here\n[above](#there)'
expect bad '![picture](none.svg)'
expect good '    [a list](of.code)\n```\n[more](of.it)\n```'
expect good '`fs/cache/file.c`, `fs/cache/`, `fs/*/file.c`, `fs/NAME/file.c`, `fs/cache/file.c:12`, `cache/none.c`'
expect bad '`fs/cache/none.c`'
expect good '`fs/cache/none.c`' --links
expect good '    #0  file_open at fs/cache/file.c'
expect bad '    #0  file_close at fs/cache/file.c'
expect bad '    #0  file_open at fs/cache/none.c'
exit "$failed"
