#!/bin/sh
# usage: stored_ahead.sh WEIR: a kernel that goes through memory in the order of lanes asks for the lines that the next warps
# will store to; one that scatters or goes by a list does not. One that loads few things in that order asks for what they will
# read; one that loads many does not.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# kernel NAME ADDRESS: stores what lies at each thread's index, where the instructions ADDRESS find %a and %b
kernel()
{
    cat <<PTX
.visible .entry $1(.param .u64 in, .param .u64 out)
.reqntid 256, 1, 1
{
.reg .b32 %t, %i, %c, %d; .reg .f32 %v; .reg .b64 %p, %q, %o, %a, %b;
ld.param.u64 %p, [in]; ld.param.u64 %q, [out];
mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %d, %ntid.x; mad.lo.u32 %i, %c, %d, %t;
$2
st.global.f32 [%b], %v; ret;
}
PTX
}
{
    printf '.version 8.0\n.target sm_80\n.address_size 64\n'
    kernel along 'mul.wide.s32 %o, %i, 4; add.s64 %a, %p, %o; add.s64 %b, %q, %o; ld.global.f32 %v, [%a];'
    kernel strided 'mul.wide.s32 %o, %i, 64; add.s64 %a, %p, %o; add.s64 %b, %q, %o; ld.global.f32 %v, [%a];'
    kernel listed 'mul.wide.s32 %o, %i, 4; add.s64 %a, %p, %o; ld.global.u32 %t, [%a]; add.s64 %b, %q, %o;
mul.wide.s32 %o, %t, 4; add.s64 %a, %p, %o; ld.global.f32 %v, [%a];'
    kernel many 'mul.wide.s32 %o, %i, 4; add.s64 %a, %p, %o; add.s64 %b, %q, %o; ld.global.f32 %v, [%a];
.reg .f32 %w<4>; ld.global.f32 %w0, [%a+4096]; ld.global.f32 %w1, [%a+8192]; ld.global.f32 %w2, [%a+12288];
ld.global.f32 %w3, [%a+16384]; add.f32 %v, %v, %w0; add.f32 %v, %v, %w1; add.f32 %v, %v, %w2; add.f32 %v, %v, %w3;'
} > "$dir/stores.ptx"

. "$(dirname "$0")/expect.sh"
look()
{
    expect --ir "$dir/stores.ptx" 'call void @llvm.prefetch.p0(ptr [^,]*, i32 1,' 'prefetches for writing' "$@"
}
look along some
look strided no
look listed no
read_ahead()
{
    expect --ir "$dir/stores.ptx" 'call void @llvm.prefetch.p0(ptr [^,]*, i32 0,' 'prefetches for reading' "$@"
}
read_ahead along some
read_ahead strided no
read_ahead listed some
read_ahead many no
exit $status
