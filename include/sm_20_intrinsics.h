/* sm_20_intrinsics.h: votes, fences, address spaces. A name that programs include; everything is in
 * cuda_runtime.h. */
#ifndef WEIR_SM_20_INTRINSICS_H
#define WEIR_SM_20_INTRINSICS_H

#include "cuda_runtime.h"

#endif
