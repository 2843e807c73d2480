#!/bin/sh
# usage: votes.sh WEIR: numbers that are voted on are compared as bytes, what lanes choose by them is a permutation, as
# are the lanes that match; bits are counted by sums of bytes, and a lane that asks whether it is the first counts none;
# scattered lanes of shared and global memory have indices, not addresses.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
{
    cat <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry chain(.param .u64 in, .param .u64 out)
{
.reg .b32 %t, %x, %c, %r, %b; .reg .b64 %p, %w, %q; .reg .pred %e;
mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 4; ld.param.u64 %p, [in]; add.u64 %q, %p, %w; ld.global.u32 %x, [%q];
and.b32 %c, %x, 7; mov.u32 %r, 0;
PTX
    for n in 0 1 2 3 4 5 6 7; do
        echo "setp.eq.u32 %e, %c, $n; vote.sync.ballot.b32 %b, %e, -1; selp.b32 %r, %b, %r, %e;"
    done
    cat <<'PTX'
ld.param.u64 %p, [out]; add.u64 %q, %p, %w; st.global.u32 [%q], %r;
ret;
}
.visible .entry first(.param .u64 in, .param .u64 out)
{
.reg .b32 %t, %x, %m, %n, %c, %l, %r; .reg .b64 %p, %w, %q, %o; .reg .pred %e;
mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 4; ld.param.u64 %p, [in]; add.u64 %q, %p, %w; ld.global.u32 %x, [%q];
match.any.sync.b32 %m, %x, -1;
add.s32 %n, %m, -1; not.b32 %c, %m; and.b32 %n, %c, %n; popc.b32 %n, %n; and.b32 %l, %t, 31;
setp.eq.u32 %e, %n, %l; popc.b32 %c, %m; selp.b32 %r, %c, 0, %e;
and.b32 %x, %x, 65535; mul.wide.u32 %o, %x, 4; ld.param.u64 %p, [out]; add.u64 %q, %p, %o; st.global.u32 [%q], %r;
ret;
}
.visible .entry shared(.param .u64 in)
{
.shared .align 4 .b8 s[4096];
.reg .b32 %t, %x, %o, %a; .reg .b64 %p, %w, %q; .reg .pred %e;
mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 4; ld.param.u64 %p, [in]; add.u64 %q, %p, %w; ld.global.u32 %x, [%q];
setp.gt.s32 %e, %x, 99; and.b32 %x, %x, 1023; shl.b32 %o, %x, 2; mov.u32 %a, s; add.u32 %a, %a, %o;
@%e red.shared.max.s32 [%a], %t;
bar.sync 0;
ret;
}
PTX
} >"$dir/votes.ptx"

# look BITS KERNEL
look() { WEIR_VECTORS=$1 "$weir" dump --ir --block 128 --kernel "$2" "$dir/votes.ptx" >"$dir/ir"; }
some()
{
    grep -qE "$1" "$dir/ir" || {
        echo "there is no $2" >&2
        status=1
    }
}
none()
{
    ! grep -E "$1" "$dir/ir" >&2 || {
        echo "there should be no $2" >&2
        status=1
    }
}
case $(uname -m) in
x86_64)
    look 256 chain
    some 'call .*@llvm.x86.avx2.permd' 'permutation of what is chosen'
    some 'icmp eq <32 x i8>' 'comparison of bytes'
    none 'icmp eq <32 x i32>' 'comparison of words'
    look 256 first
    some 'call .*@llvm.x86.avx2.permd' 'permutation of lanes that match'
    some 'call .*@llvm.x86.avx2.pmadd.ub.sw' 'sum of bytes'
    none 'call .*@llvm.cttz.v32i32' 'count for the lowest bit'
    some 'call void @weir_store_1x4_indexed_u4' 'store by indices'
    look 256 shared
    none 'store <32 x i64>' 'addresses of lanes in shared memory'
    ! grep -q avx512dq /proc/cpuinfo || {
        look 512 chain
        some 'call .*@llvm.x86.avx512.permvar.si.512' 'permutation of what is chosen'
        some 'icmp eq <32 x i8>' 'comparison of bytes'
        look 512 first
        some 'call .*@llvm.x86.avx512.permvar.si.512' 'permutation of lanes that match'
    }
    ;;
esac
exit $status
