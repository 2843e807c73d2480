/* cooperative_groups.h: groups of threads as objects ("CUDA C++ Programming Guide", Cooperative
 * Groups). The collective algorithms are in cooperative_groups/reduce.h, scan.h, memcpy_async.h. */
#ifndef _COOPERATIVE_GROUPS_H_
#define _COOPERATIVE_GROUPS_H_

#if !defined(__cplusplus)
#error "cooperative_groups.h is for C++"
#endif

#if defined(__CUDA__) || defined(__CUDACC_RTC__)

#ifndef __CUDACC_RTC__ /* NVRTC has it built in */
#include "cuda_runtime.h"
#endif

#include "cooperative_groups/details/groups.h"

#include "cooperative_groups/details/warp_groups.h"

#include "cooperative_groups/details/block_tile.h"

#include "cooperative_groups/details/partition.h"

/* CUDA's brings cuda::atomic, which takes longer to read than all the rest: a file that names it is
 * compiled again with this (weircc). */
#ifdef __WEIR_CUDA_ATOMIC__
#include <cuda/atomic>
#endif

#define _CG_VERSION           1000
#define _CG_HAS_GRID_GROUP    1
#define _CG_HAS_CLUSTER_GROUP 1

#endif
#endif
