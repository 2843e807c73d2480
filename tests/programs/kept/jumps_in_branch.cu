/* Jumps back in one side of a branch, before warp synchronization by part of the lanes, and from after it.
 * Seed 2012984 of an older generator. */
#include "program.h"
struct k2012984_struct {
  s32 f0;
  s16 f1;
  bool f2;
  s16 f3;
  u16 f4;
  u32 bits : 26;
  u32 rest : 8;
};
typedef u32 (*k2012984_pointer)(const args &, u32, u32, u32);
static HD u32 k2012984_m0(const args &A, u32 mask, u32 um, u32 x, u32 depth)
{
  PLACE;
  u32 fuel = 5u, mfuel = 6u;
  u16 v1 = (u16)((u32)(lane > 6u));
  u32 v2 = (gt + (u32)v1);
  u32 v3 = ((u32)v1 + 2u);
  u32 a4[8] = {(33u - 0xffffffffu)};
  v3 = (v3 + 7u);
  v2 = (128u - v3);
  a4[(32u) & 7u] = bytes_of((u32)(s16)(0xffffffffu), (A.in[(product_high((u32)v1, gt)) & 1023u] / (16u | 1u)), (2u + (u32)v1));
  if (depth != 0u && (32u <= A.in[um & 1023u])) {
    x ^= k2012984_m0(A, mask, (GRID_X >> (um & 31u)), (u32)remainder_of((s32)(x), (s32)(7u)), depth - 1u);
  }
  return ((u32)x) * 1u ^ ((u32)v1) * 3u ^ ((u32)v2) * 5u ^ ((u32)v3) * 7u;
}
static HD void k2012984_body(const args &A)
{
  PLACE;
  DYNAMIC(s16, s0);
  SHARED(u32, shared_sums, 16, 0);
  for (u32 k = tid; k < 16u; k += nt)
  shared_sums[k] = 0u;
  u32 fuel = 18u, bfuel = 14u;
  u32 v1 = lane * 3u + 1u;
  u32 v2 = tid;
  s32 v3 = (s32)A.in[(tid + 100u) & 1023u];
  f32 v4 = (((f32)v1) + ((f32)v1));
  s16 v5 = (s16)(((u32)(((f32)v1) < ((f32)v2)) + -((u32)v3)));
  s16 v6 = (s16)((v1 * bytes_of((u32)v5, v1, 1125946473u)));
  u32 v7 = (u32)(((u64)A.in[((tid > 26u ? 32u : v2)) & 1023u] * 0x100000001ull) >> 30);
  u32 v8 = bytes_of(v2, v2, bits32(v4));
  u32 ub9 = popcount(A.a);
  s0[tid] = (s16)(-((2587107129u + 0x80000000u)));
  u32 m11 = 0u;
  u32 g12 = 0u;
  u32 w13 = 0u;
  bool c14 = false;
  c14 = !(((THREAD_X) & 1u) != 0u);
  m11 = BALLOT(FULL, c14);
  g12 = 8u;
  w13 = (256u % (5u | 1u));
  if (c14) {
    L15:;
    v1 += atomic_max(&own[16u + (1916524308u & 3u)], ((u32)s0[tid] / (v7 | 1u)));
    if (((((u32)v3) & 3u) != 0u) && FUEL(fuel)) goto L15;
    v7 = (0x8000u + to_u32(v4));
    if (((s32)(bits32(((f32)v2))) < (s32)(((u32)v3 + lane))) && FUEL(fuel)) goto L15;
    v1 ^= own[16u + ((u32)s0[tid] & 3u)];
    if ((tid > 24u) && FUEL(fuel)) goto L15;
    s0[tid] = (s16)((u32)((s32)(warp) >> ((u32)(A.q >> 32) & 31u)));
    WARP_SYNC(m11); // phase
    v7 = (u32)s0[(tid & ~31u) + lane_of(m11, (u32)s0[tid])];
    WARP_SYNC(m11); // phase
    if ((A.in[nt & 1023u] < (w13 + 8u)) && FUEL(g12)) goto L15;
  } else {
    m11 = BALLOT(FULL & ~m11, true);
    v1 = ((u32)to_u8(v4) == A.in[((63u >> (0x55555555u & 31u))) & 1023u] ? ((u32)(((u64)v8) >> 9) << ((u32)((s32)(0x7fffffffu) >> (v2 & 31u)) & 31u)) : (u32)(((u64)v1) >> 8));
  }
  own[0] ^= ((u32)v1);
  own[1] ^= ((u32)v2);
  own[2] ^= ((u32)v3);
  own[3] ^= bits32(v4);
  own[4] ^= ((u32)v5);
  own[5] ^= ((u32)v6);
  own[6] ^= ((u32)v7);
  own[7] ^= ((u32)v8);
}
extern "C" __global__ void k2012984(args A) { k2012984_body(A); }
#ifndef __CUDA_ARCH__
static void k2012984_body_of(args A) { k2012984_body(A); }
#endif
#ifndef __CUDA_ARCH__
static const struct kernel kernels[] = {
  {"k2012984", 2012984ull, dim3(1, 1, 1), dim3(100, 1, 1), 200, 100, (const void *)k2012984, k2012984_body_of, {NULL, NULL, NULL, 11764275u, 0x32aec98559baf6faull, 1e10f, 7.0, -2407, 127, true}},
};
int main(int argc, char **argv)
{
  return program_main(argc, argv, kernels, sizeof kernels / sizeof kernels[0]);
}
#endif
