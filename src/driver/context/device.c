/* device: which devices there are and what they say of themselves. The numbers of the machine come
 * from the device layer, those of the programming model are a GPU's of compute capability 9.0,
 * since that is what programs are written for; a feature that does not exist here is 0 whatever
 * a 9.0 GPU has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "driver/objects.h"
#include "weir/weir.h"

/* ---- those the program sees ---- */

static struct {
    int count;
    int ordinal[MEM_MAX_DEVICES]; /* in the layers below */
} visible;

/* Numbers separated by commas; the list ends before the first entry that names no device, as on a
 * GPU, and one that is named twice hides all of them. */
void driver_find_devices(void)
{
    const char *text = env_get(ENV_VISIBLE_DEVICES);
    visible.count = 0;
    if (text == NULL) {
        for (int n = 0; n < device_count(); n++)
            visible.ordinal[visible.count++] = n;
        return;
    }
    for (char *end; *text != '\0'; text = end + (*end == ',')) {
        long n = strtol(text, &end, 10);
        if (end == text || n < 0 || n >= device_count() || (*end != ',' && *end != '\0'))
            return;
        for (int k = 0; k < visible.count; k++)
            if (visible.ordinal[k] == n) {
                visible.count = 0;
                return;
            }
        visible.ordinal[visible.count++] = (int)n;
    }
}

int driver_device_count(void) { return visible.count; }

struct device *driver_device(CUdevice dev) { return device_get(visible.ordinal[dev]); }

CUdevice driver_device_number(int ordinal)
{
    for (int n = 0; n < visible.count; n++)
        if (visible.ordinal[n] == ordinal)
            return n;
    return -1;
}

int device_bus(CUdevice dev) { return visible.ordinal[dev] + 1; }

CUresult device_check(CUdevice dev)
{
    CU_TRY(driver_ready());
    return dev < 0 || dev >= visible.count ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

/* ---- questions ---- */

WEIR_API CUresult cuDeviceGetCount(int *count)
{
    HOLD;
    CU_TRY(driver_ready());
    if (count == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *count = visible.count;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuDeviceGet(CUdevice *dev, int ordinal)
{
    HOLD;
    CUresult r = device_check(ordinal);
    if (r == CUDA_SUCCESS && dev == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *dev = ordinal;
    return r;
}

static void write_name(char *name, size_t size, const struct device_facts *f)
{
    snprintf(name, size, "Weir CPU device (%s)", f->name);
}

WEIR_API CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
    HOLD;
    CU_TRY(device_check(dev));
    if (name == NULL || len <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct device_facts f;
    device_facts(driver_device(dev), &f);
    write_name(name, (size_t)len, &f);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    HOLD;
    CU_TRY(device_check(dev));
    if (bytes == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct device_facts f;
    device_facts(driver_device(dev), &f);
    *bytes = f.memory_bytes;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    HOLD;
    CU_TRY(device_check(dev));
    if (major == NULL || minor == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *major = device_limits()->sm / 10;
    *minor = device_limits()->sm % 10;
    return CUDA_SUCCESS;
}

/* ---- identity ---- */

/* The same for the same device of the same machine, whichever process asks. */
static void find_uuid(int ordinal, void *out)
{
    uint8_t bytes[16];
    static const char salt[] = "weir device";
    struct device_facts f;
    struct hash128 h;
    size_t size = 0;
    char *machine = file_read("/etc/machine-id", &size, NULL);
    device_facts(device_get(ordinal), &f);
    hash_init(&h);
    hash_add(&h, salt, sizeof salt);
    if (machine != NULL)
        hash_add(&h, machine, size);
    hash_add(&h, f.name, strlen(f.name));
    hash_add(&h, &ordinal, sizeof ordinal);
    free(machine);
    memcpy(bytes, &h.lo, 8);
    memcpy(bytes + 8, &h.hi, 8);
    bytes[6] = (bytes[6] & 0x0f) | 0x80; /* RFC 9562: version 8, of our own make */
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    memcpy(out, bytes, sizeof bytes);
}

WEIR_API CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    HOLD;
    CU_TRY(device_check(dev));
    if (uuid == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    find_uuid(visible.ordinal[dev], uuid->bytes);
    return CUDA_SUCCESS;
}

#undef cuDeviceGetUuid
WEIR_API CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev);
WEIR_API CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    HOLD;
    return cuDeviceGetUuid_v2(uuid, dev);
}

WEIR_API CUresult cuDeviceGetLuid(char *luid, unsigned int *mask, CUdevice dev)
{
    HOLD;
    CU_TRY(device_check(dev));
    if (luid == NULL || mask == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return driver_error(CUDA_ERROR_NOT_SUPPORTED, "cuDeviceGetLuid: LUIDs exist on Windows only");
}

/* No device here is on a PCI bus. Programs identify devices by this text, so each has one of its
 * own: bus 1 for device 0, 2 for device 1 and so on. */
static void write_bus(char *text, size_t size, int ordinal)
{
    snprintf(text, size, "0000:%02X:00.0", (unsigned)ordinal + 1);
}

WEIR_API CUresult cuDeviceGetPCIBusId(char *text, int len, CUdevice dev)
{
    HOLD;
    CU_TRY(device_check(dev));
    if (text == NULL || len <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    write_bus(text, (size_t)len, visible.ordinal[dev]);
    return CUDA_SUCCESS;
}

WEIR_API int weir_describe_device(int index, struct weir_device_description *out)
{
    HOLD;
    struct device_facts f;
    uint64_t free_bytes = 0, total = 0;
    if (device_forked() || index < 0 || index >= device_count())
        return 0;
    *out = (struct weir_device_description){0};
    device_facts(device_get(index), &f);
    mem_usage(index, &free_bytes, &total);
    write_name(out->name, sizeof out->name, &f);
    write_bus(out->bus, sizeof out->bus, index);
    find_uuid(index, out->uuid);
    out->sm = (unsigned)device_limits()->sm;
    device_attr_memory(&f, &out->memory_clock_khz, &out->memory_bus_bits);
    out->clock_khz = f.clock_khz;
    out->memory_bytes = f.memory_bytes;
    out->memory_free = free_bytes;
    return 1;
}

WEIR_API CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *text)
{
    HOLD;
    CU_TRY(driver_ready());
    if (dev == NULL || text == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    unsigned domain = 0, bus = 0, device = 0, function = 0;
    char rest;
    if (sscanf(text, "%x:%x:%x.%x%c", &domain, &bus, &device, &function, &rest) != 4) {
        domain = function = 0;
        if (sscanf(text, "%x:%x:%x%c", &domain, &bus, &device, &rest) != 3) {
            domain = 0;
            if (sscanf(text, "%x:%x.%x%c", &bus, &device, &function, &rest) != 3)
                return CUDA_ERROR_INVALID_VALUE;
        }
    }
    CUdevice found = bus < 1 || bus > MEM_MAX_DEVICES ? -1 : driver_device_number((int)bus - 1);
    if (domain != 0 || device != 0 || function != 0 || found < 0)
        return CUDA_ERROR_INVALID_DEVICE;
    *dev = found;
    return CUDA_SUCCESS;
}
