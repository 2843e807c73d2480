/* Where a thread is, and the operations that threads do together: CUDA's on the device, rendezvous
 * of fibers on the host. The macros add the line, by which the host knows that threads meet in one
 * place. */
#ifndef PROGRAM_LANES_H
#define PROGRAM_LANES_H

#ifdef __CUDA_ARCH__
#define ON(device, host) (device)
#else
#define ON(device, host) (host)
#endif

#define THREAD_X ON(threadIdx.x, host.now->index.x)
#define THREAD_Y ON(threadIdx.y, host.now->index.y)
#define THREAD_Z ON(threadIdx.z, host.now->index.z)
#define SIZE_X   ON(blockDim.x, host.size.x)
#define SIZE_Y   ON(blockDim.y, host.size.y)
#define SIZE_Z   ON(blockDim.z, host.size.z)
#define BLOCK_X  ON(blockIdx.x, host.block.x)
#define BLOCK_Y  ON(blockIdx.y, host.block.y)
#define BLOCK_Z  ON(blockIdx.z, host.block.z)
#define GRID_X   ON(gridDim.x, host.grid.x)
#define GRID_Y   ON(gridDim.y, host.grid.y)
#define GRID_Z   ON(gridDim.z, host.grid.z)

HD static inline u32 block_threads(void) { return SIZE_X * SIZE_Y * SIZE_Z; }
HD static inline u32 block_rank(void) { return (BLOCK_Z * GRID_Y + BLOCK_Y) * GRID_X + BLOCK_X; }
HD static inline u32 grid_blocks(void) { return GRID_X * GRID_Y * GRID_Z; }
HD static inline u32 thread_rank(void)
{
    return (THREAD_Z * SIZE_Y + THREAD_Y) * SIZE_X + THREAD_X;
}

/* Where a thread is, at the beginning of each function. `whole` are the lanes that its warp began
 * with. */
#define PLACE                                                                                      \
    const u32 tid = thread_rank(), nt = block_threads(), lane = tid & 31u, warp = tid >> 5;        \
    const u32 gt = block_rank() * nt + tid,                                                        \
              whole = nt - (tid & ~31u) >= 32u ? FULL : (1u << (nt & 31u)) - 1u;                   \
    u32 *const own = A.out + (size_t)gt * WORDS;                                                   \
    (void)lane, (void)warp, (void)gt, (void)whole, (void)own

/* Shared memory: on the host at an offset of the block's, which the generator chooses. */
#ifdef __CUDA_ARCH__
#define SHARED(type, name, count, offset) __shared__ type name[count]
#define DYNAMIC(type, name)                                                                        \
    extern __shared__ u64 dynamic_shared[];                                                        \
    type *name = (type *)dynamic_shared
#else
#define SHARED(type, name, count, offset) type *name = (type *)(host.shared + (offset))
#define DYNAMIC(type, name)               type *name = (type *)host.dynamic
#endif

/* A launch of a kernel of one block, whose output begins at a row. It runs when the launching grid
 * is done. */
#ifdef __CUDA_ARCH__
#define LAUNCH(name, block, dynamic, row)                                                          \
    do {                                                                                           \
        args B = A;                                                                                \
        B.out += (size_t)(row) * WORDS;                                                            \
        name<<<1, block, dynamic>>>(B);                                                            \
    } while (0)
#else
#define LAUNCH(name, block, dynamic, row)                                                          \
    host_launch(name##_body_of, block, A, A.out + (size_t)(row) * WORDS)
#endif

/* Fuel bounds every loop and backward jump. */
#define FUEL(f) ((f) != 0 && --(f) != 0)

#ifdef __CUDA_ARCH__
#define SYNC()        __syncthreads()
#define SYNC_COUNT(p) ((u32)__syncthreads_count((int)(p)))
#define SYNC_AND(p)   ((u32)(__syncthreads_and((int)(p)) != 0))
#define SYNC_OR(p)    ((u32)(__syncthreads_or((int)(p)) != 0))
#define WARP_SYNC(m)  __syncwarp(m)
#define BALLOT(m, p)  __ballot_sync(m, (int)(p))
#define ANY(m, p)     ((u32)(__any_sync(m, (int)(p)) != 0))
#define ALL(m, p)     ((u32)(__all_sync(m, (int)(p)) != 0))
#define MATCH(m, v)   ((u32)__match_any_sync(m, v))
HD static inline u32 match_all(u32 m, u32 v)
{
    int same;
    return (u32)__match_all_sync(m, v, &same) ^ (same ? 0u : 0x80u);
}
#define MATCH_ALL(m, v)                match_all(m, v)
#define SUM(m, v)                      ((u32)__reduce_add_sync(m, (u32)(v)))
#define MIN(m, v)                      ((u32)__reduce_min_sync(m, (u32)(v)))
#define MAX(m, v)                      ((u32)__reduce_max_sync(m, (u32)(v)))
#define SMIN(m, v)                     ((u32)__reduce_min_sync(m, (s32)(v)))
#define SMAX(m, v)                     ((u32)__reduce_max_sync(m, (s32)(v)))
#define BITS_AND(m, v)                 ((u32)__reduce_and_sync(m, (u32)(v)))
#define BITS_OR(m, v)                  ((u32)__reduce_or_sync(m, (u32)(v)))
#define BITS_XOR(m, v)                 ((u32)__reduce_xor_sync(m, (u32)(v)))
#ifndef DEFINITE
#define SHUFFLE(m, v, lane, width) __shfl_sync(m, v, (int)(lane), width)
#define SHUFFLE_UP(m, v, by, width) __shfl_up_sync(m, v, (by)&31u, width)
#define SHUFFLE_DOWN(m, v, by, width) __shfl_down_sync(m, v, (by)&31u, width)
#define SHUFFLE_XOR(m, v, bits, width) __shfl_xor_sync(m, v, (int)((bits)&31u), width)
#else
/* NVIDIA's compiler moves arithmetic past shuffles, so that an absent lane gives what that makes of 0. With
 * DEFINITE, a program asks who is there, and makes it 0. */
#define SHUFFLE(m, v, lane, width) definite(__shfl_sync(m, v, (int)(lane), width), m, 0, lane, width)
#define SHUFFLE_UP(m, v, by, width) definite(__shfl_up_sync(m, v, (by)&31u, width), m, 1, by, width)
#define SHUFFLE_DOWN(m, v, by, width) definite(__shfl_down_sync(m, v, (by)&31u, width), m, 2, by, width)
#define SHUFFLE_XOR(m, v, bits, width) definite(__shfl_xor_sync(m, v, (int)((bits)&31u), width), m, 3, bits, width)
template <class T> HD static inline T definite(T v, u32 mask, u32 kind, u32 lane, u32 width)
{
    int own = (int)(thread_rank() & 31u), by = (int)(lane & 31u);
    int first = own & ~(int)(width - 1u), last = first + (int)width - 1, from;
    from = kind == 0 ? first + (by & (int)(width - 1u)) : kind == 1 ? own - by : kind == 2 ? own + by : own ^ by;
    if ((kind == 1 && from < first) || from > last)
        from = own;
    return __ballot_sync(mask, 1) >> from & 1u ? v : (T)0;
}
#endif
#define EXIT()                         asm volatile("exit;")
#define FENCE()                        __threadfence()
#define FENCE_BLOCK()                  __threadfence_block()
#define ACTIVE()                       __activemask()
#else
#define SYNC()                         host_meet(OP_BARRIER, 0, 0, 0, 0, __LINE__)
#define SYNC_COUNT(p)                  ((u32)host_meet(OP_COUNT, 0, (p) ? 1 : 0, 0, 0, __LINE__))
#define SYNC_AND(p)                    ((u32)host_meet(OP_AND, 0, (p) ? 1 : 0, 0, 0, __LINE__))
#define SYNC_OR(p)                     ((u32)host_meet(OP_OR, 0, (p) ? 1 : 0, 0, 0, __LINE__))
#define HOST_LANES(op, m, v)           ((u32)host_meet(op, m, v, 0, 0, __LINE__))
#define WARP_SYNC(m)                   HOST_LANES(OP_WARP, m, 0)
#define BALLOT(m, p)                   HOST_LANES(OP_BALLOT, m, (p) ? 1 : 0)
#define ANY(m, p)                      HOST_LANES(OP_ANY, m, (p) ? 1 : 0)
#define ALL(m, p)                      HOST_LANES(OP_ALL, m, (p) ? 1 : 0)
#define MATCH(m, v)                    HOST_LANES(OP_MATCH, m, host_bits(v))
#define MATCH_ALL(m, v)                host_match_all(HOST_LANES(OP_MATCH_ALL, m, (u32)(v)))
#define SUM(m, v)                      HOST_LANES(OP_SUM, m, (u32)(v))
#define MIN(m, v)                      HOST_LANES(OP_MIN, m, (u32)(v))
#define MAX(m, v)                      HOST_LANES(OP_MAX, m, (u32)(v))
#define SMIN(m, v)                     HOST_LANES(OP_SMIN, m, (u32)(v))
#define SMAX(m, v)                     HOST_LANES(OP_SMAX, m, (u32)(v))
#define BITS_AND(m, v)                 HOST_LANES(OP_BITS_AND, m, (u32)(v))
#define BITS_OR(m, v)                  HOST_LANES(OP_BITS_OR, m, (u32)(v))
#define BITS_XOR(m, v)                 HOST_LANES(OP_BITS_XOR, m, (u32)(v))
#define SHUFFLE(m, v, lane, width)     host_shuffle(OP_IDX, m, v, (u32)(lane), width, __LINE__)
#define SHUFFLE_UP(m, v, by, width)    host_shuffle(OP_UP, m, v, (u32)(by), width, __LINE__)
#define SHUFFLE_DOWN(m, v, by, width)  host_shuffle(OP_DOWN, m, v, (u32)(by), width, __LINE__)
#define SHUFFLE_XOR(m, v, bits, width) host_shuffle(OP_XOR, m, v, (u32)(bits), width, __LINE__)
#define EXIT()                         host_exit()
#define FENCE()                        ((void)0)
#define FENCE_BLOCK()                  ((void)0)
#define ACTIVE()                                                                                   \
    (1u << ((u32)(host.now - host.threads) & 31u)) /* asked for by one lane alone only */

static inline u32 host_match_all(u32 lanes) { return lanes ^ (lanes ? 0u : 0x80u); }

template <class T> static inline u64 host_bits(T v)
{
    u64 bits = 0;
    memcpy(&bits, &v, sizeof v);
    return bits;
}

template <class T>
static inline T host_shuffle(enum host_op op, u32 mask, T v, u32 lane, u32 width, u32 site)
{
    u64 bits = host_meet(op, mask, host_bits(v), lane, width, site);
    T result;
    memcpy(&result, &bits, sizeof result);
    return result;
}
#endif

/* Atomics. What they return is used only where nobody else updates the word. */
#ifdef __CUDA_ARCH__
#define ATOMIC(name, type, device, update)                                                         \
    HD static inline type name(type *p, type v) { return device(p, v); }
#else
#define ATOMIC(name, type, device, update)                                                         \
    HD static inline type name(type *p, type v)                                                    \
    {                                                                                              \
        type old = *p;                                                                             \
        *p = update;                                                                               \
        return old;                                                                                \
    }
#endif
ATOMIC(atomic_add, u32, atomicAdd, old + v)
ATOMIC(atomic_add, u64, atomicAdd, old + v)
ATOMIC(atomic_add, f32, atomicAdd, old + v)
ATOMIC(atomic_add, f64, atomicAdd, old + v)
ATOMIC(atomic_and, u32, atomicAnd, old &v)
ATOMIC(atomic_or, u32, atomicOr, old | v)
ATOMIC(atomic_xor, u32, atomicXor, old ^ v)
ATOMIC(atomic_min, u32, atomicMin, old < v ? old : v)
ATOMIC(atomic_max, u32, atomicMax, old > v ? old : v)
ATOMIC(atomic_min, s32, atomicMin, old < v ? old : v)
ATOMIC(atomic_max, s32, atomicMax, old > v ? old : v)
ATOMIC(atomic_max, u64, atomicMax, old > v ? old : v)
ATOMIC(atomic_swap, u32, atomicExch, v)
ATOMIC(atomic_inc, u32, atomicInc, old >= v ? 0 : old + 1)

/* A sum made by compare and swap. */
HD static inline void atomic_cas_add(u32 *p, u32 v)
{
#ifdef __CUDA_ARCH__
    u32 old = *(volatile u32 *)p, seen;
    while ((seen = atomicCAS(p, old, old + v)) != old)
        old = seen;
#else
    *p += v;
#endif
}
#endif
