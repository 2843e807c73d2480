/* Registers the relocatable device code of a program or shared library: one copy of this object is
 * in each, brought in by the first object file compiled with -rdc=true (see rdc.h). It is all that
 * libcudadevrt.a holds, and what `weircc -dlink` writes.
 *
 * The linker has joined the fat binaries of all files in the section weir_rdc, and what clang
 * records about kernels and variables of the host side in cuda_offloading_entries. The runtime
 * links the PTX of all of them into one module. */
#include "weircc/crt/foreign.h"

#include "runtime/program/offload.h"

#define BOUND __attribute__((weak, visibility("hidden")))
extern const char __start_weir_rdc[] BOUND, __stop_weir_rdc[] BOUND;
extern const char __start_cuda_offloading_entries[] BOUND, __stop_cuda_offloading_entries[] BOUND;

/* The name that object files ask for; a -dlink object and libcudadevrt.a both define it, and the
 * linker takes the first. */
__attribute__((visibility("hidden"))) int __cudaWeirDeviceLink;

/* Before the program's own constructors, which may launch kernels. */
__attribute__((constructor(200))) static void register_device_code(void)
{
    if (__start_weir_rdc == __stop_weir_rdc)
        return;
    if (__cudaWeirRegisterOffload == NULL)
        weir_end_without("relocatable device code");
    __cudaWeirRegisterOffload(__start_weir_rdc, __stop_weir_rdc, __start_cuda_offloading_entries,
                              __stop_cuda_offloading_entries);
}

__attribute__((destructor(200))) static void unregister_device_code(void)
{
    if (__start_weir_rdc != __stop_weir_rdc)
        __cudaWeirUnregisterOffload(__start_weir_rdc);
}
