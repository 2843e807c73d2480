#!/bin/sh
# usage: searches.sh WEIR: loops that each lane leaves when it likes. Sums over rows of a sparse matrix are
# done lane by lane; binary searches, where each load waits for the one before, in step.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat > "$dir/loops.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry rows(.param .u64 start, .param .u64 column, .param .u64 value, .param .u64 out)
{
.reg .b32 %t, %e, %end, %c; .reg .f32 %x, %sum; .reg .b64 %p<4>, %y<4>, %a<4>; .reg .pred %none, %more;
ld.param.u64 %p0, [start]; ld.param.u64 %p1, [column]; ld.param.u64 %p2, [value]; ld.param.u64 %p3, [out];
mov.u32 %t, %tid.x;
mul.wide.u32 %y0, %t, 4; add.u64 %a0, %p0, %y0; ld.global.u32 %e, [%a0]; ld.global.u32 %end, [%a0+4];
mov.f32 %sum, 0f00000000;
setp.ge.s32 %none, %e, %end; @%none bra done;
again:
mul.wide.s32 %y1, %e, 4; add.u64 %a1, %p1, %y1; ld.global.u32 %c, [%a1];
mul.wide.s32 %y2, %c, 4; add.u64 %a2, %p2, %y2; ld.global.f32 %x, [%a2];
add.f32 %sum, %sum, %x; add.s32 %e, %e, 1; setp.lt.s32 %more, %e, %end; @%more bra again;
done:
add.u64 %a3, %p3, %y0; st.global.f32 [%a3], %sum;
ret;
}
.visible .entry search(.param .u64 start, .param .u64 item, .param .u64 key, .param .u64 out)
{
.reg .b32 %t, %low, %high, %middle, %sum, %x, %key, %next; .reg .b64 %p<4>, %y<4>, %a<4>;
.reg .pred %none, %more, %less;
ld.param.u64 %p0, [start]; ld.param.u64 %p1, [item]; ld.param.u64 %p2, [key]; ld.param.u64 %p3, [out];
mov.u32 %t, %tid.x;
mul.wide.u32 %y0, %t, 4; add.u64 %a0, %p0, %y0; ld.global.u32 %low, [%a0]; ld.global.u32 %high, [%a0+4];
add.u64 %a2, %p2, %y0; ld.global.u32 %key, [%a2];
setp.ge.s32 %none, %low, %high; @%none bra done;
again:
add.s32 %sum, %low, %high; shr.u32 %middle, %sum, 1;
mul.wide.s32 %y1, %middle, 4; add.u64 %a1, %p1, %y1; ld.global.u32 %x, [%a1];
setp.lt.s32 %less, %x, %key; add.s32 %next, %middle, 1;
selp.b32 %low, %next, %low, %less; selp.b32 %high, %high, %middle, %less;
setp.lt.s32 %more, %low, %high; @%more bra again;
done:
add.u64 %a3, %p3, %y0; st.global.u32 [%a3], %low;
ret;
}
PTX

status=0
# expect KERNEL COUNT: of stretches that are done lane by lane
expect()
{
    got=$("$weir" dump --uniformity --block 256 --kernel "$1" "$dir/loops.ptx" | grep -c 'serialized until' || true)
    [ "$got" = "$2" ] || {
        echo "$1: $got stretches lane by lane instead of $2" >&2
        status=1
    }
}
expect rows 1
expect search 0
exit $status
