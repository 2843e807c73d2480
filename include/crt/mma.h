/* crt/mma.h: warp matrix functions, under the name some programs use. */
#ifndef WEIR_CRT_MMA_H
#define WEIR_CRT_MMA_H

#include "../mma.h"

#endif
