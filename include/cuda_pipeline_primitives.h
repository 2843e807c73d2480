/* cuda_pipeline_primitives.h: asynchronous copies into shared memory in C; see cuda_pipeline.h. */
#ifndef _CUDA_PIPELINE_PRIMITIVES_H_
#define _CUDA_PIPELINE_PRIMITIVES_H_

#include "cuda_pipeline.h"

#endif
