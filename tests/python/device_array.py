"""Arrays in device memory for programs without a package that has some: over the driver API alone.

DeviceArray(values) copies a numpy array to the device; numpy() copies it back. data_ptr() and dtype are what
Triton asks of a tensor."""
import ctypes

import numpy as np

_driver = ctypes.CDLL("libcuda.so.1")


def check(result):
    """Raises an error that names the driver's code."""
    if result != 0:
        name = ctypes.c_char_p()
        _driver.cuGetErrorName(result, ctypes.byref(name))
        raise RuntimeError(f"{name.value.decode()} from the driver")


def begin():
    """Makes device 0's primary context current."""
    context = ctypes.c_void_p()
    check(_driver.cuInit(0))
    check(_driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(_driver.cuCtxSetCurrent(context))


class DeviceArray:
    """Memory of the device with a copy of `values`; its type for Triton is named, or numpy's."""

    def __init__(self, values, dtype=None):
        values = np.ascontiguousarray(values)
        self.shape, self.element, self.bytes = values.shape, values.dtype, values.nbytes
        self.dtype = dtype if dtype is not None else values.dtype.name
        self._pointer = ctypes.c_uint64()
        check(_driver.cuMemAlloc_v2(ctypes.byref(self._pointer), ctypes.c_size_t(max(1, self.bytes))))
        check(_driver.cuMemcpyHtoD_v2(self._pointer, ctypes.c_void_p(values.ctypes.data),
                                      ctypes.c_size_t(self.bytes)))

    def data_ptr(self):
        """The device address."""
        return self._pointer.value

    def numpy(self):
        """What is there now, after all work of the device."""
        check(_driver.cuCtxSynchronize())
        values = np.empty(self.shape, self.element)
        check(_driver.cuMemcpyDtoH_v2(ctypes.c_void_p(values.ctypes.data), self._pointer,
                                      ctypes.c_size_t(self.bytes)))
        return values

    def __del__(self):
        _driver.cuMemFree_v2(self._pointer)


def zeros(shape, dtype=np.float32):
    """An array of zeros."""
    return DeviceArray(np.zeros(shape, dtype))
