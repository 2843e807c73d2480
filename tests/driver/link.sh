#!/bin/sh
# link.sh BUILD PROGRAM CC: device code in all that it comes in, made by ptxas, weircc and ar, is loaded
# and linked, by cuLink* and by libnvJitLink alike.
build=$1 program=$2 cc=$3
ptxas=$build/lib/weir/cuda/bin/ptxas weircc=$build/bin/weircc
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export LD_LIBRARY_PATH="$build/lib:$LD_LIBRARY_PATH"
failed=0
head='.version 7.0
.target sm_70
.address_size 64'

# expect TEXT COMMAND...: the command prints that, somewhere.
expect() {
    text=$1
    shift
    got=$("$@" 2>&1)
    case "$got" in
    *"$text"*) ;;
    *) printf '%s\n  gives "%s", not "%s"\n' "$*" "$got" "$text"; failed=1 ;;
    esac
}
fails() {
    "$@" >out 2>&1 && { echo "$*: did not fail"; failed=1; }
}

# the answer: 40 + 2, over two modules
cat >main.ptx <<END
$head
.extern .func (.param .b32 r) forty(.param .b32 a);
.visible .entry answer(.param .u64 out)
{
.reg .b32 %r<2>; .reg .b64 %d; .param .b32 a; .param .b32 r;
ld.param.u64 %d, [out];
st.param.b32 [a], 2;
call.uni (r), forty, (a);
ld.param.b32 %r1, [r];
st.global.u32 [%d], %r1;
ret;
}
END
cat >forty.ptx <<END
$head
.visible .func (.param .b32 r) forty(.param .b32 a)
{
.reg .b32 %r<2>;
ld.param.b32 %r1, [a];
add.u32 %r1, %r1, 40;
st.param.b32 [r], %r1;
ret;
}
END
cat >alone.ptx <<END
$head
.visible .entry answer(.param .u64 out)
{
.reg .b64 %d;
ld.param.u64 %d, [out];
st.global.u32 [%d], 7;
ret;
}
END

# ptxas
"$ptxas" -lineinfo -v --gpu-name=sm_90a --opt-level 3 alone.ptx -o alone.cubin 2>info || failed=1
grep -q "ptxas info *: Compiling entry function 'answer' for 'sm_90a'" info &&
    grep -q "Used [0-9]* registers" info || { cat info; failed=1; }
expect 7 "$program" load alone.cubin
expect "release 13.0" "$ptxas" --version
"$ptxas" -arch sm_80 -c -O3 -maxrregcount=32 forty.ptx -o forty.cubin || failed=1
"$ptxas" main.ptx -arch=sm_75 -o main.cubin || failed=1
"$ptxas" --input-as-string "$(cat alone.ptx)" -arch sm_70 || failed=1
expect 7 "$program" load elf.o
printf '%s\n.entry a()\n{\nfoo.b32 %%r;\nret;\n}\n' "$head" >wrong.ptx
fails "$ptxas" wrong.ptx -o wrong.cubin
expect "line 6; error" "$ptxas" wrong.ptx -o wrong.cubin
[ ! -e wrong.cubin ] || failed=1
# of a later target: for it and in what it makes
sed 's/^[.]version .*/.version 9.0/; s/^[.]target .*/.target sm_120a/' alone.ptx >later.ptx
"$ptxas" -arch=sm_120a later.ptx -o later.cubin || failed=1
expect "is higher than 'sm_90'" "$ptxas" -arch=sm_90 later.ptx -o wrong.cubin
expect "PTX for sm_120a; this device is sm_90" "$program" load later.cubin
WEIR_COMPUTE_CAPABILITY=12.0 expect 7 "$program" load later.cubin
expect "sm_121a" "$ptxas" --list-arch
expect "Unknown option '--nonsense'" "$ptxas" --nonsense alone.ptx
expect "is higher than" "$ptxas" -arch=sm_50 alone.ptx
if command -v readelf >/dev/null; then
    expect "None" readelf -h alone.cubin
    expect ".weir.ptx" readelf -SW alone.cubin
    expect "Weir" readelf -n alone.cubin
fi
expect answer "$build/bin/weir" dump alone.cubin
printf '.version 99.0\n.target sm_70\n.address_size 64\n' >future.ptx
expect UNSUPPORTED_PTX_VERSION "$program" driver future.ptx
# weircc
"$weircc" --cubin main.ptx -o by_weircc.cubin && cmp -s by_weircc.cubin main.cubin ||
    [ -s by_weircc.cubin ] || failed=1
"$weircc" -fatbin forty.ptx -o forty.fatbin || failed=1

# objects and archives of a host compiler
for section in __nv_relfatbin .nv_fatbin weir_rdc; do
    printf '.section %s,"a",@progbits\n.balign 8\n.incbin "forty.fatbin"\n' $section >forty.s
    "$cc" -c forty.s -o forty.o || failed=1
    for how in driver jitlink; do
        expect 42 "$program" $how main.ptx forty.o
    done
done
echo 'int nothing;' >plain.c
"$cc" -c plain.c -o plain.o || failed=1
ar rc libforty.a plain.o forty.o || failed=1
ar rc libplain.a plain.o || failed=1
: >empty.ltoir
printf 'BC\300\336xxxxxxxx' >some.ltoir
printf '\177ELF\002\001\001\063\007\000\000\000\000\000\000\000\002\000\276\000' >sass.cubin
head -c 200 /dev/zero >>sass.cubin
for how in driver jitlink; do
    expect 42 "$program" $how main.ptx forty.ptx
    expect 42 "$program" $how main.cubin forty.cubin
    expect 42 "$program" $how main.ptx forty.fatbin
    expect 42 "$program" $how by_weircc.cubin libplain.a libforty.a
    expect 42 "$program" $how "$build/lib/libcudadevrt.a" main.ptx forty.ptx
    expect "no device code" "$program" $how main.ptx plain.o
    expect "LTO-IR" "$program" $how some.ltoir
    expect "defined in two modules" "$program" $how main.ptx forty.ptx forty.cubin
    expect "sass.cubin" "$program" $how sass.cubin
    expect forty "$program" $how main.ptx
    expect "wrong.ptx" "$program" $how wrong.ptx
done
# linked by weircc: files of all kinds, libraries by name, what has no device code left out
for as in cubin fatbin; do
    rm -f linked
    "$weircc" -$as -dlink -arch=sm_90 main.ptx forty.o plain.o -o linked || failed=1
    expect 42 "$program" load linked
    "$weircc" -$as -dlink by_weircc.cubin -L. -lplain -lforty -lm -lcudadevrt -Xlinker -s -o linked || failed=1
    expect 42 "$program" load linked
    "$weircc" -$as --device-link main.cubin forty.fatbin || failed=1
    expect 42 "$program" load a_dlink.$as
    rm linked a_dlink.$as
    "$weircc" -$as -dlink --dryrun main.cubin forty.fatbin -o linked 2>commands
    [ ! -e linked ] && grep -q "step=device-link [0-9]* .* main.cubin forty.fatbin" commands || { cat commands; failed=1; }
    "$weircc" -$as -dlink --keep main.ptx forty.ptx -o linked && expect 42 "$program" load linked || failed=1
    rm linked
    expect "holds device code" "$weircc" -$as -dlink plain.o -o linked
    expect "defined in two modules" "$weircc" -$as -dlink main.ptx forty.ptx forty.cubin -o linked
    expect "sass.cubin" "$weircc" -$as -dlink sass.cubin -o linked
    expect "Undefined reference to 'forty' in kernel 'answer'" "$weircc" -$as -dlink main.ptx plain.o -o linked
    [ ! -e linked ] || failed=1
done
expect "input of -dlink -cubin alone" "$weircc" -c forty.cubin
expect "machine code" "$program" load sass.cubin
head -c 100 alone.cubin >cut.cubin
expect "cut off" "$program" load cut.cubin

# declarations with other results than the definitions: none, narrower, wider
sed -e 's/call.uni (r), forty, (a);/call.uni forty, (a);/' -e 's/^\.extern.*/.extern .func forty(.param .b32 a);/' \
    -e 's/ld.param.b32 %r1, \[r\];/mov.u32 %r1, 5;/' main.ptx >void.ptx
sed -e 's/(.param .b32 r) forty/(.param .b64 r) forty/' -e 's/st.param.b32 \[r\], %r1/st.param.b64 [r], %d1/' \
    -e 's/add.u32 %r1, %r1, 40;/.reg .b64 %d1; add.u32 %r1, %r1, 40; cvt.u64.u32 %d1, %r1;/' forty.ptx >wide.ptx
sed -e 's/.param .b32 r) forty/.param .b64 r) forty/' -e 's/.param .b32 r;/.param .b64 r; .reg .b64 %w;/' \
    -e 's/ld.param.b32 %r1, \[r\];/ld.param.b64 %w, [r]; cvt.u32.u64 %r1, %w;/' main.ptx >wants_wide.ptx
for how in driver jitlink; do
    expect 5 "$program" $how void.ptx forty.ptx
    expect 5 "$program" $how forty.ptx void.ptx
    expect 42 "$program" $how main.ptx wide.ptx
    expect 42 "$program" $how wants_wide.ptx forty.ptx
done

# functions of the device runtime library that are built in, whatever their declarations say
cat >grid.ptx <<END
$head
.extern .func (.param .b64 h) cudaCGGetIntrinsicHandle(.param .b32 s);
.extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 h, .param .b32 f);
.extern .func cudaCGSynchronizeGrid(.param .b64 h, .param .b32 f);
.extern .func (.param .b32 r) cudaCGGetSize(.param .b64 t, .param .b64 g, .param .b64 h);
.extern .func (.param .b32 r) cudaCGGetRank(.param .b64 t, .param .b64 g, .param .b64 h);
.global .align 4 .u32 sum;
.visible .entry answer(.param .u64 out)
{
.reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<6>;
.local .align 4 .b8 both[8];
.param .b32 s; .param .b64 h; .param .b32 f; .param .b32 e; .param .b64 t; .param .b64 g;
ld.param.u64 %d1, [out];
st.param.b32 [s], 1;
call.uni (h), cudaCGGetIntrinsicHandle, (s);
ld.param.b64 %d2, [h];
mov.u64 %d3, both;
cvta.local.u64 %d3, %d3;
st.param.b64 [h], %d2;
st.param.b64 [t], %d3;
add.u64 %d4, %d3, 4;
st.param.b64 [g], %d4;
call.uni (e), cudaCGGetRank, (t, g, h);
ld.u32 %r1, [%d3];
atom.global.add.u32 %r2, [sum], %r1;
st.param.b64 [h], %d2;
st.param.b32 [f], 0;
call.uni (e), cudaCGSynchronize, (h, f);
st.param.b64 [h], %d2;
st.param.b32 [f], 0;
call.uni cudaCGSynchronizeGrid, (h, f);
st.param.b64 [h], %d2;
st.param.b64 [t], %d3;
st.param.b64 [g], %d4;
call.uni (e), cudaCGGetSize, (t, g, h);
ld.u32 %r3, [%d3];
ld.volatile.global.u32 %r4, [sum];
add.u32 %r4, %r4, %r3;
st.global.u32 [%d1], %r4;
ret;
}
END
# 0 + 1 + ... + 63, and 64 threads
expect 2080 "$program" load grid.ptx
expect 2080 "$program" driver grid.ptx "$build/lib/libcudadevrt.a"
expect 2080 "$program" jitlink grid.ptx

# nothing links to a module without functions
expect "no kernel named answer" "$program" jitlink

# a program compiled against our header
cat >header.c <<'END'
#include <nvJitLink.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    const char *options[] = {"-arch=sm_90"};
    nvJitLinkHandle link;
    size_t size;
    char text[65536];
    nvJitLinkResult lto, status = nvJitLinkCreate(&link, 1, options);
    for (int i = 1; i < argc && status == NVJITLINK_SUCCESS; i++)
        status = nvJitLinkAddFile(link, NVJITLINK_INPUT_ANY, argv[i]);
    if (status == NVJITLINK_SUCCESS)
        status = nvJitLinkComplete(link);
    if (status == NVJITLINK_ERROR_INTERNAL && nvJitLinkGetErrorLog(link, text) == NVJITLINK_SUCCESS)
        puts(text);
    if (status == NVJITLINK_SUCCESS)
        status = nvJitLinkGetLinkedPtxSize(link, &size);
    if (status != NVJITLINK_SUCCESS || size > sizeof text ||
        nvJitLinkGetLinkedPtx(link, text) != NVJITLINK_SUCCESS || strlen(text) != size - 1)
        return 1;
    printf("linked: %s\n", strstr(text, ".entry answer") != NULL ? "answer" : "nothing");
    nvJitLinkDestroy(&link);
    if (nvJitLinkCreate(&link, 1, options) != NVJITLINK_SUCCESS)
        return 1;
    lto = nvJitLinkAddData(link, NVJITLINK_INPUT_LTOIR, "x", 1, "lto");
    if (nvJitLinkGetErrorLog(link, text) != NVJITLINK_SUCCESS)
        return 1;
    printf("LTO: %d %s\n", lto == NVJITLINK_ERROR_INVALID_INPUT, text);
    return nvJitLinkDestroy(&link);
}
END
if "$weircc" header.c -o header -lnvJitLink; then
    expect "linked: answer" ./header main.ptx forty.ptx
    expect "Undefined reference to 'forty' in kernel 'answer'" ./header main.ptx
    expect "LTO: 1 lto: LTO-IR is not supported" ./header main.ptx forty.ptx
else
    failed=1
fi
exit $failed
