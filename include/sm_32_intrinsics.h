/* sm_32_intrinsics.h: cached loads and funnel shifts. A name that programs include; everything is in
 * cuda_runtime.h. */
#ifndef WEIR_SM_32_INTRINSICS_H
#define WEIR_SM_32_INTRINSICS_H

#include "cuda_runtime.h"

#endif
