/* weir/weir.h: what Weir's libcuda.so.1 offers beyond the driver API. Compiles as C and C++.
 *
 * A program that uses these runs on Weir only; look the names up with dlsym to run on any CUDA. */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#ifdef __cplusplus
extern "C" {
#endif

/* What the last call of this host thread that failed has to say beyond its code: which kernel and
 * thread met a fault and at which address, which line of PTX was refused and why, which function or
 * option is not supported. Never NULL; empty when there is nothing to say. Valid until the thread's
 * next failing call. */
const char *weir_last_message(void);

/* For layers above the driver API, as a runtime is: the calling thread's current context and its
 * number (cuCtxGetCurrent and cuCtxGetId in one); 0 when there is none or it is destroyed. */
unsigned long long weir_current_context(void **context);
/* The same: a runtime that looks for a GPU's driver may open this library on its way, which then
 * stays loaded. With 1 it says so; returns whether one has: the library is not the program's. */
int weir_passed_by(int now);

/* For libnvidia-ml: what a device of the machine is, also one that CUDA_VISIBLE_DEVICES hides. 0:
 * there is none of that index, or this process has not called cuInit. */
struct weir_device_description {
    char name[128];
    unsigned char uuid[16];
    char bus[16]; /* as of cuDeviceGetPCIBusId */
    unsigned sm;  /* 90 of compute capability 9.0 */
    unsigned clock_khz, memory_clock_khz, memory_bus_bits;
    unsigned long long memory_bytes, memory_free; /* free for this process */
};
int weir_describe_device(int index, struct weir_device_description *out);

#ifdef __cplusplus
}
#endif

#endif
