/* weir: what Weir's driver offers beyond CUDA, offered by the runtime, too: a program that links
 * only libcudart can ask for faults. Over another driver there is nothing to tell. */
#include "runtime/internal.h"

struct rt_called rt_called(enum weir_call call, const void *caller)
{
    rt_load();
    if (!RT_HAS(weir_announce_call))
        return (struct rt_called){false};
    rt_driver.weir_announce_call(call, caller);
    return (struct rt_called){true};
}

/* Calls that did not reach the driver must not be taken for its next one. */
void rt_call_ends(struct rt_called *called)
{
    if (called->announced)
        rt_driver.weir_announce_call(WEIR_CALL_NONE, NULL);
}

PUBLIC int weir_last_fault(struct weir_fault *out)
{
    rt_load();
    return RT_HAS(weir_last_fault) ? rt_driver.weir_last_fault(out) : 0;
}

PUBLIC const char *weir_last_message(void)
{
    rt_load();
    return RT_HAS(weir_last_message) ? rt_driver.weir_last_message() : "";
}
