#!/bin/sh
# usage: check.sh BUILD [all]: Python's packages for CUDA on this build of Weir, by weir run.
#
# Without "all": the programs of this directory, in a virtual environment of BUILD/python that pip fills
# once. With it: the wheel in an environment of its own, a training of tinygrad's, and the suites of PyCUDA
# (built here) and numba-cuda, each test with its expected result; numba-cuda's takes an hour and more, and goes on where it
# was stopped (BUILD/python/results). Without the packages and without PyPI: status 77, skipped.
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) || exit 2
what=$2
work=$build/python
weir=$build/bin/weir
failed=0
WEIR_CACHE_DIR=$work/cache
TRITON_CACHE_DIR=$work/triton
PIP_DISABLE_PIP_VERSION_CHECK=1
export WEIR_CACHE_DIR TRITON_CACHE_DIR PIP_DISABLE_PIP_VERSION_CHECK
mkdir -p "$work"

# environment NAME PACKAGE...: a virtual environment with these packages; skips everything without them.
environment() {
    name=$1
    shift
    if [ ! -e "$work/$name/complete" ]; then
        python3 -m venv "$work/$name" >"$work/log" 2>&1 &&
            timeout 200 "$work/$name/bin/pip" install -q --retries 1 --timeout 10 "$@" >>"$work/log" 2>&1 || {
            tail -n 3 "$work/log"
            echo "skipped: $* could not be installed: is PyPI reached?"
            exit 77
        }
        touch "$work/$name/complete"
    fi
}

# check LIMIT COMMAND...: runs it; a status other than 0 fails.
check() {
    limit=$1
    shift
    echo "--- $*"
    timeout "$limit" "$@" || {
        echo "failed: $* (status $?)"
        failed=$((failed + 1))
    }
}

# says TEXT COMMAND...: the command prints that; a status other than 0 is no matter.
says() {
    text=$1
    shift
    echo "--- $*"
    timeout 200 "$@" >"$work/said" 2>&1
    grep -q "$text" "$work/said" || {
        cat "$work/said"
        echo "failed: \"$text\" is not said by $*"
        failed=$((failed + 1))
    }
}

environment venv numpy triton 'numba-cuda[cu13]==0.30.*'
python=$work/venv/bin/python
check 120 "$weir" run "$python" "$here/numba_kernels.py"
check 120 "$weir" run "$python" "$here/core_objects.py"
check 120 "$weir" run "$python" "$here/nvrtc_headers.py" "$build/include"
line=$(grep -n 'reads past the end' "$here/numba_checks.py" | cut -d: -f1)
says "thread (63,0,0) at .*numba_checks.py:$line" \
    "$weir" run --check=memory "$python" "$here/numba_checks.py" memory
line=$(grep -n 'no barrier before it' "$here/numba_checks.py" | cut -d: -f1)
says "read by block (0,0,0), thread .* at .*numba_checks.py:$line" \
    "$weir" run --check=races "$python" "$here/numba_checks.py" races
# Triton compiles a module of Python's at its start
headers=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
if [ -e "$headers/Python.h" ]; then
    check 200 "$weir" run "$python" "$here/triton_kernels.py"
else
    echo "skipped: Triton needs $headers/Python.h (python3-dev)"
fi

if [ "$what" = all ]; then
    check 600 python3 "$here/../../tools/wheel/make.py" "$build" "$build/wheel"
    rm -rf "$work/wheel"
    environment wheel numpy
    check 300 "$work/wheel/bin/pip" install -q --no-index --force-reinstall "$build"/wheel/weir-*.whl
    check 60 env PYTHONPATH="$here" "$work/wheel/bin/weir" run "$work/wheel/bin/python" -c \
        'import device_array as d; d.begin(); assert (d.zeros(3).numpy() == 0).all(); print("wheel: passed")'
    cat >"$work/hello.cu" <<'CUDA'
#include <cstdio>
__global__ void hello() { printf("thread %d\n", threadIdx.x); }
int main() { hello<<<1, 2>>>(); return cudaDeviceSynchronize(); }
CUDA
    check 120 "$work/wheel/bin/weircc" "$work/hello.cu" -o "$work/hello"
    check 60 "$work/hello"

    environment tinygrad numpy 'tinygrad==0.14.*' nvidia-cuda-nvrtc
    nvrtc=$(dirname "$(find "$work/tinygrad" -name 'libnvrtc.so.*' | head -n 1)")
    LD_LIBRARY_PATH=$nvrtc DEV=CUDA CACHEDB=$work/tinygrad.db check 900 "$weir" run \
        "$work/tinygrad/bin/python" "$here/tinygrad_training.py"

    # PyTorch with what it needs is 3 GB: only where the user has a Python with it
    if [ -n "${TORCH_PYTHON:-}" ]; then
        check 900 "$weir" run "$TORCH_PYTHON" "$here/torch_program.py" compile
    else
        echo "skipped: PyTorch: TORCH_PYTHON names no Python that has it"
    fi

    # CuPy and Warp are built from source (docs/python.md): only where the user has Pythons with them
    if [ -n "${CUPY_PYTHON:-}" ]; then
        for tests in cuda_tests/test_driver cuda_tests/test_graph cuda_tests/test_memory cuda_tests/test_pinned_memory \
            cuda_tests/test_stream cuda_tests/test_texture core_tests/test_raw core_tests/test_userkernel; do
            WEIR_DEVICES=2 NVCC=$build/lib/weir/cuda/bin/nvcc PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH} check 3600 \
                python3 "$here/suite.py" --keep "$work/results/cupy" --expected "$here/cupy_expected.txt" "$weir" \
                "$CUPY_PYTHON" "${CUPY_TESTS:?the directory cupy_tests of its source}/$tests.py" -m 'not slow' \
                -p cupy_without_curand
        done
    else
        echo "skipped: CuPy: CUPY_PYTHON names no Python that has it, built from source"
    fi
    if [ -n "${WARP_PYTHON:-}" ]; then
        for tests in test_launch test_atomic cuda/test_streams cuda/test_mempool; do
            check 1800 "$weir" run "$WARP_PYTHON" "${WARP_TESTS:?the directory warp/tests of its source}/$tests.py"
        done
    else
        echo "skipped: Warp: WARP_PYTHON names no Python that has it, built from source"
    fi

    environment pycuda 'numpy' 'pytest<9' pytools mako platformdirs setuptools wheel siphash24
    if [ ! -d "$work"/pycuda-src ]; then
        mkdir "$work/pycuda-src"
        "$work/pycuda/bin/pip" download -q --no-deps --no-build-isolation --no-binary pycuda \
            -d "$work/pycuda-src" pycuda==2026.1 &&
            tar xzf "$work"/pycuda-src/pycuda-*.tar.gz -C "$work/pycuda-src" --strip-components 1
    fi
    # its options are others where an earlier run has left siteconf.py
    (cd "$work/pycuda-src" && rm -f siteconf.py && "$work/pycuda/bin/python" configure.py --no-cuda-enable-curand \
        --cuda-root="$build/lib/weir/cuda" && "$work/pycuda/bin/pip" install -q --no-build-isolation --no-deps .) \
        >"$work/log" 2>&1 || {
        echo "failed: PyCUDA does not build: $work/log"
        failed=$((failed + 1))
    }
    PYTHONPATH=$here check 3600 python3 "$here/suite.py" --keep "$work/results/pycuda" "$weir" \
        "$work/pycuda/bin/python" "$work/pycuda-src/test" -p pycuda_without_curand -k "not big_array"

    environment numba 'numba-cuda[cu13]==0.30.*' 'pytest<9' pytest-benchmark pytest-timeout psutil cffi filecheck \
        ml_dtypes
    tests=$("$work/numba/bin/python" -c \
        'import importlib.util as u; print(u.find_spec("numba_cuda").submodule_search_locations[0])')
    PYTHONPATH=$here check 14400 python3 "$here/suite.py" --keep "$work/results/numba" \
        --expected "$here/numba_expected.txt" "$weir" "$work/numba/bin/python" \
        "$tests/numba/cuda/tests" --timeout 600 -c "$here/numba.ini" -p numba_plugin --benchmark-disable
fi

[ $failed = 0 ] && echo "python: all passed"
[ $failed = 0 ]
