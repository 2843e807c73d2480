/* A jump into a loop from after a shuffle of matching lanes, which turn in the loop as often as they like.
 * Lanes went through the shuffle that were not of one turn.
 * Seed 2010278 of an older generator. */
#include "program.h"
struct k2010278_struct {
  f64 f0;
  f64 f1;
  u32 f2;
  f32 f3;
  u32 bits : 21;
  u32 rest : 21;
};
typedef u32 (*k2010278_pointer)(const args &, u32, s32, s16, u32);
static HD void k2010278_body(const args &A)
{
  PLACE;
  SHARED(u32, shared_sums, 16, 0);
  for (u32 k = tid; k < 16u; k += nt)
  shared_sums[k] = 0u;
  u32 fuel = 8u, bfuel = 4u;
  u32 v1 = A.in[(gt * 7u + 3u) & 1023u];
  u32 v2 = A.in[gt & 1023u];
  s32 v3 = (s32)A.in[(tid + 100u) & 1023u];
  u8 v4 = (u8)(7u);
  u32 v5 = (u32)A.c;
  u32 v6 = 3701534026u;
  u32 v7 = (v6 + v2);
  u32 a8[16] = {(u32)(((u64)v4) < ((u64)7u)), (u32)((A.q + (u32)v4) >> 19), (v7 << (0x55555555u & 31u)), (1u << (A.in[(v6) & 1023u] & 31u)), ((u32)v4 + v7)};
  u32 ub9 = ((u32)(A.q >> 32) * (u32)A.flag);
  u32 m10 = 0u;
  u32 g11 = 0u;
  u32 w12 = 0u;
  u32 i14 = 0u;
  m10 = MATCH(FULL, ((u32)(s16)(A.in[((u32)(lane > nt)) & 1023u])) & 3u);
  g11 = 5u;
  w12 = SHUFFLE(m10, (ub9 - (u32)v3), lane_of(m10, 0u), 32);
  {
    for (i14 = 0; i14 < ((v1 % (v7 | 1u)) & 7u) && FUEL(fuel); i14++) {
      v2 = bytes_of(bits32(((f32)v4)), product_high(A.in[((0x55555555u + v7)) & 1023u], (u32)(A.q >> 32)), (v7 - 0xfffffffeu));
      if ((((v5) & 3u) == 0u) && FUEL(fuel)) goto L13;
      L13:;
      v2 = A.in[((v1 << (319084323u & 31u))) & 1023u];
      v7 = (v7 | (v1 + warp));
    }
    v1 = SHUFFLE(m10, (u32)((product_high(tid, A.in[((u32)remainder_of((s32)((u32)v4), (s32)(tid))) & 1023u]) + (v5 << ((u32)v4 & 31u)))), lane_of(m10, (3u * 2u)), 32);
    if ((1u != (ub9 / (BLOCK_X | 1u))) && FUEL(g11)) goto L13;
  }
  ub9 = (nt * (A.a + 5u));
  L16:;
  a8[(product_high(ub9, (u32)v3)) & 15u] ^= ((0x80000000u + 0xffffu) / ((tid % (v2 | 1u)) | 1u));
  if ((((u32)A.q - (u32)A.flag) == A.in[ub9 & 1023u]) && FUEL(bfuel)) goto L16;
  ub9 = SYNC_AND(lane < 14u);
  if (((((u32)(s32)A.h + 0xfffffffeu)) & 1u) != 0u) {
    v5 = product_high(v1, (u32)quotient((s32)(1u), (s32)(A.in[(((u32)v3 ^ v1)) & 1023u])));
  }
  own[0] ^= ((u32)v1);
  own[1] ^= ((u32)v2);
  own[2] ^= ((u32)v3);
  own[3] ^= ((u32)v4);
  own[4] ^= ((u32)v5);
  own[5] ^= ((u32)v6);
  own[6] ^= ((u32)v7);
  for (fuel = 0u; fuel < 16u; fuel++)
  own[15] = own[15] * 31u + a8[fuel];
}
extern "C" __global__ void k2010278(args A) { k2010278_body(A); }
#ifndef __CUDA_ARCH__
static void k2010278_body_of(args A) { k2010278_body(A); }
#endif
#ifndef __CUDA_ARCH__
static const struct kernel kernels[] = {
  {"k2010278", 2010278ull, dim3(3, 1, 1), dim3(3, 5, 7), 0, 315, (const void *)k2010278, k2010278_body_of, {NULL, NULL, NULL, 2009u, 0xea9db34d739ull, -3.25f, -1e100, 18068, 164, true}},
};
int main(int argc, char **argv)
{
  return program_main(argc, argv, kernels, sizeof kernels / sizeof kernels[0]);
}
#endif
