/* Every intrinsic function, called once: roundings, conversions, fast approximations, integer and
 * SIMD-in-a-word operations. Compiled only. */
#define ROUNDED2(f, a, b)    f##_rn(a, b) + f##_rz(a, b) + f##_rd(a, b) + f##_ru(a, b)
#define ROUNDED1(f, a)       f##_rn(a) + f##_rz(a) + f##_rd(a) + f##_ru(a)
#define ROUNDED3(f, a, b, c) f##_rn(a, b, c) + f##_rz(a, b, c) + f##_rd(a, b, c) + f##_ru(a, b, c)

__global__ void roundings(float *p, double *d)
{
    float x = p[0], y = p[1], z = p[2];
    p[3] = ROUNDED2(__fadd, x, y) + ROUNDED2(__fsub, x, y) + ROUNDED2(__fmul, x, y) +
           ROUNDED2(__fdiv, x, y) + ROUNDED3(__fmaf, x, y, z) + ROUNDED3(__fmaf_ieee, x, y, z) +
           ROUNDED1(__frcp, x) + ROUNDED1(__fsqrt, x) + __frsqrt_rn(x);
    double a = d[0], b = d[1], c = d[2];
    d[3] = ROUNDED2(__dadd, a, b) + ROUNDED2(__dsub, a, b) + ROUNDED2(__dmul, a, b) +
           ROUNDED2(__ddiv, a, b) + ROUNDED3(__fma, a, b, c) + ROUNDED1(__drcp, a) +
           ROUNDED1(__dsqrt, a);
}

__global__ void fast(float *p)
{
    float x = p[0], y = p[1], s, c;
    p[2] = __sinf(x) + __cosf(x) + __tanf(x) + __expf(x) + __exp10f(x) + __logf(x) + __log2f(x) +
           __log10f(x) + __powf(x, y) + __fdividef(x, y) + __saturatef(x);
    __sincosf(x, &s, &c);
    p[3] = s + c;
}

__global__ void conversions(float *p, double *d, int *q, unsigned *u, long long *l,
                            unsigned long long *ul)
{
    float x = p[0];
    double a = d[0];
    q[0] = ROUNDED1(__float2int, x) + ROUNDED1(__double2int, a) + __double2hiint(a) +
           __double2loint(a) + __float_as_int(x);
    u[0] = ROUNDED1(__float2uint, x) + ROUNDED1(__double2uint, a) + __float_as_uint(x);
    l[0] = ROUNDED1(__float2ll, x) + ROUNDED1(__double2ll, a) + __double_as_longlong(a);
    ul[0] = ROUNDED1(__float2ull, x) + ROUNDED1(__double2ull, a);
    p[1] = ROUNDED1(__int2float, q[1]) + ROUNDED1(__uint2float, u[1]) + ROUNDED1(__ll2float, l[1]) +
           ROUNDED1(__ull2float, ul[1]) + ROUNDED1(__double2float, a) + __int_as_float(q[2]) +
           __uint_as_float(u[2]);
    d[1] = ROUNDED1(__ll2double, l[1]) + ROUNDED1(__ull2double, ul[1]) + __int2double_rn(q[1]) +
           __uint2double_rn(u[1]) + __hiloint2double(q[1], q[2]) + __longlong_as_double(l[2]);
}

__global__ void integers(int *q, unsigned *u, long long *l, unsigned long long *ul)
{
    q[0] = __clz(q[1]) + __clzll(l[1]) + __ffs(q[2]) + __ffsll(l[2]) + __popc(u[1]) +
           __popcll(ul[1]) + __mul24(q[1], q[2]) + __mulhi(q[1], q[2]) + __hadd(q[1], q[2]) +
           __rhadd(q[1], q[2]) + abs(q[3]);
    u[0] = __brev(u[1]) + __byte_perm(u[1], u[2], u[3]) + __umul24(u[1], u[2]) +
           __umulhi(u[1], u[2]) + __uhadd(u[1], u[2]) + __urhadd(u[1], u[2]) +
           __sad(q[1], q[2], u[3]) + __usad(u[1], u[2], u[3]) + __funnelshift_l(u[1], u[2], u[3]) +
           __funnelshift_lc(u[1], u[2], u[3]) + __funnelshift_r(u[1], u[2], u[3]) +
           __funnelshift_rc(u[1], u[2], u[3]);
    l[0] = __mul64hi(l[1], l[2]) + llabs(l[3]);
    ul[0] = __umul64hi(ul[1], ul[2]) + __brevll(ul[3]);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 610
    q[4] = __dp4a(q[1], q[2], q[3]) + __dp2a_lo(q[1], q[2], q[3]) + __dp2a_hi(q[1], q[2], q[3]);
    u[4] = __dp4a(u[1], u[2], u[3]) + __dp2a_lo(u[1], u[2], u[3]) + __dp2a_hi(u[1], u[2], u[3]);
    char4 c = *(char4 *)q;
    uchar4 uc = *(uchar4 *)u;
    q[5] = __dp4a(c, c, q[1]) + __dp2a_lo(*(short2 *)q, c, 1) + __dp2a_hi(*(short2 *)q, c, 1);
    u[5] = __dp4a(uc, uc, u[1]) + __dp2a_lo(*(ushort2 *)u, uc, 1u);
#endif
}

#define BOTH(f, a, b) f##2(a, b) + f##4(a, b)
__global__ void words(unsigned *u)
{
    unsigned a = u[0], b = u[1];
    u[2] = BOTH(__vadd, a, b) + BOTH(__vaddss, a, b) + BOTH(__vaddus, a, b) + BOTH(__vsub, a, b) +
           BOTH(__vsubss, a, b) + BOTH(__vsubus, a, b) + BOTH(__vavgs, a, b) + BOTH(__vavgu, a, b) +
           BOTH(__vhaddu, a, b) + BOTH(__vabsdiffs, a, b) + BOTH(__vabsdiffu, a, b) +
           BOTH(__vmaxs, a, b) + BOTH(__vmaxu, a, b) + BOTH(__vmins, a, b) + BOTH(__vminu, a, b) +
           BOTH(__vsads, a, b) + BOTH(__vsadu, a, b) + __vabs2(a) + __vabs4(a) + __vabsss2(a) +
           __vabsss4(a) + __vneg2(a) + __vneg4(a) + __vnegss2(a) + __vnegss4(a);
    u[3] = BOTH(__vcmpeq, a, b) + BOTH(__vcmpges, a, b) + BOTH(__vcmpgeu, a, b) +
           BOTH(__vcmpgts, a, b) + BOTH(__vcmpgtu, a, b) + BOTH(__vcmples, a, b) +
           BOTH(__vcmpleu, a, b) + BOTH(__vcmplts, a, b) + BOTH(__vcmpltu, a, b) +
           BOTH(__vcmpne, a, b) + BOTH(__vseteq, a, b) + BOTH(__vsetges, a, b) +
           BOTH(__vsetgeu, a, b) + BOTH(__vsetgts, a, b) + BOTH(__vsetgtu, a, b) +
           BOTH(__vsetles, a, b) + BOTH(__vsetleu, a, b) + BOTH(__vsetlts, a, b) +
           BOTH(__vsetltu, a, b) + BOTH(__vsetne, a, b);
    int i = (int)a, j = (int)b, k = (int)u[4];
    bool first, second;
    u[5] = __vimax3_s32(i, j, k) + __vimin3_s32(i, j, k) + __vimax3_u32(a, b, a) +
           __vimin3_u32(a, b, a) + __vimax_s32_relu(i, j) + __vimin_s32_relu(i, j) +
           __vimax3_s32_relu(i, j, k) + __vimin3_s32_relu(i, j, k) + __viaddmax_s32(i, j, k) +
           __viaddmin_s32(i, j, k) + __viaddmax_u32(a, b, a) + __viaddmin_u32(a, b, a) +
           __viaddmax_s32_relu(i, j, k) + __viaddmin_s32_relu(i, j, k) +
           __vibmax_s32(i, j, &first) + __vibmin_u32(a, b, &first) + __vibmax_u32(a, b, &first) +
           __vibmin_s32(i, j, &first);
    u[6] = __vimax3_s16x2(a, b, a) + __vimin3_s16x2(a, b, a) + __vimax3_u16x2(a, b, a) +
           __vimin3_u16x2(a, b, a) + __vimax_s16x2_relu(a, b) + __vimin_s16x2_relu(a, b) +
           __viaddmax_s16x2(a, b, a) + __viaddmin_s16x2(a, b, a) + __viaddmax_u16x2(a, b, a) +
           __viaddmin_u16x2(a, b, a) + __viaddmax_s16x2_relu(a, b, a) +
           __viaddmin_s16x2_relu(a, b, a) + __vimax3_s16x2_relu(a, b, a) +
           __vimin3_s16x2_relu(a, b, a) + __vibmax_s16x2(a, b, &first, &second) +
           __vibmin_u16x2(a, b, &first, &second) + __vibmax_u16x2(a, b, &first, &second) +
           __vibmin_s16x2(a, b, &first, &second);
}
