#!/bin/sh
# libcudart has exactly the functions of CUDA 13.0's (symbols.txt), our own calls, the registration of
# textures that CUDA 11 had, two of weir/ and nothing else; the static library brings no other name into a program.
#   symbols.sh <libcudart.so.13> <libcudart_static.a> <symbols.txt>
set -eu
shared=$1 static=$2 names=$3
fail=0
have=$(nm -D --defined-only "$shared" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort -u)
echo "$have" | grep -Ev '^(__cudaWeir|__cudaRegister(Texture|Surface)$|weir_last_(fault|message)$)' | diff "$names" - || fail=1
for unversioned in $(nm -D --defined-only "$shared" | awk '$2 == "T" && $3 !~ /@@libcudart.so.13$/'); do
    echo "without the version libcudart.so.13: $unversioned"
    fail=1
done
foreign=$(nm --defined-only "$static" | awk '$2 ~ /^[A-Z]$/ { print $3 }' | grep -Ev '^((__)?cuda|weir_last_(fault|message)$)' || true)
if [ -n "$foreign" ]; then
    echo "global in $static: $foreign"
    fail=1
fi
exit $fail
