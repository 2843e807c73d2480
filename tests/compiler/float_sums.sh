#!/bin/sh
# usage: float_sums.sh WEIR: a call collects sums of floats to scattered places whose old values nobody reads; not those to
# a thread's own places, nor where a barrier orders memory.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# kernel NAME INSTRUCTIONS: a key and a number of each thread, and what is done with them
kernel()
{
    cat <<PTX
.visible .entry $1(.param .u64 key, .param .u64 value, .param .u64 sums)
.reqntid 256, 1, 1
{
.reg .b32 %t, %i, %c, %d, %k; .reg .f32 %v, %w; .reg .b64 %p, %q, %r, %o, %a, %b, %s, %m, %x;
ld.param.u64 %p, [key]; ld.param.u64 %q, [value]; ld.param.u64 %r, [sums];
mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %d, %ntid.x; mad.lo.u32 %i, %c, %d, %t;
mul.wide.u32 %o, %i, 4; add.s64 %a, %p, %o; ld.global.u32 %k, [%a]; add.s64 %b, %q, %o; ld.global.f32 %v, [%b];
mul.wide.u32 %m, %k, 4; add.s64 %s, %r, %m;
$2
ret;
}
PTX
}
{
    printf '.version 8.0\n.target sm_80\n.address_size 64\n'
    kernel by_key 'red.global.add.f32 [%s], %v;'
    kernel unread 'atom.global.add.f32 %w, [%s], %v;'
    kernel read 'atom.global.add.f32 %w, [%s], %v; st.global.f32 [%b], %w;'
    kernel own 'add.s64 %x, %r, %o; red.global.add.f32 [%x], %v;'
    kernel barrier 'red.global.add.f32 [%s], %v; bar.sync 0;'
} > "$dir/sums.ptx"

. "$(dirname "$0")/expect.sh"
look()
{
    expect --ir "$dir/sums.ptx" 'call void @weir_rt_sums_admit' 'collects sums' "$@"
}
look by_key some
look unread some
look read no
look own no
look barrier no
exit $status
