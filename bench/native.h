/* For the native versions: vectors as wide as this machine's registers. */
#ifndef BENCH_NATIVE_H
#define BENCH_NATIVE_H

#ifdef __AVX512F__
enum { LANES = 16 };
#else
enum { LANES = 8 };
#endif
typedef float vfloat __attribute__((vector_size(LANES * 4)));
typedef float vfloat_unaligned __attribute__((vector_size(LANES * 4), aligned(4)));
typedef int vint __attribute__((vector_size(LANES * 4)));

static inline vfloat vload(const float *p) { return *(const vfloat_unaligned *)p; }
static inline void vstore(float *p, vfloat v) { *(vfloat_unaligned *)p = v; }

#endif
