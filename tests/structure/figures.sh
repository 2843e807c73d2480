#!/bin/sh
# That the figures of the documents are what their sources draw: docs/figures/draw.py, and bench/plot.py
# from the table in docs/performance.md.   figures.sh SOURCE-DIRECTORY
set -eu
root=$1
drawn=$(mktemp -d)
trap 'rm -rf "$drawn"' EXIT INT TERM
python3 "$root/docs/figures/draw.py" "$drawn"
python3 "$root/bench/plot.py" "$root/docs/performance.md" "$drawn/performance.svg"
failed=0
for figure in "$root"/docs/figures/*.svg; do
    cmp "$figure" "$drawn/$(basename "$figure")" || failed=1
done
exit $failed
