/* crt/sm_90_rt.h: clusters. A name that programs include; everything is in
 * cuda_runtime.h. */
#ifndef WEIR_CRT_SM_90_RT_H
#define WEIR_CRT_SM_90_RT_H

#include "../cuda_runtime.h"

#endif
