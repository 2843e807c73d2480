/* sm_35_intrinsics.h: cached loads and funnel shifts. A name that programs include; everything is in
 * cuda_runtime.h. */
#ifndef WEIR_SM_35_INTRINSICS_H
#define WEIR_SM_35_INTRINSICS_H

#include "cuda_runtime.h"

#endif
