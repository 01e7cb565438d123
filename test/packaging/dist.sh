#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that `make dist` gives the same bytes in two folders, to people with
# other umasks, at other times, and again from the tarball itself; and that all
# files of a clone are in it.  Called by .ci/run: test/packaging/dist.sh
# CONFIGURE-ARGUMENTS.
set -eu
tree=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# dist NAME SOURCE UMASK: a tarball of SOURCE, made in the folder NAME.
dist() {
    # shellcheck disable=SC2086 # arguments
    (umask "$3" && mkdir "$dir/$1" && cd "$dir/$1" &&
        "$2/configure" --quiet $configure &&
        make --no-print-directory dist) >"$dir/log" 2>&1 || {
        cat "$dir/log"
        exit 1
    }
}

configure="--cache-file=$dir/config.cache $*" # the system is asked once
dist one "$tree" 022
sleep 1
dist two "$tree" 077
cd "$dir"
tar xf one/lockstep-*.tar.gz
dist three "$dir"/lockstep-* 002
sha256sum one/*.tar.gz two/*.tar.gz three/*.tar.gz
cmp one/*.tar.gz two/*.tar.gz
cmp one/*.tar.gz three/*.tar.gz
# Where this is no clone there are none to compare.
git -C "$tree" ls-files 2>log | grep -vx .gitignore | sort >clone
tar tzf one/*.tar.gz | sed 's|^[^/]*/||' | sort >tarball
comm -23 clone tarball >missing
if [ -s missing ]; then
    echo "not in the tarball (EXTRA_DIST in Makefile.am):"
    cat missing
    exit 1
fi
