/* Cooperative groups: the operators of reductions and scans. */
#ifndef WEIR_CG_OPERATORS_H
#define WEIR_CG_OPERATORS_H

namespace cooperative_groups
{
namespace __v1
{

/* Each is a template over the type, and without one takes any type. */
#define WEIR_CG_OPERATOR(name, expression)                                                         \
    template <typename T = void> struct name {                                                     \
        __device__ WEIR_FORCEINLINE T operator()(T a, T b) const { return (T)(expression); }        \
    };                                                                                             \
    template <> struct name<void> {                                                                \
        template <typename T> __device__ WEIR_FORCEINLINE T operator()(T a, T b) const              \
        {                                                                                          \
            return (T)(expression);                                                                \
        }                                                                                          \
    };
WEIR_CG_OPERATOR(plus, a + b)
WEIR_CG_OPERATOR(less, b < a ? b : a)
WEIR_CG_OPERATOR(greater, a < b ? b : a)
WEIR_CG_OPERATOR(bit_and, a &b)
WEIR_CG_OPERATOR(bit_or, a | b)
WEIR_CG_OPERATOR(bit_xor, a ^ b)
#undef WEIR_CG_OPERATOR

} // namespace __v1
using namespace __v1;
} // namespace cooperative_groups

#endif
