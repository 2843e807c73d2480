/* math_table: the device math functions and how each is made. Private to this directory. */
#ifndef WEIR_COMPILER_MATH_TABLE_H
#define WEIR_COMPILER_MATH_TABLE_H

#include "compiler/arithmetic/build.h"

enum math_kind {
    MATH_PTX,    /* `how` is a PTX instruction's name with modifiers and types */
    MATH_SLEEF,  /* `how` is SLEEF's name and error suffix: "exp u10" */
    MATH_LANES,  /* `how` is the C function weir_alu_<how>, called lane by lane */
    MATH_INLINE, /* `emit` makes it */
};

struct math_fn {
    const char *name; /* without __nv_ */
    /* Results, a colon, sources; a '|' stands before results that go through pointers. Letters:
     * f float, d double, s int, u unsigned, l long long, m unsigned long long, h 16 bits */
    const char *sig;
    uint8_t kind; /* enum math_kind */
    const char *how;
    void (*emit)(struct alu *a, const val *s, val *d);
    double
        limit; /* MATH_SLEEF: arguments of that magnitude and more go to weir_alu_<name>; 0: none */
};

/* An entry of a table of functions that are emitted inline. */
#define INLINE(name, sig, emit) {name, sig, MATH_INLINE, NULL, emit, 0}

/* The function of that full name (__nv_...), or NULL. *made is filled for those that a pattern
 * makes; the result may point to it. */
struct math_name {
    struct math_fn fn;
    char how[48], sig[8];
};
const struct math_fn *math_find(const char *name, struct math_name *made);

/* Tables of the emitters' files. */
extern const struct math_fn math_inline_table[], math_fast_table[], math_explog_table[];
extern const size_t math_inline_count, math_fast_count, math_explog_count;

/* SIMD-in-a-word functions (vadd2, vabsdiffu4 ...): signature "u:uu" or "u:u"; NULL when the name
 * is none. */
const char *math_simd_sig(const char *name);
bool math_simd_emit(struct alu *a, const char *name, const val *s, val *d);

/* Calls SLEEF's vector function, e.g. "sin u10", in pieces of the host's width. */
val math_sleef(struct alu *a, const char *how, const val *s, unsigned nargs);

#endif
