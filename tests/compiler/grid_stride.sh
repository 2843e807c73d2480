#!/bin/sh
# usage: grid_stride.sh WEIR: in which loops warps yield to each other: those that go through memory in steps of the
# whole grid, not by a constant; without barriers where no shared memory is used and no vector kept; where blocks wait for
# memory, too. Those that only stream have longer turns.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# kernel NAME STEP: counts bytes in shared memory, `STEP` being what the index grows by
kernel() {
    cat <<PTX
.visible .entry $1(.param .u64 bytes, .param .u64 counts, .param .u32 n)
{
.reg .b32 %t, %b, %d, %g, %i, %n, %s, %v, %x; .reg .b64 %p<3>, %o<3>, %a, %k, %c, %m; .reg .pred %q, %more;
.shared .align 4 .b8 mine[1024];
ld.param.u64 %p1, [bytes]; ld.param.u64 %p2, [counts]; ld.param.u32 %n, [n];
mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %d, %ntid.x; mov.u32 %g, %nctaid.x;
mad.lo.s32 %i, %b, %d, %t; $2
mul.wide.u32 %o0, %t, 4; mov.u64 %m, mine; add.s64 %k, %m, %o0; mov.u32 %x, 0; st.shared.u32 [%k], %x;
bar.sync 0;
setp.ge.s32 %q, %i, %n; @%q bra DONE;
LOOP:
cvt.s64.s32 %o1, %i; add.s64 %a, %p1, %o1; ld.global.u8 %v, [%a];
mul.wide.u32 %o2, %v, 4; add.s64 %c, %m, %o2; red.shared.add.u32 [%c], 1;
add.s32 %i, %i, %s; setp.lt.s32 %more, %i, %n; @%more bra LOOP;
DONE:
bar.sync 0;
ld.shared.u32 %x, [%k]; add.s64 %c, %p2, %o0; red.global.add.u32 [%c], %x; ret;
}
PTX
}
# alone NAME OPERATION [BEFORE]: a kernel without barriers, which does that with each element, after what is before
alone() {
    cat <<PTX
.visible .entry $1(.param .u64 in, .param .u64 out, .param .u32 n)
{
.reg .b32 %t, %b, %d, %g, %i, %n, %s, %v, %x; .reg .b64 %p<3>, %o<3>, %a, %c; .reg .pred %q, %more;
ld.param.u64 %p1, [in]; ld.param.u64 %p2, [out]; ld.param.u32 %n, [n];
mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %d, %ntid.x; mov.u32 %g, %nctaid.x;
mad.lo.s32 %i, %b, %d, %t; mul.lo.s32 %s, %g, %d; mov.u32 %x, 0;
${3:-}
setp.ge.s32 %q, %i, %n; @%q bra DONE;
LOOP:
mul.wide.s32 %o1, %i, 4; add.s64 %a, %p1, %o1; add.s64 %c, %p2, %o1; ld.global.u32 %v, [%a];
$2
add.s32 %i, %i, %s; setp.lt.s32 %more, %i, %n; @%more bra LOOP;
DONE:
st.global.u32 [%p2], %x; ret;
}
PTX
}
{
    printf '.version 8.0\n.target sm_80\n.address_size 64\n'
    kernel strides 'mul.lo.s32 %s, %g, %d;'
    kernel steps 'mov.u32 %s, 256;'
    alone copies 'st.global.u32 [%c], %v;'
    alone gathers 'mul.wide.u32 %o2, %v, 4; add.s64 %c, %p2, %o2; ld.global.u32 %v, [%c]; st.global.u32 [%a], %v;'
    alone sums 'add.u32 %x, %x, %v;'
    alone waits 'add.u32 %x, %x, %v;' \
        'WAIT: ld.volatile.global.u32 %v, [%p2]; setp.eq.u32 %q, %v, 0; @%q bra WAIT; bar.sync 0;'
} >"$dir/loops.ptx"

status=0
# expect KERNEL HOW-MANY: yield points
expect() {
    found=$("$weir" dump --uniformity --kernel "$1" "$dir/loops.ptx" | grep -c '(yield)' || true)
    [ "$found" = "$2" ] || {
        echo "$1: $found yield points, expected $2"
        status=1
    }
}
expect strides 1
expect steps 0
expect copies 1
expect gathers 1
expect sums 0
expect waits 1
# turn KERNEL ITERATIONS: in each turn, after the first
turn() {
    "$weir" dump --ir-raw --kernel "$1" "$dir/loops.ptx" | grep -q "store i32 $2, ptr %iterations" || {
        echo "$1: turns are not of $2 iterations"
        status=1
    }
}
turn copies 4
turn gathers 1
exit $status
