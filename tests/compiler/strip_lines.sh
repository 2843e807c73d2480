#!/bin/sh
# usage: strip_lines.sh WEIR: arithmetic that becomes a loop over strips of lanes keeps the source lines of
# its own function. With lines of the function that was transformed before, LLVM wrote debug information
# of a scope that does not exist and crashed, now and then. LLVM's verifier, which weir dump --ir asks,
# finds such lines.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Two functions that call themselves, so that they stay functions.
function_text()
{
    echo ".func (.param .b64 r) $1(.param .b64 x, .param .b32 n)
{
.reg .b64 %a, %b, %c, %d, %v<20>; .reg .b32 %n; .reg .pred %p;
ld.param.u64 %a, [x]; ld.param.u32 %n, [n]; setp.eq.u32 %p, %n, 0; @%p bra DONE;"
    n=0
    while [ $n -lt 12 ]; do
        n=$((n + 1))
        echo "mul.lo.u64 %v$n, %a, $((2 * n + 1)); xor.b64 %a, %a, %v$n; add.u64 %a, %a, $n;"
    done
    echo "mul.lo.u64 %b, %v3, %v5; mul.lo.u64 %c, %v7, %v9; xor.b64 %a, %a, %b; add.u64 %a, %a, %c;
sub.u32 %n, %n, 1;
{ .param .b64 p0; .param .b32 p1; .param .b64 q; st.param.b64 [p0], %a; st.param.b32 [p1], %n;
call (q), $1, (p0, p1); ld.param.b64 %a, [q]; }
DONE: st.param.b64 [r], %a; ret;
}"
}

{
    echo ".version 8.0
.target sm_80
.address_size 64"
    function_text first
    function_text second
    echo ".visible .entry both(.param .u64 out)
{
.reg .b64 %out, %a, %at; .reg .b32 %t;
.pragma \"weir_strips\";
ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; cvt.u64.u32 %a, %t; shl.b64 %at, %a, 3; add.u64 %out, %out, %at;
{ .param .b64 p0; .param .b32 p1; .param .b64 q; st.param.b64 [p0], %a; st.param.b32 [p1], %t;
call (q), first, (p0, p1); ld.param.b64 %a, [q]; }
{ .param .b64 p0; .param .b32 p1; .param .b64 q; st.param.b64 [p0], %a; st.param.b32 [p1], %t;
call (q), second, (p0, p1); ld.param.b64 %a, [q]; }
st.global.u64 [%out], %a;
ret;
}"
} > "$dir/both.ptx"

for bits in 256 512; do
    WEIR_VECTORS=$bits "$weir" dump --ir --lineinfo "$dir/both.ptx" > "$dir/ir"
    grep -q strips "$dir/ir" || { echo "no loop over strips was made with vectors of $bits bits"; exit 1; }
done
