/* devices: what libnvidia-ml says of a device. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "nvml/nvml.h"

/* Opens a function of a device: `index` and `is` are what was asked about. */
#define ASKED(device, out)                                                                         \
    int index;                                                                                     \
    nvmlReturn_t found = nvml_index(device, &index);                                               \
    if (found != NVML_SUCCESS)                                                                     \
        return found;                                                                              \
    if ((out) == NULL)                                                                             \
        return NVML_ERROR_INVALID_ARGUMENT;                                                        \
    const struct weir_device_description *is = &nvml_device(index)->is;                            \
    (void)is;

static nvmlReturn_t answer(const char *text, char *out, unsigned length)
{
    if (strlen(text) >= length)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(out, text, strlen(text) + 1);
    return NVML_SUCCESS;
}

/* ---- finding one ---- */

NVML_API nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    int known = nvml_count();
    if (known < 0)
        return NVML_ERROR_UNINITIALIZED;
    if (count == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    *count = (unsigned)known;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    int known = nvml_count();
    if (known < 0)
        return NVML_ERROR_UNINITIALIZED;
    if (device == NULL || index >= (unsigned)known)
        return NVML_ERROR_INVALID_ARGUMENT;
    *device = nvml_device((int)index);
    return NVML_SUCCESS;
}

/* "GPU-" and the bytes as a UUID is written. */
static void write_uuid(const struct weir_device_description *is, char *out)
{
    int n = sprintf(out, "GPU");
    for (int k = 0; k < 16; k++)
        n += sprintf(out + n, "%s%02x", k == 0 || k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "",
                     is->uuid[k]);
}
enum { UUID_BYTES = 48 };

/* The first device of which `text` tells the same as it was asked for. */
static nvmlReturn_t find(const char *wanted, void (*text)(int index, char *out),
                         nvmlDevice_t *device)
{
    int known = nvml_count();
    if (known < 0)
        return NVML_ERROR_UNINITIALIZED;
    if (wanted == NULL || device == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (int n = 0; n < known; n++) {
        char name[UUID_BYTES];
        text(n, name);
        if (strcasecmp(name, wanted) == 0) {
            *device = nvml_device(n);
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

static void uuid_of(int index, char *out) { write_uuid(&nvml_device(index)->is, out); }

NVML_API nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    return find(uuid, uuid_of, device);
}

static void bus_of(int index, char *out)
{
    snprintf(out, UUID_BYTES, "%s", nvml_device(index)->is.bus);
}
/* NVML's own form, with a domain of eight digits. */
static void long_bus_of(int index, char *out)
{
    snprintf(out, UUID_BYTES, "0000%s", nvml_device(index)->is.bus);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *busId, nvmlDevice_t *device)
{
    nvmlReturn_t r = find(busId, long_bus_of, device);
    return r == NVML_ERROR_NOT_FOUND ? find(busId, bus_of, device) : r;
}

/* ---- what it is ---- */

NVML_API nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *out)
{
    ASKED(device, out);
    *out = (unsigned)index;
    return NVML_SUCCESS;
}

/* Cut to what NVML promises that it is no longer than. */
NVML_API nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    ASKED(device, name);
    char text[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
    unsigned most = length < sizeof text ? NVML_DEVICE_NAME_BUFFER_SIZE : sizeof text;
    snprintf(text, most, "%s", is->name);
    return answer(text, name, length);
}

NVML_API nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
    ASKED(device, uuid);
    char text[UUID_BYTES];
    write_uuid(is, text);
    return answer(text, uuid, length);
}

NVML_API nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    ASKED(device, pci);
    *pci = (nvmlPciInfo_t){0};
    sscanf(is->bus, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%.15s", is->bus);
    long_bus_of(index, pci->busId);
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    ASKED(device, memory);
    memory->total = is->memory_bytes;
    memory->free = nvml_free_bytes(index);
    memory->used = memory->total - memory->free;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    ASKED(device, memory);
    if (memory->version != nvmlMemory_v2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    memory->total = is->memory_bytes;
    memory->reserved = 0;
    memory->free = nvml_free_bytes(index);
    memory->used = memory->total - memory->free;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major,
                                                         int *minor)
{
    ASKED(device, major);
    if (minor == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    *major = (int)is->sm / 10;
    *minor = (int)is->sm % 10;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t *arch)
{
    static const struct {
        unsigned sm;
        nvmlDeviceArchitecture_t arch;
    } known[] = {
        {100, NVML_DEVICE_ARCH_BLACKWELL}, {90, NVML_DEVICE_ARCH_HOPPER},
        {89, NVML_DEVICE_ARCH_ADA},        {80, NVML_DEVICE_ARCH_AMPERE},
        {75, NVML_DEVICE_ARCH_TURING},     {70, NVML_DEVICE_ARCH_VOLTA},
        {60, NVML_DEVICE_ARCH_PASCAL},     {50, NVML_DEVICE_ARCH_MAXWELL},
        {30, NVML_DEVICE_ARCH_KEPLER},
    };
    ASKED(device, arch);
    *arch = NVML_DEVICE_ARCH_UNKNOWN;
    for (size_t n = 0; n < sizeof known / sizeof *known; n++)
        if (is->sm >= known[n].sm) {
            *arch = known[n].arch;
            break;
        }
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                                unsigned int *clock)
{
    ASKED(device, clock);
    if ((unsigned)type >= NVML_CLOCK_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    unsigned khz = type == NVML_CLOCK_VIDEO ? 0
                   : type == NVML_CLOCK_MEM ? is->memory_clock_khz
                                            : is->clock_khz;
    *clock = khz / 1000;
    return khz != 0 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

/* The memory's is always the same; that of the CPUs is none that could be told. */
NVML_API nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                             unsigned int *clock)
{
    ASKED(device, clock);
    if (type == NVML_CLOCK_MEM || (unsigned)type >= NVML_CLOCK_COUNT)
        return nvmlDeviceGetMaxClockInfo(device, type, clock);
    return NVML_ERROR_NOT_SUPPORTED;
}

NVML_API nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned int *bits)
{
    ASKED(device, bits);
    *bits = is->memory_bus_bits;
    return NVML_SUCCESS;
}

/* What is the same for all. */
#define SAME(name, type, value)                                                                    \
    NVML_API nvmlReturn_t name(nvmlDevice_t device, type *out)                                     \
    {                                                                                              \
        ASKED(device, out);                                                                        \
        *out = value;                                                                              \
        return NVML_SUCCESS;                                                                       \
    }
SAME(nvmlDeviceGetBrand, nvmlBrandType_t, NVML_BRAND_UNKNOWN)
SAME(nvmlDeviceGetComputeMode, nvmlComputeMode_t, NVML_COMPUTEMODE_DEFAULT)
SAME(nvmlDeviceGetDisplayActive, nvmlEnableState_t, NVML_FEATURE_DISABLED)
SAME(nvmlDeviceGetDisplayMode, nvmlEnableState_t, NVML_FEATURE_DISABLED)
SAME(nvmlDeviceGetMultiGpuBoard, unsigned int, 0)
SAME(nvmlDeviceGetMaxMigDeviceCount, unsigned int, 0)
SAME(nvmlDeviceIsMigDeviceHandle, unsigned int, 0)

/* ---- two of them ---- */

/* Devices reach each other's memory; there is no NVLink between them. */
NVML_API nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device1, nvmlDevice_t device2,
                                             nvmlGpuP2PCapsIndex_t which,
                                             nvmlGpuP2PStatus_t *status)
{
    int other;
    ASKED(device1, status);
    nvmlReturn_t second = nvml_index(device2, &other);
    if (second != NVML_SUCCESS || (unsigned)which >= NVML_P2P_CAPS_INDEX_UNKNOWN)
        return NVML_ERROR_INVALID_ARGUMENT;
    *status = which == NVML_P2P_CAPS_INDEX_NVLINK || which == NVML_P2P_CAPS_INDEX_PCI
                  ? NVML_P2P_STATUS_NOT_SUPPORTED
                  : NVML_P2P_STATUS_OK;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t device1, nvmlDevice_t device2, int *same)
{
    int other;
    ASKED(device1, same);
    if (nvml_index(device2, &other) != NVML_SUCCESS)
        return NVML_ERROR_INVALID_ARGUMENT;
    *same = index == other;
    return NVML_SUCCESS;
}
