#!/bin/sh
# libcudart has exactly the functions of its version of CUDA (13.0, symbols.txt; 12.9), our own calls,
# the registration of textures that CUDA 11 had, two of weir/ and nothing else, each with the version
# of its symbols; the static library brings no other name into a program.
#   symbols.sh <libcudart.so> <version> <symbols.txt> [<libcudart_static.a>]
set -eu
shared=$1 version=$2 names=$3 static=${4:-}
fail=0
have=$(nm -D --defined-only "$shared" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort -u)
echo "$have" | grep -Ev '^(__cudaWeir|__cudaRegister(Texture|Surface)$|weir_last_(fault|message)$)' | diff "$names" - || fail=1
for unversioned in $(nm -D --defined-only "$shared" | awk '$2 == "T" { print $3 }' | grep -v "@@$version\$"); do
    echo "without the version $version: $unversioned"
    fail=1
done
[ -n "$static" ] || exit $fail
foreign=$(nm --defined-only "$static" | awk '$2 ~ /^[A-Z]$/ { print $3 }' | grep -Ev '^((__)?cuda|weir_last_(fault|message)$)' || true)
if [ -n "$foreign" ]; then
    echo "global in $static: $foreign"
    fail=1
fi
exit $fail
