/* M1.4, module memory: a range with fewer addresses than its capacity, as where a process's address
 * space is limited: what waits in the cache must not keep addresses from those who need them. */
#include "check.h"
#include "memory/space.h"

enum { CHUNKS = 8, MIB = 1 << 20 };

static struct space space;
static void *held[CHUNKS];

static enum mem_status take(uint64_t bytes, void **out)
{
    struct mem_request request = {.kind = MEM_DEVICE, .bytes = bytes, .align = MEM_ALIGNMENT};
    return space_alloc(&space, &request, 1, out);
}

/* All addresses given out, each chunk to an allocation of its own, and freed to the cache. */
static void fill_cache(void)
{
    void *p;
    for (int n = 0; n < CHUNKS; n++)
        CHECK_EQ_INT(take(MIB, &held[n]), MEM_OK);
    CHECK_EQ_INT(take(MIB, &p), MEM_OUT_OF_MEMORY);
    CHECK_EQ_INT(take(512, &p), MEM_OUT_OF_MEMORY);
    for (int n = 0; n < CHUNKS; n++)
        CHECK_EQ_INT(space_free(&space, (uint64_t)held[n], MEM_DEVICE), MEM_OK);
}

int main(void)
{
    void *small, *large;
    CHECK(space_open(&space, 0, (uint64_t)256 * MIB, CHUNKS * SPACE_CHUNK, NULL));
    small = large = (void *)space.base; /* in the range, whatever comes */
    fill_cache();
    CHECK_EQ_INT(take(512, &small), MEM_OK);
    CHECK_EQ_INT(space_free(&space, (uint64_t)small, MEM_DEVICE), MEM_OK);
    space_trim(&space, 0);
    fill_cache();
    CHECK_EQ_INT(take(5 * MIB, &large), MEM_OK);
    CHECK_EQ_INT(space_free(&space, (uint64_t)large, MEM_DEVICE), MEM_OK);
    return check_done();
}
