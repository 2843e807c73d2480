/* sm_61_intrinsics.h: dot products of packed bytes. A name that programs include; everything is in
 * cuda_runtime.h. */
#ifndef WEIR_SM_61_INTRINSICS_H
#define WEIR_SM_61_INTRINSICS_H

#include "cuda_runtime.h"

#endif
