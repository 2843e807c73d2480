#!/bin/sh
# closing.sh HOST PLUGIN: see closing.c. Nothing is in the cache, so that the compiler is opened while
# the plugin is; then with what it has made.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WEIR_CACHE_DIR="$work/cache"
timeout 60 "$1" "$2"
timeout 60 "$1" "$2"
