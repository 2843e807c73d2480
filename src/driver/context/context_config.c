/* context_config: what a context can be told and asked beyond its life: flags, limits, preferences,
 * and whose memory it may reach. */
#include "driver/driver.h"
#include "weir/weir.h"

WEIR_API unsigned long long weir_current_context(void **context)
{
    CUcontext c = driver_thread.current;
    *context = c;
    return WEIR_LIKELY(c != NULL && context_live(c)) ? atomic_load(&c->id) : 0;
}

WEIR_API CUresult cuCtxGetId(CUcontext ctx, unsigned long long *id)
{
    HOLD;
    CU_TRY(driver_ready());
    CU_TRY(ctx == NULL ? driver_current(&ctx) : context_check(ctx));
    if (id == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *id = atomic_load(&ctx->id);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuCtxSetFlags(unsigned int flags)
{
    HOLD;
    CUcontext c;
    CU_TRY(driver_current_any(&c));
    if (!context_flags_valid(flags))
        return CUDA_ERROR_INVALID_VALUE;
    context_set_flags(c, flags);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
    HOLD;
    CUcontext c;
    CU_TRY(driver_current(&c));
    if (config == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return CUDA_SUCCESS;
}

/* Nothing since compute capability 3 has banks of another size: a wish that changes nothing. */
WEIR_API CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    HOLD;
    CUcontext c;
    CU_TRY(driver_current(&c));
    return (unsigned)config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_SUCCESS
                                                                         : CUDA_ERROR_INVALID_VALUE;
}

/* No line of the cache is ever set aside, so none has to be given back. */
WEIR_API CUresult cuCtxResetPersistingL2Cache(void)
{
    HOLD;
    CUcontext c;
    return driver_current(&c);
}

WEIR_API CUresult cuCtxGetExecAffinity(CUexecAffinityParam *out, CUexecAffinityType type)
{
    HOLD;
    CUcontext c;
    CU_TRY(driver_current(&c));
    if (out == NULL || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
        return CUDA_ERROR_INVALID_VALUE;
    return driver_error(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
                        "cuCtxGetExecAffinity: execution affinity is not supported");
}

/* ---- peers: all devices are one machine's memory ---- */

WEIR_API CUresult cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
    HOLD;
    CU_TRY(device_check(dev));
    CU_TRY(device_check(peer));
    if (can == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *can = dev != peer;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuDeviceGetP2PAttribute(int *out, CUdevice_P2PAttribute which, CUdevice from,
                                          CUdevice to)
{
    HOLD;
    CU_TRY(device_check(from));
    CU_TRY(device_check(to));
    if (from == to)
        return CUDA_ERROR_INVALID_DEVICE;
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    switch (which) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK: *out = 0; return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED: *out = 1; return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
        *out = 0;
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult find_peer(CUcontext peer, CUcontext *c, unsigned *bit)
{
    CU_TRY(driver_current(c));
    CU_TRY(context_check(peer));
    *bit = 1u << peer->ordinal;
    return CUDA_SUCCESS;
}

/* Tells kernels whose memory they may touch. */
static void apply_peers(CUcontext c)
{
    uint32_t devices = 0, peers = atomic_load(&c->peers);
    for (int i = 0; i < driver_device_count(); i++)
        if ((peers >> i & 1) != 0)
            devices |= (uint32_t)1 << device_ordinal(driver_device(i));
    grid_env_set_peers(device_context_env(c->device), devices);
}

WEIR_API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    HOLD;
    CUcontext c;
    unsigned bit;
    CU_TRY(find_peer(peer, &c, &bit));
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (c->ordinal == peer->ordinal) /* itself, for one */
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    if ((atomic_fetch_or(&c->peers, bit) & bit) != 0)
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    apply_peers(c);
    return CUDA_SUCCESS;
}

/* Kernels that run already are waited for: what they may touch does not change under them. */
WEIR_API CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
    HOLD;
    CUcontext c;
    unsigned bit;
    CU_TRY(find_peer(peer, &c, &bit));
    if ((atomic_fetch_and(&c->peers, ~bit) & bit) == 0)
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    apply_peers(c);
    return CUDA_SUCCESS;
}
