/* nvml: what the files of libnvidia-ml share. */
#ifndef WEIR_NVML_H
#define WEIR_NVML_H

#include <nvml.h>

#include "weir/weir.h"

#define NVML_API __attribute__((visibility("default")))

struct nvmlDevice_st {
    struct weir_device_description is; /* its memory_free as it was when the library began */
};

/* How many devices there are; -1: the library is not in use. */
int nvml_count(void);
/* The device of that index, which exists. */
nvmlDevice_t nvml_device(int index);
/* The number of a handle. An error: it is none, or the library is not in use. */
nvmlReturn_t nvml_index(nvmlDevice_t device, int *index);
/* Bytes that are free for this process now. */
unsigned long long nvml_free_bytes(int index);

#endif
