/* device_functions.h: device functions and intrinsics. A name that programs include; everything is in
 * cuda_runtime.h. */
#ifndef WEIR_DEVICE_FUNCTIONS_H
#define WEIR_DEVICE_FUNCTIONS_H

#include "cuda_runtime.h"

#endif
