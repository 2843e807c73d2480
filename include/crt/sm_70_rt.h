/* crt/sm_70_rt.h: warp match. A name that programs include; everything is in
 * cuda_runtime.h. */
#ifndef WEIR_CRT_SM_70_RT_H
#define WEIR_CRT_SM_70_RT_H

#include "../cuda_runtime.h"

#endif
