#!/bin/sh
# usage: large.sh WEIR: structures of kilobytes that are copied word by word, as compilers write it when
# one is handed over by value, cost what one instruction does; kernels with hundreds of values that outlive dozens of barriers (CUTLASS's
# matrix products are such kernels) are compiled by work that grows with their number of
# instructions, not with values times barriers; functions with barriers by work that grows with the barriers, not with
# their square. Counted, not timed: what LLVM is given, and the code
# that comes out.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# kernel VALUES BARRIERS: PTX of a kernel in which each region between two barriers changes two of
# the values by what a neighbour has left in shared memory.
kernel()
{
    awk -v values="$1" -v barriers="$2" 'BEGIN {
        print ".version 8.0\n.target sm_80\n.address_size 64"
        print ".visible .entry large(.param .u64 p) .reqntid 128, 1, 1\n{"
        print ".reg .b64 %rd<4>;\n.reg .b32 %r<8>;\n.shared .align 4 .b8 s[1024];"
        printf ".reg .f32 %%f<%d>;\n", values + 2
        print "ld.param.u64 %rd0, [p];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %rd1, %r0, 4;"
        print "add.u64 %rd2, %rd0, %rd1;\nmov.u32 %r1, s;\nshl.b32 %r2, %r0, 2;\nadd.u32 %r3, %r1, %r2;"
        print "xor.b32 %r4, %r2, 64;\nadd.u32 %r5, %r1, %r4;"
        for (v = 2; v < values + 2; v++)
            printf "ld.global.f32 %%f%d, [%%rd2 + %d];\n", v, v * 512
        for (b = 0; b < barriers; b++) {
            v = 2 + (b * 7) % values; w = 2 + (b * 11 + 5) % values
            printf "st.shared.f32 [%%r3], %%f%d;\nbar.sync 0;\nld.shared.f32 %%f0, [%%r5];\n", v
            printf "fma.rn.f32 %%f%d, %%f0, %%f%d, %%f%d;\n", w, v, w
            printf "bar.sync 0;\n"
        }
        for (v = 2; v < values + 2; v++)
            printf "st.global.f32 [%%rd2 + %d], %%f%d;\n", v * 512, v
        print "ret;\n}"
    }' > "$dir/kernel.ptx"
    compile
}

# Compiles kernel.ptx and tells how much it is.
compile()
{
    "$weir" dump --times "$dir/kernel.ptx" > "$dir/out"
    # // N instructions, N of LLVM, N optimized, N bytes; ms: ...
    set -- $(grep ' of LLVM, ' "$dir/out" | tr -d ',')
    llvm=$4 bytes=$9
}

# structure WORDS: a structure that is indexed goes to a function by value, which indexes its own and
# gives it back.
structure()
{
    awk -v words="$1" 'BEGIN {
        size = words * 4
        print ".version 8.0\n.target sm_80\n.address_size 64"
        print ".func (.param .align 4 .b8 r[" size "]) step(.param .align 4 .b8 a[" size "])\n{"
        print ".local .align 4 .b8 own[" size "];\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;"
        printf ".reg .f32 %%f<%d>;\n", 2 * words + 2
        for (w = 0; w < words; w++) printf "ld.param.f32 %%f%d, [a+%d];\n", w, 4 * w
        print "mov.u64 %rd0, own;"
        for (w = words; w-- > 0;) printf "st.local.f32 [%%rd0+%d], %%f%d;\n", 4 * w, w
        print "mov.u32 %r0, %tid.x;\nmul.wide.u32 %rd1, %r0, 4;\nadd.u64 %rd2, %rd0, %rd1;"
        print "st.local.u32 [%rd2], %r0;"
        for (w = 0; w < words; w++) printf "ld.local.f32 %%f%d, [%%rd0+%d];\n", words + w, 4 * w
        for (w = 0; w < words; w++) printf "st.param.f32 [r+%d], %%f%d;\n", 4 * w, words + w
        print "ret;\n}"
        print ".visible .entry structure(.param .u64 p, .param .align 4 .b8 s[" size "])\n{"
        printf ".reg .b32 %%r<4>;\n.reg .b64 %%rd<4>;\n.reg .f32 %%f<%d>;\n", 2 * words + 2
        print ".local .align 4 .b8 own[" size "];"
        for (w = 0; w < words; w++) printf "ld.param.f32 %%f%d, [s+%d];\n", w, 4 * w
        print ".param .align 4 .b8 a[" size "];\n.param .align 4 .b8 b[" size "];"
        for (w = 0; w < words; w++) printf "st.param.f32 [a+%d], %%f%d;\n", 4 * w, w
        print "call (b), step, (a);"
        for (w = 0; w < words; w++)
            printf "ld.param.f32 %%f%d, [b+%d];\nst.local.f32 [own+%d], %%f%d;\n", words + w, 4 * w,
                   4 * w, words + w
        print "ld.param.u64 %rd0, [p];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %rd1, %r0, 4;"
        print "mov.u64 %rd2, own;\nadd.u64 %rd2, %rd2, %rd1;\nld.local.u32 %r1, [%rd2];"
        print "add.u64 %rd0, %rd0, %rd1;\nst.global.u32 [%rd0], %r1;\nret;\n}"
    }' > "$dir/kernel.ptx"
    compile
}

# barriers LOOPS: a recursive function of so many loops with a barrier each, which lanes leave one by one.
barriers()
{
    awk -v loops="$1" 'BEGIN {
        print ".version 8.0\n.target sm_80\n.address_size 64"
        print ".func (.reg .b32 r) f(.reg .b32 a, .reg .b32 d);"
        print ".func (.reg .b32 r) f(.reg .b32 a, .reg .b32 d)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<8>;"
        print "mov.u32 %r0, a;\nmov.u32 %r1, %tid.x;\nmov.u32 %r3, 99;"
        for (i = 0; i < loops; i++) {
            print "AGAIN" i ":\nadd.u32 %r2, %r0, " i ";\nand.b32 %r2, %r2, 3;\nsetp.ne.u32 %p1, %r2, 0;"
            print "@%p1 bra SKIP" i ";\nmad.lo.u32 %r0, %r0, 5, %r1;\nSKIP" i ":\nbar.sync 0;"
            print "sub.u32 %r3, %r3, 1;\nsetp.gt.u32 %p2, %r0, %r3;\n@%p2 bra AGAIN" i ";"
        }
        print "setp.eq.u32 %p3, d, 0;\n@%p3 bra DONE;\nsub.u32 %r4, d, 1;\ncall (%r0), f, (%r0, %r4);"
        print "DONE:\nmov.u32 r, %r0;\nret;\n}"
        print ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<4>;\n.reg .b32 %r<4>;"
        print "ld.param.u64 %rd0, [p];\nmov.u32 %r0, %tid.x;\ncall (%r1), f, (%r0, 2);"
        print "st.global.u32 [%rd0], %r1;\nret;\n}"
    }' > "$dir/kernel.ptx"
    compile
}

barriers 12
few_llvm=$llvm
barriers 24
echo "a function of 12 loops with barriers: $few_llvm instructions; of 24: $llvm"
[ "$llvm" -lt $((few_llvm * 5 / 2)) ] || { echo "each barrier tests all blocks"; exit 1; }

structure 128
few_bytes=$bytes
structure 1024
echo "structure of 512 bytes: $few_bytes bytes of code; of 4096: $bytes"
[ "$bytes" -lt $((few_bytes + 512)) ] || { echo "code grows with the structure"; exit 1; }

kernel 120 10
few_llvm=$llvm few_bytes=$bytes
kernel 120 30
echo "120 values, 10 barriers: $few_llvm instructions, $few_bytes bytes; 30: $llvm, $bytes"
# 20 pairs of barriers more, each a few instructions; 240 and more a barrier if all values moved
[ $(((llvm - few_llvm) / 40)) -lt 100 ] || { echo "values are moved at every barrier"; exit 1; }
[ $(((bytes - few_bytes) / 40)) -lt 2000 ] || { echo "code grows with values times barriers"; exit 1; }

kernel 8 10
few_llvm=$llvm
kernel 8 30
# few values stay values: moved at each barrier, which LLVM makes registers of
[ $(((llvm - few_llvm) / 40)) -gt 20 ] || { echo "few values are not values"; exit 1; }
