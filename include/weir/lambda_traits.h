/* What nvcc's users ask of a lambda: __nv_is_extended_device_lambda_closure_type(T) and its kin.
 *
 * nvcc knows, clang does not tell, but it looks for functions that may be called where a
 * declaration stands: of a lambda marked __device__, a declaration of the host finds no operator()
 * to call. So a closure type that one of the device can call and one of the host cannot is an
 * extended __device__ lambda. One that both can call counts as
 * __host__ __device__; clang makes that of every lambda without specifiers, too. Lambdas whose
 * parameters are deduced (auto) have no one type to ask about: they are neither. Types of results
 * are never lost, unlike nvcc's. */
#ifndef WEIR_LAMBDA_TRAITS_H
#define WEIR_LAMBDA_TRAITS_H

template <int Question, typename T> struct __weir_lambda_never {
    static constexpr bool value = false;
};

#if defined(__CUDACC_EXTENDED_LAMBDA__) && !defined(WEIR_HOST_FRONTEND)

template <typename T> __attribute__((host, device)) T &&__weir_lambda_value() noexcept;
template <typename... T> struct __weir_lambda_void {
    typedef void type;
};

/* F without the conversion to a pointer that a lambda without captures has: by way of it, it is
 * called as well. */
template <typename F, typename R, typename... A> struct __weir_lambda_bare : F {
    using F::operator();

  private:
    typedef R (*pointer)(A...);
    operator pointer() const;
#ifdef __cpp_noexcept_function_type
    typedef R (*pointer_noexcept)(A...) noexcept;
    operator pointer_noexcept() const;
#endif
};

/* Which of them is chosen is the question; none is ever called. */
template <typename F, typename R, typename C, typename... A>
__attribute__((host)) auto __weir_lambda_host(R (C::*)(A...) const)
    -> decltype(__weir_lambda_value<const __weir_lambda_bare<F, R, A...> &>()(
                    __weir_lambda_value<A>()...),
                char());
template <typename F, typename R, typename C, typename... A>
__attribute__((host)) auto __weir_lambda_host(R (C::*)(A...))
    -> decltype(__weir_lambda_value<__weir_lambda_bare<F, R, A...> &>()(
                    __weir_lambda_value<A>()...),
                char());
template <typename F> __attribute__((host)) long __weir_lambda_host(...);
template <typename F, typename R, typename C, typename... A>
__attribute__((device)) auto __weir_lambda_device(R (C::*)(A...) const)
    -> decltype(__weir_lambda_value<const __weir_lambda_bare<F, R, A...> &>()(
                    __weir_lambda_value<A>()...),
                char());
template <typename F, typename R, typename C, typename... A>
__attribute__((device)) auto __weir_lambda_device(R (C::*)(A...))
    -> decltype(__weir_lambda_value<__weir_lambda_bare<F, R, A...> &>()(
                    __weir_lambda_value<A>()...),
                char());
template <typename F> __attribute__((device)) long __weir_lambda_device(...);

/* Whether `text` goes on with `part`; the name of a function in which T is a closure type has
 * "[T = (lambda at file.cu:3:9)]". */
__attribute__((host, device)) constexpr bool __weir_lambda_begins(const char *text,
                                                                  const char *part)
{
    return *part == 0 || (*text == *part && __weir_lambda_begins(text + 1, part + 1));
}
__attribute__((host, device)) constexpr bool __weir_lambda_named(const char *text)
{
    return *text != 0 &&
           (__weir_lambda_begins(text, "[T = ") ? __weir_lambda_begins(text + 5, "(lambda at ")
                                                : __weir_lambda_named(text + 1));
}
template <typename T> __attribute__((host, device)) constexpr bool __weir_lambda_closure()
{
    return __weir_lambda_named(__PRETTY_FUNCTION__);
}

template <typename T, bool closure = __weir_lambda_closure<T>(), typename = void>
struct __weir_lambda_kind {
    static constexpr bool host = false, device = false;
};
template <typename T>
struct __weir_lambda_kind<T, true, typename __weir_lambda_void<decltype(&T::operator())>::type> {
    static constexpr bool host = sizeof(__weir_lambda_host<T>(&T::operator())) == 1;
    static constexpr bool device = sizeof(__weir_lambda_device<T>(&T::operator())) == 1;
};

#define __nv_is_extended_device_lambda_closure_type(...)                                           \
    (__weir_lambda_kind<__VA_ARGS__>::device && !__weir_lambda_kind<__VA_ARGS__>::host)
#define __nv_is_extended_host_device_lambda_closure_type(...)                                      \
    (__weir_lambda_kind<__VA_ARGS__>::device && __weir_lambda_kind<__VA_ARGS__>::host)

#else

#define __nv_is_extended_device_lambda_closure_type(...)                                           \
    (__weir_lambda_never<1, __VA_ARGS__>::value)
#define __nv_is_extended_host_device_lambda_closure_type(...)                                      \
    (__weir_lambda_never<2, __VA_ARGS__>::value)

#endif

#define __nv_is_extended_device_lambda_with_preserved_return_type_closure_type(...)                \
    __nv_is_extended_device_lambda_closure_type(__VA_ARGS__)
#define __nv_is_extended_device_lambda_with_preserved_return_type(...)                             \
    __nv_is_extended_device_lambda_closure_type(__VA_ARGS__)

#endif
