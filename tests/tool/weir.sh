#!/bin/sh
# usage: weir.sh WEIR LAUNCH: runs the weir tool with right and wrong arguments; checks exit status and a word of the output.
weir=$1 launch=$2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
WEIR_CACHE_DIR=$work/cache
export WEIR_CACHE_DIR

# check STATUS TEXT COMMAND...: runs it; wants that exit status and TEXT in its output.
check() {
    status=$1 text=$2
    shift 2
    timeout 60 "$@" >"$work/out" 2>&1
    got=$?
    if [ $got -eq "$status" ] && { [ -z "$text" ] || grep -qF -e "$text" "$work/out"; }; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $* : status $got instead of $status, or no '$text' in:"
        cat "$work/out"
    fi
}

check 2 "usage: weir" "$weir"
check 0 "usage: weir" "$weir" --help
check 0 "weir 0." "$weir" --version
check 2 "no command 'fly'" "$weir" fly
check 2 "no option '--fly'" "$weir" --fly
for command in run info dump cache; do
    check 0 "usage: weir $command" "$weir" $command --help
    check 2 "--fly" "$weir" $command --fly
done

check 2 "--pools wants" "$weir" info --pools
check 2 "--pools wants" "$weir" info --pools 1 2
check 1 "no memory pools" "$weir" info --pools 1
check 1 "no report" "$weir" info --pools "$0"
check 2 "--trace-pools needs" "$weir" run --trace-pools

check 0 "0 files" "$weir" cache
check 0 "removed 0 files" "$weir" cache --clear
mkdir -p "$work/cache/ab"
echo x >"$work/cache/ab/0123456789abcdef0123456789abcd"
echo x >"$work/cache/ab/not-ours"
check 0 "1 file," "$weir" cache
check 0 "removed 1 file," "$weir" cache --clear
check 0 "" test -f "$work/cache/ab/not-ours"
check 0 "is WEIR_CACHE_DIR meant" env WEIR_CACHEDIR=off "$weir" cache
check 0 "no cache directory" env WEIR_CACHE_DIR=off "$weir" cache
check 1 "no cache directory" env WEIR_CACHE_DIR=off "$weir" cache --clear
check 0 "cannot be used (Not a directory)" env WEIR_CACHE_DIR=/dev/null/x "$weir" cache

check 2 "no program" "$weir" run
check 2 "whole number from 1" "$weir" run --workers 0 true
check 2 "whole number from 1" "$weir" run --workers=many true
check 2 "needs a number" "$weir" run --workers
check 2 'must be "memory", "races", "races=streams", ' "$weir" run --check=everything true
check 0 "" "$weir" run --check=races=streams --report="$work/report" --error-exitcode 3 true
check 2 "--schedules needs a number" "$weir" run --schedules=some true
check 2 "--schedules needs a number" "$weir" run --schedules=0 true
check 2 "from 0 to 255" "$weir" run --error-exitcode 999 true
check 2 "needs a file" "$weir" run --report
# a file name that was forgotten, or an option that is wrong, costs no file
printf '#!/bin/sh\necho alive\n' >"$work/victim"
chmod +x "$work/victim"
for option in --trace --report --log; do
    check 2 "that is a program or a directory" "$weir" run $option "$work/victim"
    check 2 "no program given" "$weir" run $option "$work/not-made"
    check 2 "unknown option '--fly'" "$weir" run $option "$work/not-made" --fly true
done
check 0 "alive" "$work/victim"
check 1 "" test -e "$work/not-made"
check 0 "" "$weir" run --check=memory true
if [ -e "$(dirname "$weir")/../lib/libcuda.so.1" ]; then
    check 1 'WEIR_CHECK=memroy: must be "memory", "races", "races=streams", ' env WEIR_CHECK=memroy "$weir" info
    check 1 'WEIR_JIT=quick: must be "baseline", "optimizing" or "both"' env WEIR_JIT=quick "$weir" info
    check 0 "WEIR_WORKER is no setting: is WEIR_WORKERS meant?" env WEIR_WORKER=2 "$weir" info
    check 1 "WEIR_JIT=fast: must be" env WEIR_JIT=fast "$weir" info
    check 1 'WEIR_DRIVER=cpuu: must be "cpu", "gpu" or "auto"' env WEIR_DRIVER=cpuu "$weir" info
    check 1 'WEIR_SCHEDULE=fixd: must be a whole number, the seed, or "fixed"' env WEIR_SCHEDULE=fixd "$weir" info
    check 0 "WEIR_SCHEDUL is no setting: is WEIR_SCHEDULE meant?" env WEIR_SCHEDUL=2 "$weir" info
    check 3 "0 of 2 orders differ" "$weir" run --schedules=2 sh -c "exit 3"
    check 127 "" "$weir" run --schedules=2 /nonexistent/program
    check 1 "WEIR_VECTORS=1024: must be" env WEIR_VECTORS=1024 "$weir" info
    check 1 "WEIR_VECTORS=256,load: must be" env WEIR_VECTORS=256,load "$weir" info
    check 1 "WEIR_VECTORS=512,256: must have one of" env WEIR_VECTORS=512,256 "$weir" info
    check 1 "WEIR_VECTORS=gathers,loads: must have one of" env WEIR_VECTORS=gathers,loads "$weir" info
    check 0 "" env WEIR_VECTORS=256,loads "$weir" info
    check 1 "WEIR_POOLS=mine: must be" env WEIR_POOLS=mine "$weir" info
    check 1 "WEIR_FAULTS=no: must be" env WEIR_FAULTS=no "$weir" info
    check 1 "WEIR_KEYS=none: must be" env WEIR_KEYS=none "$weir" info
    check 0 "7 workers" "$weir" run --workers 7 sh -c 'echo $WEIR_WORKERS workers'
    check 3 "" "$weir" run -- sh -c 'exit 3'
    check 127 "cannot run /nonexistent/program" "$weir" run /nonexistent/program
    check 126 "cannot run /etc/passwd" "$weir" run /etc/passwd
    check 0 "/lib" "$weir" run sh -c 'echo $LD_LIBRARY_PATH'
    check 0 "device 0:" "$weir" info

    check 0 "compute capability 8.6" env WEIR_COMPUTE_CAPABILITY=8.6 "$weir" info
    check 0 "compute capability 12.0" env WEIR_COMPUTE_CAPABILITY=12.0 "$weir" info
    # more than the machine has is fine, more than there are addresses for is not
    check 0 "8192.0 GiB" env WEIR_DEVICE_MEMORY=8T "$weir" info
    check 1 "999 TiB of memory for each of 1 devices (WEIR_DEVICE_MEMORY): there are addresses for at most" \
        env WEIR_DEVICE_MEMORY=999T "$weir" info
    check 1 "(WEIR_DEVICE_MEMORY): there are addresses" env WEIR_DEVICE_MEMORY=4194304T "$weir" info
    check 1 "for each of 16 devices" env WEIR_DEVICES=16 WEIR_DEVICE_MEMORY=8T "$weir" info
    check 1 "WEIR_COMPUTE_CAPABILITY=7.0: must be" env WEIR_COMPUTE_CAPABILITY=7.0 "$weir" info

    # parts of an installation
    lib=$(cd "$(dirname "$weir")/../lib" && pwd -P)
    mkdir -p "$work/part/bin" "$work/part/lib/weir"
    cp "$weir" "$work/part/bin/weir"
    for part in libcuda.so.1 libcudart.so.13; do ln -s "$lib/$part" "$work/part/lib/"; done
    check 0 "libweir-sync.so cannot be read" env LD_LIBRARY_PATH="$lib" "$work/part/bin/weir" run --check=races true

    # what Python's packages look for
    check 0 "$lib/weir/cuda/bin/ptxas" "$weir" run sh -c 'echo $TRITON_PTXAS_PATH'
    check 0 "$lib/libcuda.so.1" "$weir" run sh -c 'echo $NUMBA_CUDA_DRIVER'
    check 0 "on" "$weir" run sh -c 'echo $WEIR_LIBRARIES'
    check 0 "off" env WEIR_LIBRARIES=off "$weir" run sh -c 'echo $WEIR_LIBRARIES'
    check 1 "WEIR_LIBRARIES=yes: must be" env WEIR_LIBRARIES=yes "$weir" info
    check 0 "/elsewhere, unset" env -u CUDA_HOME CUDA_PATH=/elsewhere \
        "$weir" run sh -c 'echo $CUDA_PATH, ${CUDA_HOME:-unset}'
    check 0 "none preloaded" env -u LD_PRELOAD "$weir" run sh -c 'echo ${LD_PRELOAD:-none} preloaded'
    # sanitized libraries cannot be preloaded into other programs
    if ! grep -qaE '__(asan|tsan|ubsan)_' "$lib/libnvJitLink.so.13"; then
        printf '#!/bin/sh\necho $LD_PRELOAD\n' >"$work/python3.99"
        printf '#!%s\n' "$work/python3.99" >"$work/script"
        printf "#!/bin/sh\n'''exec' %s \"\$0\"\n' '''\n" "$work/python3.99" >"$work/long"
        chmod +x "$work/python3.99" "$work/script" "$work/long"
        check 0 "$lib/libnvJitLink.so.13" "$weir" run "$work/python3.99"
        check 0 "$lib/libnvJitLink.so.12" env PATH="$work:$PATH" "$weir" run script
        check 0 "$lib/libnvJitLink.so.12" "$weir" run "$work/long"
        # by a shell, by env and by a script
        printf '#!/bin/sh\n# for python\necho $LD_PRELOAD\n' >"$work/starts"
        chmod +x "$work/starts"
        check 0 "$lib/libnvJitLink.so.13" "$weir" run sh -c "$work/python3.99 program"
        check 0 "$lib/libnvJitLink.so.13" "$weir" run env "$work/python3.99"
        check 0 "$lib/libnvJitLink.so.13" "$weir" run "$work/starts"
        # Weir's NVRTC where the Python has NVIDIA's
        packages=$work/lib/python3.99/site-packages/nvidia/cu13/lib
        mkdir -p "$packages" "$work/bin"
        : >"$packages/libnvrtc.so.13"
        printf '#!/bin/sh\necho $LD_PRELOAD $WEIR_NVRTC_13\n' >"$work/bin/python3"
        chmod +x "$work/bin/python3"
        check 0 "$lib/weir/cuda/nvrtc/libnvrtc.so.13 $packages/libnvrtc.so.13" "$weir" run "$work/bin/python3"
        # CuPy takes the directory above it for the toolkit
        check 0 "libcudadevrt" ls "$lib/weir/cuda/nvrtc/../lib64/libcudadevrt.a"
        : >"$packages/libcudart.so.13" # and the runtime, where a package brings NVIDIA's
        check 0 "$lib/libcudart.so.13:$lib/weir/cuda/nvrtc/" "$weir" run "$work/bin/python3"
        check 0 "$lib/weir/cuda/nvrtc/libnvrtc.so.13 /my/own" env WEIR_NVRTC_13=/my/own "$weir" run "$work/bin/python3"
    fi
fi
timeout 60 "$weir" info >"$work/info" 2>&1
WEIR_CHEKC=memory timeout 60 "$weir" info >"$work/unread" 2>&1
check 0 "is WEIR_CHECK meant" grep -A1 "not read" "$work/unread"
check 0 "Not set" grep -A2 WEIR_WORKERS "$work/info"
check 0 "Now: \"$work/cache\"" grep -A2 WEIR_CACHE_DIR "$work/info"

printf '.version 8.0\n.target sm_80\n.address_size 64\n' >"$work/none.ptx"
cat >"$work/good.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 from, .param .u64 to)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd5, %r1, 4;
    add.s64 %rd6, %rd3, %rd5;
    add.s64 %rd7, %rd4, %rd5;
    ld.global.u32 %r2, [%rd6];
    st.global.u32 [%rd7], %r2;
    ret;
}
PTX
sed 's/mul.wide.u32/mul.wider.u32/' "$work/good.ptx" >"$work/bad.ptx"
head -c 3000 /dev/urandom >"$work/random"
: >"$work/empty"
check 2 "no file" "$weir" dump
check 2 "more than one file" "$weir" dump a b
check 2 "needs a shape" "$weir" dump --block 16x16 "$work/good.ptx"
check 2 "needs a shape" "$weir" dump --block 32,32,32 "$work/good.ptx"
check 2 "needs a shape" "$weir" dump --block
for tier in optimizing first first-of-many baseline; do
    check 0 "instructions" "$weir" dump --times --tier $tier "$work/good.ptx"
done
# vectors of 256 bits where those of 512 are not wanted
if grep -q avx512dq /proc/cpuinfo; then
    check 0 "zmm" "$weir" dump --asm "$work/good.ptx"
fi
check 0 "" env WEIR_VECTORS=256 "$weir" dump --asm "$work/good.ptx"
if grep -q zmm "$work/out"; then
    failed=$((failed + 1))
    echo "failed: WEIR_VECTORS=256, and registers of 512 bits"
fi
check 2 "--tier is optimizing, baseline" "$weir" dump --tier good "$work/good.ptx"
check 2 "--tier best is called optimizing now" "$weir" dump --tier best "$work/good.ptx"
check 2 "--tier quick is called baseline now" "$weir" dump --tier quick "$work/good.ptx"
check 2 "--shapes is called --uniformity now" "$weir" dump --shapes "$work/good.ptx"
check 1 "No such file" "$weir" dump "$work/nothing"
check 1 "Is a directory" "$weir" dump "$work"
check 1 "bad.ptx: line 13" "$weir" dump "$work/bad.ptx"
check 1 "random" "$weir" dump "$work/random"
check 1 "empty" "$weir" dump "$work/empty"
check 1 "$weir" "$weir" dump "$weir"
check 0 "copy" "$weir" dump "$work/good.ptx"
check 0 "ld.global.u32" "$weir" dump --ptx "$work/good.ptx"
check 1 "no kernel named paste; it has copy" "$weir" dump --ptx --kernel paste "$work/good.ptx"
sed 's/\<copy\>/_Z4copyPi/g' "$work/good.ptx" >"$work/names.ptx"
for name in _Z4copyPi copy 'copy(int*)'; do
    check 0 _Z4copyPi: "$weir" dump --kernel "$name" "$work/names.ptx"
done
check 1 "it has copy(int" "$weir" dump --kernel cop "$work/names.ptx"
if [ -e "$(dirname "$weir")/../lib/weir/libweir-jit.so" ]; then
    check 0 "16 bytes of parameters" "$weir" dump "$work/good.ptx"
    check 0 "block 64 x 1 x 1" "$weir" dump --uniformity --block 64 "$work/good.ptx"
    check 0 "weir_block" "$weir" dump --ir --kernel=copy "$work/good.ptx"
    check 0 "weir_block" "$weir" dump --ir-raw "$work/good.ptx"
    check 0 "weir_block" "$weir" dump --asm "$work/good.ptx"

    # compiled ahead: a launch adds nothing to the cache, of a new shape it does, and that one is
    # what is compiled ahead from then on
    check 2 "--fill needs" "$weir" cache --fill
    check 2 "--block needs --fill" "$weir" cache --block 64
    check 2 "--block needs a shape" "$weir" cache --fill "$work/good.ptx" --block 2048
    check 1 "no kernels" "$weir" cache --fill "$work/none.ptx"
    check 1 "No such file" "$weir" cache --fill "$work/missing"
    check 1 "no cache directory" env WEIR_CACHE_DIR=off "$weir" cache --fill "$work/good.ptx"
    check 0 "1 variants of kernels: 1 compiled" "$weir" cache --fill "$work/good.ptx" --block 64
    check 0 "7 compiled, 0 were there" "$weir" cache --fill "$work/good.ptx"
    check 0 "0 compiled, 7 were there" "$weir" cache --fill "$work/good.ptx"
    "$weir" cache >"$work/before"
    check 0 "copied" "$launch" "$work/good.ptx" copy 64
    check 0 "copied" "$launch" "$work/good.ptx" copy 256
    "$weir" cache >"$work/after"
    check 0 "" cmp "$work/before" "$work/after"
    check 0 "copied" "$launch" "$work/good.ptx" copy 96
    check 0 "0 compiled, 1 were there" "$weir" cache --fill "$work/good.ptx"
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
