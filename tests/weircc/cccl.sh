# Where weircc finds CCCL, and what it says when there is none. The directories hold stand-ins.
. "$(dirname "$0")/lib.sh"
unset VIRTUAL_ENV CONDA_PREFIX CUDA_HOME CUDA_PATH
HOME=$scratch/home
export HOME

# stand_in DIRECTORY NAME: a whole CCCL
stand_in() {
    mkdir -p "$1/cub" "$1/thrust" "$1/cuda/std"
    echo "#define CCCL_IS \"$2\"" >"$1/cub/cub.cuh"
    : >"$1/cub/version.cuh"
    : >"$1/thrust/version.h"
    : >"$1/cuda/std/cstddef"
}
cat >which.cu <<'END'
#include <cub/cub.cuh>
const char *which = CCCL_IS;
END
finds() { # finds NAME
    run weircc -E which.cu
    ok
    says "which = \"$1\""
}

# None: the message says what brings it.
run weircc -c which.cu
fails
says "which.cu:1:10: fatal error: 'cub/cub.cuh' file not found"
says 'pip install nvidia-cuda-cccl'
printf '#include <missing/cub.h>\n' >other.cu
run weircc -c other.cu
fails
says_not 'pip install'

# Named.
stand_in named one
stand_in toolkit/include/cccl two
stand_in checkout/unused three
mkdir -p checkout/libcudacxx/include/cuda/std checkout/cub/cub checkout/thrust/thrust
cp checkout/unused/cub/cub.cuh checkout/cub/cub
: >checkout/thrust/thrust/version.h
: >checkout/libcudacxx/include/cuda/std/cstddef
rm -r checkout/unused
WEIR_CCCL=$PWD/named finds one
WEIR_CCCL=$PWD/toolkit finds two
WEIR_CCCL=$PWD/checkout finds three
WEIR_CCCL=$PWD/home run weircc -E which.cu
fails
says "WEIR_CCCL names '$PWD/home'"
mkdir mine
stand_in mine/inc mine
WEIR_CCCL=$PWD/named run weircc -I mine/inc -E which.cu
says 'which = "mine"'
# The toolkit's own directory, which CMake's CUDA::cudart asks for, stands for what is found now.
WEIR_CCCL=$PWD/named run weircc -isystem "$build/lib/weir/cuda/include/cccl" -E which.cu
ok
says 'which = "one"'

# Found: a toolkit by its variable, then Python's package, the newest of several.
unset WEIR_CCCL
if [ ! -e "$build/lib/weir/cccl" ]; then
    CUDA_HOME=$PWD/toolkit finds two
    CUDA_PATH=$PWD/toolkit finds two
    stand_in home/.local/lib/python3.9/site-packages/nvidia/cuda_cccl/include old
    HOME=$PWD/home finds old
    stand_in venv/lib/python3.11/site-packages/nvidia/cu13/include/cccl new
    VIRTUAL_ENV=$PWD/venv HOME=$PWD/home finds new
fi

# The toolkit's directory has links to what is found, for build files that look there, or to Weir's own part.
links() { # links PART TO
    [ "$(readlink "root/include/cccl/$1")" = "$2" ]
    note $? "include/cccl/$1 leads to $(readlink "root/include/cccl/$1"), not to $2"
}
mkdir -p root/bin
printf '#!/bin/sh\nexec "%s/bin/weircc" "$@"\n' "$build" >root/bin/weircc
chmod +x root/bin/weircc
if [ ! -e "$build/lib/weir/cccl" ]; then
    CUDA_HOME=$PWD/toolkit sh "$source/cmake/cccl_link.sh" root
    links thrust "$PWD/toolkit/include/cccl/thrust"
    links cuda "$PWD/toolkit/include/cccl/cuda"
    links nvtx3 ../weir/cccl/nvtx3
    # again, by way of the links themselves; and for another machine
    CUDA_HOME=$PWD/root sh "$source/cmake/cccl_link.sh" root
    links cub "$PWD/toolkit/include/cccl/cub"
    CUDA_HOME=$PWD/toolkit sh "$source/cmake/cccl_link.sh" root inside
    links cuda ../weir/cccl/cuda
    missing root/include/cccl/thrust
fi

# C++ files find it, too; what of libcu++ is Weir's own is there without.
WEIR_CCCL=$PWD/named
export WEIR_CCCL
printf '#include <cub/cub.cuh>\nconst char *which = CCCL_IS;\n' >host.cpp
run weircc -E host.cpp
says named/cub/cub.cuh
WEIR_CCCL=off
printf '#include <cuda/atomic>\n__device__ cuda::atomic<int> a;\n' >atomic.cu
run weircc -c atomic.cu
ok

# What it calls in device code for sm_90, declared without -rdc.
cat >dependent.cu <<'END'
__global__ void k(int *p)
{
    cudaGridDependencySynchronize();
    *p = 1;
    cudaTriggerProgrammaticLaunchCompletion();
}
END
run weircc -arch=sm_90 -ptx dependent.cu
ok
contains dependent.ptx griddepcontrol.wait
contains dependent.ptx griddepcontrol.launch_dependents
run weircc -arch=sm_80 -ptx dependent.cu
ok
done_
