#!/bin/sh
# usage: tree_steps.sh WEIR: the last steps of a tree of sums, which are for parts of a warp, load and store
# just these parts: what a CPU hands on from a store to the next load is not stored under a mask.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat > "$dir/tree.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry tree(.param .u64 in, .param .u64 out)
{
.shared .align 4 .b8 part[1024];
.reg .b32 %t, %s, %o; .reg .b64 %a, %z; .reg .f32 %x, %y; .reg .pred %p;
mov.u32 %t, %tid.x; mov.u32 %s, part; shl.b32 %o, %t, 2; add.u32 %o, %o, %s;
ld.param.u64 %a, [in]; mul.wide.u32 %z, %t, 4; add.u64 %a, %a, %z; ld.global.f32 %x, [%a]; st.shared.f32 [%o], %x;
bar.sync 0;
setp.ge.u32 %p, %t, 16;
@%p bra N16;
ld.shared.f32 %x, [%o+64]; ld.shared.f32 %y, [%o]; add.f32 %y, %y, %x; st.shared.f32 [%o], %y;
N16:
bar.sync 0;
setp.ge.u32 %p, %t, 8;
@%p bra N8;
ld.shared.f32 %x, [%o+32]; ld.shared.f32 %y, [%o]; add.f32 %y, %y, %x; st.shared.f32 [%o], %y;
N8:
bar.sync 0;
setp.ge.u32 %p, %t, 4;
@%p bra N4;
ld.shared.f32 %x, [%o+16]; ld.shared.f32 %y, [%o]; add.f32 %y, %y, %x; st.shared.f32 [%o], %y;
N4:
bar.sync 0;
ld.param.u64 %a, [out]; mul.wide.u32 %z, %t, 4; add.u64 %a, %a, %z; ld.shared.f32 %x, [part]; st.global.f32 [%a], %x;
ret;
}
PTX
status=0
for vectors in 256 512; do
    WEIR_VECTORS=$vectors "$weir" dump --ir --block 256 "$dir/tree.ptx" > "$dir/ir"
    grep -q 'load <8 x float>' "$dir/ir" || {
        echo "$vectors bits: no load for eight lanes" >&2
        status=1
    }
    ! grep -E 'call .*llvm.masked.(load|store).*i1 true' "$dir/ir" >&2 || {
        echo "$vectors bits: an access under a mask that is a constant" >&2
        status=1
    }
done
exit $status
