/* shadow: for each byte that was accessed, the accesses that may still race with later ones.
 *
 * Ranges of bytes with the same accesses are nodes of a treap, by address; they do not overlap. An
 * access splits the nodes at its ends and then looks at each node between them. What a write comes
 * after can be forgotten where it writes: whatever races with that and not with the write, would
 * have to come after the write. So most bytes have one or two accesses. */
#include <stdlib.h>
#include <string.h>

#include "races/internal.h"

struct entry {
    struct moment *moment;
    enum access how;
};

enum { FEW = 2 };

struct node {
    struct node *left, *right;
    uint64_t low, high;
    uint32_t priority, count, capacity;
    struct entry *entries; /* few, or on the heap */
    struct entry few[FEW];
};

static struct node *root;
static uint32_t nodes;

static uint32_t next_random(void)
{
    static uint32_t state = 2463534242u;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static struct node *node_new(uint64_t low, uint64_t high)
{
    struct node *n = xcalloc(1, sizeof *n);
    n->low = low;
    n->high = high;
    n->priority = next_random();
    n->capacity = FEW;
    n->entries = n->few;
    nodes++;
    return n;
}

static void entry_add(struct node *n, struct moment *m, enum access how)
{
    if (n->count == n->capacity) {
        struct entry *more = xmalloc(2 * (size_t)n->capacity * sizeof *more);
        memcpy(more, n->entries, n->count * sizeof *more);
        if (n->entries != n->few)
            free(n->entries);
        n->entries = more;
        n->capacity *= 2;
    }
    n->entries[n->count++] = (struct entry){moment_ref(m), how};
}

static void node_free(struct node *n)
{
    for (uint32_t i = 0; i < n->count; i++)
        moment_unref(n->entries[i].moment);
    if (n->entries != n->few)
        free(n->entries);
    free(n);
    nodes--;
}

static struct node *merge(struct node *a, struct node *b)
{
    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    if (a->priority > b->priority) {
        a->right = merge(a->right, b);
        return a;
    }
    b->left = merge(a, b->left);
    return b;
}

static struct node *copy_of(const struct node *n, uint64_t low, uint64_t high)
{
    struct node *c = node_new(low, high);
    for (uint32_t i = 0; i < n->count; i++)
        entry_add(c, n->entries[i].moment, n->entries[i].how);
    return c;
}

/* Nodes below the address to *a, the others to *b; a node that holds it is cut. */
static void split(struct node *t, uint64_t at, struct node **a, struct node **b)
{
    if (t == NULL) {
        *a = *b = NULL;
    } else if (t->high <= at) {
        split(t->right, at, &t->right, b);
        *a = t;
    } else if (t->low >= at) {
        split(t->left, at, a, &t->left);
        *b = t;
    } else {
        struct node *rest = copy_of(t, at, t->high), *right = t->right;
        t->high = at;
        t->right = NULL;
        *a = t;
        *b = merge(rest, right);
    }
}

/* ---- what races ---- */

static bool is_device_atomic(const struct moment *m, enum access how)
{
    return m->kind == MOMENT_WORK && how == ACCESS_ATOMIC;
}

static bool is_hosts(const struct moment *m)
{
    return m->kind == MOMENT_HOST || (m->kind == MOMENT_WORK && m->work == OBSERVE_HOST);
}

/* Whether accesses of the kinds may race at all. Whether the host's accesses are atomic cannot be
 * told, so they do not race with atomics. */
static bool conflict(const struct entry *a, const struct moment *m, enum access how)
{
    enum access both = a->how | how;
    if (how == ACCESS_ALLOCATION) /* the allocator knows why it may use the memory again */
        return false;
    if ((both & (ACCESS_ALLOCATION | ACCESS_FREE)) != 0)
        return (a->how & (ACCESS_ALLOCATION | ACCESS_FREE)) == 0 ||
               (how & (ACCESS_ALLOCATION | ACCESS_FREE)) == 0;
    if ((is_device_atomic(a->moment, a->how) && is_hosts(m)) ||
        (is_device_atomic(m, how) && is_hosts(a->moment)))
        return false;
    return both != ACCESS_READ && both != ACCESS_ATOMIC;
}

static void look(const struct node *n, struct moment *m, enum access how, uint64_t low,
                 uint64_t high, shadow_found found)
{
    for (uint32_t i = 0; i < n->count; i++) {
        struct entry *e = &n->entries[i];
        if (e->moment == m || !conflict(e, m, how))
            continue;
        bool before = moment_before(e->moment, m);
        bool used_after_free = e->how == ACCESS_FREE && before;
        if (used_after_free || (!before && !moment_before(m, e->moment)))
            found(e->moment, e->how, m, how, low, high);
    }
}

/* Whether the earlier access need not be remembered where the later one is. */
static bool replaces(const struct entry *e, const struct moment *m, enum access how)
{
    if (how == ACCESS_ALLOCATION)
        return true;
    if (e->how == ACCESS_FREE)
        return false;
    if (e->moment == m)
        return e->how == how;
    if ((how == ACCESS_WRITE || how == ACCESS_FREE || e->how == how) && e->how != ACCESS_ALLOCATION)
        return moment_before(e->moment, m);
    return false;
}

static void update(struct node *n, struct moment *m, enum access how)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        if (replaces(&n->entries[i], m, how))
            moment_unref(n->entries[i].moment);
        else
            n->entries[kept++] = n->entries[i];
    }
    n->count = kept;
    entry_add(n, m, how);
}

static bool same(const struct node *a, const struct node *b)
{
    if (a->high != b->low || a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->entries[i].moment != b->entries[i].moment || a->entries[i].how != b->entries[i].how)
            return false;
    return true;
}

/* ---- walking ---- */

struct run {
    struct node **items;
    size_t count, cap;
};

static void flatten(struct node *t, struct run *out)
{
    if (t == NULL)
        return;
    flatten(t->left, out);
    struct node *right = t->right;
    vec_push(out, t);
    flatten(right, out);
}

void shadow_access(struct moment *m, enum access how, uint64_t low, uint64_t high,
                   shadow_found found)
{
    struct node *before, *inside, *after;
    struct run run = {0};
    if (low >= high)
        return;
    split(root, low, &before, &inside);
    split(inside, high, &inside, &after);
    flatten(inside, &run);
    uint64_t at = low;
    struct node *done = NULL, *last = NULL;
    for (size_t i = 0; i <= run.count; i++) {
        struct node *n = i < run.count ? run.items[i] : NULL;
        struct node *next[2] = {NULL, n};
        uint64_t end = n != NULL ? n->low : high;
        if (at < end)
            next[0] = node_new(at, end);
        if (n != NULL) {
            look(n, m, how, n->low, n->high, found);
            at = n->high;
        }
        for (int k = 0; k < 2; k++) {
            if (next[k] == NULL)
                continue;
            update(next[k], m, how);
            next[k]->left = next[k]->right = NULL;
            if (last != NULL && same(last, next[k])) {
                last->high = next[k]->high;
                node_free(next[k]);
                continue;
            }
            done = merge(done, last);
            last = next[k];
        }
    }
    done = merge(done, last);
    free(run.items);
    root = merge(merge(before, done), after);
}

/* ---- many at once ---- */

/* Nodes, in order, that become a tree again. */
struct pass {
    struct run out;
    struct moment *m;
    enum access how;
    shadow_found found;
};

static void emit(struct pass *p, struct node *n)
{
    n->left = n->right = NULL;
    vec_push(&p->out, n);
}

/* The node's bytes are accessed. */
static void emit_accessed(struct pass *p, struct node *n)
{
    struct node *last = p->out.count > 0 ? p->out.items[p->out.count - 1] : NULL;
    look(n, p->m, p->how, n->low, n->high, p->found);
    update(n, p->m, p->how);
    if (last == NULL || !same(last, n)) {
        emit(p, n);
        return;
    }
    last->high = n->high;
    node_free(n);
}

/* Cuts the node: the part from the address on. */
static struct node *cut(struct node *n, uint64_t at)
{
    struct node *rest = copy_of(n, at, n->high);
    n->high = at;
    return rest;
}

/* Goes through the nodes from *n on, of which *i is the next one in the list, up to the end of the
 * range. */
static void pass_range(struct pass *p, const struct run *run, size_t *i, struct node **n,
                       uint64_t low, uint64_t high)
{
    while (*n != NULL && (*n)->high <= low) {
        emit(p, *n);
        *n = *i < run->count ? run->items[(*i)++] : NULL;
    }
    if (*n != NULL && (*n)->low < low) {
        struct node *rest = cut(*n, low);
        emit(p, *n);
        *n = rest;
    }
    while (low < high) {
        uint64_t end = *n != NULL && (*n)->low < high ? (*n)->low : high;
        if (low < end)
            emit_accessed(p, node_new(low, end));
        low = end;
        if (low == high)
            break;
        struct node *rest = (*n)->high > high ? cut(*n, high) : NULL;
        low = (*n)->high;
        emit_accessed(p, *n);
        *n = rest != NULL ? rest : *i < run->count ? run->items[(*i)++] : NULL;
    }
}

/* A tree of nodes in order, by their priorities: `path` is its right edge, the root first. */
static struct node *tree_of(const struct run *run)
{
    struct run path = {0};
    for (size_t i = 0; i < run->count; i++) {
        struct node *n = run->items[i], *below = NULL;
        while (path.count > 0 && path.items[path.count - 1]->priority <= n->priority)
            below = path.items[--path.count];
        n->left = below;
        if (path.count > 0)
            path.items[path.count - 1]->right = n;
        vec_push(&path, n);
    }
    struct node *top = path.count > 0 ? path.items[0] : NULL;
    free(path.items);
    return top;
}

static size_t count_of(const struct node *t)
{
    return t == NULL ? 0 : 1 + count_of(t->left) + count_of(t->right);
}

void shadow_access_all(struct moment *m, enum access how, const struct shadow_range *ranges,
                       size_t count, shadow_found found)
{
    enum { MANY = 64, NODES_EACH = 16 };
    struct node *before, *inside, *after;
    struct run run = {0};
    struct pass p = {.m = m, .how = how, .found = found};
    if (count >= MANY) {
        split(root, ranges[0].low, &before, &inside);
        split(inside, ranges[count - 1].high, &inside, &after);
    }
    if (count < MANY || count_of(inside) > count * NODES_EACH) {
        if (count >= MANY)
            root = merge(merge(before, inside), after);
        for (size_t i = 0; i < count; i++)
            shadow_access(m, how, ranges[i].low, ranges[i].high, found);
        return;
    }
    flatten(inside, &run);
    size_t at = 0;
    struct node *n = run.count > 0 ? run.items[at++] : NULL;
    for (size_t i = 0; i < count; i++)
        pass_range(&p, &run, &at, &n, ranges[i].low, ranges[i].high);
    while (n != NULL) {
        emit(&p, n);
        n = at < run.count ? run.items[at++] : NULL;
    }
    root = merge(merge(before, tree_of(&p.out)), after);
    free(run.items);
    free(p.out.items);
}

static void look_in(const struct node *t, struct moment *m, enum access how, uint64_t low,
                    uint64_t high, shadow_found found)
{
    if (t == NULL)
        return;
    if (low < t->low)
        look_in(t->left, m, how, low, high, found);
    if (low < t->high && t->low < high)
        look(t, m, how, low > t->low ? low : t->low, high < t->high ? high : t->high, found);
    if (high > t->high)
        look_in(t->right, m, how, low, high, found);
}

void shadow_look(struct moment *m, enum access how, uint64_t low, uint64_t high, shadow_found found)
{
    look_in(root, m, how, low, high, found);
}

/* Frees and allocations stay: what is used after a free is wrong whenever it is. */
static bool may_race(const struct entry *e)
{
    return e->how == ACCESS_FREE || !moment_seen(e->moment);
}

void shadow_trim(void)
{
    struct run run = {0};
    flatten(root, &run);
    root = NULL;
    for (size_t i = 0; i < run.count; i++) {
        struct node *n = run.items[i];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < n->count; k++) {
            if (may_race(&n->entries[k]))
                n->entries[kept++] = n->entries[k];
            else
                moment_unref(n->entries[k].moment);
        }
        n->count = kept;
        n->left = n->right = NULL;
        if (kept == 0)
            node_free(n);
        else
            root = merge(root, n);
    }
    free(run.items);
}

void shadow_forget(uint64_t low, uint64_t high)
{
    struct node *before, *inside, *after;
    struct run run = {0};
    split(root, low, &before, &inside);
    split(inside, high, &inside, &after);
    flatten(inside, &run);
    for (size_t i = 0; i < run.count; i++)
        node_free(run.items[i]);
    free(run.items);
    root = merge(before, after);
}
