/* K2: sums that very many threads add to few places are right, and a thread finds at an address
 * what it has put there: by loads, stores and other atomics after a sum, in a loop and in line, in
 * words of both sizes; old values are a ticket for each thread.
 */
#include <vector>

#include "check.h"

enum { BLOCK = 256, GRID = 96, THREADS = BLOCK * GRID, ROUNDS = 3 };

/* Random numbers that the compiler knows nothing of. */
static unsigned *keys;
static unsigned mixed(unsigned t) { return (t * 2654435761u) ^ (t * 40503u >> 7); }

template <class T> __global__ void count(const unsigned *key, T *places, unsigned most)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&places[key[t] % most], (T)(t % 5 + 1));
}

template <class T> __global__ void count_some(const unsigned *key, T *places, unsigned most)
{
    for (unsigned t = blockIdx.x * blockDim.x + threadIdx.x; t < THREADS;
         t += gridDim.x * blockDim.x)
        if (key[t] & 8)
            atomicAdd(&places[key[t] % most], (T)(t % 5 + 1));
}

/* Indices on both sides of zero, as far as there are any. */
__global__ void count_around(const int *index, unsigned *middle)
{
    atomicAdd(&middle[index[blockIdx.x * blockDim.x + threadIdx.x]], 3u);
}
static void check_around(int *index)
{
    unsigned *all;
    CHECK_EQ_INT(cudaMallocManaged(&all, 16384 * sizeof *all), cudaSuccess);
    for (int reach = 1; reach < 2000; reach = reach * 7 + 2) {
        std::vector<unsigned> want(16384);
        for (int n = 0; n < 16384; n++)
            all[n] = 0;
        for (unsigned t = 0; t < THREADS; t++) {
            index[t] = (int)(keys[t] % (2u * (unsigned)reach)) - reach;
            want[(size_t)(5000 + index[t])] += 3;
        }
        count_around<<<GRID, BLOCK>>>(index, all + 5000);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        int wrong = 0;
        for (int n = 0; n < 16384; n++)
            wrong += all[n] != want[n];
        CHECK_EQ_INT(wrong, 0);
    }
    cudaFree(all);
}

/* Tables of several sizes, at several distances from where a page begins. */
template <class T> static void check_counts(bool some)
{
    static const unsigned most[] = {1, 16, 300, 1000, 2000, 5000};
    T *all;
    CHECK_EQ_INT(cudaMallocManaged(&all, 16384 * sizeof *all), cudaSuccess);
    for (unsigned m : most)
        for (unsigned from = 0; from < 1024; from += 331) {
            std::vector<T> want(16384, 7);
            for (int n = 0; n < 16384; n++)
                all[n] = 7;
            for (unsigned t = 0; t < THREADS; t++)
                if (!some || (keys[t] & 8))
                    want[from + keys[t] % m] += t % 5 + 1;
            if (some)
                count_some<<<5, BLOCK>>>(keys, all + from, m);
            else
                count<<<GRID, BLOCK>>>(keys, all + from, m);
            CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
            int wrong = 0;
            for (int n = 0; n < 16384; n++)
                wrong += all[n] != want[n];
            CHECK_EQ_INT(wrong, 0);
        }
    cudaFree(all);
}

/* In line: places are a thread's own, and the sum is followed by something else. */
enum after { LOAD, STORE, EXCHANGE, LEAST, BYTES, WIDER, AFTERS };
struct own {
    unsigned word, other;
};
template <int AFTER> __global__ void sum_and(const unsigned *place, own *p, unsigned *out)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    own *mine = &p[place[t]];
    unsigned seen = 0;
    for (int n = 0; n < ROUNDS; n++) {
        atomicAdd(&mine->word, t + 1);
        if (AFTER == LOAD)
            seen += mine->word;
        else if (AFTER == STORE)
            mine->word = t;
        else if (AFTER == EXCHANGE)
            seen += atomicExch(&mine->word, 5);
        else if (AFTER == LEAST)
            atomicMin(&mine->word, 3 * t);
        else if (AFTER == BYTES)
            seen += reinterpret_cast<unsigned char *>(mine)[1];
        else
            atomicAdd(reinterpret_cast<unsigned long long *>(mine), 0xffffffffull);
    }
    out[t] = seen;
}

template <int AFTER> static void check_after(const unsigned *place, own *p, unsigned *out)
{
    for (int n = 0; n < THREADS; n++)
        p[n] = own{};
    sum_and<AFTER><<<GRID, BLOCK>>>(place, p, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    int wrong = 0;
    for (unsigned t = 0; t < THREADS; t++) {
        unsigned word = 0, seen = 0;
        unsigned long long both = 0;
        for (int n = 0; n < ROUNDS; n++) {
            word += t + 1;
            both = (both & ~0xffffffffull) | (unsigned)(both + t + 1);
            both += 0xffffffffull;
            if (AFTER == LOAD)
                seen += word;
            else if (AFTER == STORE)
                word = t;
            else if (AFTER == EXCHANGE)
                seen += word, word = 5;
            else if (AFTER == LEAST)
                word = word < 3 * t ? word : 3 * t;
            else if (AFTER == BYTES)
                seen += word >> 8 & 255;
        }
        const own &is = p[place[t]];
        wrong += out[t] != seen;
        if (AFTER == WIDER)
            wrong += is.word != (unsigned)both || is.other != (unsigned)(both >> 32);
        else
            wrong += is.word != word || is.other != 0;
    }
    if (wrong != 0)
        printf("%d are wrong after %d\n", wrong, AFTER);
    CHECK_EQ_INT(wrong, 0);
}

/* A thread reads, in a loop, a table that others add to, and where it has added itself before. */
__global__ void add_and_read(const unsigned *place, unsigned *table, unsigned *out)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, least = 0;
    for (int n = 0; n < 8; n++) {
        unsigned before = table[place[t]];
        least += before >= (unsigned)n * 2;
        atomicAdd(&table[place[t]], 2u);
    }
    out[t] = least;
}

__global__ void take_tickets(const unsigned *key, unsigned *next, unsigned *ticket)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    ticket[t] = ~0u;
    if (key[t] % 3 != 0)
        ticket[t] = atomicAdd(&next[0], 1u);
}
__global__ void take_of_kind(const unsigned *key, unsigned *next, unsigned *ticket)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    ticket[t] = atomicAdd(&next[key[t] % 4], key[t] % 4 + 1);
}
__global__ void take_shared(const unsigned *key, unsigned *ticket)
{
    __shared__ unsigned next;
    if (threadIdx.x == 0)
        next = 0;
    __syncthreads();
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (key[t] & 2)
        ticket[t] = atomicAdd(&next, 2u);
    else
        ticket[t] = ~0u;
}

/* Each of `count` numbers 0, step, ... is had once by those of one kind. */
static int wrong_tickets(const unsigned *ticket, unsigned from, unsigned to, unsigned kind,
                         unsigned kinds, unsigned step)
{
    std::vector<bool> taken(THREADS);
    unsigned count = 0;
    int wrong = 0;
    for (unsigned t = from; t < to; t++) {
        if (ticket[t] == ~0u || (kinds > 1 && keys[t] % kinds != kind))
            continue;
        unsigned n = ticket[t] / step;
        wrong += ticket[t] % step != 0 || n >= THREADS || taken[n];
        taken[n % THREADS] = true;
        count++;
    }
    for (unsigned n = 0; n < count; n++)
        wrong += !taken[n];
    return wrong;
}

static void check_tickets(unsigned *out)
{
    unsigned *next;
    CHECK_EQ_INT(cudaMallocManaged(&next, 4 * sizeof *next), cudaSuccess);
    next[0] = 0;
    take_tickets<<<GRID, BLOCK>>>(keys, next, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ_INT(wrong_tickets(out, 0, THREADS, 0, 1, 1), 0);
    for (int n = 0; n < 4; n++)
        next[n] = 0;
    take_of_kind<<<GRID, BLOCK>>>(keys, next, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (unsigned n = 0; n < 4; n++)
        CHECK_EQ_INT(wrong_tickets(out, 0, THREADS, n, 4, n + 1), 0);
    take_shared<<<GRID, BLOCK>>>(keys, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (unsigned n = 0; n < GRID; n++)
        CHECK_EQ_INT(wrong_tickets(out, n * BLOCK, (n + 1) * BLOCK, 0, 1, 2), 0);
    cudaFree(next);
}

/* Sums of floats in runs: each is old + a + b + ..., one after the other, and not old + (a + b). */
__global__ void sum_floats(const unsigned *place, float *sums, float x)
{
    atomicAdd(&sums[place[blockIdx.x * blockDim.x + threadIdx.x]], x);
}
static void check_floats(unsigned *place)
{
    float *sums;
    CHECK_EQ_INT(cudaMallocManaged(&sums, THREADS * sizeof *sums), cudaSuccess);
    for (unsigned run = 1; run <= 32; run *= 2) {
        for (unsigned t = 0; t < THREADS; t++)
            place[t] = t / run, sums[t] = 16777216.0f;
        sum_floats<<<GRID, BLOCK>>>(place, sums, 1.0f);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        int wrong = 0;
        for (unsigned t = 0; t < THREADS; t++)
            wrong += sums[t] != 16777216.0f, sums[t] = 0x1p-127f;
        sum_floats<<<GRID, BLOCK>>>(place, sums, 0x1p-126f);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        for (unsigned t = 0; t < THREADS / run; t++) /* what memory had was taken for zero */
            wrong += sums[t] != (float)run * 0x1p-126f, sums[t] = 0x1.8p-126f;
        sum_floats<<<GRID, BLOCK>>>(place, sums, -0x1p-126f);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        for (unsigned t = 0; t < THREADS / run; t++) /* and so is a difference of half of that */
            wrong += sums[t] != (run == 1 ? 0 : -(float)(run - 1) * 0x1p-126f);
        CHECK_EQ_INT(wrong, 0);
    }
    cudaFree(sums);
}

int main()
{
    unsigned *place, *out, *table;
    own *p;
    CHECK_EQ_INT(cudaMallocManaged(&keys, THREADS * sizeof *keys), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&place, THREADS * sizeof *place), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&out, THREADS * sizeof *out), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&table, THREADS * sizeof *table), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&p, THREADS * sizeof *p), cudaSuccess);
    for (unsigned t = 0; t < THREADS; t++) {
        keys[t] = mixed(t);
        place[t] = (t & ~127u) + (t * 77 + 31) % 128; /* near each other, in no order */
        table[t] = 0;
    }
    check_counts<unsigned>(false);
    check_counts<unsigned>(true);
    check_counts<unsigned long long>(false);
    check_counts<unsigned long long>(true);
    check_around(reinterpret_cast<int *>(out));
    check_after<LOAD>(place, p, out);
    check_after<STORE>(place, p, out);
    check_after<EXCHANGE>(place, p, out);
    check_after<LEAST>(place, p, out);
    check_after<BYTES>(place, p, out);
    check_after<WIDER>(place, p, out);
    add_and_read<<<GRID, BLOCK>>>(place, table, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    int wrong = 0;
    for (unsigned t = 0; t < THREADS; t++)
        wrong += out[t] != 8 || table[t] != 16;
    CHECK_EQ_INT(wrong, 0);
    check_tickets(out);
    check_floats(place);
    return check_done();
}
