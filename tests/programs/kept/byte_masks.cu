/* Stores of eight bytes under a mask, in a kernel that spills it: with AVX-512, LLVM stored sixteen. Seed 78. */
#define INPUTS 16384u
#define FLOATS 8192u
#include "program.h"
/* Seed 78. */
static __forceinline__ HD void k78_body(const args &A)
{
  PLACE;
  const u8 *__restrict__ in_u8 = (const u8 *)A.in;
  const s16 *__restrict__ in_s16 = (const s16 *)(A.in + 64);
  const s32 *in_s32 = (const s32 *)A.in;
  const f32 *in_f32 = (const f32 *)(A.in + 8192);
  const int W = (int)A.a, H = (int)(A.q & 0xffff), K = (int)A.h, radius = (int)A.c; (void)W, (void)H, (void)K, (void)radius;
  u32 *count_u = A.out + 24576u; f32 *count_f = (f32 *)(count_u + 1024); s32 *count_s = (s32 *)(count_u + 2048);
  u64 *count_l = (u64 *)(count_u + 2560); f64 *count_d = (f64 *)(count_u + 3072);
  const int x = BLOCK_X * SIZE_X + THREAD_X;
  const int y = BLOCK_Y * SIZE_Y + THREAD_Y;
  u32 v1 = 0;
  f32 v2 = 0;
  f32 v3 = 0;
  int v4 = 0;
  u32 v5 = 0;
  u8 *const out_6 = (u8 *)(A.out + 0u);
  s32 *out_7 = (s32 *)(A.out + 2048u);
  SHARED(u32, s8, 64, 0);
  u64 *out_14 = (u64 *)(A.out + 4096u);
  u64 *out_15 = (u64 *)(A.out + 6144u);
  u64 *out_16 = (u64 *)(A.out + 8192u);
  u64 *out_17 = (u64 *)(A.out + 10240u);
  u64 *out_18 = (u64 *)(A.out + 12288u);
  out_6[y * 32 + x] = (u8)(2);
  for (u32 j9 = tid; j9 < 64u; j9 += nt)
  s8[j9] = 0;
  SYNC();
  for (u32 j9 = tid; j9 < 64u; j9 += nt)
  atomic_add(&count_u[512 + j9], s8[j9]);
  if (((y + y) + 1) >= 22) {
    {
      u32 c12 = (u32)((size_t)((in_s32[(size_t)(((int)gt + y * 17))] & 255))), n11 = 0;
      while (c12 > 5u && n11++ < 6u) {
        c12 = (in_u8[c12] + 0u * c12) % 32768u;
        for (int n13 = 0; n13 < 6 && ((int)c12 & 3) == 0; n13++) {
          out_6[y * 32 + x] = (u8)((min(max((int)c12, -1000), 1000) + ((int)in_u8[(s64)(((int)gt + 32))] + (int)in_u8[x])) * (((y + y) - ((v4 & 4095) + (int)gt)) & 4095));
          out_7[y * 32 + x] = (s32)((u64)out_7[y * 32 + x] + (u64)(n13));
        }
      }
    }
  } else {
    v2 += in_f32[(((x + y) + 3)) % 16];
  }
  out_14[y * 32 + x] = (u64)v1;
}
extern "C" __global__ void __launch_bounds__(32) k78(args A) { k78_body(A); }
#ifndef __CUDA_ARCH__
static void k78_body_of(args A) { k78_body(A); }
#endif
#ifndef __CUDA_ARCH__
static const struct kernel kernels[] = {
  {"k78", 78ull, dim3(4, 8, 1), dim3(8, 4, 1), 0, 1195, (const void *)k78, k78_body_of, {NULL, NULL, NULL, 27u, 0x2bbfe0020ull, 1.5f, 2.5, 3, 1, false}},
};
int main(int argc, char **argv)
{
  return program_main(argc, argv, kernels, sizeof kernels / sizeof kernels[0]);
}
#endif
