/* Devices, the current context, limits, versions, the last error. */
#include <string.h>

#include "sequences.h"

static void last_error(struct thread *t)
{
    int wanted = t->last_error;

    /* Neither call sets what it returns anew. */
    if (one_in(t, 2)) {
        RT(wanted, cudaPeekAtLastError());
    } else {
        RT(wanted, cudaGetLastError());
        t->last_error = cudaSuccess;
    }
}

static void current(struct thread *t)
{
    int device = -1;
    CUcontext context = NULL;
    CUdevice ordinal = -1;

    switch (below(t, 4)) {
    case 0: OK_RT(cudaSetDevice(t->device)); break;
    case 1:
        OK_RT(cudaGetDevice(&device));
        MUST_EQ(device, t->device);
        break;
    case 2:
        OK_CU(cuCtxGetCurrent(&context));
        MUST(context == t->primary);
        break;
    default:
        OK_CU(cuCtxGetDevice(&ordinal));
        MUST_EQ(ordinal, t->device);
        break;
    }
}

static void describe(struct thread *t)
{
    static const enum cudaDeviceAttr names[] = {cudaDevAttrWarpSize, cudaDevAttrMaxThreadsPerBlock,
                                                cudaDevAttrMaxBlockDimX,
                                                cudaDevAttrUnifiedAddressing};
    static const int values[] = {32, 1024, 1024, 1};
    int i = (int)below(t, 4), value = -1, n = 0;
    size_t bytes = 0;
    unsigned flags;

    switch (below(t, 5)) {
    case 0:
        OK_RT(cudaDeviceGetAttribute(&value, names[i], t->device));
        MUST_EQ(value, values[i]);
        break;
    case 1:
        OK_CU(cuDeviceGetAttribute(&value, (CUdevice_attribute)names[i], t->device));
        MUST_EQ(value, values[i]);
        break;
    case 2:
        OK_RT(cudaGetDeviceCount(&n));
        OK_CU(cuDeviceGetCount(&value));
        MUST(n >= 1 && n == value);
        break;
    case 3:
        OK_RT(cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize));
        MUST(bytes > 0);
        break;
    default: OK_RT(cudaGetDeviceFlags(&flags)); break;
    }
}

/* The primary context is counted; the threads hold it while they run. */
static void retain(struct thread *t)
{
    CUcontext context = NULL;
    unsigned flags;
    int active = 0;

    OK_CU(cuDevicePrimaryCtxRetain(&context, t->device));
    MUST(context == t->primary);
    OK_CU(cuDevicePrimaryCtxGetState(t->device, &flags, &active));
    MUST_EQ(active, 1);
    OK_CU(cuDevicePrimaryCtxRelease(t->device));
}

const struct op ops_devices[] = {
    {"errors", "last error", last_error, 30, false},
    {"devices", "current", current, 12, false},
    {"devices", "describe", describe, 6, false},
    {"contexts", "retain", retain, 2, false},
    {NULL, NULL, NULL, 0, false},
};
