/* Loads and stores with a cache hint: __ldcg, __ldca, __ldcs, __ldlu, __ldcv, __stwb, __stcg,
 * __stcs, __stwt, for the types for which clang's headers have __ldg.
 *
 * They are written as the PTX instructions of the same name. Only .cv and .wt say something about
 * when others see the access; the rest are hints. */
#ifndef WEIR_MEMORY_ACCESS_H
#define WEIR_MEMORY_ACCESS_H

#define WEIR_LD1(name, cache, type, suffix, letter, carrier)                              \
    WEIR_DEVICE type name(const type *p)                                                           \
    {                                                                                              \
        carrier r;                                                                                 \
        asm volatile("ld" cache suffix " %0, [%1];" : "=" letter(r) : "l"(p) : "memory");          \
        return (type)r;                                                                            \
    }
#define WEIR_LD2(name, cache, type, suffix, letter, carrier)                                       \
    WEIR_DEVICE type name(const type *p)                                                           \
    {                                                                                              \
        carrier x, y;                                                                              \
        asm volatile("ld" cache ".v2" suffix " {%0, %1}, [%2];"                                    \
                     : "=" letter(x), "=" letter(y)                                                \
                     : "l"(p)                                                                      \
                     : "memory");                                                                  \
        type r;                                                                                    \
        r.x = x, r.y = y;                                                                          \
        return r;                                                                                  \
    }
#define WEIR_LD4(name, cache, type, suffix, letter, carrier)                                       \
    WEIR_DEVICE type name(const type *p)                                                           \
    {                                                                                              \
        carrier x, y, z, w;                                                                        \
        asm volatile("ld" cache ".v4" suffix " {%0, %1, %2, %3}, [%4];"                            \
                     : "=" letter(x), "=" letter(y), "=" letter(z), "=" letter(w)                  \
                     : "l"(p)                                                                      \
                     : "memory");                                                                  \
        type r;                                                                                    \
        r.x = x, r.y = y, r.z = z, r.w = w;                                                        \
        return r;                                                                                  \
    }
#define WEIR_ST1(name, cache, type, suffix, letter, carrier)                                       \
    WEIR_DEVICE void name(type *p, type v)                                                         \
    {                                                                                              \
        asm volatile("st" cache suffix " [%0], %1;" ::"l"(p), letter((carrier)v) : "memory");      \
    }
#define WEIR_ST2(name, cache, type, suffix, letter, carrier)                                       \
    WEIR_DEVICE void name(type *p, type v)                                                         \
    {                                                                                              \
        asm volatile("st" cache ".v2" suffix " [%0], {%1, %2};" ::"l"(p), letter((carrier)v.x),    \
                     letter((carrier)v.y)                                                          \
                     : "memory");                                                                  \
    }
#define WEIR_ST4(name, cache, type, suffix, letter, carrier)                                       \
    WEIR_DEVICE void name(type *p, type v)                                                         \
    {                                                                                              \
        asm volatile("st" cache ".v4" suffix " [%0], {%1, %2, %3, %4};" ::"l"(p),                  \
                     letter((carrier)v.x), letter((carrier)v.y), letter((carrier)v.z),             \
                     letter((carrier)v.w)                                                          \
                     : "memory");                                                                  \
    }

/* Bytes travel in 16-bit registers, the smallest that inline assembly has. */
#define WEIR_LD_ALL(name, cache)                                                                   \
    WEIR_LD1(name, cache, char, ".s8", "h", short)                                               \
    WEIR_LD1(name, cache, signed char, ".s8", "h", short)                                        \
    WEIR_LD1(name, cache, unsigned char, ".u8", "h", unsigned short)                             \
    WEIR_LD1(name, cache, short, ".s16", "h", short)                                             \
    WEIR_LD1(name, cache, unsigned short, ".u16", "h", unsigned short)                           \
    WEIR_LD1(name, cache, int, ".s32", "r", int)                                                 \
    WEIR_LD1(name, cache, unsigned, ".u32", "r", unsigned)                                       \
    WEIR_LD1(name, cache, long, ".s64", "l", long)                                               \
    WEIR_LD1(name, cache, unsigned long, ".u64", "l", unsigned long)                             \
    WEIR_LD1(name, cache, long long, ".s64", "l", long long)                                     \
    WEIR_LD1(name, cache, unsigned long long, ".u64", "l", unsigned long long)                   \
    WEIR_LD1(name, cache, float, ".f32", "f", float)                                             \
    WEIR_LD1(name, cache, double, ".f64", "d", double)                                           \
    WEIR_LD2(name, cache, char2, ".s8", "h", short)                                                \
    WEIR_LD2(name, cache, uchar2, ".u8", "h", unsigned short)                                      \
    WEIR_LD2(name, cache, short2, ".s16", "h", short)                                              \
    WEIR_LD2(name, cache, ushort2, ".u16", "h", unsigned short)                                    \
    WEIR_LD2(name, cache, int2, ".s32", "r", int)                                                  \
    WEIR_LD2(name, cache, uint2, ".u32", "r", unsigned)                                            \
    WEIR_LD2(name, cache, longlong2, ".s64", "l", long long)                                       \
    WEIR_LD2(name, cache, ulonglong2, ".u64", "l", unsigned long long)                             \
    WEIR_LD2(name, cache, float2, ".f32", "f", float)                                              \
    WEIR_LD2(name, cache, double2, ".f64", "d", double)                                            \
    WEIR_LD4(name, cache, char4, ".s8", "h", short)                                                \
    WEIR_LD4(name, cache, uchar4, ".u8", "h", unsigned short)                                      \
    WEIR_LD4(name, cache, short4, ".s16", "h", short)                                              \
    WEIR_LD4(name, cache, ushort4, ".u16", "h", unsigned short)                                    \
    WEIR_LD4(name, cache, int4, ".s32", "r", int)                                                  \
    WEIR_LD4(name, cache, uint4, ".u32", "r", unsigned)                                            \
    WEIR_LD4(name, cache, float4, ".f32", "f", float)
#define WEIR_ST_ALL(name, cache)                                                                   \
    WEIR_ST1(name, cache, char, ".s8", "h", short)                                                 \
    WEIR_ST1(name, cache, signed char, ".s8", "h", short)                                          \
    WEIR_ST1(name, cache, unsigned char, ".u8", "h", unsigned short)                               \
    WEIR_ST1(name, cache, short, ".s16", "h", short)                                               \
    WEIR_ST1(name, cache, unsigned short, ".u16", "h", unsigned short)                             \
    WEIR_ST1(name, cache, int, ".s32", "r", int)                                                   \
    WEIR_ST1(name, cache, unsigned, ".u32", "r", unsigned)                                         \
    WEIR_ST1(name, cache, long, ".s64", "l", long)                                                 \
    WEIR_ST1(name, cache, unsigned long, ".u64", "l", unsigned long)                               \
    WEIR_ST1(name, cache, long long, ".s64", "l", long long)                                       \
    WEIR_ST1(name, cache, unsigned long long, ".u64", "l", unsigned long long)                     \
    WEIR_ST1(name, cache, float, ".f32", "f", float)                                               \
    WEIR_ST1(name, cache, double, ".f64", "d", double)                                             \
    WEIR_ST2(name, cache, char2, ".s8", "h", short)                                                \
    WEIR_ST2(name, cache, uchar2, ".u8", "h", unsigned short)                                      \
    WEIR_ST2(name, cache, short2, ".s16", "h", short)                                              \
    WEIR_ST2(name, cache, ushort2, ".u16", "h", unsigned short)                                    \
    WEIR_ST2(name, cache, int2, ".s32", "r", int)                                                  \
    WEIR_ST2(name, cache, uint2, ".u32", "r", unsigned)                                            \
    WEIR_ST2(name, cache, longlong2, ".s64", "l", long long)                                       \
    WEIR_ST2(name, cache, ulonglong2, ".u64", "l", unsigned long long)                             \
    WEIR_ST2(name, cache, float2, ".f32", "f", float)                                              \
    WEIR_ST2(name, cache, double2, ".f64", "d", double)                                            \
    WEIR_ST4(name, cache, char4, ".s8", "h", short)                                                \
    WEIR_ST4(name, cache, uchar4, ".u8", "h", unsigned short)                                      \
    WEIR_ST4(name, cache, short4, ".s16", "h", short)                                              \
    WEIR_ST4(name, cache, ushort4, ".u16", "h", unsigned short)                                    \
    WEIR_ST4(name, cache, int4, ".s32", "r", int)                                                  \
    WEIR_ST4(name, cache, uint4, ".u32", "r", unsigned)                                            \
    WEIR_ST4(name, cache, float4, ".f32", "f", float)

WEIR_LD_ALL(__ldcg, ".global.cg")
WEIR_LD_ALL(__ldca, ".global.ca")
WEIR_LD_ALL(__ldcs, ".global.cs")
WEIR_LD_ALL(__ldlu, ".global.lu")
WEIR_LD_ALL(__ldcv, ".global.cv")
WEIR_ST_ALL(__stwb, ".global.wb")
WEIR_ST_ALL(__stcg, ".global.cg")
WEIR_ST_ALL(__stcs, ".global.cs")
WEIR_ST_ALL(__stwt, ".global.wt")

#undef WEIR_LD1
#undef WEIR_LD2
#undef WEIR_LD4
#undef WEIR_ST1
#undef WEIR_ST2
#undef WEIR_ST4
#undef WEIR_LD_ALL
#undef WEIR_ST_ALL

#endif
