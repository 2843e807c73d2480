#!/bin/sh
# usage: searches.sh WEIR: loops that each lane leaves when it likes. Sums over rows of a sparse matrix are
# done lane by lane, but not the loop around them that all lanes share, nor what is left of an unrolled one; binary
# searches, where each load waits for the one before, in step.
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
.visible .entry rest(.param .u64 start, .param .u64 column, .param .u64 value, .param .u64 out)
{
.reg .b32 %t, %e, %end, %m, %n, %c; .reg .f32 %x, %sum; .reg .b64 %p<4>, %y<4>, %a<4>; .reg .pred %none, %more;
ld.param.u64 %p0, [start]; ld.param.u64 %p1, [column]; ld.param.u64 %p2, [value]; ld.param.u64 %p3, [out];
mov.u32 %t, %tid.x;
mul.wide.u32 %y0, %t, 4; add.u64 %a0, %p0, %y0; ld.global.u32 %e, [%a0]; ld.global.u32 %end, [%a0+4];
mov.f32 %sum, 0f00000000;
sub.s32 %m, %end, %e; and.b32 %n, %m, 3;
setp.eq.s32 %none, %n, 0; @%none bra done;
again:
mul.wide.s32 %y1, %e, 4; add.u64 %a1, %p1, %y1; ld.global.u32 %c, [%a1];
mul.wide.s32 %y2, %c, 4; add.u64 %a2, %p2, %y2; ld.global.f32 %x, [%a2];
add.f32 %sum, %sum, %x; add.s32 %e, %e, 1; add.s32 %n, %n, -1; setp.ne.s32 %more, %n, 0; @%more bra again;
done:
add.u64 %a3, %p3, %y0; st.global.f32 [%a3], %sum;
ret;
}
.visible .entry strided(.param .u64 start, .param .u64 column, .param .u64 value, .param .u64 out, .param .u32 n)
{
.reg .b32 %t, %e, %end, %n, %c; .reg .f32 %x, %sum; .reg .b64 %p<4>, %y<4>, %a<4>; .reg .pred %none, %more, %next;
ld.param.u64 %p0, [start]; ld.param.u64 %p1, [column]; ld.param.u64 %p2, [value]; ld.param.u64 %p3, [out];
mov.u32 %t, %tid.x; ld.param.u32 %n, [n];
setp.ge.s32 %none, %t, %n; @%none bra over;
mov.f32 %x, 0f00000000;
row:
mul.wide.u32 %y0, %t, 4; add.u64 %a0, %p0, %y0; ld.global.u32 %e, [%a0]; ld.global.u32 %end, [%a0+4];
mov.f32 %sum, 0f00000000;
setp.ge.s32 %none, %e, %end; @%none bra done;
again:
mul.wide.s32 %y1, %e, 4; add.u64 %a1, %p1, %y1; ld.global.u32 %c, [%a1];
mul.wide.s32 %y2, %c, 4; add.u64 %a2, %p2, %y2; ld.global.f32 %x, [%a2];
add.f32 %sum, %sum, %x; add.s32 %e, %e, 1; setp.lt.s32 %more, %e, %end; @%more bra again;
done:
add.u64 %a3, %p3, %y0; st.global.f32 [%a3], %sum;
add.s32 %t, %t, 256; setp.lt.s32 %next, %t, %n; @%next bra row;
over:
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
.visible .entry walk(.param .u64 in, .param .u64 out)
{
.local .align 4 .b8 stack[64];
.reg .b32 %t, %v, %x, %y, %z, %i, %j, %d, %r; .reg .b64 %p<2>, %y0, %a<2>; .reg .pred %deeper, %over;
ld.param.u64 %p0, [in]; ld.param.u64 %p1, [out];
mov.u32 %t, %tid.x; mul.wide.u32 %y0, %t, 4; add.u64 %a0, %p0, %y0; ld.global.u32 %v, [%a0];
mov.u32 %i, stack; mov.u32 %d, 0; mov.u32 %r, 0; st.local.u32 [%i], %v;
again:
mad.lo.u32 %j, %d, 4, %i; ld.local.u32 %x, [%j]; setp.ne.u32 %deeper, %x, 0; @%deeper bra deeper;
add.s32 %d, %d, -1; setp.lt.s32 %over, %d, 0; @%over bra done;
bra again;
deeper:
add.u32 %y, %x, -1; and.b32 %y, %y, %x; st.local.u32 [%j], %y;
shr.u32 %z, %x, 2; add.s32 %d, %d, 1; st.local.u32 [%j+4], %z; add.u32 %r, %r, %x;
bra again;
done:
add.u64 %a1, %p1, %y0; st.global.u32 [%a1], %r;
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
expect rest 0
expect strided 1
"$weir" dump --uniformity --block 256 --kernel strided "$dir/loops.ptx" | awk '
    /^block/ { one = /one lane|serialized until/ } /  (ld.u32|st.f32)/ { seen[one]++ }
    END { exit !(seen[0] == 4 && seen[1] == 1) }' || {
    echo "strided: where rows begin and end, and their sums, are not done by all lanes" >&2
    status=1
}
expect walk 1 # with a stack of its own
expect search 0

# Where each lane leaves is 64 bits wide in the loop and read as 32: chosen as words. And a byte is compared
# with one that all have as a byte.
cat > "$dir/word.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry word(.param .u64 text, .param .u64 word, .param .u64 out, .param .u32 n)
{
.reg .b32 %t, %n, %k, %r, %s; .reg .b16 %c, %d; .reg .b64 %a, %b, %e, %i, %w, %o, %p, %q, %x, %z; .reg .pred %u, %v, %y;
mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 4; ld.param.u32 %n, [n];
ld.param.u64 %a, [text]; ld.param.u64 %e, [word]; cvt.u64.u32 %x, %t; add.u64 %b, %a, %x; mov.u64 %i, 0;
LOOP:
add.u64 %q, %b, %i; ld.global.u8 %c, [%q]; add.u64 %p, %e, %i; ld.global.u8 %d, [%p];
setp.ne.s16 %u, %c, %d;
@%u bra OUT;
add.u64 %i, %i, 1; cvt.u32.u64 %k, %i; setp.lt.u32 %v, %k, %n;
@%v bra LOOP;
OUT:
cvt.u32.u64 %s, %i; setp.eq.u32 %y, %s, %n; selp.b32 %r, 1, 0, %y;
ld.param.u64 %z, [out]; add.u64 %o, %z, %w; st.global.u32 [%o], %r;
ret;
}
PTX
WEIR_VECTORS=256 "$weir" dump --ir --block 256 "$dir/word.ptx" > "$dir/word"
if grep -E '(phi|select) .*<32 x i64>|icmp (eq|ne) <32 x i16>' "$dir/word" >&2; then
    echo "word: wider than what is read" >&2
    status=1
fi

# Where the CPU has loads in place of gathers of all lanes, searches have them under masks, too.
WEIR_VECTORS=256 "$weir" dump --ir --kernel search "$dir/loops.ptx" > "$dir/ir"
if grep -q 'extractelement <[0-9]* x i64>' "$dir/ir" && grep -q '= call .*@llvm.masked.gather' "$dir/ir"; then
    echo "failed: a search has loads where all lanes are active, and gathers where some are"
    status=1
fi
exit $status
