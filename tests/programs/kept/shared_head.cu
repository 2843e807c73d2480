/* A jump back into a loop and a jump back over a barrier that compilers give one head. Lanes in the inner loop
 * were not waited for at the barrier. Seed 2006219. */
#include "program.h"
typedef u32 (*k2006219_pointer)(const args &, u64, f64, u64, u32);
static HD void k2006219_body(const args &A)
{
  PLACE;
  DYNAMIC(u32, s0);
  SHARED(u32, shared_sums, 16, 0);
  for (u32 k = tid; k < 16u; k += nt)
  shared_sums[k] = 0u;
  u32 fuel = 34u, bfuel = 10u;
  u32 v1 = A.in[gt & 1023u];
  u32 v2 = A.in[tid & 1023u] & 15u;
  s32 v3 = (s32)A.in[(tid + 100u) & 1023u];
  u8 v4 = (u8)((((u32)v3 * v2) - 128u));
  s16 v5 = (s16)(((v1 - (u32)v3) | ((u32)v4 - v1)));
  u32 v6 = (((u64)tid << 32) == ((u64)(u32)v5) ? (u32)v5 : 3627000886u);
  u32 v7 = product_high(v1, v1);
  u32 ub8 = -(A.a);
  u32 ub9 = 31u;
  s0[tid] = (u32)(u8)((A.in[((u32)v3) & 1023u] + 31u));
  u32 i12 = 0u;
  s0[tid] = (u32)((u64)((s64)((u64)v2) >> (((u64)v6) & 63u)) >> 11);
  switch ((product_high((u32)v4, product_high((u32)v4, (u32)v3))) % 4u) {
    default:
    v2 |= (u32)(u16)((1u + (THREAD_Y + THREAD_Z)));
    if (((u32)(s16)(15u) > (v6 & v7)) && FUEL(fuel)) goto L11;
    case 1:
    v5 = (s16)(((u32)v3 | A.in[(s0[tid]) & 1023u]));
    break;
  }
  if (((s0[tid] / (v7 | 1u)) > (v6 ^ s0[tid])) && FUEL(fuel)) goto L11;
  L11:;
  for (i12 = 0; i12 < ((3236526155u * v6) & 7u) && FUEL(fuel); i12++) {
    s0[tid] = (u32)((s32)(gt) >> (v6 & 31u));
  }
  if ((first_set((THREAD_Y + THREAD_Z)) > ((u32)v5 * s0[tid])) && FUEL(fuel)) goto L11;
  s0[tid] = (v1 + ((u32)v5 * ub9));
  SYNC(); // phase
  {
    v1 ^= s0[(A.in[((((f32)v6) == ((f32)v4) ? s0[tid] : 0xffffffffu)) & 1023u]) % nt];
    v2 = (u32)((s32)(tid));
  }
  SYNC(); // phase
  if (((((u32)(s8)(ub8)) & 1u) != 0u) && FUEL(bfuel)) goto L11;
  own[0] ^= ((u32)v1);
  own[1] ^= ((u32)v2);
  own[2] ^= ((u32)v3);
  own[3] ^= ((u32)v4);
  own[4] ^= ((u32)v5);
  own[5] ^= ((u32)v6);
  own[6] ^= ((u32)v7);
}
extern "C" __global__ void k2006219(args A) { k2006219_body(A); }
#ifndef __CUDA_ARCH__
static void k2006219_body_of(args A) { k2006219_body(A); }
#endif
#ifndef __CUDA_ARCH__
static const struct kernel kernels[] = {
  {"k2006219", 2006219ull, dim3(3, 1, 1), dim3(1, 32, 1), 128, 96, (const void *)k2006219, k2006219_body_of, {NULL, NULL, NULL, 515490761u, 0x7cfe7ec78ull, 1e10f, 2.5, 20031, 85, false}},
};
int main(int argc, char **argv)
{
  return program_main(argc, argv, kernels, sizeof kernels / sizeof kernels[0]);
}
#endif
