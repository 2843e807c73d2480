/* Registers the relocatable device code of a program or shared library: one copy of this object is
 * in each, brought in by the first object file compiled with -rdc=true (see rdc.h). It is all that
 * libcudadevrt.a holds, and what `weircc -dlink` writes.
 *
 * The linker has joined the fat binaries of all files into the section weir_rdc, and what clang
 * notes about kernels and variables of the host side into cuda_offloading_entries. The runtime
 * links the PTX of all of them into one module. */
#include <stddef.h>

extern const char __start_weir_rdc[] __attribute__((weak, visibility("hidden")));
extern const char __stop_weir_rdc[] __attribute__((weak, visibility("hidden")));
extern const char __start_cuda_offloading_entries[] __attribute__((weak, visibility("hidden")));
extern const char __stop_cuda_offloading_entries[] __attribute__((weak, visibility("hidden")));

/* The runtime's side (src/runtime/offload.h). */
void __cudaWeirRegisterOffload(const void *blobs_begin, const void *blobs_end,
                               const void *entries_begin, const void *entries_end);
void __cudaWeirUnregisterOffload(const void *blobs_begin);

/* The name that object files ask for. Its value tells whether this copy has registered: a link that
 * holds both a -dlink object and libcudadevrt.a still has one, since the name is taken by the
 * first. */
__attribute__((visibility("hidden"))) int __cudaWeirDeviceLink;

/* Before the program's own constructors, which may launch kernels. */
__attribute__((constructor(200))) static void register_device_code(void)
{
    if (__cudaWeirDeviceLink++ == 0 && __start_weir_rdc != __stop_weir_rdc)
        __cudaWeirRegisterOffload(__start_weir_rdc, __stop_weir_rdc,
                                  __start_cuda_offloading_entries, __stop_cuda_offloading_entries);
}

__attribute__((destructor(200))) static void unregister_device_code(void)
{
    if (__start_weir_rdc != __stop_weir_rdc)
        __cudaWeirUnregisterOffload(__start_weir_rdc);
}
