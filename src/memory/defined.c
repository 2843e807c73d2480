/* defined: the bits, in ranges of addresses beside those of the devices; see defined.h. A bit that
 * is set is a byte that was never written: so what nobody has told of counts as written, and costs
 * no memory. */
#include "memory/defined.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "memory/memory.h"

bool defined_on WEIR_OWN;

static struct range {
    uint64_t base, bytes;
    uint8_t *bits;
} ranges[MEM_MAX_DEVICES];
static int range_count;

bool defined_open(struct diag *d)
{
    uint64_t base, bytes;
    /* goes on where it failed before: a range of each device, in their order */
    while (range_count < MEM_MAX_DEVICES && mem_range(range_count, &base, &bytes)) {
        void *bits = mmap(NULL, bytes / 8, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (bits == MAP_FAILED) {
            diag_set(d, 0, 0, "the check of initialisation cannot begin: %s", strerror(errno));
            d->out_of_memory = true;
            return false;
        }
        ranges[range_count++] = (struct range){base, bytes, bits};
    }
    defined_on = true;
    return true;
}

static const struct range *range_of(uint64_t address)
{
    for (int i = 0; i < range_count; i++)
        if (address - ranges[i].base < ranges[i].bytes)
            return &ranges[i];
    return NULL;
}

/* ---- ranges of bytes ---- */

/* Some bits of one byte of them: neighbours may be other threads'. */
static void set_some(uint8_t *at, uint8_t which, bool missing)
{
    if (missing)
        __atomic_fetch_or(at, which, __ATOMIC_RELAXED);
    else if ((__atomic_load_n(at, __ATOMIC_RELAXED) & which) != 0)
        __atomic_fetch_and(at, (uint8_t)~which, __ATOMIC_RELAXED);
}

static void set_all(uint64_t address, uint64_t bytes, bool missing)
{
    const struct range *r = range_of(address);
    if (r == NULL || bytes == 0)
        return;
    uint64_t from = address - r->base, to = from + bytes;
    to = to < r->bytes ? to : r->bytes;
    uint64_t first = from / 8, last = (to - 1) / 8;
    uint8_t head = (uint8_t)(0xff << from % 8), tail = (uint8_t)(0xff >> (7 - (to - 1) % 8));
    if (first == last) {
        set_some(&r->bits[first], head & tail, missing);
        return;
    }
    set_some(&r->bits[first], head, missing);
    memset(&r->bits[first + 1], missing ? 0xff : 0, last - first - 1);
    set_some(&r->bits[last], tail, missing);
}

void defined_fresh(uint64_t address, uint64_t bytes) { set_all(address, bytes, true); }
void defined_gone(uint64_t address, uint64_t bytes) { set_all(address, bytes, false); }
void defined_written(uint64_t address, uint64_t bytes) { set_all(address, bytes, false); }

/* ---- elements ---- */

uint8_t defined_bits(uint64_t address, uint32_t bytes)
{
    const struct range *r = range_of(address);
    if (r == NULL)
        return 0;
    uint64_t at = address - r->base;
    unsigned word = r->bits[at / 8];
    if (at % 8 + bytes > 8)
        word |= (unsigned)r->bits[at / 8 + 1] << 8;
    return (uint8_t)(word >> at % 8 & ((1u << bytes) - 1));
}

void defined_set_bits(uint64_t address, uint32_t bytes, uint8_t missing)
{
    const struct range *r = range_of(address);
    if (r == NULL)
        return;
    uint64_t at = address - r->base;
    unsigned all = ((1u << bytes) - 1) << at % 8, set = (unsigned)missing << at % 8;
    for (unsigned k = 0; k < 2; k++, all >>= 8, set >>= 8) {
        if ((set & all & 0xff) != 0)
            set_some(&r->bits[at / 8 + k], (uint8_t)(set & all), true);
        if ((~set & all & 0xff) != 0)
            set_some(&r->bits[at / 8 + k], (uint8_t)(~set & all), false);
    }
}

/* ---- both ---- */

bool defined_all(uint64_t address, uint64_t bytes)
{
    const struct range *r = range_of(address);
    if (r == NULL || bytes == 0)
        return true;
    uint64_t from = address - r->base, to = from + bytes;
    to = to < r->bytes ? to : r->bytes;
    uint64_t at = from / 8, last = (to - 1) / 8;
    uint8_t head = (uint8_t)(0xff << from % 8), tail = (uint8_t)(0xff >> (7 - (to - 1) % 8));
    if (at == last)
        return (r->bits[at] & head & tail) == 0;
    if ((r->bits[at] & head) != 0 || (r->bits[last] & tail) != 0)
        return false;
    uint64_t missing = 0;
    for (at++; at + 8 <= last; at += 8) {
        uint64_t word;
        memcpy(&word, &r->bits[at], sizeof word);
        missing |= word;
    }
    for (; at < last; at++)
        missing |= r->bits[at];
    return missing == 0;
}

uint64_t defined_missing(uint64_t address, uint64_t bytes, uint64_t *first)
{
    uint64_t count = 0;
    if (defined_all(address, bytes))
        return 0;
    for (uint64_t at = 0; at < bytes; at += 8) {
        uint32_t n = bytes - at < 8 ? (uint32_t)(bytes - at) : 8;
        uint8_t missing = defined_bits(address + at, n);
        if (missing != 0 && count == 0)
            *first = address + at + (uint64_t)__builtin_ctz(missing);
        count += (uint64_t)__builtin_popcount(missing);
    }
    return count;
}

void defined_copied(uint64_t to, uint64_t from, uint64_t bytes)
{
    if (range_of(to) == NULL)
        return;
    if (range_of(from) == NULL) {
        defined_written(to, bytes);
        return;
    }
    if (defined_all(from, bytes)) {
        defined_written(to, bytes);
        return;
    }
    for (uint64_t at = 0; at < bytes; at += 8) {
        uint32_t n = bytes - at < 8 ? (uint32_t)(bytes - at) : 8;
        defined_set_bits(to + at, n, defined_bits(from + at, n));
    }
}
