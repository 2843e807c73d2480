#!/bin/sh
# Collects the conformance programs and the examples that weircc has built, to be run on a machine with a GPU:
# collect.sh SOURCES PROGRAMS DIRECTORY. The directory then holds them without symbols, a list (one line a
# program: its name, and after a tab why it is left out), and the scripts that run them.
set -eu
sources=$1 programs=$2 out=$3

rm -rf "$out"
mkdir -p "$out"
here=$(dirname "$0")
cp "$here/run.sh" "$here/find_driver.sh" "$here/choose.sh" "$out/"
cd "$sources"
for source in */*.cu */*.c */*/*.cu; do
    program=${source##*/}
    name=${source%%/*}/${program%.*}
    [ -x "$programs/$name" ] || continue
    reason=$(sed -n 's|^// GPU: ||p' "$source" | head -1)
    printf '%s\t%s\n' "$name" "$reason" >>"$out/list"
    [ -z "$reason" ] || continue
    mkdir -p "$out/programs/${name%/*}"
    strip -o "$out/programs/$name" "$programs/$name"
done
mkdir -p "$out/programs/examples"
for program in "$programs"/examples/*; do
    [ -x "$program" ] || continue
    name=examples/${program##*/}
    printf '%s\t\n' "$name" >>"$out/list"
    strip -o "$out/programs/$name" "$program"
done
