/* cooperative_groups.h: groups of threads as objects ("CUDA C++ Programming Guide", Cooperative
 * Groups). The collective algorithms are in cooperative_groups/reduce.h, scan.h, memcpy_async.h. */
#ifndef _COOPERATIVE_GROUPS_H_
#define _COOPERATIVE_GROUPS_H_

#if !defined(__cplusplus)
#error "cooperative_groups.h is for C++"
#endif

#if defined(__CUDA__) || defined(__CUDACC_RTC__)

#include "cuda_runtime.h"

#include "weir/cg/groups.h"

#include "weir/cg/warp_groups.h"

#include "weir/cg/block_tile.h"

#include "weir/cg/partition.h"

#define _CG_VERSION           1000
#define _CG_HAS_GRID_GROUP    1
#define _CG_HAS_CLUSTER_GROUP 1

#endif
#endif
