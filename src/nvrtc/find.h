/* find: where NVIDIA's libnvrtc is, which compiles for Weir's: for Weir's library itself and for
 * `weir run`, which sets the variable that names it. */
#ifndef WEIR_NVRTC_FIND_H
#define WEIR_NVRTC_FIND_H

/* The path of libnvrtc.so.<major>, which the caller frees: in the packages of Python, below
 * CUDA_HOME and CUDA_PATH, on LD_LIBRARY_PATH, in /usr/local/cuda and /usr/lib. NULL: there is
 * none. `python` is the path of a Python whose packages count, or NULL; Weir's own never does. */
char *nvrtc_find(const char *python, int major);

/* A library in NVIDIA's packages of that Python, of the environment that is active or of the
 * user. */
char *nvrtc_find_in_packages(const char *python, const char *library);

#endif
