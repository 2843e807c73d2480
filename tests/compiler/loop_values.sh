#!/bin/sh
# usage: loop_values.sh WEIR: what the compiler makes of counters that lanes read after they have left
# a loop one after the other: they stay uniform or affine inside, where they index memory. Also of
# indices that count down along the lanes, and of counters that begin with a copy of another zero.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat > "$dir/loops.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u32 length, .param .u64 text, .param .u64 out)
{
.reg .b32 %t, %n, %k, %e, %w<8>; .reg .b64 %a, %b, %i, %o, %j; .reg .b16 %c, %d; .reg .pred %p, %q;
mov.u32 %t, %tid.x; ld.param.u32 %n, [length]; ld.param.u64 %a, [text]; ld.param.u64 %o, [out];
mov.u32 %k, 0;
LOOP:
add.s32 %e, %t, %k;
cvt.u64.u32 %i, %e;
add.s64 %i, %i, %a;
ld.global.u8 %c, [%i];
setp.eq.s16 %p, %c, 10;
@%p bra OUT;
add.s32 %k, %k, 1;
setp.lt.u32 %q, %k, %n;
@%q bra LOOP;
OUT:
neg.s32 %w1, %t;
not.b32 %w2, %t;
add.s32 %w3, %w2, %n;
mul.wide.u32 %j, %t, 4;
add.s64 %j, %j, %o;
add.s32 %w4, %k, %w3;
st.global.u32 [%j], %w4;
ret;
}
.visible .entry zeros(.param .u32 length, .param .u64 in, .param .u64 out)
{
.reg .b32 %t, %n, %sum, %phase, %turn, %x, %y, %half; .reg .b64 %a, %o, %j; .reg .pred %q, %r;
.reg .f32 %f, %g;
mov.u32 %t, %tid.x; ld.param.u32 %n, [length]; ld.param.u64 %a, [in]; ld.param.u64 %o, [out];
mov.b32 %sum, 0;
mov.u32 %phase, %sum;
mov.b32 %turn, %phase;
mov.f32 %f, 0f3F800000;
mov.f32 %g, %f;
AGAIN:
mov.u32 %half, %sum;
mad.wide.u32 %j, %t, 4, %a;
ld.global.u32 %x, [%j];
add.s32 %sum, %sum, %x;
cvt.rn.f32.u32 %f, %sum;
add.s32 %phase, %phase, 1;
setp.eq.u32 %r, %phase, 4;
selp.b32 %phase, 0, %phase, %r;
add.s32 %turn, %turn, 1;
setp.lt.u32 %q, %turn, %n;
@%q bra AGAIN;
mad.wide.u32 %j, %t, 4, %o;
st.global.u32 [%j], %sum;
st.global.u32 [%j+4], %half;
st.global.f32 [%j+8], %g;
ret;
}
PTX

"$weir" dump --uniformity --block 64 "$dir/loops.ptx" > "$dir/dump"
status=0
# expect REGISTER WORDS: what its first, its last or each definition is said to be
expect()
{
    sed -n "s/^.*(line [0-9]*)  %$1: //p" "$dir/dump" | sed 's/ remat$//' | grep -Fqx "$2" || {
        echo "%$1 is not '$2':" >&2
        grep "%$1:" "$dir/dump" >&2 || true
        status=1
    }
}
expect k "uniform"
expect k "divergent (likely stride 0)"
expect e "seg 32 stride 1"
expect q "uniform"
expect w1 "seg 32 stride -1"
expect w2 "seg 32 stride -1"
expect w3 "seg 32 stride -1"
expect phase "uniform"
expect turn "uniform"
expect g "uniform"
expect half "divergent"
exit $status
