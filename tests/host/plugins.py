# A plugin in Python, in threads that end, beside OpenMP: plugins.py PLUGIN LIBCUDART
import ctypes
import sys
import threading

try:
    ctypes.CDLL("libgomp.so.1", mode=ctypes.RTLD_GLOBAL)
except OSError as error:
    print("note: without OpenMP:", error)
runtime = ctypes.CDLL(sys.argv[2])
plugin = ctypes.CDLL(sys.argv[1])
count = ctypes.c_int()
results = [runtime.cudaGetDeviceCount(ctypes.byref(count))]


def use():
    for n in range(5):
        results.append(plugin.plugin_run(n))
        results.append(runtime.cudaDeviceSynchronize())


threads = [threading.Thread(target=use) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
use()
if count.value < 1 or any(results):
    sys.exit(f"{count.value} devices, results {results}")
print("all passed")
