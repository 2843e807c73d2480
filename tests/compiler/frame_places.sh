#!/bin/sh
# usage: frame_places.sh WEIR: registers that outlive different barriers share a place in the warp's frame. Twelve
# values that live over one barrier each took a frame of twelve vectors, in a kernel with more steps more than the first
# cache holds. Bytes in registers of 16 bits take one byte a lane.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

{
    cat <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .f32 %v<12>, %w<13>, %all; .reg .b32 %t; .reg .b64 %o, %s, %a, %p, %q;
.shared .align 4 .b8 s[1024];
mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; mov.u64 %s, s; add.s64 %a, %s, %o;
ld.param.u64 %p, [out]; add.s64 %q, %p, %o; ld.global.f32 %w0, [%q]; ld.global.f32 %all, [%q+1024];
PTX
    n=0
    while [ $n -lt 12 ]; do
        echo "sqrt.rn.f32 %v$n, %w$n; bar.sync 0; st.shared.f32 [%a], %v$n;"
        n=$((n + 1))
        echo "bar.sync 0; ld.shared.f32 %w$n, [%a+4];"
    done
    echo 'add.f32 %w12, %w12, %all; st.global.f32 [%q], %w12;'
    echo 'ret;'
    echo '}'
} >"$dir/steps.ptx"

# the place of all twelve, the one of the value that outlives all barriers, and what is not of registers
"$weir" dump --ir-raw --block 128 "$dir/steps.ptx" >"$dir/ir"
sizes=$(grep -o 'mul i64 %[0-9]*, [0-9]*$' "$dir/ir" | sed 's/.*, //' | sort -u | tr '\n' ' ')
[ "$sizes" = "320 4 " ] || {
    echo "frames of another size: $sizes" >&2
    exit 1
}

cat >"$dir/bytes.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .b16 %v, %w, %x; .reg .b32 %t; .reg .b64 %o, %i, %a, %b, %p; .reg .pred %q;
mov.u32 %t, %tid.x; cvt.u64.u32 %o, %t; ld.param.u64 %i, [in]; add.s64 %a, %i, %o;
ld.global.u8 %v, [%a]; ld.global.u8 %w, [%a+1024]; setp.gt.u16 %q, %v, %w; selp.u16 %x, 1, 0, %q;
bar.sync 0;
ld.param.u64 %p, [out]; add.s64 %b, %p, %o; st.global.u8 [%b], %v; st.global.u8 [%b+1024], %w;
st.global.u8 [%b+2048], %x;
ret;
}
PTX
"$weir" dump --ir-raw --block 128 "$dir/bytes.ptx" >"$dir/ir"
n=$(grep -c 'store <32 x i8> .*, align 32' "$dir/ir") || :
[ "$n" -ge 3 ] || {
    echo "$n vectors of bytes in the frame, not 3" >&2
    exit 1
}
