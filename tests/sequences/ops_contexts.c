/* Contexts of the driver's own: made, pushed, popped, set, used, destroyed with what is in them.
 * Each visit is one step, at whose end the primary context is current again. */
#include <string.h>

#include "sequences.h"

enum { DEPTH = 4 };

/* The contexts that are current and below, above the primary one. */
struct visit {
    CUcontext stack[DEPTH];
    int depth;
};

static void check_current(struct thread *t, const struct visit *v)
{
    CUcontext c = NULL;

    OK_CU(cuCtxGetCurrent(&c));
    MUST(c == (v->depth > 0 ? v->stack[v->depth - 1] : t->primary));
}

static void work_in(struct thread *t)
{
    CUdeviceptr p = 0;
    CUstream s = NULL;
    CUevent e = NULL;
    CUcontext of = NULL, current = NULL;
    unsigned char got[16];

    OK_CU(cuMemAlloc(&p, sizeof got));
    OK_CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK_CU(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK_CU(cuStreamGetCtx(s, &of));
    OK_CU(cuCtxGetCurrent(&current));
    MUST(of == current);
    OK_CU(cuMemsetD8Async(p, 7, sizeof got, s));
    OK_CU(cuEventRecord(e, s));
    OK_CU(cuEventSynchronize(e));
    OK_CU(cuMemcpyDtoH(got, p, sizeof got));
    for (size_t i = 0; i < sizeof got; i++)
        MUST_EQ(got[i], 7);
    if (one_in(t, 2)) { /* else the context's end is theirs */
        OK_CU(cuEventDestroy(e));
        OK_CU(cuStreamDestroy(s));
        OK_CU(cuMemFree(p));
    }
}

static void visit(struct thread *t)
{
    struct visit v = {.depth = 1};
    CUcontext own = NULL, popped = NULL;
    unsigned flags = below(t, 3), got = 99;
    CUdevice device = -1;

    NOTE(flags, 0, 0, 0);
    OK_CU(cuCtxCreate(&own, NULL, flags, t->device));
    v.stack[0] = own;
    for (unsigned left = 2 + below(t, 8); left > 0; left--) {
        switch (below(t, 6)) {
        case 0:
            if (v.depth == DEPTH)
                break;
            v.stack[v.depth] = one_in(t, 2) ? own : t->primary;
            OK_CU(cuCtxPushCurrent(v.stack[v.depth]));
            v.depth++;
            break;
        case 1:
            if (v.depth == 0)
                break;
            OK_CU(cuCtxPopCurrent(&popped));
            MUST(popped == v.stack[--v.depth]);
            break;
        case 2:
            if (v.depth == 0)
                break;
            v.stack[v.depth - 1] = one_in(t, 2) ? own : t->primary;
            OK_CU(cuCtxSetCurrent(v.stack[v.depth - 1]));
            break;
        case 3:
            if (v.depth > 0 && v.stack[v.depth - 1] == own)
                work_in(t);
            break;
        case 4:
            OK_CU(cuCtxGetDevice(&device));
            MUST_EQ(device, t->device);
            if (v.depth > 0 && v.stack[v.depth - 1] == own) {
                OK_CU(cuCtxGetFlags(&got));
                MUST_EQ(got & 7, flags);
            }
            break;
        default: CU(CUDA_ERROR_INVALID_VALUE, cuCtxPushCurrent(NULL)); break;
        }
        check_current(t, &v);
    }
    /* A context that is current is popped when it is destroyed; others may not be left on the
     * stack. */
    while (v.depth > 1 || (v.depth == 1 && v.stack[0] != own)) {
        OK_CU(cuCtxPopCurrent(&popped));
        MUST(popped == v.stack[--v.depth]);
    }
    OK_CU(cuCtxDestroy(own));
    v.depth = 0;
    check_current(t, &v);
}

const struct op ops_contexts[] = {
    {"contexts", "visit a context", visit, 2, true},
    {NULL, NULL, NULL, 0, false},
};
