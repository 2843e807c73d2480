#!/bin/sh
# usage: neighbours.sh WEIR: what the compiler makes of indices that clang and nvcc write for neighbours
# with bounds. Where they are affine, or likely to be, accesses by them are those of vectors; elsewhere
# they are gathers.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat > "$dir/indices.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) __nv_max(.param .b32 a, .param .b32 b);
.visible .entry k(.param .u32 width, .param .u64 out)
{
.reg .b32 %x, %y, %w, %i<50>; .reg .b64 %o, %l<6>; .reg .b16 %h<7>; .reg .pred %p, %q;
mov.u32 %i30, %tid.x; mov.u32 %i31, %tid.y; mov.u32 %i32, %ctaid.x; mov.u32 %i33, %ntid.x;
mad.lo.s32 %x, %i32, %i33, %i30; mov.u32 %i34, %ctaid.y; mov.u32 %i35, %ntid.y;
mad.lo.s32 %y, %i34, %i35, %i31;
ld.param.u32 %w, [width];
shl.b32 %i2, %y, 11;
or.b32 %i3, %i2, %x;
add.s32 %i4, %x, 1;
and.b32 %i5, %i4, 2047;
or.b32 %i6, %i2, %i5;
or.b32 %i7, %i2, %i4;
max.s32 %i8, %i4, 0;
min.s32 %i9, %i4, %w;
rem.s32 %i10, %i4, %w;
setp.eq.s32 %p, %x, %w;
selp.b32 %i11, 0, %i4, %p;
mul.lo.s32 %i26, %y, 77;
add.s32 %i12, %i26, %x;
shr.s32 %i13, %i12, 31;
shr.u32 %i14, %i13, 23;
add.s32 %i15, %i12, %i14;
and.b32 %i16, %i15, -512;
sub.s32 %i17, %i12, %i16;
xor.b32 %i18, %x, 16;
setp.eq.s32 %q, %y, %w;
add.s32 %i19, %y, 1;
selp.b32 %i20, 0, %i19, %q;
mad.lo.s32 %i21, %i20, %w, %x;
mul.hi.s32 %i23, %i12, 1374389535;
shr.s32 %i22, %i23, 5;
xor.b32 %i24, %x, %w;
bfe.u32 %i40, %x, 3, 5;
bfe.u32 %i41, %x, 0, 3;
bfe.u32 %i42, %x, 3, 40;
bfe.s32 %i43, %x, 3, 5;
cvt.u64.u32 %l1, %i30;
bfe.u64 %l2, %l1, 3, 2;
cvt.u16.u32 %h1, %i30; cvt.u16.u32 %h2, %i31; shl.b16 %h3, %h2, 5; add.s16 %h4, %h1, %h3;
cvt.u64.u16 %l3, %h4; cvt.u32.u16 %i44, %h4;
mul.lo.s16 %h5, %h4, 300; cvt.u32.u16 %i45, %h5;
sub.s16 %h6, %h1, 5; cvt.u32.u16 %i46, %h6; cvt.s32.s16 %i47, %h6;
{
.param .b32 a; .param .b32 b; .param .b32 r;
st.param.b32 [a], %i4; st.param.b32 [b], 0;
call.uni (r), __nv_max, (a, b);
ld.param.b32 %i25, [r];
}
ret;
}
PTX

status=0
# expect WIDTH REGISTER WORDS: of blocks so wide
expect()
{
    got=$("$weir" dump --uniformity --block "$1,8" "$dir/indices.ptx" | sed -n "s/^.*(line [0-9]*)  %$2: //p" | tail -n 1)
    got=${got% remat}
    [ "$got" = "$3" ] || {
        echo "blocks $1 wide, %$2: '$got' instead of '$3'" >&2
        status=1
    }
}
for width in 32 16 8; do
    expect $width i3 "seg $width stride 1"
    for register in i5 i6 i7 i8 i9 i10 i11 i25; do
        expect $width $register "divergent (likely stride 1)"
    done
    expect $width i17 "divergent (likely stride 1)"
    expect $width i22 "divergent (likely stride 0)"
    # lanes that change places
    expect $width i24 "divergent"
done
# emitted PATTERN KERNEL: what there is in the code for AVX2, of blocks 32 wide
emitted()
{
    WEIR_VECTORS=256 "$weir" dump --ir-raw --block 32,8 "$dir/$2.ptx" >"$dir/$2.ll"
    grep -q "$1" "$dir/$2.ll" || {
        echo "$2: no $1" >&2
        status=1
    }
}
# Clamped indices rise by one at most: their ends tell whether lanes are neighbours.
cat > "$dir/clamped.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 image, .param .u32 width)
{
.reg .b32 %i<9>; .reg .b64 %p, %o; .reg .b16 %v;
ld.param.u64 %p, [image]; ld.param.u32 %i5, [width];
mov.u32 %i0, %tid.x; mov.u32 %i1, %tid.y; mov.u32 %i2, %ctaid.x;
mad.lo.s32 %i3, %i2, 32, %i0; add.s32 %i3, %i3, -2;
max.s32 %i6, %i3, 0; min.s32 %i7, %i6, %i5; mad.lo.s32 %i8, %i1, %i5, %i7;
cvt.s64.s32 %o, %i8; add.s64 %o, %p, %o;
ld.global.u8 %v, [%o]; st.global.u8 [%o+4096], %v;
ret;
}
PTX
# An address that goes through a loop is compared by itself.
cat > "$dir/windows.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 image, .param .u64 sums, .param .u32 step, .param .u32 count)
{
.reg .b32 %i<9>; .reg .b64 %p, %o, %s, %a<4>; .reg .f32 %v<3>; .reg .pred %q;
ld.param.u64 %p, [image]; ld.param.u64 %s, [sums];
ld.param.u32 %i5, [step]; ld.param.u32 %i6, [count];
mov.u32 %i0, %tid.x; mov.u32 %i1, %tid.y; mad.lo.s32 %i2, %i1, 32, %i0;
div.s32 %i3, %i2, %i5; mul.wide.s32 %a0, %i3, 4; add.s64 %o, %p, %a0;
mul.wide.s32 %a1, %i2, 4; add.s64 %a2, %s, %a1;
mov.f32 %v1, 0f00000000;
$again:
ld.global.f32 %v2, [%o]; add.f32 %v1, %v1, %v2; add.s64 %o, %o, 8;
add.s32 %i6, %i6, -1; setp.gt.s32 %q, %i6, 0;
@%q bra $again;
st.global.f32 [%a2], %v1;
ret;
}
PTX
rows_ptx=$(dirname "$0")/rows.ptx
# What follows a quotient is there for warps in one row, for groups of eight lanes in one each, and as it was.
rows=$("$weir" dump --uniformity --block 256 "$rows_ptx" | sed -n 's/^.*(line [0-9]*)  %i4: //p' | sort | tr '\n' ',')
[ "$rows" = "divergent (likely stride 1),seg 32 stride 1,seg 8 stride 1," ] || {
    echo "quotients of neighbours: '$rows'" >&2
    status=1
}
# So it is where compilers have made shifts of a division by a power of two.
sed -e 's/^div\.s32.*/shr.s32 %i8, %i2, 31; shr.u32 %i11, %i8, 26; add.s32 %i9, %i2, %i11; shr.s32 %i3, %i9, 6; and.b32 %i10, %i9, -64; sub.s32 %i4, %i2, %i10;\nmad.lo.s32 %i7, %i3, %i6, %i4;/' \
    -e 's/%i<9>/%i<12>/' "$rows_ptx" > "$dir/shifts.ptx"
sed -e 's/^div\.s32.*/shr.u32 %i3, %i2, 6; and.b32 %i4, %i2, 63;\nmad.lo.s32 %i7, %i3, %i6, %i4;/' \
    -e 's/%i1, 256, %i0/%i1, 200, %i0/' "$rows_ptx" > "$dir/unsigned_shifts.ptx"
for kind in shifts unsigned_shifts; do
    rows=$("$weir" dump --uniformity --block 200 "$dir/$kind.ptx" | sed -n 's/^.*(line [0-9]*)  %i4: //p' | sort | tr '\n' ',')
    [ "$rows" = "divergent (likely stride 1),seg 32 stride 1,seg 8 stride 1," ] || {
        echo "quotients of neighbours, $kind: '$rows'" >&2
        status=1
    }
done
# Quotients of the thread's index are loaded from a table, if the shape of the block is known.
cat > "$dir/threads.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .b32 %i<5>; .reg .b64 %p, %o;
ld.param.u64 %p, [out]; mov.u32 %i0, %tid.x;
mul.hi.u32 %i1, %i0, -252645135; shr.u32 %i2, %i1, 5; mul.lo.s32 %i3, %i2, 34; sub.s32 %i4, %i0, %i3;
mul.wide.s32 %o, %i4, 4; add.s64 %o, %p, %o; st.global.u32 [%o], %i2;
ret;
}
PTX
tables=$("$weir" dump --ir --block 256 "$dir/threads.ptx" | grep -c '^@threads' || true)
unknown=$("$weir" dump --ir --any-block "$dir/threads.ptx" | grep -c '^@threads' || true)
[ "$tables $unknown" = "2 0" ] || {
    echo "tables of quotients: $tables, of blocks of any shape: $unknown" >&2
    status=1
}
# x86 gathers by signed indices.
cat > "$dir/unsigned.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 keys, .param .u64 table)
{
.reg .b32 %i<3>; .reg .b64 %p, %t, %a<4>;
ld.param.u64 %p, [keys]; ld.param.u64 %t, [table];
mov.u32 %i0, %tid.x; mul.wide.u32 %a0, %i0, 4; add.s64 %a1, %p, %a0;
ld.global.u32 %i1, [%a1]; mul.wide.u32 %a2, %i1, 4; add.s64 %a3, %t, %a2;
ld.global.u32 %i2, [%a3]; st.global.u32 [%a1], %i2;
ret;
}
PTX
# Loops through which threads go once or twice, by their indices, are two trips; others are loops.
cat > "$dir/trips.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k()
{
.reg .b32 %i<4>; .reg .b64 %a, %o; .reg .b16 %v; .reg .pred %q;
.shared .b8 tile[96];
mov.u32 %i0, %tid.x; mov.u64 %a, tile; mov.u16 %v, 3;
mov.u32 %i1, %i0;
$again:
cvt.u64.u32 %o, %i1; add.s64 %o, %a, %o;
st.shared.u8 [%o], %v;
add.s32 %i1, %i1, 32; setp.lt.u32 %q, %i1, BOUND;
@%q bra $again;
ret;
}
PTX
# loops BOUND COUNT: blocks that are in one
loops()
{
    sed "s/BOUND/$1/" "$dir/trips.ptx" >"$dir/trips_$1.ptx"
    got=$("$weir" dump --uniformity --block 32,8 "$dir/trips_$1.ptx" | grep -c 'depth 1') || true
    [ "$got" = "$2" ] || {
        echo "loop to $1: $got blocks in loops instead of $2" >&2
        status=1
    }
}
# Each trip has names of its own, so that a quotient is known for what it is.
cat > "$dir/tile.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 image, .param .u32 pitch)
{
.reg .b32 %i<9>; .reg .b64 %a, %o, %p, %g; .reg .b16 %v; .reg .pred %q;
.shared .b8 tile[340];
ld.param.u64 %p, [image]; ld.param.u32 %i7, [pitch];
mov.u32 %i0, %tid.x; mov.u32 %i1, %tid.y; mov.u64 %a, tile;
mad.lo.s32 %i2, %i1, 32, %i0;
$again:
mul.hi.u32 %i3, %i2, 252645136; shr.u32 %i4, %i3, 1;
mad.lo.s32 %i5, %i4, %i7, %i2;
cvt.u64.u32 %g, %i5; add.s64 %g, %p, %g; ld.global.u8 %v, [%g];
cvt.u64.u32 %o, %i2; add.s64 %o, %a, %o; st.shared.u8 [%o], %v;
add.s32 %i2, %i2, 256; setp.lt.u32 %q, %i2, 340;
@%q bra $again;
ret;
}
PTX
trips=$(WEIR_VECTORS=256 "$weir" dump --uniformity --block 32,8 "$dir/tile.ptx" | sed -n 's/^.*(line [0-9]*)  %\(i4\|o\): //p' | sort | uniq -c | sed 's/ *\([0-9]*\) /\1 /' | tr '\n' ',')
[ "$trips" = "2 divergent (likely stride 0),4 seg 32 stride 1 remat," ] || {
    echo "trips: '$trips'" >&2
    status=1
}
loops 36 0
loops 70 0
loops 64 1
loops 170 1
case $(uname -m) in
x86_64)
    WEIR_VECTORS=256,gathers "$weir" dump --ir --block 32 "$dir/unsigned.ptx" | grep -q 'sext <32 x i32>' || {
        echo "unsigned: indices of gathers are not signed" >&2
        status=1
    }
    emitted '@llvm.smin.i32(' clamped
    emitted '@llvm.x86.avx2.permd(' windows
    ;;
esac
# parts of an index, between constants
expect 32 i40 "seg 8 stride 0"
expect 32 i41 "seg 8 stride 1"
expect 32 i42 "seg 8 stride 0"
expect 32 i43 "divergent"
expect 32 l2 "seg 8 stride 0"
# 16 bits, in which what is known to be small does not wrap around
expect 32 l3 "seg 32 stride 1"
expect 32 i44 "seg 32 stride 1"
expect 32 i45 "divergent (likely stride 300)"
expect 32 i46 "divergent (likely stride 1)"
expect 32 i47 "seg 32 stride 1"
expect 16 i21 "divergent (likely stride 1)"
expect 32 i18 "seg 16 stride 1"
expect 16 i18 "seg 16 stride 1"
exit $status
