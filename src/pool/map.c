/* map: the map of a device's range: where blocks begin and end. Its tables are as long as the range
 * and take memory only where it is used. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "pool/internal.h"

struct map maps[MEM_MAX_DEVICES + 1];
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static void *table(uint64_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p != MAP_FAILED ? p : NULL;
}

static bool open_tables(struct map *m, uint64_t granules)
{
    uint64_t chunks = granules / CHUNK_GRANULES;
    m->block_max = granules < ((uint64_t)1 << 26) ? (uint32_t)granules : (uint32_t)1 << 26;
    m->block_count = 1;
    m->edges = table(granules * sizeof *m->edges);
    m->covers = table(chunks * sizeof *m->covers);
    m->owners = table(chunks * sizeof *m->owners);
    m->blocks = table((uint64_t)m->block_max * sizeof *m->blocks);
    return m->edges != NULL && m->covers != NULL && m->owners != NULL && m->blocks != NULL;
}

bool map_open(int device, struct diag *d)
{
    struct map *m = map_of(device);
    uint64_t base, bytes;
    bool ok = true;
    pthread_mutex_lock(&opening);
    if (m->granules == 0) {
        ok = pool_source.range(device, &base, &bytes) && open_tables(m, bytes / POOL_GRANULE);
        if (ok) {
            pthread_mutex_init(&m->lock, NULL);
            m->base = base;
            m->granules = bytes / POOL_GRANULE;
        } else {
            diag_set(d, 0, 0, "no address space for the tables of memory pools: %s",
                     strerror(errno));
        }
    }
    pthread_mutex_unlock(&opening);
    return ok;
}

struct block *map_take_spares(struct map *m, int n)
{
    struct block *list = NULL;
    pthread_mutex_lock(&m->lock);
    for (; n > 0; n--) {
        struct block *b = m->spare;
        if (b != NULL)
            m->spare = b->next;
        else if (m->block_count < m->block_max)
            b = &m->blocks[m->block_count++];
        else
            break;
        b->next = list;
        list = b;
    }
    pthread_mutex_unlock(&m->lock);
    return list;
}

void map_put_spares(struct map *m, struct block *list)
{
    pthread_mutex_lock(&m->lock);
    for (struct block *b = list, *next; b != NULL; b = next) {
        next = b->next;
        b->next = m->spare;
        m->spare = b;
    }
    pthread_mutex_unlock(&m->lock);
}

struct map *map_far(uint64_t address)
{
    for (int i = 0; i <= MEM_MAX_DEVICES; i++)
        if (address - maps[i].base < maps[i].granules * POOL_GRANULE)
            return &maps[i];
    return NULL;
}

/* Whether it is a used block that holds the granule. */
static bool holds(const struct block *b, uint64_t granule)
{
    return b != NULL &&
           (atomic_load_explicit(&b->word, memory_order_acquire) & 0xff) == BLOCK_USED &&
           granule - get(&b->first) < get(&b->granules);
}

struct block *map_find_used(struct map *m, uint64_t address)
{
    uint64_t granule = (address - m->base) >> GRANULE_SHIFT;
    uint64_t chunk = granule / CHUNK_GRANULES;
    if (atomic_load_explicit(&m->owners[chunk], memory_order_relaxed) == NULL)
        return NULL;
    for (uint64_t g = granule;; g--) {
        struct block *b = map_edge(m, g);
        if (holds(b, granule))
            return b;
        if (g == chunk * CHUNK_GRANULES)
            break;
    }
    struct block *b = &m->blocks[atomic_load_explicit(&m->covers[chunk], memory_order_relaxed)];
    return holds(b, granule) ? b : NULL;
}
