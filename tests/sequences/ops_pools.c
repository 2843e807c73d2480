/* Memory pools: made, described, limited, trimmed, destroyed while their memory is in use. */
#include <string.h>

#include "sequences.h"

static struct pool *any_pool(struct thread *t)
{
    struct pool *p = &t->pool[below(t, POOLS)];

    return p->live ? p : NULL;
}

static void make_pool(struct thread *t)
{
    struct pool *p = &t->pool[below(t, POOLS)];
    struct cudaMemPoolProps props;

    if (p->live)
        return;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = t->device;
    if (one_in(t, 3))
        props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    if (one_in(t, 2))
        OK_CU(cuMemPoolCreate((CUmemoryPool *)&p->h, (CUmemPoolProps *)&props));
    else
        OK_RT(cudaMemPoolCreate(&p->h, &props));
    MUST(p->h != NULL);
    p->live = true;
    p->threshold = 0;
    for (int i = 0; i < 3; i++)
        p->uses[i] = 1;
}

/* What was allocated from it stays usable until it is freed. */
static void destroy_pool(struct thread *t)
{
    struct pool *p = any_pool(t);

    if (p == NULL || !one_in(t, 3))
        return;
    if (one_in(t, 2))
        OK_CU(cuMemPoolDestroy((CUmemoryPool)p->h));
    else
        OK_RT(cudaMemPoolDestroy(p->h));
    p->live = false;
}

static void set_pool(struct thread *t)
{
    static const enum cudaMemPoolAttr names[] = {cudaMemPoolReuseFollowEventDependencies,
                                                 cudaMemPoolReuseAllowOpportunistic,
                                                 cudaMemPoolReuseAllowInternalDependencies};
    struct pool *p = any_pool(t);

    if (p == NULL)
        return;
    if (one_in(t, 2)) {
        int i = (int)below(t, 3), value = (int)below(t, 2);
        OK_RT(cudaMemPoolSetAttribute(p->h, names[i], &value));
        p->uses[i] = value;
    } else {
        unsigned long long value = one_in(t, 3) ? ~0ull : (unsigned long long)below(t, 1 << 24);
        OK_RT(cudaMemPoolSetAttribute(p->h, cudaMemPoolAttrReleaseThreshold, &value));
        p->threshold = value;
    }
}

static void ask_pool(struct thread *t)
{
    struct pool *p = any_pool(t);
    unsigned long long used = ~0ull, reserved = ~0ull, high = 0, threshold = 1;
    int value = -1;

    if (p == NULL)
        return;
    unsigned long long least = 0;
    for (int i = 0; i < BUFFERS; i++)
        if (t->buffer[i].live && t->buffer[i].kind == ORDERED && t->buffer[i].pool == p - t->pool)
            least += t->buffer[i].size;
    OK_RT(cudaMemPoolGetAttribute(p->h, cudaMemPoolAttrUsedMemCurrent, &used));
    OK_RT(cudaMemPoolGetAttribute(p->h, cudaMemPoolAttrReservedMemCurrent, &reserved));
    OK_RT(cudaMemPoolGetAttribute(p->h, cudaMemPoolAttrUsedMemHigh, &high));
    MUST(used <= reserved && used <= high);
    (void)least;
    OK_RT(cudaMemPoolGetAttribute(p->h, cudaMemPoolAttrReleaseThreshold, &threshold));
    MUST_EQ(threshold, p->threshold);
    OK_RT(cudaMemPoolGetAttribute(p->h, cudaMemPoolReuseAllowOpportunistic, &value));
    MUST_EQ(value, p->uses[1]);
    OK_CU(cuMemPoolGetAttribute((CUmemoryPool)p->h, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
                                &value));
    MUST_EQ(value, p->uses[0]);
}

static void trim_pool(struct thread *t)
{
    struct pool *p = any_pool(t);
    size_t keep = one_in(t, 2) ? 0 : below(t, 1 << 24);

    if (p != NULL)
        OK_RT(cudaMemPoolTrimTo(p->h, keep));
}

void pools_end(struct thread *t)
{
    for (int i = 0; i < POOLS; i++)
        if (t->pool[i].live) {
            OK_RT(cudaMemPoolDestroy(t->pool[i].h));
            t->pool[i].live = false;
        }
}

const struct op ops_pools[] = {
    {"pools", "make pool", make_pool, 3, true},
    {"pools", "destroy pool", destroy_pool, 2, true},
    {"pools", "set attribute", set_pool, 6, false},
    {"pools", "ask pool", ask_pool, 5, false},
    {"pools", "trim", trim_pool, 3, true},
    {NULL, NULL, NULL, 0, false},
};
