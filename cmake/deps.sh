#!/bin/sh
# Installs what the build and the tools need on Debian 12, and the packages named, and only what is missing.
set -eu

packages="clang-19 llvm-19-dev lld-19 libclang-rt-19-dev libomp-19-dev libclc-19 cmake ninja-build pkg-config libsleef-dev
libzstd-dev liblz4-dev libhwloc-dev libdw-dev gcc g++ make python3 $*"

missing=""
for p in $packages; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

sudo=""
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || {
        echo "weir: these Debian packages are missing and neither root nor sudo is at hand:$missing" >&2
        exit 1
    }
    sudo=sudo
fi
echo "weir: installing$missing"
$sudo apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
