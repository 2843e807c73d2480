/* watch: who is told what happens in the runtime's pools: nobody. Observers and watchers are the
 * driver's, in its copy of src/pool, and the flags that ask for these calls are never set here. */
#include "pool/internal.h"

void watch_block(enum pool_event_kind kind, const struct pool *p, const struct pool_shard *s,
                 const struct block *b, enum pool_rule rule)
{
}

void watch_chunks(enum pool_event_kind kind, const struct pool *p, uint64_t address, uint64_t bytes)
{
}
