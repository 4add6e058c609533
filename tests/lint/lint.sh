#!/usr/bin/env bash
# The sources as the linters want them.
# usage: lint.sh format|shell|python|tidy, with BALE_SOURCE and BALE_BUILD in the environment
set -euo pipefail
cd "${BALE_SOURCE:?}"

skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}

# files PATTERN...: the names of all files that match one, each with a zero behind it
files() {
    local pattern expression=()
    for pattern; do
        expression+=(-o -name "$pattern")
    done
    find format kernels fs tools tests -type f \( "${expression[@]:1}" \) -print0
}

# scripts PATTERN NAME: files by that name, or whose first line matches the pattern
scripts() {
    files "$2"
    find .ci tools tests -type f ! -name "$2" ! -path '*/vectors/*' -exec awk -v pattern="$1" \
        'FNR == 1 { if ($0 ~ pattern) printf "%s%c", FILENAME, 0; nextfile }' {} +
}

# new_only LINTER WORD...: runs it on those of the files, named as files does, that it has not passed before as they
# are now: their checksums stay in the build directory. For linters that look at each file alone.
new_only() {
    local names passed status=0
    passed=${BALE_BUILD:?}/tests/lint/$1-$({ "$1" --version; cat .clang-format; } | sha256sum | cut -c -16)
    mapfile -d '' -t names
    sha256sum -- "${names[@]}" >"$passed.new.$$"
    touch "$passed"
    { grep -vxFf "$passed" "$passed.new.$$" || [ $? = 1 ]; } | cut -c 67- | xargs -r -d '\n' "$@" || status=$?
    [ "$status" != 0 ] || cp "$passed.new.$$" "$passed"
    rm "$passed.new.$$"
    return "$status"
}

case ${1:?usage: lint.sh format|shell|python|tidy} in
format)
    command -v clang-format >/dev/null || skip "there is no clang-format"
    files '*.c' '*.h' '*.cu' '*.cuh' | new_only clang-format --dry-run --Werror
    ;;
shell)
    command -v shellcheck >/dev/null || skip "there is no shellcheck"
    scripts '^#!.*(bash|/sh)' '*.sh' | xargs -0 -n 8 -P "$(nproc)" shellcheck -x
    ;;
python)
    command -v pyflakes3 >/dev/null || skip "there is no pyflakes3"
    scripts '^#!.*python' '*.py' | new_only pyflakes3
    ;;
tidy)
    command -v clang-tidy >/dev/null || skip "there is no clang-tidy"
    # C sources only: clang-tidy does not take the commands of nvcc. It would go through a source once for each target
    # that has it: here each has the command of its first.
    database=$BALE_BUILD/tests/lint
    /usr/bin/python3 - "${BALE_BUILD:?}" "$database" <<'END' |
import json, sys
build, database = sys.argv[1:]
with open(build + "/compile_commands.json") as file:
    commands = json.load(file)
first = {}
for command in commands:
    name = command["file"]
    if name.endswith(".c") and not name.startswith(build + "/"):
        first.setdefault(name, command)
with open(database + "/compile_commands.json", "w") as file:
    json.dump(list(first.values()), file)
print("\n".join(sorted(first)))
END
        xargs -d '\n' -n 4 -P "$(nproc)" clang-tidy --quiet -p "$database" 2> >(grep -v ' warnings\? generated' >&2)
    ;;
*)
    printf 'lint.sh: %s: it is format, shell, python or tidy\n' "$1" >&2
    exit 2
    ;;
esac
