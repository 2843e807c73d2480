// Searching: places of a word in a text, edit distances by wavefronts in shared memory, and queens
// on a board by recursion.
#include "harness.h"

enum { WORD = 8 };
template <int LENGTH>
__global__ void find_word(const unsigned char *text, const unsigned char *word, int *count, int n,
                          int given)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, length = LENGTH ? LENGTH : given;
    if (i + length > n)
        return;
    int k = 0;
    while (k < length && text[i + k] == word[k])
        k++;
    if (k == length)
        atomicAdd(count, 1);
}
static __global__ void find_word_stride(const unsigned char *text, const unsigned char *word,
                                        int *count, int n, int length)
{
    __shared__ int found;
    if (threadIdx.x == 0)
        found = 0;
    __syncthreads();
    int mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i + length <= n;
         i += gridDim.x * blockDim.x) {
        bool same = true;
        for (int k = 0; k < length && same; k++)
            same = text[i + k] == word[k];
        mine += same;
    }
    atomicAdd(&found, mine);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(count, found);
}
BENCH_SPELLING(find_word, 0, find_word<0>);
BENCH_SPELLING(find_word, 1, find_word<WORD>);
BENCH_SPELLING(find_word, 2, find_word_stride);

// A pair of strings of LENGTH a block, a thread a row, diagonal after diagonal.
template <int LENGTH, class T>
__global__ void edit(const unsigned char *a, const unsigned char *b, int *distance)
{
    __shared__ T line[3][LENGTH + 1];
    __shared__ unsigned char other[LENGTH];
    int t = threadIdx.x;
    unsigned char mine = a[blockIdx.x * LENGTH + t];
    other[t] = b[blockIdx.x * LENGTH + t];
    if (t == 0)
        line[0][0] = 0;
    __syncthreads();
    // line[d % 3][i] is the distance of the first i of a and the first d - i of b.
    for (int d = 1; d <= 2 * LENGTH; d++) {
        T *now = line[d % 3], *last = line[(d + 2) % 3], *before = line[(d + 1) % 3];
        int i = t + 1, j = d - i;
        if (j >= 1 && j <= LENGTH) {
            T step = min(last[i - 1], last[i]) + 1;
            now[i] = min(step, (T)(before[i - 1] + (mine != other[j - 1])));
        } else if (j == 0) {
            now[i] = d;
        }
        if (t == 0 && d <= LENGTH)
            now[0] = d;
        __syncthreads();
    }
    if (t == LENGTH - 1)
        distance[blockIdx.x] = line[2 * LENGTH % 3][LENGTH];
}
BENCH_SPELLING(edit, 0, edit<128, int>);
BENCH_SPELLING(edit, 1, edit<128, short>);
BENCH_SPELLING(edit, 2, edit<128, float>);

// Ways to put the remaining queens below the first three rows, which the thread's number says.
static __device__ int queens_below(unsigned columns, unsigned left, unsigned right, unsigned all)
{
    if (columns == all)
        return 1;
    int ways = 0;
    for (unsigned open = all & ~(columns | left | right); open; open &= open - 1) {
        unsigned bit = open & -open;
        ways += queens_below(columns | bit, (left | bit) << 1, (right | bit) >> 1, all);
    }
    return ways;
}
// The same with a stack of its own.
static __device__ int queens_stack(unsigned columns, unsigned left, unsigned right, unsigned all)
{
    unsigned open[16], c[16], l[16], r[16];
    int depth = 0, ways = 0;
    c[0] = columns, l[0] = left, r[0] = right, open[0] = all & ~(columns | left | right);
    while (depth >= 0) {
        if (!open[depth]) {
            depth--;
            continue;
        }
        unsigned bit = open[depth] & -open[depth];
        open[depth] ^= bit;
        unsigned next = c[depth] | bit;
        if (next == all) {
            ways++;
            continue;
        }
        c[depth + 1] = next;
        l[depth + 1] = (l[depth] | bit) << 1;
        r[depth + 1] = (r[depth] | bit) >> 1;
        depth++;
        open[depth] = all & ~(c[depth] | l[depth] | r[depth]);
    }
    return ways;
}
template <bool STACK> __global__ void queens(int *ways, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * n * n)
        return;
    unsigned columns = 0, left = 0, right = 0, all = (1u << n) - 1;
    for (int row = 0, rest = i; row < 3; row++, rest /= n) {
        unsigned bit = 1u << rest % n;
        if ((columns | left | right) & bit) {
            ways[i] = 0;
            return;
        }
        columns |= bit, left = (left | bit) << 1, right = (right | bit) >> 1;
    }
    ways[i] = STACK ? queens_stack(columns, left, right, all)
                    : queens_below(columns, left, right, all);
}
BENCH_SPELLING(queens, 0, queens<false>);
BENCH_SPELLING(queens, 1, queens<true>);
