/* crt/sm_80_rt.h: warp reductions. A name that programs include; everything is in
 * cuda_runtime.h. */
#ifndef WEIR_CRT_SM_80_RT_H
#define WEIR_CRT_SM_80_RT_H

#include "../cuda_runtime.h"

#endif
