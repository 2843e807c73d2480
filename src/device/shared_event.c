/* shared_event: events that several processes share: see shared_event.h. */
#include "device/shared_event.h"
#include "base/clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SLOT_BITS = 12, SLOTS = 1 << SLOT_BITS };

static const uint64_t LOOK_NS = 20000;          /* before sleeping */
static const uint64_t REAP_EVERY_NS = 50000000; /* how often a waiter asks who is still alive */

/* A slot for a pending recording. Who made it is written after the slot is taken and before the
 * recording is published: until then nobody waits for it, and nobody can tell whether its maker
 * lives. One that is killed just there leaves a slot that is never used again. */
struct slot {
    _Atomic uint64_t state; /* number * 2, + 1 when done; 0: never used, as good as done */
    _Atomic uint64_t made;  /* the number of the recording that the process below has made */
    _Atomic uint64_t start; /* the process */
    _Atomic int32_t pid;
};

/* The content of the file. */
struct shared_state {
    _Atomic uint32_t word;   /* futex */
    _Atomic uint64_t begun;  /* the highest number given */
    _Atomic uint64_t latest; /* number * SLOTS + slot */
    struct slot slots[SLOTS];
};

struct shared_event {
    struct mem_file *file;
    struct shared_state *state; /* mapped */
};

static struct shared_event *view(struct mem_file *f)
{
    void *p = f->bytes >= sizeof(struct shared_state)
                  ? file_map(f, NULL, 0, sizeof(struct shared_state), true)
                  : NULL;
    if (p == NULL) {
        file_close(f);
        return NULL;
    }
    struct shared_event *e = xcalloc(1, sizeof *e);
    e->file = f;
    e->state = p;
    return e;
}

struct shared_event *shared_event_new(int device)
{
    struct mem_file *f = file_new(FILE_EVENT, device, sizeof(struct shared_state), 1);
    return f != NULL ? view(f) : NULL;
}

enum file_status shared_event_open(const struct share_handle *h, struct shared_event **out)
{
    struct mem_file *f;
    enum file_status status = file_open(h, &f);
    if (status != FILE_OK)
        return status;
    *out = view(f);
    return *out != NULL ? FILE_OK : FILE_REFUSED;
}

void shared_event_close(struct shared_event *e)
{
    munmap(e->state, sizeof *e->state);
    file_close(e->file);
    free(e);
}

void shared_event_handle(const struct shared_event *e, struct share_handle *out)
{
    share_handle_make(out, e->file, 0, 0, 0, 0);
}

/* ---- recordings ---- */

static bool slot_is_free(uint64_t state) { return state == 0 || (state & 1) != 0; }

/* The process that has the slot; valid while the slot's state does not change. */
static struct process maker(struct slot *p)
{
    return (struct process){atomic_load(&p->pid), atomic_load(&p->start)};
}

bool shared_event_begin(struct shared_event *e, struct recording *out)
{
    uint64_t number = atomic_fetch_add(&e->state->begun, 1) + 1;
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < SLOTS; i++) {
            uint32_t at = (uint32_t)(number + i) % SLOTS;
            struct slot *p = &e->state->slots[at];
            uint64_t state = atomic_load(&p->state);
            if (round == 1 && !slot_is_free(state) &&
                shared_event_reap(e, (struct recording){state / 2, at}))
                state = atomic_load(&p->state);
            if (!slot_is_free(state) ||
                !atomic_compare_exchange_strong(&p->state, &state, number * 2))
                continue;
            struct process self = process_self();
            atomic_store(&p->start, self.start);
            atomic_store(&p->pid, self.pid);
            atomic_store(&p->made, number);
            *out = (struct recording){number, at};
            return true;
        }
    return false;
}

void shared_event_publish(struct shared_event *e, struct recording r)
{
    uint64_t mine = r.number * SLOTS + r.slot, seen = atomic_load(&e->state->latest);
    while (seen < mine && !atomic_compare_exchange_weak(&e->state->latest, &seen, mine))
        ;
}

void shared_event_complete(struct shared_event *e, struct recording r)
{
    uint64_t pending = r.number * 2;
    if (!atomic_compare_exchange_strong(&e->state->slots[r.slot].state, &pending, pending + 1))
        return;
    atomic_fetch_add(&e->state->word, 1);
    syscall(SYS_futex, &e->state->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

struct recording shared_event_latest(const struct shared_event *e)
{
    uint64_t latest = atomic_load(&e->state->latest);
    return (struct recording){latest / SLOTS, (uint32_t)(latest % SLOTS)};
}

bool shared_event_done(const struct shared_event *e, struct recording r)
{
    return r.number == 0 || atomic_load(&e->state->slots[r.slot].state) != r.number * 2;
}

bool shared_event_reap(struct shared_event *e, struct recording r)
{
    struct slot *slot = &e->state->slots[r.slot];
    if (shared_event_done(e, r))
        return true;
    if (atomic_load(&slot->made) != r.number)
        return false; /* the process there is still that of an older recording */
    struct process p = maker(slot);
    if (process_alive(&p))
        return false;
    shared_event_complete(e, r);
    return true;
}

/* ---- waiting ---- */

_Atomic uint32_t *shared_event_word(struct shared_event *e) { return &e->state->word; }

void shared_event_wait(struct shared_event *e, struct recording r)
{
    for (uint64_t end = clock_ns() + LOOK_NS; clock_ns() < end;)
        if (shared_event_done(e, r))
            return;
    for (uint64_t asked = 0;;) {
        uint32_t seen = atomic_load(&e->state->word);
        if (shared_event_done(e, r))
            return;
        if (clock_ns() - asked >= REAP_EVERY_NS) {
            if (shared_event_reap(e, r))
                return;
            asked = clock_ns();
        }
        struct timespec t = {0, (long)REAP_EVERY_NS};
        syscall(SYS_futex, &e->state->word, FUTEX_WAIT, seen, &t, NULL, 0);
    }
}
