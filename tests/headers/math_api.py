#!/usr/bin/env python3
"""Writes a CUDA program that calls every function of the Math API once ("CUDA Math API Reference
Manual", its lists of functions), each in a device function of its own, so that a compiler that goes
on names all that are missing.

  python3 math_api.py > math_api.cu
"""
one = """
    __habs __hneg hsqrt hrsqrt hrcp hlog hlog2 hlog10 hcos hsin hexp hexp2 hexp10 hceil hfloor
    hrint htrunc htanh htanh_approx
""".split()
two = """
    __hadd __hsub __hmul __hdiv __hadd_rn __hsub_rn __hmul_rn __hadd_sat __hsub_sat __hmul_sat
    __hmax __hmin __hmax_nan __hmin_nan
""".split()
three="__hfma __hfma_sat __hfma_relu".split()
cmp="__heq __hne __hle __hge __hlt __hgt __hequ __hneu __hleu __hgeu __hltu __hgtu".split()
one2 = """
    __habs2 __hneg2 h2sqrt h2rsqrt h2rcp h2log h2log2 h2log10 h2cos h2sin h2exp h2exp2 h2exp10
    h2ceil h2floor h2rint h2trunc h2tanh h2tanh_approx __hisnan2 __lows2X2 __highs2X2 __low2X2
    __high2X2 __lowhigh2highlow
""".split()
two2 = """
    __hadd2 __hsub2 __hmul2 __h2div __hadd2_rn __hsub2_rn __hmul2_rn __hadd2_sat __hsub2_sat
    __hmul2_sat __hmax2 __hmin2 __hmax2_nan __hmin2_nan __heq2 __hne2 __hle2 __hge2 __hlt2 __hgt2
    __hequ2 __hneu2 __hleu2 __hgeu2 __hltu2 __hgtu2 __hbeq2 __hbne2 __hble2 __hbge2 __hblt2
    __hbgt2 __hbequ2 __hbneu2 __hbleu2 __hbgeu2 __hbltu2 __hbgtu2 __heq2_mask __hne2_mask
    __hle2_mask __hge2_mask __hlt2_mask __hgt2_mask __hequ2_mask __hneu2_mask __hleu2_mask
    __hgeu2_mask __hltu2_mask __hgtu2_mask __lows2X2 __highs2X2
""".split()
three2="__hfma2 __hfma2_sat __hfma2_relu __hcmadd".split()
def lines(T,T2,n,N2,raw):
    L=[]
    for f in one: L.append(f"{f}(a)")
    L+=["__hisnan(a)","__hisinf(a)"]
    for f in two: L.append(f"{f}(a,b)")
    for f in three: L.append(f"{f}(a,b,c)")
    for f in cmp: L.append(f"{f}(a,b)")
    for f in one2:
        f=f.replace("X",n)
        if f.startswith(("__lows","__highs")): continue
        L.append(f"{f}(p)")
    for f in two2: L.append(f"{f.replace('X',n)}(p,q)")
    for f in three2: L.append(f"{f}(p,q,r)")
    for t in ("int","uint","short","ushort","ll","ull"):
        for m in ("rn","rz","rd","ru"):
            L.append(f"__{n}2{t}_{m}(a)"); L.append(f"__{t}2{n}_{m}(1)")
    L += [f"__{n}2char_rz(a)",f"__{n}2uchar_rz(a)",f"__float2{n}(1.f)",f"__float2{n}_rn(1.f)",f"__float2{n}_rz(1.f)",f"__float2{n}_rd(1.f)",f"__float2{n}_ru(1.f)",f"__double2{n}(1.0)",f"__{n}2float(a)",
        f"__{n}_as_short(a)",f"__{n}_as_ushort(a)",f"__short_as_{n}(1)",f"__ushort_as_{n}(1)",f"__{n}2{n}2(a)",f"__float2{n}2_rn(1.f)",f"__floats2{n}2_rn(1.f,2.f)",f"__float22{n}2_rn(f2)",f"__halves2{n}2(a,b)",f"__low2float(p)",f"__high2float(p)",f"__low2{n}(p)",f"__high2{n}(p)",f"__low2{n}2(p)",f"__high2{n}2(p)",f"__lows2{n}2(p,q)",f"__highs2{n}2(p,q)",f"make_{N2}(a,b)",f"__{N2}2float2(p)".replace("bfloat1622float2","bfloat1622float2")]
    for s in ("","_up","_down","_xor"):
        L+= [f"__shfl{s}_sync(~0u,a,1)",f"__shfl{s}_sync(~0u,p,1)"]
    for s in ("__ldg","__ldcg","__ldca","__ldcs","__ldlu","__ldcv"): L+= [f"{s}(pa)",f"{s}(pp)"]
    for s in ("__stwb","__stcg","__stcs","__stwt"): L+= [f"{s}(pa,a)",f"{s}(pp,p)"]
    L += [
        "atomicAdd(pa,a)", "atomicAdd(pp,p)", "a+b", "a-b", "a*b", "a/b", "-a", "+a", "a==b",
        "a!=b", "a<b", "a<=b", "a>b", "a>=b", "p+q", "p-q", "p*q", "p/q", "-p", "p==q", "p!=q",
        "p<q", "p>q", "p<=q", "p>=q", "a+=b", "a-=b", "a*=b", "a/=b", "++a", "a++", "--a", "a--",
        "p+=q", "++p", "p--", "(int)a", "(bool)a", "(unsigned long long)a", "(short)a",
        "(double)(float)a", "max(1,2)",
    ]
    return L
simd="__vabs2 __vabs4 __vabsss2 __vabsss4 __vneg2 __vneg4 __vnegss2 __vnegss4".split()
simd2 = """
    vabsdiffs vabsdiffu vadd vaddss vaddus vavgs vavgu vcmpeq vcmpges vcmpgeu vcmpgts vcmpgtu
    vcmples vcmpleu vcmplts vcmpltu vcmpne vhaddu vmaxs vmaxu vmins vminu vsads vsadu vseteq
    vsetges vsetgeu vsetgts vsetgtu vsetles vsetleu vsetlts vsetltu vsetne vsub vsubss vsubus
""".split()
S=[f"{f}(u)" for f in simd]+[f"__{f}{k}(u,v)" for f in simd2 for k in (2,4)]
dpx3 = """
    __viaddmax_s32 __viaddmax_s16x2 __viaddmax_u32 __viaddmax_u16x2 __viaddmin_s32
    __viaddmin_s16x2 __viaddmin_u32 __viaddmin_u16x2 __viaddmax_s32_relu __viaddmax_s16x2_relu
    __viaddmin_s32_relu __viaddmin_s16x2_relu __vimax3_s32 __vimax3_s16x2 __vimax3_u32
    __vimax3_u16x2 __vimin3_s32 __vimin3_s16x2 __vimin3_u32 __vimin3_u16x2 __vimax3_s32_relu
    __vimax3_s16x2_relu __vimin3_s32_relu __vimin3_s16x2_relu
""".split()
S += [f"{f}(1,2,3)" for f in dpx3]
S += [
    "__vimax_s32_relu(1,2)", "__vimax_s16x2_relu(1,2)", "__vimin_s32_relu(1,2)",
    "__vimin_s16x2_relu(1,2)",
]
S += [f"__vibm{m}_{t}(1,2,{b})"
    for m in ("ax","in")
    for t,b in (("s32","&pr"),("u32","&pr"),("s16x2","&pr,&pr"),("u16x2","&pr,&pr"))]
I = """
    __brev(u) __brevll(u) __byte_perm(u,v,1) __clz(1) __clzll(1)
    __dp2a_hi(make_short2(1,2),make_char4(1,2,3,4),1) __dp2a_lo(1,2,3) __dp2a_hi(1u,2u,3u)
    __dp4a(1,2,3) __dp4a(1u,2u,3u) __dp4a(make_char4(1,2,3,4),make_char4(1,2,3,4),1) __ffs(1)
    __ffsll(1) __fns(u,0,1) __funnelshift_l(u,v,1) __funnelshift_lc(u,v,1) __funnelshift_r(u,v,1)
    __funnelshift_rc(u,v,1) __hadd(1,2) __mul24(1,2) __mul64hi(1ll,2ll) __mulhi(1,2)
    __nv_bswap16(1) __nv_bswap32(1) __nv_bswap64(1) __popc(u) __popcll(u) __rhadd(1,2)
    __sad(1,2,u) __uhadd(u,v) __umul24(u,v) __umul64hi(1,2) __umulhi(u,v) __urhadd(u,v)
    __usad(u,v,u)
""".split()
f1 = """
    acosf acoshf asinf asinhf atanf atanhf cbrtf ceilf cosf coshf cospif cyl_bessel_i0f
    cyl_bessel_i1f erfcf erfcinvf erfcxf erff erfinvf exp10f exp2f expf expm1f fabsf floorf ilogbf
    isfinite isinf isnan j0f j1f lgammaf llrintf llroundf log10f log1pf log2f logbf logf lrintf
    lroundf nearbyintf normcdff normcdfinvf rcbrtf rintf roundf rsqrtf signbit sinf sinhf sinpif
    sqrtf tanf tanhf tgammaf truncf y0f y1f __cosf __exp10f __expf __log10f __log2f __logf
    __saturatef __sinf __tanf __tanhf __frcp_rn __frcp_rz __frcp_ru __frcp_rd __fsqrt_rn
    __fsqrt_rz __fsqrt_ru __fsqrt_rd __frsqrt_rn
""".split()
f2 = """
    atan2f copysignf fdimf fdividef fmaxf fminf fmodf hypotf nextafterf powf remainderf rhypotf
    __fadd_rn __fadd_rz __fadd_ru __fadd_rd __fsub_rn __fsub_rz __fsub_ru __fsub_rd __fmul_rn
    __fmul_rz __fmul_ru __fmul_rd __fdiv_rn __fdiv_rz __fdiv_ru __fdiv_rd __fdividef __powf
""".split()
S2 = [f"{f}(1.f)" for f in f1]
S2 += [f"{f}(1.f,2.f)" for f in f2]
S2 += [
    "fmaf(1.f,2.f,3.f)", "frexpf(1.f,&i)", "jnf(1,1.f)", "ynf(1,1.f)", "ldexpf(1.f,1)",
    "modff(1.f,&fl)", "nanf(\"\")", "norm3df(1.f,2.f,3.f)", "norm4df(1.f,2.f,3.f,4.f)",
    "normf(1,&fl)", "rnorm3df(1.f,2.f,3.f)", "rnorm4df(1.f,2.f,3.f,4.f)", "rnormf(1,&fl)",
    "remquof(1.f,2.f,&i)", "scalblnf(1.f,1)", "scalbnf(1.f,1)", "sincosf(1.f,&fl,&fl)",
    "sincospif(1.f,&fl,&fl)", "__sincosf(1.f,&fl,&fl)",
]
S2 += [f"__fmaf_{m}(1.f,2.f,3.f)"
    for m in ("rn","rz","ru","rd","ieee_rn","ieee_rz","ieee_ru","ieee_rd")]
S2 += ["__fadd2_rn(f2,f2)","__fmul2_rn(f2,f2)","__ffma2_rn(f2,f2,f2)"]
d1=[x[:-1] for x in f1 if x.endswith("f") and not x.startswith("__")]
S3 = [f"{x}(1.0)" for x in d1 if x != "isin"]
S3 += [f"{x[:-1]}(1.0,2.0)"
    for x in f2 if x.endswith("f") and not x.startswith("__") and x!="fdividef"]
S3 += [f"__d{o}_{m}(1.0,2.0)" for o in ("add","sub","mul","div") for m in ("rn","rz","ru","rd")]
S3 += [f"__d{o}_{m}(1.0)" for o in ("rcp","sqrt") for m in ("rn","rz","ru","rd")]
S3 += [f"__fma_{m}(1.0,2.0,3.0)" for m in ("rn","rz","ru","rd")]
S3 += [
    "norm3d(1.0,2.0,3.0)", "norm4d(1.0,2.0,3.0,4.0)", "norm(1,&d)", "rnorm3d(1.0,2.0,3.0)",
    "rnorm4d(1.0,2.0,3.0,4.0)", "rnorm(1,&d)", "sincospi(1.0,&d,&d)", "jn(1,1.0)", "yn(1,1.0)",
]
cast = """
    __double2float_rn(1.0) __double2float_rz(1.0) __double2float_ru(1.0) __double2float_rd(1.0)
    __double2hiint(1.0) __double2loint(1.0) __hiloint2double(1,2) __double_as_longlong(1.0)
    __longlong_as_double(1) __float_as_int(1.f) __float_as_uint(1.f) __int_as_float(1)
    __uint_as_float(1)
""".split()+[f"__{a}2{b}_{m}(1)" for a in ("double","float") for b in ("int","uint","ll","ull") for m in ("rn","rz","ru","rd")]+[f"__{a}2float_{m}(1)" for a in ("int","uint","ll","ull") for m in ("rn","rz","ru","rd")]+["__int2double_rn(1)","__uint2double_rn(1)"]+[f"__{a}2double_{m}(1)" for a in ("ll","ull") for m in ("rn","rz","ru","rd")]
out=["#include <cuda_fp16.h>","#include <cuda_bf16.h>"]
k=0
def emit(pre,L):
    global k
    for e in L:
        out.append(f"__device__ void t{k}() {{ {pre} (void)({e}); }}"); k+=1
emit("__half a=1,b=2,c=3; __half2 p(a,b),q(b,a),r(a,a); float2 f2; __half*pa=&a; __half2*pp=&p;",lines("__half","__half2","half","half2","")+["__half22float2(p)"])
emit("__nv_bfloat16 a=1,b=2,c=3; __nv_bfloat162 p(a,b),q(b,a),r(a,a); float2 f2; __nv_bfloat16*pa=&a; __nv_bfloat162*pp=&p;",lines("__nv_bfloat16","__nv_bfloat162","bfloat16","bfloat162",""))
emit("unsigned u=1,v=2; bool pr;",S+I); emit("int i; float fl; float2 f2;",S2); emit("double d;",S3); emit("",cast)
print("\n".join(out))
