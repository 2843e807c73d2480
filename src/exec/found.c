/* found: looks for reads of what nothing has written, and for barriers and operations of a warp
 * that not all come to; see found.h. */
#include "exec/found.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exec/cdp.h"
#include "exec/internal.h"
#include "exec/lanes.h"
#include "memory/defined.h"

/* Of one run. */
struct found_list {
    struct grid_found *items;
    size_t count, cap;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all lists; findings are few */

/* Of two barriers each warp may have instructions of its own, where code for several stands side by
 * side. */
static bool same(const struct grid_found *a, const struct grid_found *b)
{
    if (a->kind == FOUND_OTHER_BARRIER && b->kind == FOUND_OTHER_BARRIER)
        return a->barrier == b->barrier && a->other_barrier == b->other_barrier;
    return a->kind == b->kind && a->pc == b->pc;
}

static void keep(struct jit_block *j, struct grid_found f)
{
    struct grid_run *run = ((struct grid_block *)j->grid)->run;
    memcpy(f.block, j->ctaid, sizeof f.block);
    pthread_mutex_lock(&lock);
    struct found_list *l = atomic_load(&run->found);
    if (l == NULL) {
        l = xcalloc(1, sizeof *l);
        atomic_store(&run->found, l);
    }
    bool known = false;
    for (size_t i = 0; i < l->count && !known; i++)
        known = same(&l->items[i], &f);
    if (!known)
        vec_push(l, f);
    pthread_mutex_unlock(&lock);
}

void grid_found_told(struct grid_run *run,
                     void (*found)(void *self, const struct grid_found *found), void *self)
{
    struct found_list *l = atomic_exchange(&run->found, NULL);
    if (l == NULL)
        return;
    for (size_t i = 0; i < l->count; i++)
        found(self, &l->items[i]);
    free(l->items);
    free(l);
}

/* ---- what was written ---- */

/* Shared memory of a block, whose bits are its own: nothing is written when the block begins. */
static uint8_t *shared_bits(struct grid_block *b)
{
    const struct jit_block *j = &b->jit;
    uint64_t number =
        j->ctaid[0] + (uint64_t)j->nctaid[0] * (j->ctaid[1] + (uint64_t)j->nctaid[1] * j->ctaid[2]);
    if (b->unwritten_bytes < j->total_shared) {
        free(b->unwritten);
        b->unwritten = xcalloc(j->total_shared, 1);
        b->unwritten_bytes = j->total_shared;
        b->unwritten_grid = 0;
    }
    if (b->unwritten_grid != b->run->gridid || b->unwritten_number != number) {
        memset(b->unwritten, 1, j->total_shared);
        b->unwritten_left = j->total_shared;
        b->unwritten_grid = b->run->gridid;
        b->unwritten_number = number;
    }
    return b->unwritten;
}

static bool in_shared(const struct jit_block *j, uint64_t at, uint64_t *offset)
{
    *offset = at - (uint64_t)j->shared;
    return *offset < j->total_shared;
}

/* The block of the cluster in whose shared memory the address is; NULL: none's. */
static struct grid_block *owner_of(struct jit_block *j, uint64_t at, uint64_t *offset)
{
    struct grid_block *b = j->grid;
    if (in_shared(j, at, offset))
        return b;
    for (uint32_t r = 0; b->leader != NULL && r < b->leader->nmembers; r++)
        if (in_shared(&b->leader->members[r]->jit, at, offset))
            return b->leader->members[r];
    return NULL;
}

static uint8_t bits_at(struct jit_block *j, uint64_t at, uint32_t bytes)
{
    uint64_t offset;
    uint8_t missing = 0;
    struct grid_block *b = owner_of(j, at, &offset);
    if (b == NULL)
        return defined_bits(at, bytes);
    const uint8_t *bits = shared_bits(b);
    if (b->unwritten_left == 0)
        return 0;
    for (uint32_t k = 0; k < bytes && offset + k < b->jit.total_shared; k++)
        missing |= (uint8_t)(bits[offset + k] << k);
    return missing;
}

static void set_bits(struct jit_block *j, uint64_t at, uint32_t bytes, uint8_t missing)
{
    uint64_t offset;
    struct grid_block *b = owner_of(j, at, &offset);
    if (b == NULL) {
        defined_set_bits(at, bytes, missing);
        return;
    }
    uint8_t *bits = shared_bits(b);
    for (uint32_t k = 0; k < bytes && offset + k < b->jit.total_shared; k++) {
        b->unwritten_left += (missing >> k & 1u) - (uint64_t)bits[offset + k];
        bits[offset + k] = missing >> k & 1;
    }
}

static void tell_unwritten(struct jit_block *j, uint32_t lane, uint64_t at, uint32_t bytes,
                           uint8_t missing, const void *pc)
{
    uint64_t offset, first = at + (uint64_t)__builtin_ctz(missing);
    bool shared = in_shared(j, at, &offset);
    keep(j, (struct grid_found){.kind = FOUND_UNWRITTEN,
                                .pc = pc,
                                .thread = j->warp * JIT_WARP + lane,
                                .address = shared ? first - (uint64_t)j->shared : first,
                                .bytes = bytes,
                                .shared = shared});
}

static bool all_written(struct jit_block *j, uint64_t low, uint64_t high)
{
    uint64_t offset, missing = 0;
    struct grid_block *b = owner_of(j, low, &offset);
    if (b == NULL)
        return defined_all(low, high - low);
    const uint8_t *bits = shared_bits(b);
    if (b->unwritten_left == 0)
        return true;
    uint64_t left = b->jit.total_shared - offset;
    uint64_t end = offset + (high - low < left ? high - low : left);
    for (; offset + 8 <= end; offset += 8) {
        uint64_t word;
        memcpy(&word, bits + offset, sizeof word);
        missing |= word;
    }
    for (; offset < end; offset++)
        missing |= bits[offset];
    return missing == 0;
}

static void set_written(struct jit_block *j, uint64_t low, uint64_t high)
{
    uint64_t offset, missing = 0;
    struct grid_block *b = owner_of(j, low, &offset);
    if (b == NULL) {
        defined_written(low, high - low);
        return;
    }
    uint8_t *bits = shared_bits(b) + offset;
    uint64_t left = b->jit.total_shared - offset, bytes = high - low < left ? high - low : left;
    if (b->unwritten_left == 0)
        return;
    for (uint64_t k = 0; k < bytes; k++)
        missing += bits[k];
    b->unwritten_left -= missing;
    memset(bits, 0, bytes);
}

/* Lane by lane. Elements of more than 8 bytes are looked at in pieces. */
static void read_lanes(struct jit_block *j, uint32_t mask, const uint64_t *address, uint32_t bytes,
                       uint32_t element, uint8_t *out, const void *pc)
{
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        for (uint32_t done = 0; done < bytes; done += 8) {
            uint32_t n = bytes - done < 8 ? bytes - done : 8;
            uint8_t missing = bits_at(j, address[lane] + done, n);
            if (out != NULL && done == 0)
                out[lane] = missing;
            else if (missing != 0 && out == NULL)
                tell_unwritten(j, lane, address[lane] + done, element, missing, pc);
        }
    }
}

/* Ranges of neighbours, or of lanes at one address. */
static void read_runs(struct jit_block *j, uint32_t mask, const uint64_t *first, uint32_t bytes,
                      uint32_t element, uint32_t shape, const void *pc)
{
    struct lane_run runs[LANE_RUNS];
    uint64_t step = JIT_SHAPE_STEP(shape), each[JIT_WARP];
    int count = lane_runs(shape, mask, first, bytes, runs);
    for (int n = 0; n < count; n++) {
        uint64_t low, high;
        (void)lane_run_range(&runs[n], shape, bytes, &low, &high);
        for (uint32_t k = 0; k < JIT_SHAPE_COUNT(shape); k++) {
            if (all_written(j, low + k * step, high + k * step))
                continue;
            lane_addresses(shape, runs[n].mask, first, bytes, k, each);
            read_lanes(j, runs[n].mask, each, bytes, element, NULL, pc);
        }
    }
}

void weir_rt_defined_read(struct jit_block *j, uint32_t mask, const uint64_t *address,
                          uint32_t bytes, uint8_t *out, uint32_t shape)
{
    const void *pc = __builtin_return_address(0);
    uint32_t element = bytes >> JIT_DEFINED_ELEMENT_SHIFT;
    bytes &= (1u << JIT_DEFINED_ELEMENT_SHIFT) - 1;
    if (shape != 0) {
        read_runs(j, mask, address, bytes, element, shape, pc);
        return;
    }
    if (lanes_are_next(mask, address, bytes) &&
        all_written(j, address[0], address[0] + (uint64_t)JIT_WARP * bytes)) {
        if (out != NULL)
            memset(out, 0, JIT_WARP);
        return;
    }
    read_lanes(j, mask, address, bytes, element, out, pc);
}

static bool none_missing(const uint8_t *in)
{
    uint64_t word[JIT_WARP / 8];
    memcpy(word, in, sizeof word);
    return (word[0] | word[1] | word[2] | word[3]) == 0;
}

void weir_rt_defined_write(struct jit_block *j, uint32_t mask, const uint64_t *address,
                           uint32_t bytes, const uint8_t *in, uint32_t shape)
{
    uint64_t each[JIT_WARP];
    bytes &= (1u << JIT_DEFINED_ELEMENT_SHIFT) - 1;
    if (shape != 0) {
        struct lane_run runs[LANE_RUNS];
        uint64_t low, high;
        int count = lane_runs(shape, mask, address, bytes, runs);
        for (int n = 0; n < count; n++)
            if (lane_run_range(&runs[n], shape, bytes, &low, &high)) {
                set_written(j, low, high);
                mask &= ~runs[n].mask;
            }
        lane_addresses(shape, mask, address, bytes, 0, each);
        address = each;
    } else if (lanes_are_next(mask, address, bytes) && (in == NULL || none_missing(in))) {
        set_written(j, address[0], address[0] + (uint64_t)JIT_WARP * bytes);
        return;
    }
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        for (uint32_t done = 0; done < bytes; done += 8) {
            uint32_t n = bytes - done < 8 ? bytes - done : 8;
            set_bits(j, address[lane] + done, n, in != NULL && done == 0 ? in[lane] : 0);
        }
    }
}

void grid_wrote(struct jit_block *j, const void *p, uint64_t bytes)
{
    for (uint64_t at = 0; defined_on && at < bytes; at += 8)
        set_bits(j, (uint64_t)p + at, bytes - at < 8 ? (uint32_t)(bytes - at) : 8, 0);
}

/* ---- who comes ---- */

/* Warps that have come since the barrier opened last. All that have not ended must come before it
 * opens again, so a warp that comes a second time begins the next. */
struct found_meeting {
    uint64_t grid, number; /* of which block of which grid */
    uint32_t came;         /* bits by warp */
    uint32_t site;         /* where the first of them waits, 0: none has come; */
    const void *pc;        /* and its instruction */
    uint32_t thread;
};

static struct found_meeting *meeting_of(struct jit_block *j)
{
    struct grid_block *b = j->grid;
    uint64_t number =
        j->ctaid[0] + (uint64_t)j->nctaid[0] * (j->ctaid[1] + (uint64_t)j->nctaid[1] * j->ctaid[2]);
    if (b->meeting == NULL)
        b->meeting = xcalloc(1, sizeof *b->meeting);
    struct found_meeting *m = b->meeting;
    bool again = (m->came >> j->warp & 1) != 0;
    if (m->grid != b->run->gridid || m->number != number || again)
        *m = (struct found_meeting){.grid = b->run->gridid, .number = number};
    m->came |= (uint32_t)1 << j->warp;
    return m;
}

/* The warp waits at another barrier than the first of those that it waits for. The two are told in
 * the order in which they stand in the kernel. */
static void meet(struct jit_block *j, uint32_t mask, uint32_t site, const void *pc)
{
    struct found_meeting *m = meeting_of(j);
    uint32_t thread = j->warp * JIT_WARP + (uint32_t)__builtin_ctz(mask);
    if (m->site == 0) {
        m->site = site;
        m->pc = pc;
        m->thread = thread;
    }
    if (site == m->site)
        return;
    bool before = site < m->site;
    keep(j, (struct grid_found){.kind = FOUND_OTHER_BARRIER,
                                .pc = before ? pc : m->pc,
                                .other_pc = before ? m->pc : pc,
                                .thread = before ? thread : m->thread,
                                .other_thread = before ? m->thread : thread,
                                .barrier = before ? site : m->site,
                                .other_barrier = before ? m->site : site});
}

void weir_rt_sync_barrier(struct jit_block *j, uint32_t mask, uint32_t site)
{
    uint32_t threads = j->nthreads - j->warp * JIT_WARP;
    uint32_t all = threads < JIT_WARP ? ((uint32_t)1 << threads) - 1 : 0xffffffffu;
    if (mask == 0)
        return;
    if (site != 0)
        meet(j, mask, site, __builtin_return_address(0));
    if (mask == all)
        return;
    keep(j, (struct grid_found){.kind = FOUND_DIVERGED_BARRIER,
                                .pc = __builtin_return_address(0),
                                .thread = j->warp * JIT_WARP + (uint32_t)__builtin_ctz(mask),
                                .lanes = mask,
                                .others = all & ~mask});
}

void weir_rt_sync_warp(struct jit_block *j, uint32_t mask, uint32_t live, const uint64_t *members)
{
    const void *pc = __builtin_return_address(0);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left), named = (uint32_t)members[lane];
        struct grid_found f = {
            .pc = pc, .thread = j->warp * JIT_WARP + lane, .lanes = mask, .others = named};
        if ((named >> lane & 1) == 0) {
            f.kind = FOUND_NOT_MEMBER;
            keep(j, f);
        }
        f.others = named & live & ~mask;
        if (f.others != 0) {
            f.kind = FOUND_MISSING_MEMBERS;
            keep(j, f);
        }
        f.others = named & ~live;
        if (f.others != 0 && named != 0xffffffffu) { /* that is how one names whoever is there */
            f.kind = FOUND_NO_MEMBERS;
            keep(j, f);
        }
    }
}

bool found_looked_for;

void found_arrival(struct jit_block *j, uint32_t id, uint32_t count, const void *pc)
{
    struct grid_block *b = j->grid;
    if (j->scratch[id] == 0)
        b->first_count[id] = count;
    else if (b->first_count[id] != count)
        keep(j, (struct grid_found){.kind = FOUND_OTHER_COUNT,
                                    .pc = pc,
                                    .thread = j->warp * JIT_WARP,
                                    .barrier = id,
                                    .count = count,
                                    .first = b->first_count[id]});
}
