/* unsupported: what libnvidia-ml is asked for and Weir's devices do not have, and the names of
 * older versions of functions, by which programs look for them. */
#include <stddef.h>

#include "nvml/nvml.h"

static nvmlReturn_t refuse(nvmlDevice_t device)
{
    int index;
    nvmlReturn_t r = nvml_index(device, &index);
    return r != NVML_SUCCESS ? r : NVML_ERROR_NOT_SUPPORTED;
}

/* The other parameters are not looked at. */
#define REFUSED(name, ...)                                                                         \
    NVML_API nvmlReturn_t name(nvmlDevice_t device __VA_OPT__(, ) __VA_ARGS__)                     \
    {                                                                                              \
        return refuse(device);                                                                     \
    }
REFUSED(nvmlDeviceGetUtilizationRates, nvmlUtilization_t *rates)
REFUSED(nvmlDeviceGetTemperature, nvmlTemperatureSensors_t sensor, unsigned int *degrees)
REFUSED(nvmlDeviceGetTemperatureThreshold, nvmlTemperatureThresholds_t threshold,
        unsigned int *degrees)
REFUSED(nvmlDeviceGetPowerUsage, unsigned int *milliwatts)
REFUSED(nvmlDeviceGetPowerManagementDefaultLimit, unsigned int *milliwatts)
REFUSED(nvmlDeviceGetPowerManagementLimit, unsigned int *milliwatts)
REFUSED(nvmlDeviceGetPowerManagementLimitConstraints, unsigned int *least, unsigned int *most)
REFUSED(nvmlDeviceSetPowerManagementLimit, unsigned int milliwatts)
REFUSED(nvmlDeviceGetEnforcedPowerLimit, unsigned int *milliwatts)
REFUSED(nvmlDeviceGetTotalEnergyConsumption, unsigned long long *mj)
REFUSED(nvmlDeviceGetFanSpeed, unsigned int *percent)
REFUSED(nvmlDeviceGetNumFans, unsigned int *count)
REFUSED(nvmlDeviceGetPerformanceState, nvmlPstates_t *state)
REFUSED(nvmlDeviceGetApplicationsClock, nvmlClockType_t type, unsigned int *clock)
REFUSED(nvmlDeviceSetApplicationsClocks, unsigned int memory, unsigned int graphics)
REFUSED(nvmlDeviceResetApplicationsClocks)
REFUSED(nvmlDeviceGetSupportedMemoryClocks, unsigned int *count, unsigned int *clocks)
REFUSED(nvmlDeviceGetSupportedGraphicsClocks, unsigned int memory, unsigned int *count,
        unsigned int *clocks)
REFUSED(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long *reasons)
REFUSED(nvmlDeviceGetPersistenceMode, nvmlEnableState_t *mode)
REFUSED(nvmlDeviceSetPersistenceMode, nvmlEnableState_t mode)
REFUSED(nvmlDeviceGetEccMode, nvmlEnableState_t *current, nvmlEnableState_t *pending)
REFUSED(nvmlDeviceGetMigMode, unsigned int *current, unsigned int *pending)
REFUSED(nvmlDeviceGetMinorNumber, unsigned int *minor)
REFUSED(nvmlDeviceGetSerial, char *serial, unsigned int length)
REFUSED(nvmlDeviceGetVbiosVersion, char *version, unsigned int length)
REFUSED(nvmlDeviceGetBoardPartNumber, char *number, unsigned int length)
REFUSED(nvmlDeviceGetBoardId, unsigned int *id)
REFUSED(nvmlDeviceGetNumGpuCores, unsigned int *count)
REFUSED(nvmlDeviceGetBAR1MemoryInfo, nvmlBAR1Memory_t *memory)
REFUSED(nvmlDeviceGetEncoderUtilization, unsigned int *percent, unsigned int *period)
REFUSED(nvmlDeviceGetDecoderUtilization, unsigned int *percent, unsigned int *period)
REFUSED(nvmlDeviceGetCurrPcieLinkGeneration, unsigned int *generation)
REFUSED(nvmlDeviceGetCurrPcieLinkWidth, unsigned int *width)
REFUSED(nvmlDeviceGetMaxPcieLinkGeneration, unsigned int *generation)
REFUSED(nvmlDeviceGetMaxPcieLinkWidth, unsigned int *width)
REFUSED(nvmlDeviceGetPcieThroughput, nvmlPcieUtilCounter_t counter, unsigned int *kilobytes)
REFUSED(nvmlDeviceGetNvLinkState, unsigned int link, nvmlEnableState_t *active)
REFUSED(nvmlDeviceGetNvLinkRemotePciInfo_v2, unsigned int link, nvmlPciInfo_t *pci)
REFUSED(nvmlDeviceGetTopologyCommonAncestor, nvmlDevice_t device2, nvmlGpuTopologyLevel_t *level)
REFUSED(nvmlDeviceGetCpuAffinity, unsigned int size, unsigned long *set)
REFUSED(nvmlDeviceSetCpuAffinity)
REFUSED(nvmlDeviceGetComputeRunningProcesses_v3, unsigned int *count, nvmlProcessInfo_t *processes)
REFUSED(nvmlDeviceGetGraphicsRunningProcesses_v3, unsigned int *count, nvmlProcessInfo_t *processes)
REFUSED(nvmlDeviceGetMPSComputeRunningProcesses_v3, unsigned int *count,
        nvmlProcessInfo_t *processes)
REFUSED(nvmlDeviceGetProcessUtilization, nvmlProcessUtilizationSample_t *samples,
        unsigned int *count, unsigned long long since)

/* ---- older names ---- */

#undef nvmlInit
#undef nvmlDeviceGetCount
#undef nvmlDeviceGetHandleByIndex
#undef nvmlDeviceGetHandleByPciBusId
#undef nvmlDeviceGetPciInfo
#undef nvmlDeviceGetNvLinkRemotePciInfo
#undef nvmlDeviceGetComputeRunningProcesses
#undef nvmlDeviceGetGraphicsRunningProcesses

NVML_API nvmlReturn_t nvmlInit(void);
NVML_API nvmlReturn_t nvmlInit(void) { return nvmlInit_v2(); }
NVML_API nvmlReturn_t nvmlDeviceGetCount(unsigned int *count);
NVML_API nvmlReturn_t nvmlDeviceGetCount(unsigned int *count)
{
    return nvmlDeviceGetCount_v2(count);
}
NVML_API nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device);
NVML_API nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}
NVML_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *bus, nvmlDevice_t *device);
NVML_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *bus, nvmlDevice_t *device)
{
    return nvmlDeviceGetHandleByPciBusId_v2(bus, device);
}
NVML_API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *count,
                                                           void *processes);
NVML_API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *count,
                                                           void *processes)
{
    return refuse(device);
}
NVML_API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device,
                                                              unsigned int *count, void *processes);
NVML_API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device,
                                                              unsigned int *count, void *processes)
{
    return refuse(device);
}
NVML_API nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device,
                                                            unsigned int *count, void *processes);
NVML_API nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device,
                                                            unsigned int *count, void *processes)
{
    return refuse(device);
}
NVML_API nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device,
                                                               unsigned int *count,
                                                               void *processes);
NVML_API nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device,
                                                               unsigned int *count, void *processes)
{
    return refuse(device);
}
