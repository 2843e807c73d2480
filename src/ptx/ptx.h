/* ptx: PTX text in, a typed module out.
 *
 * ptx_parse reads the whole PTX grammar (ISA up to 9.0, targets up to sm_121a), checks it, and
 * gives a module: variables with their initial bytes, functions with typed virtual registers and
 * a flat list of instructions whose branch targets are instruction indices. It says nothing about
 * how code runs: that is the compiler's. A construct that is not PTX, or not supported by anyone
 * above, is refused here or by jit_check with line, column and the instruction's name (spec K3).
 *
 * A module is immutable after ptx_parse/ptx_link and may be read from any number of threads. */
#ifndef WEIR_PTX_H
#define WEIR_PTX_H

#include "base/base.h"

/* ---- types and spaces ---- */

/* clang-format off */
enum ptx_type {
    PTX_NONE,
    PTX_PRED,
    PTX_B8, PTX_B16, PTX_B32, PTX_B64, PTX_B128,
    PTX_U8, PTX_U16, PTX_U32, PTX_U64,
    PTX_S8, PTX_S16, PTX_S32, PTX_S64,
    PTX_F16, PTX_F16X2, PTX_BF16, PTX_BF16X2, PTX_TF32, PTX_F32, PTX_F64,
    PTX_F32X2,
    PTX_U16X2, PTX_S16X2, PTX_U8X4, PTX_S8X4,
    PTX_U2, PTX_S2,         /* of cvt.pack alone */
    PTX_U4, PTX_S4, PTX_B1, /* matrix element types; PTX_B1 is not a predicate */
    PTX_U4X8, PTX_S4X8, PTX_B4X16,
    PTX_E4M3, PTX_E5M2, PTX_E4M3X2, PTX_E5M2X2, PTX_E2M3X2, PTX_E3M2X2, PTX_E2M1X2, PTX_UE8M0X2,
    PTX_E2M1, PTX_E2M3, PTX_E3M2, PTX_UE8M0, PTX_UE4M3, /* matrix elements, and their scales */
    PTX_E4M3X4, PTX_E5M2X4, PTX_E2M3X4, PTX_E3M2X4, PTX_E2M1X4,
    PTX_TEXREF, PTX_SAMPLERREF, PTX_SURFREF,
    PTX_TYPE_COUNT
};
/* clang-format on */

enum ptx_space {
    PTX_SPACE_NONE, /* not written */
    PTX_SPACE_GENERIC,
    PTX_SPACE_GLOBAL,
    PTX_SPACE_SHARED, /* .shared and .shared::cta */
    PTX_SPACE_SHARED_CLUSTER,
    PTX_SPACE_LOCAL,
    PTX_SPACE_CONST,
    PTX_SPACE_PARAM, /* a function's own parameters, or a call's argument area */
    PTX_SPACE_REG,
    PTX_SPACE_TEX,
};

/* Size in bits as held in a register or in memory (PRED: 1, F16X2: 32 ...). */
unsigned ptx_type_bits(enum ptx_type t);
/* What .wide makes of an integer of 16 or 32 bits; other types stay. */
enum ptx_type ptx_type_widened(enum ptx_type t);
bool ptx_type_is_float(enum ptx_type t);    /* F16..F64 and packed forms */
bool ptx_type_is_signed(enum ptx_type t);   /* S8..S64 and packed forms */
const char *ptx_type_name(enum ptx_type t); /* without the dot */
const char *ptx_space_name(enum ptx_space s);

/* ---- opcodes and modifiers ---- */

/* One enumerator per base opcode (`add`, `ld`, `bar`, `cp` ...): PTX_OP_add. The list, with what
 * the parser needs to know about each, is ops.def. */
enum ptx_op {
#define PTX_OPCODE(name, ...) PTX_OP_##name,
#include "ptx/ops.def"
#undef PTX_OPCODE
    PTX_OP_COUNT
};

/* One enumerator per modifier that is neither a type nor a state space: PTX_M_ftz, PTX_M_rn,
 * PTX_M_lo, PTX_M_sync, PTX_M_acq_rel, PTX_M_gpu, PTX_M_v4, PTX_M_eq ... (`::` written `__`:
 * PTX_M_L1__no_allocate; a leading digit gets an underscore: PTX_M__2d). The list is mods.def.
 * and, or, xor appear both as opcodes and as modifiers (PTX_M_and). */
enum ptx_mod {
    PTX_M_NONE,
#define PTX_MODIFIER(id, text) PTX_M_##id,
#include "ptx/mods.def"
#undef PTX_MODIFIER
    PTX_M_COUNT
};

const char *ptx_op_name(enum ptx_op op);
const char *ptx_mod_name(enum ptx_mod m); /* as written, without the dot */

/* ---- operands ---- */

enum ptx_operand_kind {
    PTX_OPR_NONE,
    PTX_OPR_REG,    /* reg (negated when `neg`: predicates written !%p, or -%r where allowed) */
    PTX_OPR_IMM,    /* imm: integer constant (two's complement) */
    PTX_OPR_FIMM,   /* fimm: value; written as decimal, 0f… (is_f32) or 0d… */
    PTX_OPR_SREG,   /* sreg (+ component 0..3 for .x .y .z .w) */
    PTX_OPR_SYM,    /* var or func, + offset: its address in its own space */
    PTX_OPR_MEM,    /* [base + offset]; base in `reg` (>= 0), or var, or an absolute offset */
    PTX_OPR_VEC,    /* {a, b, ...}: items */
    PTX_OPR_LABEL,  /* target: an instruction index of the same function */
    PTX_OPR_SINK,   /* _ */
    PTX_OPR_TEXMEM, /* [tex, {coords}] or [tex, sampler, {coords}], tensor maps alike: items[0] is
                       the handle (REG or SYM), the last item the coordinates (VEC, or one REG or
                       IMM when written without braces), a sampler stands between */
};

/* The bits of a FIMM (or any) double as a float: rounded to nearest when it is no float, and with a
 * NaN's payload as it was written in 0f…. */
uint32_t ptx_f32_bits(double f);

/* clang-format off */
enum ptx_sreg {
    PTX_SR_tid, PTX_SR_ntid, PTX_SR_laneid, PTX_SR_warpid, PTX_SR_nwarpid,
    PTX_SR_ctaid, PTX_SR_nctaid, PTX_SR_smid, PTX_SR_nsmid, PTX_SR_gridid,
    PTX_SR_is_explicit_cluster, PTX_SR_clusterid, PTX_SR_nclusterid,
    PTX_SR_cluster_ctaid, PTX_SR_cluster_nctaid, PTX_SR_cluster_ctarank, PTX_SR_cluster_nctarank,
    PTX_SR_lanemask_eq, PTX_SR_lanemask_le, PTX_SR_lanemask_lt, PTX_SR_lanemask_ge,
    PTX_SR_lanemask_gt,
    PTX_SR_clock, PTX_SR_clock_hi, PTX_SR_clock64, PTX_SR_globaltimer, PTX_SR_globaltimer_lo,
    PTX_SR_globaltimer_hi,
    PTX_SR_envreg, /* number in component */
    PTX_SR_pm, PTX_SR_pm64, /* number in component */
    PTX_SR_total_smem_size, PTX_SR_aggr_smem_size, PTX_SR_dynamic_smem_size,
    PTX_SR_reserved_smem_offset_begin, PTX_SR_reserved_smem_offset_end,
    PTX_SR_reserved_smem_offset_cap, PTX_SR_reserved_smem_offset_0, PTX_SR_reserved_smem_offset_1,
    PTX_SR_current_graph_exec,
    PTX_SR_WARP_SZ, /* never in a module: an operand WARP_SZ is the constant 32 */
    PTX_SR_COUNT
};
/* clang-format on */
const char *ptx_sreg_name(enum ptx_sreg s);

struct ptx_operand {
    uint8_t kind;      /* enum ptx_operand_kind */
    bool neg;          /* !p, or a minus sign before a register */
    bool is_f32;       /* FIMM written 0f…: fimm holds that float exactly; REG in the position of a
                          texture: it is of type .f32, so no offset */
    uint8_t component; /* .x .y .z .w of a special register or vector; envreg number */
    uint8_t select;    /* video instructions: 0 none, 1..4 .b0 .b1 .b2 .b3, 5..6 .h0 .h1; 7: .b and
                          several digits, 8: .h and several: the digits are in imm as written,
                          read as hexadecimal (.b3210: 0x3210), their number in component */
    uint16_t sreg;     /* enum ptx_sreg */
    int32_t reg;       /* index into func->regs, -1 when none */
    int32_t target;    /* LABEL: index into func->instrs (may equal ninstrs: the end) */
    int32_t nitems;    /* VEC, TEXMEM */
    struct ptx_operand *items;
    struct ptx_var *var;   /* SYM, MEM */
    struct ptx_func *func; /* SYM of a function */
    int64_t offset;        /* SYM, MEM */
    uint64_t imm;          /* IMM */
    double fimm;           /* FIMM */
};

/* ---- instructions ---- */

enum { PTX_MAX_TYPES = 5, PTX_MAX_MODS = 14 };

struct ptx_instr {
    uint16_t op; /* enum ptx_op */
    uint8_t ntypes, nmods, nspaces;
    uint8_t types[PTX_MAX_TYPES]; /* enum ptx_type in the order written: cvt.f32.s32 = {F32, S32} */
    uint8_t spaces[2];            /* enum ptx_space in the order written */
    uint8_t vec;                  /* 1, or 2/4/8 for .v2/.v4/.v8 */
    uint16_t mods[PTX_MAX_MODS];  /* enum ptx_mod in the order written (vectors included) */
    uint64_t order;               /* kinds of all suffixes in the order written, two bits each from
                                     the lowest: 0 modifier, 1 type, 2 state space */
    bool guard_neg;               /* @!p */
    bool pair;                    /* the first two operands were written `d|p` */
    bool trip;                    /* begins a further trip through a loop (the compiler's) */
    int32_t guard;                /* register of @p, -1 when always */
    uint16_t noperands;
    struct ptx_operand *operands; /* in the order written. `d|p` and `d, p` destinations are two
                                     operands. A store's or call's come as written too. */
    /* call only: operands is empty, these say it all */
    struct ptx_call *call;
    struct ptx_targets *targets;            /* brx.idx: its .branchtargets list */
    int32_t line, column;                   /* in the PTX text */
    int32_t loc_file, loc_line, loc_column; /* from .loc: index into module->files (0: none) */
    int32_t loc_inlined_at; /* index+1 of the instruction-independent .loc record that this
                               one was inlined at (module->locs), 0: none */
};

/* call (rets), target, (args), fproto-or-targets; */
struct ptx_call {
    struct ptx_func *func;           /* direct call; NULL when through a register */
    int32_t reg;                     /* indirect: register with the function's address */
    struct ptx_operand *rets, *args; /* REG, IMM or SYM (a .param variable of this function) */
    int32_t nrets, nargs;
    struct ptx_func *proto;       /* indirect: .callprototype as a bodyless function, or NULL */
    struct ptx_func **candidates; /* indirect with .calltargets */
    int32_t ncandidates;
    bool configured;    /* indirect, the compiler's: a launch is configured, so it may be one */
    int32_t ended;      /* the compiler's: 1 + register of a predicate that says whose thread the
                           function has ended; 0: it ends none */
    int32_t unfinished; /* likewise: for which lanes the function has not come back; 0: it always
                           does */
};

struct ptx_targets {
    int32_t *index; /* instruction indices */
    int32_t count;
};

static inline bool ptx_has(const struct ptx_instr *i, enum ptx_mod m)
{
    for (int k = 0; k < i->nmods; k++)
        if (i->mods[k] == m)
            return true;
    return false;
}

/* ---- variables and functions ---- */

enum ptx_linkage {
    PTX_LINK_LOCAL,
    PTX_LINK_VISIBLE,
    PTX_LINK_EXTERN,
    PTX_LINK_WEAK,
    PTX_LINK_COMMON
};

/* An address inside a variable's initial value: 8 (or fewer, masked) bytes at `at`. */
struct ptx_reloc {
    uint64_t at;
    struct ptx_var *var; /* or */
    struct ptx_func *func;
    int64_t addend;
    bool generic;  /* generic(sym): the generic address is wanted */
    uint8_t bytes; /* 1..8 */
    uint8_t shift; /* mask(): which byte of the address comes first */
};

struct ptx_var {
    const char *name;
    uint8_t space; /* enum ptx_space */
    uint8_t type;  /* element type */
    uint8_t vec;   /* 1, 2, 4, 8 */
    uint8_t linkage;
    bool managed;        /* .attribute(.managed) */
    bool unsized;        /* extern shared array without a size: dynamic shared memory */
    uint32_t align;      /* bytes, at least the element's */
    uint64_t size;       /* bytes, 0 when unsized */
    const uint8_t *init; /* size bytes, or NULL: zero */
    struct ptx_reloc *relocs;
    int32_t nrelocs;
    int32_t index;          /* position in the module's or function's list */
    struct ptx_func *scope; /* function that declares it, NULL at module scope */
    uint8_t ptr_space;      /* params: .ptr .global …, PTX_SPACE_NONE otherwise */
    uint32_t ptr_align;
    int32_t line;
};

struct ptx_reg {
    const char *name;
    uint8_t type; /* enum ptx_type */
    uint8_t vec;  /* always 1: `.reg .v4 .f32 a` becomes the registers a.x a.y a.z a.w, and the
                     operand `a` the vector of them */
};

/* Pragmas for tests of the compiler, which other compilers ignore. Results are the same with all.
 */
enum ptx_pragmas {
    PTX_PRAGMA_SERIALIZE = 1, /* "weir_serialize": lanes are serialized wherever they may be,
                                 whether it pays or not */
    PTX_PRAGMA_DIVERGENT = 2, /* "weir_divergent": every value counts as divergent */
    PTX_PRAGMA_STRIPS =
        4, /* "weir_strips": strip mining, and loops by strips, wherever they can be */
    PTX_PRAGMA_INTERLEAVE = 8, /* "weir_interleave": warps interleave in the first loop in which
                                  they can */
    PTX_PRAGMA_LARGE = 16,     /* "weir_large": compiled as kernels above a size are */
    PTX_PRAGMA_JAM = 32,  /* "weir_jam": unroll-and-jam of loops over warps wherever it can be */
    PTX_PRAGMA_ROWS = 64, /* "weir_rows": copies for warps in rows, and of what follows a test,
                             wherever they can be */
    PTX_NPRAGMAS = 7
};

/* The pragma of bit n of enum ptx_pragmas, as written. */
const char *ptx_pragma_name(int n);

struct ptx_func {
    const char *name;
    bool is_entry, has_body, noreturn;
    uint8_t linkage;
    struct ptx_var **params, **rets; /* space PARAM or REG (old style) */
    int32_t nparams, nrets;
    int32_t *param_regs, *ret_regs; /* for REG-style params: register index, else -1 */
    struct ptx_reg *regs;
    int32_t nregs;
    struct ptx_var **vars; /* declared inside: .shared .local .param .const .global */
    int32_t nvars;
    struct ptx_instr *instrs;
    int32_t ninstrs;
    /* performance directives: 0 when absent */
    uint32_t maxntid[3], reqntid[3], minnctapersm, maxnreg, reqnctapercluster[3];
    uint32_t maxclusterrank;
    bool explicit_cluster;
    uint8_t pragmas;           /* enum ptx_pragmas */
    struct ptx_func *alias_of; /* .alias name, target */
    struct ptx_module *module;
    int32_t line;
};

/* Whether the register is one of its parameters or results. */
bool ptx_func_has_param(const struct ptx_func *f, int32_t reg);

struct ptx_loc {
    int32_t file, line, column, inlined_at;
};

/* What a .section of debug data holds: bytes, and the places (of eight or four of them, 0 there) at
 * which a name stood. */
struct ptx_section {
    const uint8_t *bytes; /* NULL: there is none, or it has what is not understood */
    uint32_t size, nnames;
    const struct ptx_section_name {
        uint32_t at;
        const char *name;
    } *names;
};

struct ptx_module {
    struct arena arena;
    int32_t version_major, version_minor;
    int32_t target_sm;    /* 90 of sm_90 and sm_90a, 120 of sm_120 */
    char target_suffix;   /* 'a', 'f' or 0 */
    bool debug;           /* .target …, debug */
    int32_t address_bits; /* 64 (32 is refused) */
    struct ptx_var **vars;
    int32_t nvars;
    struct ptx_func **funcs; /* entries and functions, prototypes too */
    int32_t nfuncs;
    const char **files; /* .file table, index 1.. (0 unused); NULL where undefined */
    int32_t nfiles;
    struct ptx_loc *locs; /* records that loc_inlined_at names */
    int32_t nlocs;
    struct ptx_section debug_info, debug_abbrev; /* a linked module has none */
    struct hash128 hash;      /* of the text: the key of everything compiled from it */
    struct ptx_symtab *names; /* private: of ptx_find_func and ptx_find_var */
    uint32_t keepers;         /* private: how many ptx_keep are not answered by ptx_free */
};

/* ---- functions ---- */

/* Parses `size` bytes of PTX (a NUL ends it early). NULL and the message on error. */
struct ptx_module *ptx_parse(const char *text, size_t size, struct diag *d);

/* Links modules of relocatable code into one: externs bind to definitions, weak and common ones
 * merge, statics keep to their module. The result owns copies; the inputs may be freed. An extern
 * function without a definition stays bodyless: whoever compiles binds or refuses it. */
struct ptx_module *ptx_link(struct ptx_module *const *modules, int count, struct diag *d);

/* Whether the device itself supplies a function of this name. */
bool ptx_device_supplies(const char *name);

/* Whether a function is declared, not defined, and none that the device supplies. */
bool ptx_is_undefined(const struct ptx_func *f);

/* For what is linked to the end: false and a message that names both where a kernel reaches a
 * function that is undefined. */
bool ptx_check_defined(const struct ptx_module *m, struct diag *d);

/* The most registers of kernels that say nothing of their own by .maxnreg, .maxntid or .reqntid:
 * they get .maxnreg. 0: no change. */
void ptx_limit_registers(struct ptx_module *m, uint32_t most);

void ptx_free(struct ptx_module *m);
/* The module lives until one more ptx_free than there would be. Any thread. */
void ptx_keep(struct ptx_module *m);
struct ptx_func *ptx_find_func(const struct ptx_module *m, const char *name);
struct ptx_var *ptx_find_var(const struct ptx_module *m, const char *name); /* module scope */

/* The module as text again (`weir dump --ptx`): parses back to an equal module. */
void ptx_print(const struct ptx_module *m, struct strbuf *out);
/* The same where memory may run out: false, and out is empty. */
bool ptx_print_guarded(const struct ptx_module *m, struct strbuf *out);
void ptx_print_instr(const struct ptx_func *f, const struct ptx_instr *i, struct strbuf *out);

#endif
