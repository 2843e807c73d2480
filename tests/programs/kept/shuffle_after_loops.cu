/* A shuffle after two loops, and a jump from after it into the inner one. Lanes came to it in different turns.
 * Seed 2000264 of an older generator. */
#include "program.h"
typedef u32 (*k2000264_pointer)(const args &, f64, u32, s64, u32);
static __noinline__ HD u32 k2000264_f0(const args &A, f64 x0, u32 x1, s64 x2, u32 depth)
{
  PLACE;
  u32 fuel = 8u;
  bool v1 = (((gt ^ x1)) & 0x15u) == 0u;
  s8 v2 = (s8)(((depth + A.in[(0x7fffffffu) & 1023u]) + A.in[((5u - (u32)(x2 >> 17))) & 1023u]));
  s16 v3 = (s16)((u32)bits64(x0));
  u32 v4 = (u32)(s16)(32u);
  u32 v5 = bytes_of((u32)(x2 >> 17), 127u, (u32)to_s32(x0));
  u32 i6 = 0u;
  if (((((u32)v3 & (u32)A.flag)) & 1u) != 0u) {
    for (i6 = lane; i6 < 583u && FUEL(fuel); i6 += nt) {
      v5 = v5 * 31u + A.in[i6 & 1023u];
      v5 = (8u & ((u32)A.c + (u32)v1));
    }
  } else {
    x0 += ((f64)((f32)x2) * ((f64)((u32)v3) + ((v1 ? 1.25 : -3.0))));
  }
  if (depth != 0u && depth < 5u && (((u64)v5) > ((u64)x2))) {
    v5 += k2000264_f0(A, (f64)((f64)(f32)((s16)8u)), (u32)(product_high((u32)(bits64(x0) >> 32), v5)), (s64)((s64)((u64)v4)), depth - 1u);
  }
  return ((u32)bits64(x0) ^ (u32)(bits64(x0) >> 32)) * 1u ^ ((u32)x1) * 3u ^ ((u32)x2 ^ (u32)((u64)x2 >> 32)) * 5u ^ ((u32)v1) * 7u ^ ((u32)v2) * 9u ^ ((u32)v3) * 11u ^ ((u32)v4) * 13u ^ ((u32)v5) * 15u;
}
static HD u32 k2000264_b0(const args &A, u32 ub, u32 x, u32 depth, f64 *s0)
{
  PLACE;
  u32 fuel = 9u, bfuel = 5u;
  u64 v1 = ((((u64)0x10000u * 0x100000001ull) % (((u64)x) | 1u)) ^ (u64)((s64)((u64)0xfffffffeu << 32) >> (((u64)x) & 63u)));
  u32 v2 = (((u64)(u32)A.flag) == ((u64)warp) ? (u32)bits64(s0[tid]) : 255u);
  u32 v3 = bits32((f32)((u8)16u));
  u32 a4[16] = {(v2 + 7u), bits32(((f32)v2)), (u32)v1, (A.in[(((u32)v1 + (u32)(v1 >> 32))) & 1023u] % (15u | 1u)), ((u32)to_s32(s0[tid]) + (u32)(v1 >> 32)), popcount(tid), 128u, (v3 - A.in[((A.in[((u32)((v1) >> 31)) & 1023u] + lane)) & 1023u]), bits32(((f32)v1)), (1893761126u | 0x9e3779b9u)};
  u32 m5 = 0u;
  u32 g6 = 0u;
  u32 w7 = 0u;
  bool c8 = false;
  v2 = SUM(whole, (((u32)bits64(s0[tid]) - (u32)bits64(s0[tid])) | ((u32)(v1 >> 32) + (u32)to_s32(s0[tid]))));
  c8 = ((a4[(v3) & 15u]) & 8u) == 0u;
  m5 = BALLOT(whole, c8);
  g6 = 7u;
  w7 = (u32)(((u64)A.in[ub & 1023u]) >> 6);
  if (c8) {
    atomic_and(&A.sums->and_[((v3 & 32u)) & 7u], leading_zeros((warp | 15u)));
  }
  if (depth != 0u && (0xffffffffu < 15u)) {
    v1 = (u64)k2000264_b0(A, popcount((u32)A.flag), (u32)(s16)(v3), depth - 1u, s0);
  }
  return ((u32)x) * 1u ^ ((u32)v1 ^ (u32)((u64)v1 >> 32)) * 3u ^ ((u32)v2) * 5u ^ ((u32)v3) * 7u;
}
static __forceinline__ HD void k2000264_body(const args &A)
{
  PLACE;
  DYNAMIC(f64, s0);
  SHARED(u32, shared_sums, 16, 0);
  for (u32 k = tid; k < 16u; k += nt)
  shared_sums[k] = 0u;
  u32 fuel = 30u, bfuel = 12u;
  u32 v1 = A.in[(gt * 7u + 3u) & 1023u];
  u32 v2 = lane * 3u + 1u;
  s32 v3 = (s32)A.in[(tid + 100u) & 1023u];
  f64 v4 = (f64)(s32)A.in[(gt + 200u) & 1023u];
  s64 v5 = (s64)(s32)A.in[(gt + 200u) & 1023u];
  s64 v6 = (s64)(bits64(v4));
  f64 v7 = ((((f64)v1) * (v4)) + (-2.5 * (f64)((s16)0xfffffffeu)));
  s8 v8 = (s8)((u32)(s8)((lane * A.in[((4217223802u - (u32)(v5 >> 17))) & 1023u])));
  u32 v9 = (u32)(((u64)(u32)v5 * 0x100000001ull) >> 6);
  u32 v10 = (nt + 15u);
  u32 ub11 = (((GRID_X) & 2u) == 0u ? (u32)A.q : 1664525u);
  s0[tid] = ((f64)((u8)1u) + ((f64)((s16)0x8000u) - (f64)((s32)THREAD_X)));
  u32 i12 = 0u;
  for (i12 = tid; i12 < 139u && FUEL(fuel); i12 += nt) {
    v9 = v9 * 31u + A.in[i12 & 1023u];
    if (((((u32)(bits64(s0[tid]) >> 32) << (v10 & 31u))) & 4u) != 0u) {
      L13:;
      v2 &= ~(bytes_of((u32)(bits64(s0[tid]) >> 32), A.in[((v1 + 33u)) & 1023u], (u32)(bits64(s0[tid]) >> 32)));
    } else {
      v2 *= ((v10 + (u32)to_s32(s0[tid])) ^ ((u32)(bits64(s0[tid]) >> 32) + (u32)(A.q >> 32)));
      if ((((v2) & 4u) == 0u) && FUEL(fuel)) goto L13;
    }
  }
  v10 += k2000264_b0(A, ((u32)A.c * (u32)A.q), (A.in[(A.in[((GRID_X >> ((u32)v3 & 31u))) & 1023u]) & 1023u] - gt), 0u, s0);
  v9 = SHUFFLE(whole, (u32)(bits32(fused((f32)((s16)v9), ((f32)v1), ((f32)v6)))), lane + 1u, 8);
  if (((((0x10000u ^ A.in[(u32)(A.q >> 32) & 1023u])) & 8u) == 0u) && FUEL(bfuel)) goto L13;
  own[0] ^= ((u32)v1);
  own[1] ^= ((u32)v2);
  own[2] ^= ((u32)v3);
  own[3] ^= ((u32)bits64(v4) ^ (u32)(bits64(v4) >> 32));
  own[4] ^= ((u32)v5 ^ (u32)((u64)v5 >> 32));
  own[5] ^= ((u32)v6 ^ (u32)((u64)v6 >> 32));
  own[6] ^= ((u32)bits64(v7) ^ (u32)(bits64(v7) >> 32));
  own[7] ^= ((u32)v8);
  own[8] ^= ((u32)v9);
  own[9] ^= ((u32)v10);
}
extern "C" __global__ void k2000264(args A) { k2000264_body(A); }
#ifndef __CUDA_ARCH__
static void k2000264_body_of(args A) { k2000264_body(A); }
#endif
#ifndef __CUDA_ARCH__
static const struct kernel kernels[] = {
  {"k2000264", 2000264ull, dim3(2, 2, 1), dim3(4, 4, 4), 512, 256, (const void *)k2000264, k2000264_body_of, {NULL, NULL, NULL, 126u, 0x175fd45802c0da19ull, 0.0f, -1e100, -28960, 223, true}},
};
int main(int argc, char **argv)
{
  return program_main(argc, argv, kernels, sizeof kernels / sizeof kernels[0]);
}
#endif
