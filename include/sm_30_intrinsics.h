/* sm_30_intrinsics.h: warp shuffles and votes. A name that programs include; everything is in
 * cuda_runtime.h. */
#ifndef WEIR_SM_30_INTRINSICS_H
#define WEIR_SM_30_INTRINSICS_H

#include "cuda_runtime.h"

#endif
