"""A plugin of pytest: the few functions of the runtime and of NVML that cuda.core calls, by the driver.

cuda.bindings.runtime has NVIDIA's runtime inside, which takes no driver but NVIDIA's; cuda.core calls it in
Device.sync and for two questions about devices, and NVML, which Weir has not, for the number of devices in
Device.get_all_devices; all else by the driver."""
from cuda.bindings import driver, runtime
from cuda.core import system


def device_synchronize():
    return (runtime.cudaError_t(int(driver.cuCtxSynchronize()[0])),)


def get_device_count():
    driver.cuInit(0)
    code, count = driver.cuDeviceGetCount()
    return runtime.cudaError_t(int(code)), count


def device_get_pci_bus_id(length, device):
    code, name = driver.cuDeviceGetPCIBusId(length, device)
    return runtime.cudaError_t(int(code)), name


runtime.cudaDeviceSynchronize = device_synchronize
runtime.cudaGetDeviceCount = get_device_count
runtime.cudaDeviceGetPCIBusId = device_get_pci_bus_id
system.get_num_devices = lambda: get_device_count()[1]
