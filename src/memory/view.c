/* view: who may touch device memory; see view.h. */
#include "memory/view.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/env.h"
#include "memory/space.h"

enum {
    KEYS_MAX = 15,   /* that a CPU has besides the common one */
    RIGHTS_BITS = 2, /* of a key in the register: no access, no writes */
    SETS_UP_TO = 3,  /* devices, whose every set has a key */
};

bool mem_view_checked, mem_view_guarded, mem_view_needs_checks;

/* What the pages with a key are. */
struct guard {
    uint32_t devices; /* whose kernels see them always */
    int owner;        /* and whose plain memory they are, which its peers see; -1: a pool's */
};

/* Protection keys, all of them from the start on: whoever has entered knows them. */
static struct {
    int count; /* 0: the CPU or the system has none, or they are not wanted */
    int key[KEYS_MAX];
    struct guard guard[KEYS_MAX];
} keys;

static int device_count;
static uint64_t others[MEM_MAX_DEVICES][4];   /* see mem_others */
static _Thread_local struct mem_view view;    /* of this thread, */
static _Thread_local uint32_t rights_outside; /* and its register before it entered */
static _Atomic uint64_t generation = 1;

/* Without keys, in checked mode: how many threads are inside. Changes and the rights that follow
 * from them are made with all devices' locks held. */
static unsigned inside;

/* ---- the register ---- */

#if defined(__x86_64__)
static uint32_t read_rights(void)
{
    uint32_t rights, high;
    __asm__ volatile("rdpkru" : "=a"(rights), "=d"(high) : "c"(0));
    return rights;
}

static void write_rights(uint32_t rights)
{
    __asm__ volatile("wrpkru" : : "a"(rights), "c"(0), "d"(0) : "memory");
}
#else /* no keys: nobody calls */
static uint32_t read_rights(void) { return 0; }
static void write_rights(uint32_t rights) {}
#endif

static uint32_t no_access(int n) { return (uint32_t)1 << (RIGHTS_BITS * keys.key[n]); }

static bool sees(const struct mem_view *v, const struct guard *g)
{
    return v->device < 0 || (g->devices >> v->device & 1) != 0 ||
           (g->owner >= 0 && (v->peers >> g->owner & 1) != 0);
}

/* The rights of a thread with that view; keys that are not ours keep theirs. */
static uint32_t rights_of(const struct mem_view *v, uint32_t rights)
{
    for (int i = 0; i < keys.count; i++)
        if (sees(v, &keys.guard[i]))
            rights &= ~(no_access(i) | no_access(i) << 1);
        else
            rights |= no_access(i);
    return rights;
}

/* ---- keys ---- */

static void add_key(uint32_t devices, int owner)
{
    int key = keys.count < KEYS_MAX ? pkey_alloc(0, PKEY_DISABLE_ACCESS) : -1;
    if (key < 0)
        return;
    keys.key[keys.count] = key;
    keys.guard[keys.count++] = (struct guard){devices, owner};
}

static int find_key(uint32_t devices, int owner)
{
    for (int i = 0; i < keys.count; i++)
        if (keys.guard[i].devices == devices && keys.guard[i].owner == owner)
            return keys.key[i];
    return -1;
}

/* The key of such pages, or of the next that lets more devices see them. */
static int key_of(uint32_t devices, int owner)
{
    int key = find_key(devices, owner);
    for (int i = 0; i < device_count && key < 0 && owner < 0; i++)
        if (devices == (uint32_t)1 << i)
            key = find_key(devices, i);
    return key >= 0 ? key : keys.key[0];
}

void mem_check_begin(void) { mem_view_checked = mem_view_guarded = true; }

static void add_keys(int devices)
{
    add_key(MEM_ALL_DEVICES, -1);
    for (int i = 0; i < devices && devices > 1; i++)
        add_key((uint32_t)1 << i, i);
    for (int i = 0; i < devices && devices > 1; i++)
        add_key((uint32_t)1 << i, -1);
    for (uint32_t set = 3; devices <= SETS_UP_TO && set < (uint32_t)1 << devices; set++)
        if ((set & (set - 1)) != 0)
            add_key(set, -1);
}

/* One range that holds the devices' and the mappings'. Code looks at the lowest of several
 * addresses, so the one range begins before that, and what is the device's own ends before its end.
 */
static void find_others(int devices)
{
    uint64_t base = UINT64_MAX, end = 0;
    for (int i = MEM_MAPPINGS; i < devices; i++) {
        const struct space *s = space_of(i);
        if (i == MEM_HOST)
            continue;
        base = s->base < base ? s->base : base;
        end = s->base + s->size > end ? s->base + s->size : end;
    }
    for (int i = 0; i < devices; i++) {
        const struct space *s = space_of(i);
        const uint64_t ranges[] = {base - SPACE_CHUNK, end - base + SPACE_CHUNK, s->base,
                                   s->size - SPACE_CHUNK};
        memcpy(others[i], ranges, sizeof ranges);
    }
}

void view_open(int devices)
{
    device_count = devices;
    if (!mem_view_checked && devices < 2)
        return;
    if (!env_lists(ENV_KEYS, "off"))
        add_keys(devices);
    mem_view_needs_checks = devices > 1 && keys.count == 0;
    if (mem_view_needs_checks)
        find_others(devices);
    mem_view_guarded = mem_view_checked || keys.count > 0;
}

static bool protect(uint32_t devices, int owner, void *base, uint64_t bytes, bool access)
{
    int rights = access ? PROT_READ | PROT_WRITE : PROT_NONE;
    if (keys.count > 0)
        return pkey_mprotect(base, bytes, rights, key_of(devices, owner)) == 0;
    if (mem_checked() && access && inside == 0)
        return true; /* whoever enters next gets it */
    return mprotect(base, bytes, rights) == 0;
}

bool view_set_access(int device, void *base, uint64_t bytes, bool access)
{
    return protect((uint32_t)1 << device, device, base, bytes, access);
}

bool view_set_access_of(uint32_t devices, void *base, uint64_t bytes, bool access)
{
    return protect(devices, -1, base, bytes, access);
}

bool view_set_rights_of(uint32_t devices, void *base, uint64_t bytes, int rights)
{
    if (keys.count > 0 && device_count > 1)
        return pkey_mprotect(base, bytes, rights, key_of(devices, -1)) == 0;
    return mprotect(base, bytes, rights) == 0;
}

/* ---- without keys ---- */

/* Every device's pages up to the highest used, at once. */
static void open_pages(bool access)
{
    struct space *s;
    for (int device = 0; (s = space_of(device)) != NULL; device++)
        if (s->high > 0)
            mprotect((void *)s->base, s->high * SPACE_CHUNK,
                     access ? PROT_READ | PROT_WRITE : PROT_NONE);
}

static void lock_all(bool lock)
{
    struct space *s;
    for (int device = 0; (s = space_of(device)) != NULL; device++)
        if (lock)
            pthread_mutex_lock(&s->lock);
        else
            pthread_mutex_unlock(&s->lock);
}

static void count_inside(bool enters)
{
    lock_all(true);
    if (enters ? inside++ == 0 : --inside == 0)
        open_pages(enters);
    lock_all(false);
}

/* ---- coming and going ---- */

struct mem_view view_enter(int device, uint32_t peers)
{
    struct mem_view before = view;
    bool by_keys = keys.count > 0;
    view = (struct mem_view){.inside = true, .device = device, .peers = peers};
    if (by_keys) {
        if (!before.inside)
            rights_outside = read_rights();
        write_rights(rights_of(&view, rights_outside));
    } else if (!before.inside) {
        count_inside(true);
    }
    return before;
}

void view_leave(struct mem_view before)
{
    view = before;
    if (keys.count > 0)
        write_rights(before.inside ? rights_of(&before, rights_outside) : rights_outside);
    else if (!before.inside)
        count_inside(false);
}

void view_again(void)
{
    if (view.inside && keys.count > 0)
        write_rights(rights_of(&view, rights_outside));
}

void mem_view_open(void)
{
    static atomic_flag done = ATOMIC_FLAG_INIT;
    if (mem_checked() && keys.count == 0 && !atomic_flag_test_and_set(&done))
        count_inside(true);
}

/* ---- questions ---- */

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

static const struct mem_ordered *ordered;

void mem_set_ordered(const struct mem_ordered *o) { ordered = o; }

bool mem_too_early(uint64_t address) { return ordered != NULL && ordered->too_early(address); }

/* Whether pools have the address. */
static bool in_arena(uint64_t address)
{
    struct space *s = space_at(address);
    if (s == NULL)
        return false;
    pthread_mutex_lock(&s->lock);
    bool owned = space_suballocated(s, address);
    pthread_mutex_unlock(&s->lock);
    return owned;
}

/* Memory of pools is allocated and freed in the order of streams, which is not the order of calls:
 * what the pool says now need not be what holds for the kernel that runs now. Who follows the
 * streams is asked; without, all that a pool has is allowed. */
static bool usable_in_arena(uint64_t address, uint64_t bytes, struct mem_span *out)
{
    *out = (struct mem_span){0}; /* not to be kept */
    if (ordered != NULL)
        return ordered->alive(address, &out->base, &out->end) && bytes <= out->end - address;
    out->base = address / SPACE_CHUNK * SPACE_CHUNK;
    out->end = out->base + SPACE_CHUNK;
    return bytes <= out->end - address || in_arena(address + bytes - 1);
}

bool mem_foreign(int device, uint32_t peers, uint64_t address)
{
    struct space *s = space_at(address);
    if (s == NULL)
        return false;
    uint32_t devices = 0; /* that may touch it; none: everyone's */
    pthread_mutex_lock(&s->lock);
    bool owned = space_suballocated(s, address);
    struct record *r = s->device == MEM_MAPPINGS ? space_find(s, address) : NULL;
    if (r != NULL)
        devices = r->devices;
    pthread_mutex_unlock(&s->lock);
    if (owned)
        return (suballocated_devices(address) >> device & 1) == 0;
    if (s->device >= 0)
        return s->device != device && (peers >> s->device & 1) == 0;
    return devices != 0 && (devices >> device & 1) == 0;
}

const uint64_t *mem_others(int device) { return others[device]; }

bool mem_usable(int device, uint32_t peers, uint64_t address, uint64_t bytes, struct mem_span *out)
{
    struct mem_info info;
    uint64_t now = mem_generation();
    if (mem_foreign(device, peers, address))
        return false;
    if (in_arena(address))
        return usable_in_arena(address, bytes, out);
    if (!mem_find((const void *)address, &info))
        return false;
    *out = (struct mem_span){.base = info.base,
                             .end = info.base + info.size,
                             .generation = now,
                             .device = device,
                             .peers = peers};
    return bytes <= out->end - address;
}
