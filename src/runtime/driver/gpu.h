/* gpu: what weircc's binaries need on a driver that is not Weir's.
 *
 * Such a driver finds the form of the code that is for it in the fat binary by itself
 * (tools/weircc/device/gpu/form.h). Three things it does not do, which are done here: it links no
 * relocatable code that is still PTX, it has no device runtime of its own (the toolkit's
 * libcudadevrt.a holds that), and it gives no variable of a module the address of the host's. */
#ifndef WEIR_RUNTIME_GPU_H
#define WEIR_RUNTIME_GPU_H

#include "runtime/program/registry.h"

/* Whether the driver is not Weir's. */
bool rt_on_gpu(void);
/* Says on stderr which settings ask for what Weir's driver alone does. */
void rt_gpu_tell_settings(void);

/* Tells that the driver that was asked for (WEIR_DRIVER) has no device. */
void rt_gpu_tell_no_device(void);

/* Loads a binary there. On failure `log`, of `bytes`, has a sentence or more about why. */
CUresult rt_gpu_load(const struct rt_binary *b, CUmodule *module, char *log, size_t bytes);

/* Sets the pointers to the module's managed variables: the memory is the host's variable,
 * registered, with the module's initial value unless another context has given it one. */
cudaError_t rt_gpu_bind_managed(struct rt_binary *b, CUmodule module, bool elsewhere);

/* The path of the toolkit's libcudadevrt.a (toolkit.c). False: this machine has none. */
bool rt_find_device_runtime(char *path, size_t bytes);

#endif
