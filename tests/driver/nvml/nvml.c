/* nvml: libnvidia-ml: the devices are those of CUDA, hidden ones too; what they do not have is said
 * to be not supported; and who has asked can still fork children that use CUDA. */
#include <nvml.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/common.h"

#define DONE(call) CHECK_EQ_INT(call, NVML_SUCCESS)

static void before_it_begins(void)
{
    unsigned count;
    char text[80];
    CHECK_EQ_INT(nvmlDeviceGetCount(&count), NVML_ERROR_UNINITIALIZED);
    CHECK_EQ_INT(nvmlSystemGetDriverVersion(text, sizeof text), NVML_ERROR_UNINITIALIZED);
    CHECK_EQ_INT(nvmlDeviceGetPowerUsage(NULL, &count), NVML_ERROR_UNINITIALIZED);
    CHECK_EQ_INT(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
    CHECK_EQ_INT(nvmlInitWithFlags(64), NVML_ERROR_INVALID_ARGUMENT);
    CHECK(strcmp(nvmlErrorString(NVML_ERROR_NOT_SUPPORTED), "Not Supported") == 0);
    CHECK(strcmp(nvmlErrorString((nvmlReturn_t)500), "Unknown Error") == 0);
}

/* CUDA has not begun in this process, and begins in the child. */
static void children(void)
{
    unsigned count = 0;
    int status = -1, version = 0;
    CHECK_EQ_INT(cuDeviceGetCount(&version), CUDA_ERROR_NOT_INITIALIZED);
    DONE(nvmlDeviceGetCount(&count));
    CHECK_EQ_INT(count, 2);
    pid_t child = fork();
    if (child == 0) {
        CUcontext context;
        CUdeviceptr p;
        _exit(cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
              cuCtxPushCurrent(context) != CUDA_SUCCESS || cuMemAlloc(&p, 64) != CUDA_SUCCESS);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    DONE(nvmlSystemGetCudaDriverVersion(&version));
    CHECK_EQ_INT(version, CUDA_VERSION);
}

/* The second device of the machine is CUDA's only one (CUDA_VISIBLE_DEVICES). */
static void same_as_cuda(void)
{
    nvmlDevice_t d, same;
    CUuuid uuid;
    char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE], cuda_name[256], text[80], bus[32];
    unsigned index = 9, mhz;
    int major, minor, value;
    size_t bytes;
    nvmlPciInfo_t pci;
    DONE(nvmlDeviceGetHandleByIndex(1, &d));
    CHECK_EQ_INT(nvmlDeviceGetHandleByIndex(2, &same), NVML_ERROR_INVALID_ARGUMENT);
    DONE(nvmlDeviceGetName(d, name, sizeof name));
    OK(cuDeviceGetName(cuda_name, sizeof cuda_name, 0));
    CHECK(strncmp(name, cuda_name, sizeof name - 1) == 0);
    CHECK_EQ_INT(nvmlDeviceGetName(d, name, 4), NVML_ERROR_INSUFFICIENT_SIZE);
    DONE(nvmlDeviceGetUUID(d, text, sizeof text));
    OK(cuDeviceGetUuid(&uuid, 0));
    CHECK(strncmp(text, "GPU-", 4) == 0 && strlen(text) == 40);
    char *at = text + 4;
    for (int n = 0; n < 16; n++, at += 2) {
        unsigned byte = 0;
        at += *at == '-';
        CHECK(sscanf(at, "%2x", &byte) == 1 && byte == (uint8_t)uuid.bytes[n]);
    }
    DONE(nvmlDeviceGetHandleByUUID(text, &same));
    CHECK(same == d);
    CHECK_EQ_INT(nvmlDeviceGetHandleByUUID("GPU-0", &same), NVML_ERROR_NOT_FOUND);
    DONE(nvmlDeviceGetPciInfo(d, &pci));
    OK(cuDeviceGetPCIBusId(bus, sizeof bus, 0));
    CHECK(strcmp(pci.busIdLegacy, bus) == 0 && strcmp(pci.busId + 4, bus) == 0);
    CHECK_EQ_INT(pci.bus, 2);
    DONE(nvmlDeviceGetHandleByPciBusId(pci.busId, &same));
    DONE(nvmlDeviceGetIndex(same, &index));
    CHECK_EQ_INT(index, 1);
    DONE(nvmlDeviceGetCudaComputeCapability(d, &major, &minor));
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    CHECK_EQ_INT(major, value);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
    CHECK_EQ_INT(minor, value);
    DONE(nvmlDeviceGetMaxClockInfo(d, NVML_CLOCK_MEM, &mhz));
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 0));
    CHECK_EQ_INT(mhz, value / 1000);
    DONE(nvmlDeviceGetClockInfo(d, NVML_CLOCK_MEM, &mhz));
    CHECK_EQ_INT(mhz, value / 1000);
    CHECK_EQ_INT(nvmlDeviceGetClockInfo(d, NVML_CLOCK_SM, &mhz), NVML_ERROR_NOT_SUPPORTED);
    DONE(nvmlDeviceGetMemoryBusWidth(d, &mhz));
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 0));
    CHECK_EQ_INT(mhz, value);
    nvmlMemory_t before, during;
    nvmlMemory_v2_t again = {.version = nvmlMemory_v2};
    CUdeviceptr p;
    DONE(nvmlDeviceGetMemoryInfo(d, &before));
    OK(cuDeviceTotalMem(&bytes, 0));
    CHECK_EQ_INT(before.total, bytes);
    NEED(cuMemAlloc(&p, 32 << 20));
    DONE(nvmlDeviceGetMemoryInfo(d, &during));
    CHECK(during.used >= before.used + (32 << 20) && during.used + during.free == during.total);
    DONE(nvmlDeviceGetMemoryInfo_v2(d, &again));
    CHECK(again.used == during.used && again.total == during.total);
    again.version = 1;
    CHECK_EQ_INT(nvmlDeviceGetMemoryInfo_v2(d, &again), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    OK(cuMemFree(p));
}

/* Programs that show GPUs as they run want all of these, or show none. */
static void what_monitors_ask(nvmlDevice_t d)
{
    nvmlProcessUtilizationSample_t sample;
    unsigned value = 1;
    unsigned long long reasons;
    CHECK_EQ_INT(nvmlDeviceGetTemperatureThreshold(d, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN, &value),
                 NVML_ERROR_NOT_SUPPORTED);
    CHECK_EQ_INT(nvmlDeviceGetPcieThroughput(d, NVML_PCIE_UTIL_RX_BYTES, &value),
                 NVML_ERROR_NOT_SUPPORTED);
    CHECK_EQ_INT(nvmlDeviceGetProcessUtilization(d, &sample, &value, 0), NVML_ERROR_NOT_SUPPORTED);
    CHECK_EQ_INT(nvmlDeviceGetMPSComputeRunningProcesses(d, &value, NULL),
                 NVML_ERROR_NOT_SUPPORTED);
    CHECK_EQ_INT(nvmlDeviceGetPowerManagementDefaultLimit(d, &value), NVML_ERROR_NOT_SUPPORTED);
    CHECK_EQ_INT(nvmlDeviceGetCurrentClocksThrottleReasons(d, &reasons), NVML_ERROR_NOT_SUPPORTED);
}

static void refusals(void)
{
    nvmlDevice_t d, other;
    nvmlUtilization_t rates;
    nvmlGpuP2PStatus_t status;
    nvmlComputeMode_t mode;
    unsigned value;
    DONE(nvmlDeviceGetHandleByIndex(0, &d));
    DONE(nvmlDeviceGetHandleByIndex(1, &other));
    CHECK_EQ_INT(nvmlDeviceGetUtilizationRates(d, &rates), NVML_ERROR_NOT_SUPPORTED);
    CHECK_EQ_INT(nvmlDeviceGetTemperature(d, NVML_TEMPERATURE_GPU, &value),
                 NVML_ERROR_NOT_SUPPORTED);
    CHECK_EQ_INT(nvmlDeviceGetPowerUsage(d, &value), NVML_ERROR_NOT_SUPPORTED);
    CHECK_EQ_INT(nvmlDeviceGetComputeRunningProcesses(d, &value, NULL), NVML_ERROR_NOT_SUPPORTED);
    CHECK_EQ_INT(nvmlDeviceGetPowerUsage((nvmlDevice_t)&value, &value),
                 NVML_ERROR_INVALID_ARGUMENT);
    what_monitors_ask(d);
    CHECK_EQ_INT(nvmlDeviceGetIndex(d, NULL), NVML_ERROR_INVALID_ARGUMENT);
    DONE(nvmlDeviceGetComputeMode(d, &mode));
    CHECK_EQ_INT(mode, NVML_COMPUTEMODE_DEFAULT);
    DONE(nvmlDeviceGetP2PStatus(d, other, NVML_P2P_CAPS_INDEX_READ, &status));
    CHECK_EQ_INT(status, NVML_P2P_STATUS_OK);
    DONE(nvmlDeviceGetP2PStatus(d, other, NVML_P2P_CAPS_INDEX_NVLINK, &status));
    CHECK_EQ_INT(status, NVML_P2P_STATUS_NOT_SUPPORTED);
}

int main(void)
{
    setenv("WEIR_DEVICES", "2", 1);
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    before_it_begins();
    DONE(nvmlInit());
    DONE(nvmlInit());
    children();
    begin();
    same_as_cuda();
    refusals();
    DONE(nvmlShutdown());
    DONE(nvmlShutdown());
    CHECK_EQ_INT(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
    DONE(nvmlInit()); /* in a process that has begun CUDA */
    same_as_cuda();
    DONE(nvmlShutdown());
    OK(cuDevicePrimaryCtxRelease(0));
    return check_done();
}
