/* cluster: clusters of blocks: how large they are for a launch, the attributes of functions that
 * say so, and occupancy. A kernel may fix its cluster's size when it is compiled
 * (.reqnctapercluster), its function by an attribute, a launch by another; where several do, they
 * must agree. */
#include <string.h>

#include "driver/objects.h"

enum { PORTABLE_MAX = 8, NON_PORTABLE_MAX = JIT_CLUSTER_MAX };

static uint32_t cluster_most(CUfunction f)
{
    return f->non_portable ? NON_PORTABLE_MAX : PORTABLE_MAX;
}

/* Compiled into the kernel; the dimensions not written are 1. */
static bool cluster_compiled(CUfunction f, uint32_t out[3])
{
    const uint32_t *c = f->func->reqnctapercluster;
    if (c[0] == 0)
        return false;
    for (int d = 0; d < 3; d++)
        out[d] = c[d] != 0 ? c[d] : 1;
    return true;
}

static bool named(const uint32_t c[3]) { return c[0] != 0 || c[1] != 0 || c[2] != 0; }

CUresult cluster_resolve(CUfunction f, const uint32_t grid[3], uint32_t cluster[3])
{
    const char *name = f->func->name;
    uint32_t fixed[3];
    if (cluster_compiled(f, fixed) || (memcpy(fixed, f->cluster, sizeof fixed), named(fixed))) {
        if (named(cluster) && memcmp(fixed, cluster, sizeof fixed) != 0)
            return driver_error(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                                "%s: launched with clusters of %ux%ux%u blocks; it is made for "
                                "%ux%ux%u",
                                name, cluster[0], cluster[1], cluster[2], fixed[0], fixed[1],
                                fixed[2]);
        memcpy(cluster, fixed, sizeof fixed);
    }
    if (!named(cluster)) {
        if (f->func->explicit_cluster)
            return driver_error(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                                "%s: a launch must name the cluster's size", name);
        return CUDA_SUCCESS;
    }
    if (!device_limits()->clusters)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "%s: clusters need compute capability 9.0; WEIR_COMPUTE_CAPABILITY "
                            "names an earlier one",
                            name);
    uint64_t blocks = (uint64_t)cluster[0] * cluster[1] * cluster[2];
    if (blocks == 0 || blocks > cluster_most(f))
        return driver_error(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                            "%s: a cluster of %ux%ux%u blocks; 1 to %u are possible", name,
                            cluster[0], cluster[1], cluster[2], cluster_most(f));
    if (f->func->maxclusterrank != 0 && blocks > f->func->maxclusterrank)
        return driver_error(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                            "%s: a cluster of %llu blocks; it was compiled for %u at most", name,
                            (unsigned long long)blocks, f->func->maxclusterrank);
    for (int d = 0; d < 3; d++)
        if (grid[d] % cluster[d] != 0)
            return driver_error(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                                "%s: a grid of %ux%ux%u blocks is not made of clusters of %ux%ux%u",
                                name, grid[0], grid[1], grid[2], cluster[0], cluster[1],
                                cluster[2]);
    return CUDA_SUCCESS;
}

/* ---- attributes of functions ---- */

CUresult cluster_get_attribute(CUfunction f, CUfunction_attribute which, int *value)
{
    uint32_t c[3];
    if (!cluster_compiled(f, c))
        memcpy(c, f->cluster, sizeof c);
    switch (which) {
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = f->func->explicit_cluster; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: *value = (int)c[0]; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: *value = (int)c[1]; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: *value = (int)c[2]; break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = f->non_portable; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = f->cluster_policy; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cluster_set_attribute(CUfunction f, CUfunction_attribute which, int value)
{
    uint32_t c[3];
    switch (which) {
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        if (cluster_compiled(f, c)) /* probed on an H100: naming the same size again passes */
            return (uint32_t)value == c[which - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH]
                       ? CUDA_SUCCESS
                       : driver_error(CUDA_ERROR_NOT_PERMITTED,
                                      "%s: its cluster's size is compiled into it", f->func->name);
        if (value < 0)
            return CUDA_ERROR_INVALID_VALUE;
        f->cluster[which - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = (uint32_t)value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        if (value != 0 && value != 1)
            return CUDA_ERROR_INVALID_VALUE;
        f->non_portable = value != 0;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        if (value < CU_CLUSTER_SCHEDULING_POLICY_DEFAULT ||
            value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING)
            return CUDA_ERROR_INVALID_VALUE;
        f->cluster_policy = value; /* a preference: all of a cluster's blocks share one worker */
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* ---- occupancy ---- */

/* The cluster that a configuration names, checked; *beyond: it is right but for having more blocks
 * than any cluster can. */
static CUresult cluster_configured(CUfunction f, const CUlaunchConfig *config, uint32_t c[3],
                                   bool *beyond)
{
    const uint32_t grid[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
    for (unsigned n = 0; n < config->numAttrs; n++)
        if (config->attrs[n].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            c[0] = config->attrs[n].value.clusterDim.x;
            c[1] = config->attrs[n].value.clusterDim.y;
            c[2] = config->attrs[n].value.clusterDim.z;
        }
    *beyond = f->non_portable && (uint64_t)c[0] * c[1] * c[2] > NON_PORTABLE_MAX;
    return *beyond ? CUDA_SUCCESS : cluster_resolve(f, grid, c);
}

/* Of the configuration's blocks; 0 where one has more threads than any can. */
static uint32_t blocks_per_sm(CUfunction f, const CUlaunchConfig *config)
{
    uint64_t most = 1024, threads = (uint64_t)config->blockDimX * config->blockDimY;
    if (threads > most || threads * config->blockDimZ > most)
        return 0;
    return function_blocks_per_sm(f, (uint32_t)threads * config->blockDimZ, config->sharedMemBytes);
}

/* The function that a launch of that configuration would run: in the context of its stream. */
static CUresult configured_function(CUfunction *f, const CUlaunchConfig *config)
{
    CUcontext c;
    struct device_stream *s;
    if (config == NULL || (config->numAttrs > 0 && config->attrs == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(driver_find_stream(config->hStream, false, &s, &c));
    CU_TRY(launch_function(*f, c, f));
    return (*f)->module->ctx == c ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

WEIR_API CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction f,
                                                     const CUlaunchConfig *config)
{
    HOLD;
    uint32_t c[3] = {0, 0, 0};
    bool beyond;
    CU_TRY(configured_function(&f, config));
    if (size == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cluster_configured(f, config, c, &beyond));
    *size = blocks_per_sm(f, config) > 0 ? (int)cluster_most(f) : 0;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction f,
                                               const CUlaunchConfig *config)
{
    HOLD;
    uint32_t c[3] = {0, 0, 0};
    bool beyond;
    CU_TRY(configured_function(&f, config));
    if (clusters == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cluster_configured(f, config, c, &beyond));
    uint32_t blocks = named(c) ? c[0] * c[1] * c[2] : 1;
    struct device_facts facts;
    device_facts(driver_device(f->module->ctx->ordinal), &facts);
    uint64_t all = (uint64_t)facts.workers * blocks_per_sm(f, config);
    *clusters = beyond ? 0 : (int)(all / blocks);
    return CUDA_SUCCESS;
}
