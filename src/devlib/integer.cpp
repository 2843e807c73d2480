/* Integer functions: minimum, bit counting, averages, high products, byte permutation. */
#include "devlib.h"

FN int __nv_abs(int a) { return a < 0 ? (int)(0u - (u32)a) : a; }
FN long long __nv_llabs(long long a) { return a < 0 ? (long long)(0ull - (u64)a) : a; }

FN int __nv_min(int a, int b) { return a < b ? a : b; }
FN int __nv_max(int a, int b) { return a > b ? a : b; }
FN u32 __nv_umin(u32 a, u32 b) { return a < b ? a : b; }
FN u32 __nv_umax(u32 a, u32 b) { return a > b ? a : b; }
FN long long __nv_llmin(long long a, long long b) { return a < b ? a : b; }
FN long long __nv_llmax(long long a, long long b) { return a > b ? a : b; }
FN u64 __nv_ullmin(u64 a, u64 b) { return a < b ? a : b; }
FN u64 __nv_ullmax(u64 a, u64 b) { return a > b ? a : b; }

FN int __nv_clz(int a) { return __builtin_clzg((u32)a, 32); }
FN int __nv_clzll(long long a) { return __builtin_clzg((u64)a, 64); }
FN int __nv_ffs(int a) { return __builtin_ffs(a); }
FN int __nv_ffsll(long long a) { return __builtin_ffsll(a); }
FN int __nv_popc(u32 a) { return __builtin_popcount(a); }
FN int __nv_popcll(u64 a) { return __builtin_popcountll(a); }
FN int __nv_brev(int a) { return (int)__builtin_bitreverse32((u32)a); }
FN long long __nv_brevll(long long a) { return (long long)__builtin_bitreverse64((u64)a); }

/* Bit 3 of each selector means "sign" to prmt and nothing to __byte_perm. */
FN int __nv_byte_perm(int a, int b, int selector) { return __nvvm_prmt(a, b, selector & 0x7777); }

FN int __nv_hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
FN int __nv_rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
FN int __nv_uhadd(u32 a, u32 b) { return (int)(((u64)a + b) >> 1); }
FN u32 __nv_urhadd(u32 a, u32 b) { return (u32)(((u64)a + b + 1) >> 1); }

FN int __nv_mul24(int a, int b) { return __nvvm_mul24_i(a, b); }
FN u32 __nv_umul24(u32 a, u32 b) { return __nvvm_mul24_ui(a, b); }
FN int __nv_mulhi(int a, int b) { return __nvvm_mulhi_i(a, b); }
FN u32 __nv_umulhi(u32 a, u32 b) { return __nvvm_mulhi_ui(a, b); }
FN long long __nv_mul64hi(long long a, long long b) { return __nvvm_mulhi_ll(a, b); }
FN u64 __nv_umul64hi(u64 a, u64 b) { return __nvvm_mulhi_ull(a, b); }
FN int __nv_sad(int a, int b, int c) { return __nvvm_sad_i(a, b, c); }
FN u32 __nv_usad(u32 a, u32 b, u32 c) { return __nvvm_sad_ui(a, b, c); }
