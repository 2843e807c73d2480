#!/bin/sh
# cccl_link.sh ROOT [inside]: makes ROOT/include/cccl, the directory of a CUDA 13 toolkit in which build files look
# for Thrust, CUB and libcu++ (thrust/version.h, say) and which CMake's CUDA::cudart searches since 3.31. It has
# links to the CCCL that weircc uses or, without one, to Weir's own part of libcu++. `inside`: what is moved to
# another machine has no links to the outside.
set -u
root=$1
where=${2:-}
cccl=$root/include/cccl

# Where the first header of CUB comes from, if that is a whole CCCL and not the links of an earlier time.
found=$(printf '#include <cub/version.cuh>\n' | env -u WEIR_CCCL "$root/bin/weircc" -E -x c++ - 2>/dev/null |
    sed -n 's|^# [0-9]* "\(/.*\)/cub/version\.cuh".*|\1|p' | head -n 1)
[ -z "$found" ] || found=$(dirname "$(readlink -f "$found/cub")")
if [ ! -e "$found/thrust/version.h" ] || [ ! -e "$found/cuda/std/cstddef" ]; then
    found=
elif [ "$found" = "$(readlink -f "$root")/lib/weir/cccl" ]; then
    found=../../lib/weir/cccl
elif [ "$where" = inside ]; then
    found=
fi

# Where another toolkit lies there, its CCCL stays.
if [ -e "$cccl/thrust/version.h" ] && [ ! -L "$cccl/thrust" ]; then
    exit 0
fi
mkdir -p "$cccl"
for part in cub cuda nv nvtx3 thrust; do
    to=
    case $found:$part in
    *:nvtx3 | :cuda | :nv) to=../weir/cccl/$part ;;
    :*) ;;
    *) to=$found/$part ;;
    esac
    # What is there and no link is a copy that an earlier build made.
    rm -rf "${cccl:?}/$part"
    [ -z "$to" ] || ln -s "$to" "$cccl/$part"
done
