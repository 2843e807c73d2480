#!/bin/sh
# usage: small_tables.sh WEIR: loads by an index of a few elements are permutations of these, and addresses that step
# from row to row are a row and an index; words of a mask of bytes are made of bytes, and votes go to vectors by one scalar.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
cat >"$dir/tables.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry table(.param .u64 in, .param .u64 out, .param .u64 table)
{
.reg .b32 %t, %x, %i; .reg .b64 %p, %w, %q, %o;
mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 4; ld.param.u64 %p, [in]; add.u64 %q, %p, %w; ld.global.u32 %x, [%q];
and.b32 %i, %x, 15; mul.wide.u32 %o, %i, 4; ld.param.u64 %p, [table]; add.u64 %q, %p, %o; ld.global.u32 %x, [%q];
ld.param.u64 %p, [out]; add.u64 %q, %p, %w; st.global.u32 [%q], %x;
ret;
}
.visible .entry rows(.param .u64 in, .param .u64 out, .param .u32 n)
{
.shared .align 4 .b8 s[512];
.reg .b32 %t, %x, %i, %n, %v, %r; .reg .b64 %p, %w, %q, %o, %s, %a, %b; .reg .pred %e;
mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 4; ld.param.u64 %p, [in]; add.u64 %q, %p, %w; ld.global.u32 %x, [%q];
mov.u64 %s, s; add.u64 %q, %s, %w; st.shared.u32 [%q], %x; bar.sync 0;
and.b32 %i, %x, 15; mul.wide.u32 %o, %i, 4; add.u64 %b, %s, %o; add.u64 %a, %b, 64; mov.u32 %r, 0; ld.param.u32 %n, [n];
LOOP:
ld.shared.u32 %v, [%a+-64]; add.u32 %r, %r, %v; add.u64 %a, %a, 64;
sub.u32 %n, %n, 1; setp.ne.u32 %e, %n, 0;
@%e bra LOOP;
ld.param.u64 %p, [out]; add.u64 %q, %p, %w; st.global.u32 [%q], %r;
ret;
}
.visible .entry bytes(.param .u64 in, .param .u64 out)
{
.reg .b32 %t, %x; .reg .b16 %b, %c; .reg .b64 %p, %w, %q, %h; .reg .pred %e;
mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 4; cvt.u64.u32 %h, %t; ld.param.u64 %p, [in]; add.u64 %q, %p, %h;
ld.global.u8 %b, [%q]; ld.global.u8 %c, [%q+64]; setp.ne.u16 %e, %b, %c; selp.u32 %x, 1, 0, %e;
ld.param.u64 %p, [out]; add.u64 %q, %p, %w; st.global.u32 [%q], %x;
ret;
}
.visible .entry vote(.param .u64 in, .param .u64 out)
{
.reg .b32 %t, %x, %m; .reg .b64 %p, %w, %q; .reg .pred %e;
mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 4; ld.param.u64 %p, [in]; add.u64 %q, %p, %w; ld.global.u32 %x, [%q];
setp.eq.u32 %e, %x, 3; vote.sync.ballot.b32 %m, %e, -1; and.b32 %x, %x, %m;
ld.param.u64 %p, [out]; add.u64 %q, %p, %w; st.global.u32 [%q], %x;
ret;
}
PTX

# expect BITS KERNEL PATTERN: in the code for vectors of so many bits
expect()
{
    WEIR_VECTORS=$1 "$weir" dump --ir --block 128 --kernel "$2" "$dir/tables.ptx" | grep -qE "$3" || {
        echo "$2, $1 bits: no $3" >&2
        status=1
    }
}
case $(uname -m) in
x86_64)
    expect 256 table 'call .*@llvm.x86.avx2.permd'
    expect 256 rows 'call .*@llvm.x86.avx2.permd'
    expect 256 bytes 'call <32 x i8> @llvm.umin.v32i8'
    ! grep -q avx512dq /proc/cpuinfo || {
        expect 512 table 'call .*@llvm.x86.avx512.permvar.si.512'
        expect 512 rows 'call .*@llvm.x86.avx512.permvar.si.512'
        expect 512 vote 'insertelement <[0-9]+ x i64> poison, i64 %'
    }
    ;;
esac
exit $status
