# find_driver: where the driver of this machine's GPU is. Sourced by what runs programs on it: tests/gpu/run.sh
# and bench/gpu.sh.

# Prints the path of its libcuda.so.1, nothing where there is none. Weir's has functions of its own.
find_driver() {
    for path in $(ldconfig -p 2>/dev/null | sed -n 's|.*libcuda\.so\.1 .*x86-64.* => ||p') \
        /usr/lib/x86_64-linux-gnu/libcuda.so.1 /usr/lib64/libcuda.so.1 /usr/lib/wsl/lib/libcuda.so.1 \
        /usr/local/nvidia/lib64/libcuda.so.1; do
        [ -r "$path" ] && ! grep -q weir_last_message "$path" && echo "$path" && return
    done
}

# Whether the machine has a GPU, not only its driver's files.
has_gpu() { [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; }
