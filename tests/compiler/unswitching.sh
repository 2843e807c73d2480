#!/bin/sh
# usage: unswitching.sh WEIR: where a parameter says, again and again, whether a kernel reads neighbours or each fourth
# element, addresses of neighbours are known as such. They were vectors: a register has one uniformity for both.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

{
    cat <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 down)
{
.reg .b32 %t, %b, %i<4>, %d; .reg .b64 %in, %out, %to, %o<5>, %p<4>; .reg .f32 %v<4>, %sum; .reg .pred %down;
mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; ld.param.u64 %in, [in]; ld.param.u32 %d, [down];
setp.ne.u32 %down, %d, 0; mov.f32 %sum, 0f00000000;
PTX
    for k in 0 1 2 3; do
        echo "@%down bra down$k; mul.lo.s32 %i$k, %t, 4; bra.uni on$k;"
        echo "down$k: add.s32 %i$k, %t, $((k * 1024)); on$k:"
        echo "mul.wide.u32 %o$k, %i$k, 4; add.s64 %p$k, %in, %o$k; ld.global.f32 %v$k, [%p$k];"
        echo "add.f32 %sum, %sum, %v$k;"
    done
    cat <<'PTX'
mul.wide.u32 %o4, %t, 4; ld.param.u64 %out, [out]; add.s64 %to, %out, %o4; st.global.f32 [%to], %sum;
ret;
}
PTX
} >"$dir/filter.ptx"

"$weir" dump --uniformity --block 256 "$dir/filter.ptx" >"$dir/uniformity"
n=$(grep -c 'add.s64 .*%p[0-9]: seg 32 stride 4' "$dir/uniformity") || :
[ "$n" -ge 4 ] || {
    echo "$n addresses of neighbours in a row, not 4" >&2
    exit 1
}
