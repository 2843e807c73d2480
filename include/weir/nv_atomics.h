/* The atomic functions with an order and a scope as arguments: __nv_atomic_load_n(p, order, scope)
 * and its kin ("CUDA C++ Programming Guide", Built-in Atomic Functions; toolkit 12.8 on). nvcc has
 * them built in; here they are templates over the instructions of PTX. Orders and scopes must be
 * constants, so that one instruction remains of each choice.
 *
 * Loads and stores are of 1, 2, 4 and 8 bytes, compare-exchange of 2, 4 and 8, all others of 4 and
 * 8; add and sub take float and double, too. */
#ifndef WEIR_NV_ATOMICS_H
#define WEIR_NV_ATOMICS_H

/* nvcc's numbers are those of the host compiler's __ATOMIC_ constants. */
#define __NV_ATOMIC_RELAXED 0
#define __NV_ATOMIC_CONSUME 1
#define __NV_ATOMIC_ACQUIRE 2
#define __NV_ATOMIC_RELEASE 3
#define __NV_ATOMIC_ACQ_REL 4
#define __NV_ATOMIC_SEQ_CST 5

#define __NV_THREAD_SCOPE_THREAD  0
#define __NV_THREAD_SCOPE_BLOCK   1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE  3
#define __NV_THREAD_SCOPE_SYSTEM  4

namespace weir
{
namespace nv
{

/* An unsigned type as wide as T, for its bits. */
template <int Size> struct word;
template <> struct word<1> {
    typedef unsigned char type;
};
template <> struct word<2> {
    typedef unsigned short type;
};
template <> struct word<4> {
    typedef unsigned type;
};
template <> struct word<8> {
    typedef unsigned long long type;
};
template <typename T> using word_of = typename word<(int)sizeof(T)>::type;
template <typename T> struct same {
    typedef T type;
};

template <typename To, typename From> WEIR_DEVICE To as(From from)
{
    static_assert(sizeof(To) == sizeof(From), "bits of the same size");
    To to;
    __builtin_memcpy(&to, &from, sizeof(to));
    return to;
}

/* Fences of a scope. A thread's own scope needs none. */
WEIR_DEVICE void fence(bool sequential, int scope)
{
#define WEIR_FENCE(name)                                                                           \
    if (sequential)                                                                                \
        asm volatile("fence.sc." name ";" ::: "memory");                                           \
    else                                                                                           \
        asm volatile("fence.acq_rel." name ";" ::: "memory");
    if (scope == __NV_THREAD_SCOPE_BLOCK) {
        WEIR_FENCE("cta")
    } else if (scope == __NV_THREAD_SCOPE_CLUSTER) {
#if __CUDA_ARCH__ >= 900
        WEIR_FENCE("cluster")
#else
        WEIR_FENCE("gpu")
#endif
    } else if (scope == __NV_THREAD_SCOPE_DEVICE) {
        WEIR_FENCE("gpu")
    } else if (scope == __NV_THREAD_SCOPE_SYSTEM) {
        WEIR_FENCE("sys")
    }
#undef WEIR_FENCE
}
/* An operation of any order is a relaxed one between fences: what comes before a release, and after
 * an acquire. */
WEIR_DEVICE void before(int order, int scope)
{
    if (order == __NV_ATOMIC_RELEASE || order == __NV_ATOMIC_ACQ_REL)
        fence(false, scope);
    else if (order == __NV_ATOMIC_SEQ_CST)
        fence(true, scope);
}
WEIR_DEVICE void after(int order, int scope)
{
    if (order == __NV_ATOMIC_CONSUME || order == __NV_ATOMIC_ACQUIRE ||
        order == __NV_ATOMIC_ACQ_REL || order == __NV_ATOMIC_SEQ_CST)
        fence(false, scope);
}

#if __CUDA_ARCH__ >= 900
#define WEIR_CLUSTER_SCOPE "cluster"
#else
#define WEIR_CLUSTER_SCOPE "gpu"
#endif
/* make(scope's name in PTX), for the scope that is asked for */
#define WEIR_BY_SCOPE(make)                                                                        \
    if (scope == __NV_THREAD_SCOPE_THREAD || scope == __NV_THREAD_SCOPE_BLOCK) {                   \
        make("cta");                                                                               \
    } else if (scope == __NV_THREAD_SCOPE_CLUSTER) {                                               \
        make(WEIR_CLUSTER_SCOPE);                                                                  \
    } else if (scope == __NV_THREAD_SCOPE_DEVICE) {                                                \
        make("gpu");                                                                               \
    } else {                                                                                       \
        make("sys");                                                                               \
    }

/* One relaxed load and store for each size. Bytes travel in registers of 16 bits. */
#define WEIR_LOAD_STORE(W, R, type, constraint)                                                    \
    WEIR_DEVICE W load(const W *p, int scope)                                                      \
    {                                                                                              \
        R r;                                                                                       \
        WEIR_BY_SCOPE(WEIR_LOAD_##type)                                                            \
        return (W)r;                                                                               \
    }                                                                                              \
    WEIR_DEVICE void store(W *p, W value, int scope)                                               \
    {                                                                                              \
        R v = value;                                                                               \
        WEIR_BY_SCOPE(WEIR_STORE_##type)                                                           \
    }
#define WEIR_LOAD(s, type, c)                                                                      \
    asm volatile("ld.relaxed." s "." type " %0, [%1];" : "=" c(r) : "l"(p) : "memory")
#define WEIR_STORE(s, type, c)                                                                     \
    asm volatile("st.relaxed." s "." type " [%0], %1;" ::"l"(p), c(v) : "memory")
#define WEIR_LOAD_u8(s)   WEIR_LOAD(s, "u8", "h")
#define WEIR_LOAD_u16(s)  WEIR_LOAD(s, "u16", "h")
#define WEIR_LOAD_u32(s)  WEIR_LOAD(s, "u32", "r")
#define WEIR_LOAD_u64(s)  WEIR_LOAD(s, "u64", "l")
#define WEIR_STORE_u8(s)  WEIR_STORE(s, "u8", "h")
#define WEIR_STORE_u16(s) WEIR_STORE(s, "u16", "h")
#define WEIR_STORE_u32(s) WEIR_STORE(s, "u32", "r")
#define WEIR_STORE_u64(s) WEIR_STORE(s, "u64", "l")
WEIR_LOAD_STORE(unsigned char, unsigned short, u8, "h")
WEIR_LOAD_STORE(unsigned short, unsigned short, u16, "h")
WEIR_LOAD_STORE(unsigned, unsigned, u32, "r")
WEIR_LOAD_STORE(unsigned long long, unsigned long long, u64, "l")

/* Read-modify-write: `name` is the function, `op` what PTX calls it. */
#define WEIR_RMW(name, op, T, type, c)                                                             \
    WEIR_DEVICE T name(T *p, T v, int scope)                                                       \
    {                                                                                              \
        T old;                                                                                     \
        if (scope == __NV_THREAD_SCOPE_THREAD || scope == __NV_THREAD_SCOPE_BLOCK)                 \
            asm volatile("atom.relaxed.cta." op "." type " %0, [%1], %2;"                          \
                         : "=" c(old)                                                              \
                         : "l"(p), c(v)                                                            \
                         : "memory");                                                              \
        else if (scope == __NV_THREAD_SCOPE_CLUSTER)                                               \
            asm volatile("atom.relaxed." WEIR_CLUSTER_SCOPE "." op "." type " %0, [%1], %2;"       \
                         : "=" c(old)                                                              \
                         : "l"(p), c(v)                                                            \
                         : "memory");                                                              \
        else if (scope == __NV_THREAD_SCOPE_DEVICE)                                                \
            asm volatile("atom.relaxed.gpu." op "." type " %0, [%1], %2;"                          \
                         : "=" c(old)                                                              \
                         : "l"(p), c(v)                                                            \
                         : "memory");                                                              \
        else                                                                                       \
            asm volatile("atom.relaxed.sys." op "." type " %0, [%1], %2;"                          \
                         : "=" c(old)                                                              \
                         : "l"(p), c(v)                                                            \
                         : "memory");                                                              \
        return old;                                                                                \
    }
WEIR_RMW(add, "add", unsigned, "u32", "r")
WEIR_RMW(add, "add", unsigned long long, "u64", "l")
WEIR_RMW(add, "add", float, "f32", "f")
WEIR_RMW(add, "add", double, "f64", "d")
WEIR_RMW(exchange, "exch", unsigned, "b32", "r")
WEIR_RMW(exchange, "exch", unsigned long long, "b64", "l")
WEIR_RMW(bits_and, "and", unsigned, "b32", "r")
WEIR_RMW(bits_and, "and", unsigned long long, "b64", "l")
WEIR_RMW(bits_or, "or", unsigned, "b32", "r")
WEIR_RMW(bits_or, "or", unsigned long long, "b64", "l")
WEIR_RMW(bits_xor, "xor", unsigned, "b32", "r")
WEIR_RMW(bits_xor, "xor", unsigned long long, "b64", "l")
WEIR_RMW(least, "min", int, "s32", "r")
WEIR_RMW(least, "min", unsigned, "u32", "r")
WEIR_RMW(least, "min", long long, "s64", "l")
WEIR_RMW(least, "min", unsigned long long, "u64", "l")
WEIR_RMW(most, "max", int, "s32", "r")
WEIR_RMW(most, "max", unsigned, "u32", "r")
WEIR_RMW(most, "max", long long, "s64", "l")
WEIR_RMW(most, "max", unsigned long long, "u64", "l")

#define WEIR_CAS(T, type, c)                                                                       \
    WEIR_DEVICE T compare_swap(T *p, T compare, T v, int scope)                                    \
    {                                                                                              \
        T old;                                                                                     \
        WEIR_BY_SCOPE(WEIR_CAS_##type)                                                             \
        return old;                                                                                \
    }
#define WEIR_CAS_OF(s, type, c)                                                                    \
    asm volatile("atom.relaxed." s ".cas." type " %0, [%1], %2, %3;"                               \
                 : "=" c(old)                                                                      \
                 : "l"(p), c(compare), c(v)                                                        \
                 : "memory")
#define WEIR_CAS_b16(s) WEIR_CAS_OF(s, "b16", "h")
#define WEIR_CAS_b32(s) WEIR_CAS_OF(s, "b32", "r")
#define WEIR_CAS_b64(s) WEIR_CAS_OF(s, "b64", "l")
WEIR_CAS(unsigned short, b16, "h")
WEIR_CAS(unsigned, b32, "r")
WEIR_CAS(unsigned long long, b64, "l")

/* A byte's compare-exchange is that of the word around it. */
WEIR_DEVICE unsigned char compare_swap(unsigned char *p, unsigned char compare, unsigned char v,
                                       int scope)
{
    unsigned *word = (unsigned *)((unsigned long long)p & ~3ull);
    unsigned shift = ((unsigned)(unsigned long long)p & 3) * 8;
    for (unsigned old = load(word, scope);;) {
        unsigned char now = (unsigned char)(old >> shift);
        if (now != compare)
            return now;
        unsigned next = (old & ~(0xffu << shift)) | (unsigned)v << shift;
        unsigned found = compare_swap(word, old, next, scope);
        if (found == old)
            return compare;
        old = found;
    }
}
/* Exchanges that PTX does not have. */
template <typename W> WEIR_DEVICE W exchange_small(W *p, W v, int scope)
{
    W old = load(p, scope);
    for (;;) {
        W found = compare_swap(p, old, v, scope);
        if (found == old)
            return old;
        old = found;
    }
}
WEIR_DEVICE unsigned char exchange(unsigned char *p, unsigned char v, int scope)
{
    return exchange_small(p, v, scope);
}
WEIR_DEVICE unsigned short exchange(unsigned short *p, unsigned short v, int scope)
{
    return exchange_small(p, v, scope);
}

/* The type on which an operation on T is done: its own where the sign or the format matters. */
template <typename T> struct arithmetic {
    typedef word_of<T> type;
};
template <> struct arithmetic<float> {
    typedef float type;
};
template <> struct arithmetic<double> {
    typedef double type;
};
template <typename T, bool Signed = ((T)-1 < (T)0)> struct ordered {
    typedef word_of<T> type;
};
template <> struct ordered<int, true> {
    typedef int type;
};
template <> struct ordered<long, true> {
    typedef long long type;
};
template <> struct ordered<long long, true> {
    typedef long long type;
};

#undef WEIR_LOAD_STORE
#undef WEIR_LOAD
#undef WEIR_STORE
#undef WEIR_LOAD_u8
#undef WEIR_LOAD_u16
#undef WEIR_LOAD_u32
#undef WEIR_LOAD_u64
#undef WEIR_STORE_u8
#undef WEIR_STORE_u16
#undef WEIR_STORE_u32
#undef WEIR_STORE_u64
#undef WEIR_RMW
#undef WEIR_CAS
#undef WEIR_CAS_OF
#undef WEIR_CAS_b16
#undef WEIR_CAS_b32
#undef WEIR_CAS_b64
#undef WEIR_BY_SCOPE
#undef WEIR_CLUSTER_SCOPE

} // namespace nv
} // namespace weir

/* ---- the functions of the guide ---- */

template <typename T>
WEIR_DEVICE T __nv_atomic_load_n(T *p, int order, int scope = __NV_THREAD_SCOPE_SYSTEM)
{
    typedef weir::nv::word_of<T> word;
    if (order == __NV_ATOMIC_SEQ_CST)
        weir::nv::fence(true, scope);
    word w = weir::nv::load((const word *)p, scope);
    weir::nv::after(order, scope);
    return weir::nv::as<T>(w);
}
template <typename T>
WEIR_DEVICE void __nv_atomic_load(T *p, T *result, int order, int scope = __NV_THREAD_SCOPE_SYSTEM)
{
    *result = __nv_atomic_load_n(p, order, scope);
}
template <typename T>
WEIR_DEVICE void __nv_atomic_store_n(T *p, typename weir::nv::same<T>::type value, int order,
                                     int scope = __NV_THREAD_SCOPE_SYSTEM)
{
    typedef weir::nv::word_of<T> word;
    weir::nv::before(order, scope);
    weir::nv::store((word *)p, weir::nv::as<word>(value), scope);
}
template <typename T>
WEIR_DEVICE void __nv_atomic_store(T *p, T *value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM)
{
    __nv_atomic_store_n(p, *value, order, scope);
}
template <typename T>
WEIR_DEVICE T __nv_atomic_exchange_n(T *p, typename weir::nv::same<T>::type value, int order,
                                     int scope = __NV_THREAD_SCOPE_SYSTEM)
{
    typedef weir::nv::word_of<T> word;
    weir::nv::before(order, scope);
    word old = weir::nv::exchange((word *)p, weir::nv::as<word>(value), scope);
    weir::nv::after(order, scope);
    return weir::nv::as<T>(old);
}
template <typename T>
WEIR_DEVICE void __nv_atomic_exchange(T *p, T *value, T *result, int order,
                                      int scope = __NV_THREAD_SCOPE_SYSTEM)
{
    *result = __nv_atomic_exchange_n(p, *value, order, scope);
}
/* Whether *p was *expected, and then became `desired`; else *expected becomes what it was. There
 * are no spurious failures, whatever `weak` says. */
template <typename T>
WEIR_DEVICE bool
__nv_atomic_compare_exchange_n(T *p, T *expected, typename weir::nv::same<T>::type desired, bool,
                               int success, int failure, int scope = __NV_THREAD_SCOPE_SYSTEM)
{
    typedef weir::nv::word_of<T> word;
    word was = weir::nv::as<word>(*expected);
    weir::nv::before(success, scope);
    word old = weir::nv::compare_swap((word *)p, was, weir::nv::as<word>(desired), scope);
    bool done = old == was;
    weir::nv::after(success, scope);
    if (!done) {
        weir::nv::after(failure, scope);
        *expected = weir::nv::as<T>(old);
    }
    return done;
}
template <typename T>
WEIR_DEVICE bool __nv_atomic_compare_exchange(T *p, T *expected, T *desired, bool weak, int success,
                                              int failure, int scope = __NV_THREAD_SCOPE_SYSTEM)
{
    return __nv_atomic_compare_exchange_n(p, expected, *desired, weak, success, failure, scope);
}

/* __nv_atomic_fetch_<name>, which gives the old value, and __nv_atomic_<name>, which gives none. */
#define WEIR_FETCH(name, op, kind, operand)                                                        \
    template <typename T>                                                                          \
    WEIR_DEVICE T __nv_atomic_fetch_##name(T *p, typename weir::nv::same<T>::type value,           \
                                           int order, int scope = __NV_THREAD_SCOPE_SYSTEM)        \
    {                                                                                              \
        typedef typename kind::type word;                                                          \
        weir::nv::before(order, scope);                                                            \
        word old = weir::nv::op((word *)p, weir::nv::as<word>((T)(operand)), scope);               \
        weir::nv::after(order, scope);                                                             \
        return weir::nv::as<T>(old);                                                               \
    }                                                                                              \
    template <typename T>                                                                          \
    WEIR_DEVICE void __nv_atomic_##name(T *p, typename weir::nv::same<T>::type value, int order,   \
                                        int scope = __NV_THREAD_SCOPE_SYSTEM)                      \
    {                                                                                              \
        __nv_atomic_fetch_##name(p, value, order, scope);                                          \
    }
WEIR_FETCH(add, add, weir::nv::arithmetic<T>, value)
WEIR_FETCH(sub, add, weir::nv::arithmetic<T>, -value)
WEIR_FETCH(and, bits_and, weir::nv::arithmetic<T>, value)
WEIR_FETCH(or, bits_or, weir::nv::arithmetic<T>, value)
WEIR_FETCH(xor, bits_xor, weir::nv::arithmetic<T>, value)
WEIR_FETCH(min, least, weir::nv::ordered<T>, value)
WEIR_FETCH(max, most, weir::nv::ordered<T>, value)
#undef WEIR_FETCH

WEIR_DEVICE void __nv_atomic_thread_fence(int order, int scope = __NV_THREAD_SCOPE_SYSTEM)
{
    if (order == __NV_ATOMIC_SEQ_CST)
        weir::nv::fence(true, scope);
    else if (order != __NV_ATOMIC_RELAXED)
        weir::nv::fence(false, scope);
}
WEIR_DEVICE void __nv_atomic_signal_fence(int) { asm volatile("" ::: "memory"); }

#endif
