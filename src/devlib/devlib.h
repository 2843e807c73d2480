/* devlib: the device library, which clang links into every kernel at compile time as bitcode.
 *
 * It defines the functions __nv_* that clang's CUDA headers call, as far as they are a few
 * instructions or so rare that a loop over scalars would not do. The common transcendental
 * functions (externs.txt) are left as calls in the PTX: the compiler binds them to vector math.
 *
 * Rules of this directory. It is C++ for the target nvptx64, without CUDA's words: as CUDA, clang
 * would stamp the module with settings that conflict with the program's. LLVM's passes are off, so
 * that reflect("__CUDA_FTZ") is answered in the program's own compilation, where it is known
 * whether subnormals are flushed. The program's compilation may also fuse any a * b + c it sees:
 * where the rounding of a product matters, use mul_rn or a written-out fma. */
#ifndef WEIR_DEVLIB_H
#define WEIR_DEVLIB_H

/* A function of the library, and a helper of its own. */
#define FN     extern "C"
#define HELPER static __attribute__((always_inline)) inline

/* The builtin of this name is declared noreturn in clang 19, so the function is named by hand. */
extern "C" __attribute__((const)) int reflect(const char *) noexcept __asm__("__nvvm_reflect");
#define FTZ(flushing, plain) (reflect("__CUDA_FTZ") ? (flushing) : (plain))

typedef unsigned int u32;
typedef unsigned long long u64;

#define INFD __builtin_inf()
#define NAND __builtin_nan("")

HELPER u64 bits(double x) { return __builtin_bit_cast(u64, x); }
HELPER u32 bits(float x) { return __builtin_bit_cast(u32, x); }
HELPER double from_bits(u64 b) { return __builtin_bit_cast(double, b); }
HELPER float from_bits(u32 b) { return __builtin_bit_cast(float, b); }

/* Never fused into something else. */
HELPER double mul_rn(double a, double b) { return __nvvm_mul_rn_d(a, b); }
HELPER double add_rn(double a, double b) { return __nvvm_add_rn_d(a, b); }
HELPER double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

/* Left to the compiler (externs.txt). */
extern "C" {
#define EXTERN __attribute__((const))
EXTERN double __nv_exp(double) noexcept;
EXTERN float __nv_sinf(float) noexcept;
EXTERN float __nv_cosf(float) noexcept;
EXTERN double __nv_sin(double) noexcept;
EXTERN double __nv_cos(double) noexcept;
EXTERN float __nv_sinpif(float) noexcept;
EXTERN float __nv_cospif(float) noexcept;
EXTERN double __nv_sinpi(double) noexcept;
EXTERN double __nv_cospi(double) noexcept;
EXTERN double __nv_fmod(double, double) noexcept;
EXTERN float __nv_fmodf(float, float) noexcept;
EXTERN double __nv_cbrt(double) noexcept;
EXTERN float __nv_cbrtf(float) noexcept;
EXTERN double __nv_pow(double, double) noexcept;
EXTERN double __nv_log(double) noexcept;
EXTERN double __nv_erf(double) noexcept;
EXTERN double __nv_erfc(double) noexcept;
#undef EXTERN
}

#endif
