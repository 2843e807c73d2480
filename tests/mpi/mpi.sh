#!/bin/sh
# mpi.sh BUILD-DIRECTORY: device pointers in calls of MPI, by each MPI that is installed here, two ranks and eight;
# in checked modes; and what these find. Skips (77) without MPI.
set -u
build=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
PATH=$build/bin:$PATH
WEIR_WORKERS=1 WEIR_CACHE_DIR=$build/tests/mpi/cache LC_ALL=C
# Open MPI as root, and with more ranks than CPUs.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_base_warn_component_unused=0
export PATH WEIR_WORKERS WEIR_CACHE_DIR LC_ALL OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
export OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_hwloc_base_binding_policy OMPI_MCA_btl_base_warn_component_unused
# MPICH looks for OpenCL devices, and PoCL then takes the program's faults for its own.
export HWLOC_COMPONENTS=-opencl
unset NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS NVCC_CCBIN
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
found=0
failed=0

bad() { # bad TEXT
    echo "failed: $which: $1"
    head -20 out | cut -c1-300 | sed 's/^/  | /'
    failed=1
}
ranks() { # ranks N COMMAND...
    number=$1
    shift
    timeout 60 "$mpirun" -np "$number" "$@" >out 2>&1
}
says() { grep -qF -e "$1" out || bad "does not say: $1"; }

one_library() {
    weircc -std=c++17 -ccbin "$mpicxx" -g -lineinfo -I"$source/tests" "$source/tests/mpi/messages.cu" -o messages >out 2>&1 ||
        { bad "messages.cu does not build"; return; }
    weircc -ccbin "$mpicxx" "$source/examples/halo.cu" -o halo >out 2>&1 || { bad "halo.cu does not build"; return; }
    for n in 2 8; do
        ranks $n weir run ./messages || bad "messages, $n ranks"
    done
    for check in memory races=streams; do
        ranks 2 weir run --check=$check --error-exitcode 9 ./messages || bad "messages, --check=$check"
    done
    ranks 2 weir run --check=memory ./messages past && bad "a message past an allocation passes"
    says "MPI_Send reads device memory"
    says "is just past the 1,048,576-byte allocation"
    ranks 2 weir run --check=memory ./messages freed && bad "a message from freed memory passes"
    says "MPI_Send reads device memory"
    ranks 2 weir run --check=races=streams ./messages race
    says "by kernel fill(int*, int, int)"
    says "second: read by the host at $source/tests/mpi/messages.cu:"
    for n in 1 8; do
        ranks $n weir run ./halo 50 || bad "halo, $n ranks"
        says "after 50 steps the plate holds 88862.348014634"
        mv out halo.$n
    done
    cmp -s halo.1 halo.8 || { cat halo.* >out; bad "halo: ranks differ"; }
}

# Open MPI between two network namespaces that a virtual cable joins: nothing but TCP between the ranks.
two_machines() {
    which="openmpi, two network namespaces" one=weir-mpi-$$-a other=weir-mpi-$$-b
    if ! { ip netns add $one && ip netns add $other; } >out 2>&1; then
        echo "skipped: network namespaces: $(head -1 out)"
        return
    fi
    trap 'ip netns del $one; ip netns del $other; rm -rf "$scratch"' EXIT
    ip link add weir-mpi-a netns $one type veth peer name weir-mpi-b netns $other
    for side in "$one weir-mpi-a 10.99.77.1" "$other weir-mpi-b 10.99.77.2"; do
        # shellcheck disable=SC2086
        set -- $side
        ip -n "$1" address add "$3/24" dev "$2"
        ip -n "$1" link set "$2" up
        ip -n "$1" link set lo up
    done
    # What ssh is elsewhere: AGENT HOST COMMAND...
    cat >agent <<END
#!/bin/sh
shift
exec ip netns exec $other unshare --uts sh -c "hostname weir-mpi-b; \$*"
END
    chmod +x agent
    timeout 60 ip netns exec $one mpirun.openmpi -np 4 --host 10.99.77.1:2,10.99.77.2:2 --mca plm_rsh_agent "$scratch/agent" \
        --mca btl tcp,self --mca btl_tcp_if_include 10.99.77.0/24 --mca oob_tcp_if_include 10.99.77.0/24 \
        "$build/bin/weir" run "$scratch/halo" 50 >out 2>&1 || bad "halo, 4 ranks"
    says "holds 88862.348014634"
    # Open MPI 4.1 makes no windows over TCP alone.
    timeout 60 ip netns exec $one mpirun.openmpi -np 2 --host 10.99.77.1,10.99.77.2 --mca plm_rsh_agent "$scratch/agent" \
        --mca btl tcp,self --mca btl_tcp_if_include 10.99.77.0/24 --mca oob_tcp_if_include 10.99.77.0/24 \
        "$build/bin/weir" run "$scratch/messages" two-sided >out 2>&1 || bad "messages, 2 ranks"
}

for which in openmpi mpich; do
    mpicxx=mpicxx.$which mpirun=mpirun.$which
    command -v $mpicxx >/dev/null && command -v $mpirun >/dev/null || continue
    found=1
    one_library
    [ $which != openmpi ] || { two_machines; which=openmpi; }
done
if [ $found = 0 ]; then
    echo "skipped: no MPI here (Debian: libopenmpi-dev openmpi-bin, or libmpich-dev mpich)"
    exit 77
fi
[ $failed = 0 ] && echo passed
exit $failed
