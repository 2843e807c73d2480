/* view: who may touch device memory in checked mode; see view.h. */
#include "memory/view.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "memory/space.h"

bool mem_checked_;

static int key = -1;                 /* protection key; -1: the processor or the system has none */
static _Thread_local unsigned depth; /* of view_enter in this thread */
static _Atomic uint64_t generation = 1;

/* Without keys: how many threads are inside. Changes and the rights that follow from them are made
 * with all devices' locks held. */
static unsigned inside;

void mem_check_begin(void)
{
    mem_checked_ = true;
    key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
}

/* Every device's pages up to the highest used, at once. */
static void open_pages_(bool access)
{
    struct space *s;
    for (int device = 0; (s = space_of(device)) != NULL; device++)
        if (s->high > 0)
            mprotect((void *)s->base, s->high * SPACE_CHUNK,
                     access ? PROT_READ | PROT_WRITE : PROT_NONE);
}

static void lock_all_(bool lock)
{
    struct space *s;
    for (int device = 0; (s = space_of(device)) != NULL; device++)
        if (lock)
            pthread_mutex_lock(&s->lock);
        else
            pthread_mutex_unlock(&s->lock);
}

static void count_inside_(bool enters)
{
    lock_all_(true);
    if (enters ? inside++ == 0 : --inside == 0)
        open_pages_(enters);
    lock_all_(false);
}

void view_enter(void)
{
    if (depth++ > 0)
        return;
    if (key >= 0)
        pkey_set(key, 0);
    else
        count_inside_(true);
}

void view_leave(void)
{
    if (--depth > 0)
        return;
    if (key >= 0)
        pkey_set(key, PKEY_DISABLE_ACCESS);
    else
        count_inside_(false);
}

void view_again(void)
{
    if (depth > 0 && key >= 0)
        pkey_set(key, 0);
}

bool view_set_access(void *base, uint64_t bytes, bool access)
{
    int rights = access ? PROT_READ | PROT_WRITE : PROT_NONE;
    if (mem_checked() && key >= 0)
        return pkey_mprotect(base, bytes, rights, key) == 0;
    if (mem_checked() && access && inside == 0)
        return true; /* whoever enters next gets it */
    return mprotect(base, bytes, rights) == 0;
}

/* ---- questions ------------------------------------------------------------------------------- */

uint64_t mem_generation(void) { return atomic_load_explicit(&generation, memory_order_acquire); }

void mem_changed(void) { atomic_fetch_add_explicit(&generation, 1, memory_order_release); }

void mem_permit(void *base, uint64_t bytes)
{
    if (mem_checked() && bytes > 0)
        registered_add(MEM_INTERNAL, (uint64_t)base, bytes, 0, NULL, 0);
}

void mem_forbid(void *base)
{
    if (mem_checked())
        registered_remove(MEM_INTERNAL, (uint64_t)base);
}

/* Memory of pools is allocated and freed in the order of streams, which is not the order of calls:
 * what the pool says now need not be what holds for the kernel that runs now. So all that a pool
 * has of the device is allowed. */
static bool is_lent(uint64_t address, struct mem_span *out)
{
    struct space *s = space_at(address);
    if (s == NULL)
        return false;
    pthread_mutex_lock(&s->lock);
    bool lent = space_lent(s, address);
    pthread_mutex_unlock(&s->lock);
    if (lent) {
        out->base = address / SPACE_CHUNK * SPACE_CHUNK;
        out->end = out->base + SPACE_CHUNK;
        out->generation = 0; /* not to be kept */
    }
    return lent;
}

bool mem_usable(uint64_t address, uint64_t bytes, struct mem_span *out)
{
    struct mem_info info;
    uint64_t now = mem_generation();
    if (is_lent(address, out)) {
        struct mem_span next;
        return bytes <= out->end - address || is_lent(address + bytes - 1, &next);
    }
    if (!mem_find((const void *)address, &info))
        return false;
    *out = (struct mem_span){.base = info.base, .end = info.base + info.size, .generation = now};
    return bytes <= out->end - address;
}
