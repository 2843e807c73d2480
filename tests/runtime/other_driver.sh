#!/bin/sh
# G1: programs of weircc over a driver that is not Weir's: which driver is chosen, what is said where it
# cannot be had, and the second form of device code, on a stand-in for such a driver (other_driver.c).
#   other_driver.sh WEIRCC WEIR LIBCUDA STAND-IN DIRECTORY
set -u
weircc=$1 weir=$2 OTHER_DRIVER_WEIR=$3 other=$4 work=$5
here=$(cd "$(dirname "$0")" && pwd)
export OTHER_DRIVER_WEIR
unset WEIR_DRIVER CUDA_PATH LD_LIBRARY_PATH
fail=0
rm -rf "$work"
mkdir -p "$work/toolkit/lib64" "$work/bin"
cd "$work" || exit 1
# what a toolkit has for the linker; the stand-in does not read it
echo "an archive" >toolkit/lib64/libcudadevrt.a
CUDA_HOME=$work/toolkit
export CUDA_HOME

"$weircc" -rdc=true -arch=sm_90 "$here/other_driver_a.cu" "$here/other_driver_b.cu" -o program || exit 1
"$weircc" -rdc=true -arch=sm_90 "$here/other_driver_refused.cu" "$here/other_driver_b.cu" -o refused || exit 1
"$weircc" "$here/other_driver_lost.cu" -o lost || exit 1
"$weircc" "$here/other_driver_again.cu" -o again || exit 1
"$weircc" "$here/other_driver_host.cu" -o host || exit 1
"$weircc" -I"$here/.." -I"$here/../conformance" "$here/../conformance/devices/primary_released.cu" \
    -o released -lcuda || exit 1
"$weircc" "$here/other_driver_init.cu" -o init -lcuda || exit 1
"$weircc" -DLIBRARY -shared -cudart shared -Xcompiler -fPIC "$here/other_driver_twice.cu" -o libtwice.so || exit 1
"$weircc" "$here/other_driver_twice.cu" -o twice -L. -ltwice -Xlinker -rpath="$work" || exit 1
"$weircc" "$here/other_driver_again.cu" -Xlinker --no-as-needed -lcuda -o linked || exit 1

# expect STATUS PATTERN SETTINGS... : how the last command line ended, and what it printed
expect() {
    wanted=$1 pattern=$2
    shift 2
    env "$@" >out 2>&1
    status=$?
    if [ $status != "$wanted" ] || ! grep -q "$pattern" out; then
        echo "env $*: status $status, not $wanted, or nothing like '$pattern' in:"
        cat out
        fail=1
    fi
}

expect 0 '^right$' ./program
expect 0 '^right$' WEIR_DRIVER="$other" ./program
grep -q "links $work/toolkit/lib64/libcudadevrt.a" out || { echo "not linked with libcudadevrt.a"; fail=1; }
expect 0 '^right$' WEIR_DRIVER=cpu ./program
expect 0 '^right$' WEIR_DRIVER="$OTHER_DRIVER_WEIR" ./program
expect 1 'WEIR_DRIVER=fast: it must be cpu, gpu, auto or the path' WEIR_DRIVER=fast ./program
expect 1 'WEIR_DRIVER=/no/such: /no/such: cannot open' WEIR_DRIVER=/no/such ./program
expect 1 'it is no driver of CUDA: it has no cuInit' WEIR_DRIVER="${OTHER_DRIVER_WEIR%/*}/libcudart.so.13" ./program
expect 1 'is for CUDA 12.4, this program.s runtime needs 13.0' WEIR_DRIVER="$other" OTHER_DRIVER_VERSION=12040 ./program
expect 1 'no CUDA-capable device' WEIR_DRIVER="$other" OTHER_DRIVER_DEVICES=0 ./program
expect 1 "WEIR_DRIVER=$other: the driver has no device" WEIR_DRIVER="$other" OTHER_DRIVER_INIT=100 ./program
# What the driver says at the beginning comes through, as code and sentence, and nothing else is taken.
starts() {
    expect 1 "^$2\$" WEIR_DRIVER="$other" OTHER_DRIVER_INIT="$1" ./again
}
starts 46 'CUDA-capable device(s) is/are busy or unavailable'
starts 102 "device doesn't have valid Grid license"
starts 802 'system not yet initialized'
starts 803 'system has unsupported display driver / cuda driver combination'
starts 804 'forward compatibility was attempted on non supported HW'
starts 999 'unknown error'

# Two drivers in one process: the program's own calls of cu* would go to the other one.
expect 1 "the program has loaded Weir's libcuda.so.1, which runs on the CPU" WEIR_DRIVER=gpu ./linked
expect 1 'the program has loaded another libcuda.so.1' WEIR_DRIVER="$other" ./linked
expect 0 '^no error$' WEIR_DRIVER=cpu ./linked
expect 0 '^no error$' WEIR_DRIVER="$OTHER_DRIVER_WEIR" ./linked
# The same of a program without a runtime.
for driver in gpu "$other" /no/such; do
    expect 1 "^weir: WEIR_DRIVER=$driver, but the program has loaded Weir's libcuda.so.1" WEIR_DRIVER="$driver" ./init
    expect 1 '^cuInit: 100$' WEIR_DRIVER="$driver" ./init
done
expect 1 'weir: WEIR_DRIVER=fast: it must be cpu, gpu, auto or the path' WEIR_DRIVER=fast ./init
for driver in '' cpu auto "$OTHER_DRIVER_WEIR"; do
    expect 0 '^cuInit: 0$' WEIR_DRIVER="$driver" ./init
done

# A device that is lost while the program runs, over pools of both kinds.
for pools in own driver; do
    for code in 46 214 700 719 999; do
        expect 0 '^right$' WEIR_DRIVER="$other" WEIR_POOLS=$pools OTHER_DRIVER_LOST=$code ./lost $code
    done
done

for pools in own driver; do
    expect 0 '^right$' WEIR_DRIVER="$other" WEIR_POOLS=$pools ./host
done

# The program's own releases end the primary context, which the driver alone knows.
expect 0 ' 0 failed' LD_PRELOAD="$other" WEIR_DRIVER="$other" ./released

# A part of a device (MIG, vGPU) may lack what own pools need: then the driver's serve.
expect 0 '^no error$' WEIR_DRIVER="$other" OTHER_DRIVER_MAPS=0 ./again
if grep -q WEIR_POOLS out; then echo "own pools were not asked for, and their lack is told"; fail=1; fi
expect 0 'WEIR_POOLS=own: the driver lacks virtual memory management' WEIR_DRIVER="$other" OTHER_DRIVER_MAPS=0 WEIR_POOLS=own ./again
# A setting that is wrong is an error on both, and not that there is no device, which a program may pass over.
for driver in "$other" cpu; do
    expect 1 '^initialization error$' WEIR_DRIVER="$driver" WEIR_POOLS=onw ./again
    if ! grep -q 'weir: WEIR_POOLS=onw: must be "own" or "driver"' out; then
        echo "WEIR_POOLS=onw on $driver is refused without a sentence:"
        cat out
        fail=1
    fi
done
# What Weir's device alone does is not left out in silence.
expect 0 '^weir: WEIR_CHECK=calls: Weir.s CPU device does that' WEIR_DRIVER="$other" WEIR_CHECK=calls ./again
expect 0 'allocated 200 times, freed 200 times' WEIR_DRIVER="$other" WEIR_POOLS=driver ./again
# What is freed and allocated again is kept: once for each size before it is, and once more then.
expect 0 'allocated 4 times, freed 2 times' WEIR_DRIVER="$other" ./again

expect 1 'the initial value of a variable has the address of a managed variable' WEIR_DRIVER="$other" ./refused

# Found by the loader, as a GPU's driver is. Where this machine has one, that may be found as well.
mkdir found
ln -s "$other" found/libcuda.so.1
expect 0 '^right$' WEIR_DRIVER=auto OTHER_DRIVER_DEVICES=0 LD_LIBRARY_PATH=found ./program
expect 0 '^right$' WEIR_DRIVER=gpu LD_LIBRARY_PATH=found ./program
# Two runtimes in one process, of which one meets Weir's driver on its way.
expect 0 '^right$' WEIR_DRIVER=gpu LD_LIBRARY_PATH="found:${OTHER_DRIVER_WEIR%/*}" ./twice
expect 0 '^right$' WEIR_DRIVER=gpu LD_LIBRARY_PATH="${OTHER_DRIVER_WEIR%/*}:found" ./twice
expect 1 'no CUDA-capable device' WEIR_DRIVER=gpu LD_LIBRARY_PATH=found OTHER_DRIVER_DEVICES=0 ./program
expect 1 "the program has loaded another libcuda.so.1 than Weir's" LD_PRELOAD=found/libcuda.so.1 WEIR_DRIVER=cpu ./program
expect 0 '^right$' LD_LIBRARY_PATH=found "$weir" run --device=cpu ./program
expect 0 'links .*libcudadevrt' LD_LIBRARY_PATH=found "$weir" run --device=gpu ./program
expect 2 'a process has one driver' "$weir" run --device=cpu,gpu ./program
expect 2 'must be cpu or gpu' "$weir" run --device=tpu ./program
for option in --check=memory --trace=file --stats --schedules=3; do
    expect 2 "^weir run: ${option%=*}: Weir's CPU device does that" LD_LIBRARY_PATH=found "$weir" run --device=gpu $option ./again
done
expect 0 'GPU driver: .*libcuda.so.1 (CUDA 13.0)' LD_LIBRARY_PATH=found "$weir" info
expect 0 '^device 0: .*Weir CPU device' WEIR_DRIVER=gpu "$weir" info
if ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1' && [ ! -e /usr/lib/wsl/lib/libcuda.so.1 ]; then
    expect 1 'no libcuda.so.1 of a GPU.s driver was found' WEIR_DRIVER=gpu ./program
    expect 1 'this machine has no libcuda.so.1' "$weir" run --device=gpu ./program
    expect 0 'GPU driver: none' "$weir" info
fi
# No toolkit
if [ ! -e /usr/local/cuda ] && [ ! -e /opt/cuda ] && ! command -v nvcc >/dev/null; then
    expect 1 'takes libcudadevrt.a of the CUDA toolkit, which this machine lacks' WEIR_DRIVER="$other" CUDA_HOME= ./program
fi
exit $fail
