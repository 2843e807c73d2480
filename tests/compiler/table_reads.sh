#!/bin/sh
# usage: table_reads.sh WEIR: kernels with very many reads of tables. Where data says what lanes read, they
# are gathers; where indices do, which may be neighbours in spite of all, a function looks and reads.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0

# kernel NAME INDEX: a hundred reads and more, by INDEX, a register
kernel()
{
    cat <<PTX
.visible .entry $1(.param .u64 table, .param .u64 out)
{
.reg .b32 %t, %x, %y, %i, %v; .reg .b64 %p, %o, %g, %a;
ld.param.u64 %p, [table]; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mov.u32 %x, 0;
mul.wide.u32 %g, %t, 4; add.u64 %a, %o, %g; ld.global.u32 %x, [%a]; mov.u32 %y, %t;
PTX
    n=0
    while [ $n -lt 100 ]; do
        echo "mad.lo.u32 %y, %y, %y, $n; and.b32 %i, $2, 255; mul.wide.u32 %g, %i, 4; add.u64 %a, %p, %g;"
        echo "ld.global.u32 %v, [%a]; xor.b32 %x, %x, %v;"
        n=$((n + 1))
    done
    echo "mul.wide.u32 %g, %t, 4; add.u64 %a, %o, %g; st.global.u32 [%a], %x; ret; }"
}
{
    printf '.version 8.0\n.target sm_80\n.address_size 64\n'
    kernel data %x
    kernel indices %y
} >"$dir/reads.ptx"

# expect KERNEL LEAST MOST: calls of functions that look whether lanes are neighbours
expect()
{
    calls=$(WEIR_VECTORS=256 "$weir" dump --ir --block 64 --kernel "$1" "$dir/reads.ptx" | grep -c 'call .*_probed') || true
    [ "$calls" -ge "$2" ] && [ "$calls" -le "$3" ] || {
        echo "$1: $calls calls" >&2
        status=1
    }
}
case $(uname -m) in
x86_64)
    expect data 0 2
    expect indices 90 200
    ;;
esac
exit $status
