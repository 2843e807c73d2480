/* device_atomic_functions.h: atomic functions. A name that programs include; everything is in
 * cuda_runtime.h. */
#ifndef WEIR_DEVICE_ATOMIC_FUNCTIONS_H
#define WEIR_DEVICE_ATOMIC_FUNCTIONS_H

#include "cuda_runtime.h"

#endif
