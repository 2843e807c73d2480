/* What nvcc's users ask of a lambda: __nv_is_extended_device_lambda_closure_type(T) and its kin.
 *
 * nvcc knows, clang does not tell, but it looks for functions that may be called where a
 * declaration stands: of a lambda marked __device__, a declaration of the host finds no operator()
 * to call. So a closure type that one of the device can call and one of the host cannot is an
 * extended __device__ lambda. One that both can call counts as
 * __host__ __device__; clang makes that of every lambda without specifiers, too. Types of results
 * are never lost, unlike nvcc's.
 *
 * A lambda whose parameters are deduced (auto) has no one type to ask about, and may be called by
 * nothing but what it is written for: clang would compile its body to learn the result. So it gets
 * a rival of the device with the same parameters. A call of either is ambiguous, which is known
 * before the body is looked at, if the lambda is of the device alone; one that the host may call as
 * well is second to the rival. Such lambdas are of the device or neither; nvcc has none that are
 * __host__ __device__. A pack may be their last parameter, after eight at most. Of four parameters
 * at most some may have types of their own; those that are deduced in part (auto *) make it
 * neither.
 *
 * const and volatile types are the lambda's, references, pointers and arrays no closure types, as
 * with nvcc. */
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

/* What generic lambdas are called with. It is little, so that few constraints take it: a lambda
 * with constraints that are met would be first. */
class __weir_lambda_probe
{
    __weir_lambda_probe &operator=(const __weir_lambda_probe &);

  public:
    __attribute__((host, device)) __weir_lambda_probe(const __weir_lambda_probe &);
};

/* Rivals of lambdas that are mutable or not, with up to four parameters. */
#define __WEIR_LAMBDA_RIVALS(name, qualifier)                                                      \
    struct name {                                                                                  \
        template <typename A> __attribute__((device)) char operator()(A) qualifier;                \
        template <typename A, typename B> __attribute__((device)) char operator()(A, B) qualifier; \
        template <typename A, typename B, typename C>                                              \
        __attribute__((device)) char operator()(A, B, C) qualifier;                                \
        template <typename A, typename B, typename C, typename D>                                  \
        __attribute__((device)) char operator()(A, B, C, D) qualifier;                             \
    }
__WEIR_LAMBDA_RIVALS(__weir_lambda_rival, const);
__WEIR_LAMBDA_RIVALS(__weir_lambda_mutable_rival, );
#undef __WEIR_LAMBDA_RIVALS

template <typename F, typename Rival> struct __weir_lambda_contest : F, Rival {
    using F::operator();
    using Rival::operator();
};
template <typename F, typename... A>
__attribute__((device)) auto __weir_lambda_decided(int)
    -> decltype(__weir_lambda_value<F &>()(__weir_lambda_value<A &>()...), char());
template <typename F, typename... A> __attribute__((device)) long __weir_lambda_decided(...);

template <typename F, typename Rival, typename Mutable, typename... A>
struct __weir_lambda_undecided {
    static constexpr bool value =
        sizeof(__weir_lambda_decided<const __weir_lambda_contest<F, Rival>, A...>(0)) != 1 ||
        sizeof(__weir_lambda_decided<__weir_lambda_contest<F, Mutable>, A...>(0)) != 1;
};
template <typename F, typename... A>
struct __weir_lambda_fixed
    : __weir_lambda_undecided<F, __weir_lambda_rival, __weir_lambda_mutable_rival, A...> {
};

/* A rival of lambdas with so many parameters and a pack, for the device or for both sides. */
template <int Count, bool Both, bool Mutable> struct __weir_lambda_pack_rival;
#define __WEIR_LAMBDA_PACK_RIVAL(count, both, side, is_mutable, qualifier, head, parameters)       \
    template <> struct __weir_lambda_pack_rival<count, both, is_mutable> {                         \
        template <__WEIR_LAMBDA_LIST head> side char operator() parameters qualifier;              \
    };
#define __WEIR_LAMBDA_LIST(...) __VA_ARGS__
#define __WEIR_LAMBDA_PACK_RIVALS(count, head, parameters)                                         \
    __WEIR_LAMBDA_PACK_RIVAL(count, false, __attribute__((device)), false, const, head,            \
                             parameters)                                                           \
    __WEIR_LAMBDA_PACK_RIVAL(count, false, __attribute__((device)), true, , head, parameters)      \
    __WEIR_LAMBDA_PACK_RIVAL(count, true, __attribute__((host, device)), false, const, head,       \
                             parameters)                                                           \
    __WEIR_LAMBDA_PACK_RIVAL(count, true, __attribute__((host, device)), true, , head, parameters)
__WEIR_LAMBDA_PACK_RIVALS(0, (typename... R), (R...))
__WEIR_LAMBDA_PACK_RIVALS(1, (typename A, typename... R), (A, R...))
__WEIR_LAMBDA_PACK_RIVALS(2, (typename A, typename B, typename... R), (A, B, R...))
__WEIR_LAMBDA_PACK_RIVALS(3, (typename A, typename B, typename C, typename... R), (A, B, C, R...))
__WEIR_LAMBDA_PACK_RIVALS(4, (typename A, typename B, typename C, typename D, typename... R),
                          (A, B, C, D, R...))
__WEIR_LAMBDA_PACK_RIVALS(5,
                          (typename A, typename B, typename C, typename D, typename E,
                           typename... R),
                          (A, B, C, D, E, R...))
__WEIR_LAMBDA_PACK_RIVALS(6,
                          (typename A, typename B, typename C, typename D, typename E, typename F,
                           typename... R),
                          (A, B, C, D, E, F, R...))
__WEIR_LAMBDA_PACK_RIVALS(7,
                          (typename A, typename B, typename C, typename D, typename E, typename F,
                           typename G, typename... R),
                          (A, B, C, D, E, F, G, R...))
__WEIR_LAMBDA_PACK_RIVALS(8,
                          (typename A, typename B, typename C, typename D, typename E, typename F,
                           typename G, typename H, typename... R),
                          (A, B, C, D, E, F, G, H, R...))
#undef __WEIR_LAMBDA_PACK_RIVALS
#undef __WEIR_LAMBDA_PACK_RIVAL
#undef __WEIR_LAMBDA_LIST

/* A call with so many arguments that only a pack takes them. Of two that do, that with more
 * parameters before it is first. So the rival with most of them begins: it wins until it has as
 * many as the lambda. Then the call is ambiguous if the lambda is of the device alone; otherwise,
 * if it is of both sides, with the rival for both. There it ends: a rival with fewer would lose,
 * and the lambda's body would be looked at. */
template <typename F, int Count, bool Both> struct __weir_lambda_pack_undecided {
    typedef __weir_lambda_probe P;
    static constexpr bool value =
        __weir_lambda_undecided<F, __weir_lambda_pack_rival<Count, Both, false>,
                                __weir_lambda_pack_rival<Count, Both, true>, P, P, P, P, P, P, P, P,
                                P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P>::value;
};
template <typename F, int Count> struct __weir_lambda_pack;
template <typename F, int Count, bool Found> struct __weir_lambda_pack_both {
    static constexpr bool device = false, found = true;
};
template <typename F, int Count>
struct __weir_lambda_pack_both<F, Count, false> : __weir_lambda_pack<F, Count - 1> {
};
template <typename F, int Count, bool Found> struct __weir_lambda_pack_device {
    static constexpr bool device = true, found = true;
};
template <typename F, int Count>
struct __weir_lambda_pack_device<F, Count, false>
    : __weir_lambda_pack_both<F, Count, __weir_lambda_pack_undecided<F, Count, true>::value> {
};
template <typename F, int Count>
struct __weir_lambda_pack
    : __weir_lambda_pack_device<F, Count, __weir_lambda_pack_undecided<F, Count, false>::value> {
};
template <typename F> struct __weir_lambda_pack<F, -1> {
    static constexpr bool device = false, found = false;
};

/* Lambdas some of whose parameters have types of their own (int i, auto x). For such a parameter
 * the argument is one that becomes anything, and the rival takes it by a conversion, too: two of
 * those are equally good. */
class __weir_lambda_typed;
struct __weir_lambda_anything {
    template <typename T> __attribute__((host, device)) operator T &() const;
    template <typename T> __attribute__((host, device)) operator T &&() const;
    __attribute__((host, device)) operator __weir_lambda_typed() const;
};
class __weir_lambda_typed
{
};

/* The argument, and what the rival takes there: A where the lambda has auto. */
template <bool Typed> struct __weir_lambda_place {
    typedef __weir_lambda_probe argument;
    template <typename A> using parameter = A;
};
template <> struct __weir_lambda_place<true> {
    typedef __weir_lambda_anything argument;
    template <typename A> using parameter = __weir_lambda_typed;
};

/* Rivals of lambdas with so many parameters, of which those in the mask `Typed` are not deduced. */
template <int Count, unsigned Typed, bool Both, bool Mutable> struct __weir_lambda_mixed_rival;
#define __WEIR_LAMBDA_PLACE(i, A)                                                                  \
    typename __weir_lambda_place<(Typed >> i & 1) != 0>::template parameter<A>
#define __WEIR_LAMBDA_MIXED_RIVAL(count, both, side, is_mutable, qualifier, parameters)            \
    template <unsigned Typed> struct __weir_lambda_mixed_rival<count, Typed, both, is_mutable> {   \
        template <typename A = int, typename B = int, typename C = int, typename D = int>          \
        side char operator() parameters qualifier;                                                 \
    };
#define __WEIR_LAMBDA_MIXED_RIVALS(count, parameters)                                              \
    __WEIR_LAMBDA_MIXED_RIVAL(count, false, __attribute__((device)), false, const, parameters)     \
    __WEIR_LAMBDA_MIXED_RIVAL(count, false, __attribute__((device)), true, , parameters)           \
    __WEIR_LAMBDA_MIXED_RIVAL(count, true, __attribute__((host, device)), false, const,            \
                              parameters)                                                          \
    __WEIR_LAMBDA_MIXED_RIVAL(count, true, __attribute__((host, device)), true, , parameters)
__WEIR_LAMBDA_MIXED_RIVALS(2, (__WEIR_LAMBDA_PLACE(0, A), __WEIR_LAMBDA_PLACE(1, B)))
__WEIR_LAMBDA_MIXED_RIVALS(3, (__WEIR_LAMBDA_PLACE(0, A), __WEIR_LAMBDA_PLACE(1, B),
                               __WEIR_LAMBDA_PLACE(2, C)))
__WEIR_LAMBDA_MIXED_RIVALS(4, (__WEIR_LAMBDA_PLACE(0, A), __WEIR_LAMBDA_PLACE(1, B),
                               __WEIR_LAMBDA_PLACE(2, C), __WEIR_LAMBDA_PLACE(3, D)))
#undef __WEIR_LAMBDA_MIXED_RIVALS
#undef __WEIR_LAMBDA_MIXED_RIVAL
#undef __WEIR_LAMBDA_PLACE

template <typename F, int Count, unsigned Typed, bool Both, typename... A>
struct __weir_lambda_mixed_undecided
    : __weir_lambda_undecided<F, __weir_lambda_mixed_rival<Count, Typed, Both, false>,
                              __weir_lambda_mixed_rival<Count, Typed, Both, true>, A...> {
};
template <int I, unsigned Typed> struct __weir_lambda_argument {
    typedef typename __weir_lambda_place<(Typed >> I & 1) != 0>::argument type;
};
template <typename F, int Count, unsigned Typed, bool Both> struct __weir_lambda_mixed_contest;
template <typename F, unsigned T, bool Both>
struct __weir_lambda_mixed_contest<F, 2, T, Both>
    : __weir_lambda_mixed_undecided<F, 2, T, Both, typename __weir_lambda_argument<0, T>::type,
                                    typename __weir_lambda_argument<1, T>::type> {
};
template <typename F, unsigned T, bool Both>
struct __weir_lambda_mixed_contest<F, 3, T, Both>
    : __weir_lambda_mixed_undecided<F, 3, T, Both, typename __weir_lambda_argument<0, T>::type,
                                    typename __weir_lambda_argument<1, T>::type,
                                    typename __weir_lambda_argument<2, T>::type> {
};
template <typename F, unsigned T, bool Both>
struct __weir_lambda_mixed_contest<F, 4, T, Both>
    : __weir_lambda_mixed_undecided<F, 4, T, Both, typename __weir_lambda_argument<0, T>::type,
                                    typename __weir_lambda_argument<1, T>::type,
                                    typename __weir_lambda_argument<2, T>::type,
                                    typename __weir_lambda_argument<3, T>::type> {
};

/* One mask after the other, those with fewer parameters first: a lambda that deduces one for which
 * the rival converts would win, and its body would be looked at. It ends with the lambda's own
 * mask. */
template <typename F, int Count, unsigned... Typed> struct __weir_lambda_mixed {
    static constexpr bool device = false;
};
template <typename F, int Count, bool Found, unsigned... Typed> struct __weir_lambda_mixed_both {
    static constexpr bool device = false;
};
template <typename F, int Count, unsigned... Typed>
struct __weir_lambda_mixed_both<F, Count, false, Typed...>
    : __weir_lambda_mixed<F, Count, Typed...> {
};
template <typename F, int Count, bool Found, unsigned First, unsigned... Typed>
struct __weir_lambda_mixed_device {
    static constexpr bool device = true;
};
template <typename F, int Count, unsigned First, unsigned... Typed>
struct __weir_lambda_mixed_device<F, Count, false, First, Typed...>
    : __weir_lambda_mixed_both<F, Count, __weir_lambda_mixed_contest<F, Count, First, true>::value,
                               Typed...> {
};
template <typename F, int Count, unsigned First, unsigned... Typed>
struct __weir_lambda_mixed<F, Count, First, Typed...>
    : __weir_lambda_mixed_device<
          F, Count, __weir_lambda_mixed_contest<F, Count, First, false>::value, First, Typed...> {
};
template <typename F, bool Pack> struct __weir_lambda_any_mixed {
    static constexpr bool device =
        __weir_lambda_mixed<F, 2, 0, 1, 2>::device ||
        __weir_lambda_mixed<F, 3, 0, 1, 2, 4, 3, 5, 6>::device ||
        __weir_lambda_mixed<F, 4, 0, 1, 2, 4, 8, 3, 5, 6, 9, 10, 12, 7, 11, 13, 14>::device;
};
template <typename F> struct __weir_lambda_any_mixed<F, true> {
    static constexpr bool device = false;
};

template <typename F> struct __weir_lambda_generic {
    typedef __weir_lambda_probe P;
    static constexpr bool device =
        __weir_lambda_fixed<F, P>::value || __weir_lambda_fixed<F, P, P>::value ||
        __weir_lambda_fixed<F, P, P, P>::value || __weir_lambda_fixed<F, P, P, P, P>::value ||
        __weir_lambda_pack<F, 8>::device ||
        __weir_lambda_any_mixed<F, __weir_lambda_pack<F, 8>::found>::device;
};

template <typename T, typename = void> struct __weir_lambda_closure_kind {
    static constexpr bool host = false;
    static constexpr bool device = __weir_lambda_generic<T>::device;
};
template <typename T>
struct __weir_lambda_closure_kind<T, typename __weir_lambda_void<decltype(&T::operator())>::type> {
    static constexpr bool host = sizeof(__weir_lambda_host<T>(&T::operator())) == 1;
    static constexpr bool device = sizeof(__weir_lambda_device<T>(&T::operator())) == 1;
};

template <typename T, bool closure = __is_class(T) && __weir_lambda_closure<T>()>
struct __weir_lambda_kind {
    static constexpr bool host = false, device = false;
};
template <typename T> struct __weir_lambda_kind<T, true> : __weir_lambda_closure_kind<T> {
};
template <typename T> struct __weir_lambda_kind<const T, false> : __weir_lambda_kind<T> {
};
template <typename T> struct __weir_lambda_kind<volatile T, false> : __weir_lambda_kind<T> {
};
template <typename T> struct __weir_lambda_kind<const volatile T, false> : __weir_lambda_kind<T> {
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
