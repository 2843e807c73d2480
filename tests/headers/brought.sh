#!/bin/sh
# What CUDA's headers bring of the C and C++ libraries, which programs use without including it themselves.
#   brought.sh INCLUDE
set -eu
include=$1
failed=0

# brings LANGUAGE HEADER CODE
brings() {
    if ! printf '#include <%s>\n%s\n' "$2" "$3" | "${CC:-cc}" -x "$1" -fsyntax-only -w -I "$include" - 2>/dev/null; then
        echo "FAILED: $2 ($1) does not bring: $3"
        failed=1
    fi
}

for language in c c++; do
    brings $language cuda.h 'time_t t; size_t n; uint64_t u; void f(void) { free(malloc(abs(1))); exit(1); }'
    for header in cuda_runtime.h cuda_runtime_api.h driver_types.h builtin_types.h vector_functions.h \
        cuda_profiler_api.h curand.h; do
        brings $language $header 'int n = CHAR_BIT + INT_MAX; size_t s; ptrdiff_t d;'
    done
done
brings c++ cuda.h 'std::size_t n; std::nullptr_t p; void *q = std::malloc(std::abs(1));'
for header in cuda_fp16.h cuda_bf16.h cuda_fp8.h; do
    brings c++ $header 'int n = CHAR_BIT; ptrdiff_t d; struct S { int a; }; int o = offsetof(S, a);'
    brings c++ $header 'void f(void *p) { std::memcpy(p, p, 1); }'
done
brings c++ cuda_fp6.h '__nv_fp8_e4m3 a(1.f); __nv_fp8_e8m0 s(2.f);'
brings c++ cuda_fp4.h '__nv_fp6_e2m3 a(1.f); __nv_fp8_e5m2 b(1.f);'
brings c++ curand_kernel.h 'int n = INT_MAX + std::min(1, std::numeric_limits<int>::max()); time_t t;'
brings c++ curand_kernel.h 'double d = sqrt(2.) + std::sqrt(2.) + std::abs(1.); bool b = std::isnan(1.);'
brings c++ curand_kernel.h 'void *p = std::malloc(strlen("a")); void f() { memcpy(p, p, 1); exit(abs(1)); }'
exit $failed
