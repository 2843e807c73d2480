/* Everything that code may have inside itself: calls, constants, a jump table, tables of addresses,
 * initialised, zeroed and common data. */
#include "abi/kernel_abi.h"

static const char *const names[] = {"zero", "one", "two", "three"};
static int counts[4] = {10, 20, 30, 40};
static uint64_t zeroed[300];
int shared_count; /* a COMMON symbol under -fcommon */
__attribute__((visibility("hidden"))) int hidden_value = 7;
int visible_value = 9; /* reached through the GOT under -fPIC */

__attribute__((noinline)) static int twice(int x)
{
    __asm__ volatile("");
    return 2 * x;
}
__attribute__((noinline)) int visible_add(int x, int y) { return x + y + visible_value; }

static int (*const calls[])(int) = {twice, 0};

__attribute__((noinline)) static int pick(uint32_t which, int x)
{
    switch (which) { /* enough cases, with enough distance, for a jump table */
    case 0: return x + 1;
    case 1: return x * 3;
    case 2: return twice(x);
    case 3: return x ^ 0x55;
    case 4: return visible_add(x, 100);
    case 5: return counts[x & 3];
    case 6: return names[x & 3][0];
    case 7: return (int)zeroed[x];
    default: return -1;
    }
}

/* params: the address of 16 results */
uint32_t weir_block(struct jit_block *b)
{
    int64_t *out = *(int64_t *const *)b->params;
    for (uint32_t i = 0; i < 9; i++)
        out[i] = pick(i, 5);
    out[9] = calls[0](21);
    out[10] = ++counts[0];
    out[11] = ++shared_count;
    out[12] = hidden_value;
    zeroed[299] += 3;
    out[13] = (int64_t)zeroed[299];
    out[14] = names[3][2];
    out[15] = b->nthreads;
    return JIT_DONE;
}
