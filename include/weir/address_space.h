/* Which memory a generic pointer points to, and conversions between generic pointers and addresses
 * within one space. */
#ifndef WEIR_ADDRESS_SPACE_H
#define WEIR_ADDRESS_SPACE_H

#define WEIR_CONST_DEVICE static __inline__ __attribute__((always_inline, nodebug, device, const))

WEIR_CONST_DEVICE unsigned __isGlobal(const void *p) { return __nvvm_isspacep_global(p); }
WEIR_CONST_DEVICE unsigned __isShared(const void *p) { return __nvvm_isspacep_shared(p); }
WEIR_CONST_DEVICE unsigned __isConstant(const void *p) { return __nvvm_isspacep_const(p); }
WEIR_CONST_DEVICE unsigned __isLocal(const void *p) { return __nvvm_isspacep_local(p); }
/* A pointer to a __grid_constant__ parameter: kernels read their parameters from constant-like
 * parameter space, of which no generic pointer is ever formed. */
WEIR_CONST_DEVICE unsigned __isGridConstant(const void *) { return 0; }

#define WEIR_CVTA(name, space)                                                                     \
    WEIR_CONST_DEVICE size_t __cvta_generic_to_##name(const void *p)                               \
    {                                                                                              \
        return (size_t)(void __attribute__((address_space(space))) *)p;                            \
    }                                                                                              \
    WEIR_CONST_DEVICE void *__cvta_##name##_to_generic(size_t p)                                   \
    {                                                                                              \
        return (void *)(void __attribute__((address_space(space))) *)p;                            \
    }
WEIR_CVTA(global, 1)
WEIR_CVTA(shared, 3)
WEIR_CVTA(constant, 4)
WEIR_CVTA(local, 5)
#undef WEIR_CVTA
WEIR_CONST_DEVICE size_t __cvta_generic_to_grid_constant(const void *p) { return (size_t)p; }
WEIR_CONST_DEVICE void *__cvta_grid_constant_to_generic(size_t p) { return (void *)p; }

#undef WEIR_CONST_DEVICE

#endif
