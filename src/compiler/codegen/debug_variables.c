/* debug_variables.c: variables of the source, for debuggers.
 *
 * Compilers leave in the PTX of code that is compiled for debuggers (-G) which variable is where.
 * What is in local memory, each thread has in its window: a debugger is told an address of the
 * window of one lane of the warp, whichever the block's field `lane` names. What is in shared
 * memory is in the block's. Variables that a compiler keeps in registers are nowhere in memory, and
 * are left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/codegen/debug.h"
#include "compiler/codegen/debug_dwarf.h"

enum { DEPTH_MAX = 12, MEMBERS_MAX = 256, ELEMENTS_MAX = 1 << 20 };

struct reading {
    struct codegen *cg;
    struct dwarf d;
    struct made {
        uint32_t at;
        LLVMMetadataRef type;
    } *items; /* types that are made */
    size_t count, cap;
    const char **names; /* of variables so far */
    size_t name_count, name_cap;
};

/* ---- types ---- */

static LLVMMetadataRef type_at(struct reading *r, uint32_t at, int depth);

static size_t length_of(const char *s) { return s != NULL ? strlen(s) : 0; }
static const char *text_of(const char *s) { return s != NULL ? s : ""; }

/* Bytes of a value of the type; 0: not known. */
static uint64_t bytes_of(const struct reading *r, uint32_t at, int depth);

static uint64_t array_count(const struct reading *r, const struct dwarf_entry *e)
{
    uint64_t count = 1;
    struct dwarf_entry n;
    for (uint32_t at = e->next; e->children && dwarf_read(&r->d, at, &n) && n.tag != 0;
         at = dwarf_after(&r->d, &n))
        if (n.tag == DWARF_SUBRANGE)
            count = n.has_count && n.count <= ELEMENTS_MAX ? count * n.count : 0;
    return count;
}

static uint64_t bytes_of(const struct reading *r, uint32_t at, int depth)
{
    struct dwarf_entry e;
    if (at == 0 || depth > DEPTH_MAX || !dwarf_read(&r->d, at, &e))
        return 0;
    if (e.tag == DWARF_ARRAY)
        return array_count(r, &e) * bytes_of(r, e.type, depth + 1);
    if (e.tag == DWARF_POINTER || e.tag == DWARF_REFERENCE || e.tag == DWARF_RVALUE)
        return 8;
    return e.bytes != 0 ? e.bytes : bytes_of(r, e.type, depth + 1);
}

static LLVMMetadataRef forward(struct reading *r, const struct dwarf_entry *e)
{
    struct debug_lines *l = r->cg->lines;
    return LLVMDIBuilderCreateForwardDecl(l->b, e->tag, text_of(e->name), length_of(e->name),
                                          l->unit, l->files[0], 0, 0, e->bytes * 8, 0, "", 0);
}

static LLVMMetadataRef struct_type(struct reading *r, const struct dwarf_entry *e, int depth)
{
    struct debug_lines *l = r->cg->lines;
    LLVMMetadataRef members[MEMBERS_MAX];
    unsigned count = 0;
    struct dwarf_entry n;
    for (uint32_t at = e->next; e->children && dwarf_read(&r->d, at, &n) && n.tag != 0;
         at = dwarf_after(&r->d, &n)) {
        bool base = n.tag == DWARF_BASE_CLASS;
        if ((n.tag != DWARF_MEMBER && !base) || n.declared || n.bits || count == MEMBERS_MAX)
            continue;
        LLVMMetadataRef type = type_at(r, n.type, depth + 1);
        uint64_t bytes = bytes_of(r, n.type, 0);
        const char *name = base ? "base" : text_of(n.name);
        if (type != NULL && bytes > 0)
            members[count++] =
                LLVMDIBuilderCreateMemberType(l->b, l->unit, name, strlen(name), l->files[0], 0,
                                              bytes * 8, 0, n.member * 8, LLVMDIFlagZero, type);
    }
    if (e->tag == DWARF_UNION)
        return LLVMDIBuilderCreateUnionType(l->b, l->unit, text_of(e->name), length_of(e->name),
                                            l->files[0], 0, e->bytes * 8, 0, LLVMDIFlagZero,
                                            members, count, 0, "", 0);
    return LLVMDIBuilderCreateStructType(l->b, l->unit, text_of(e->name), length_of(e->name),
                                         l->files[0], 0, e->bytes * 8, 0, LLVMDIFlagZero, NULL,
                                         members, count, 0, NULL, "", 0);
}

static LLVMMetadataRef enum_type(struct reading *r, const struct dwarf_entry *e)
{
    struct debug_lines *l = r->cg->lines;
    LLVMMetadataRef values[MEMBERS_MAX];
    unsigned count = 0;
    struct dwarf_entry n;
    for (uint32_t at = e->next; e->children && dwarf_read(&r->d, at, &n) && n.tag != 0;
         at = dwarf_after(&r->d, &n))
        if (n.tag == DWARF_ENUMERATOR && count < MEMBERS_MAX)
            values[count++] = LLVMDIBuilderCreateEnumerator(l->b, text_of(n.name),
                                                            length_of(n.name), n.value, false);
    LLVMMetadataRef word =
        LLVMDIBuilderCreateBasicType(l->b, "int", 3, e->bytes * 8, DW_ATE_SIGNED, LLVMDIFlagZero);
    return LLVMDIBuilderCreateEnumerationType(l->b, l->unit, text_of(e->name), length_of(e->name),
                                              l->files[0], 0, e->bytes * 8, 0, values, count, word);
}

static LLVMMetadataRef array_type(struct reading *r, const struct dwarf_entry *e, int depth)
{
    enum { RANKS = 8 };
    struct debug_lines *l = r->cg->lines;
    LLVMMetadataRef ranges[RANKS], element = type_at(r, e->type, depth + 1);
    unsigned ranks = 0;
    struct dwarf_entry n;
    for (uint32_t at = e->next; e->children && dwarf_read(&r->d, at, &n) && n.tag != 0;
         at = dwarf_after(&r->d, &n))
        if (n.tag == DWARF_SUBRANGE && ranks < RANKS && n.count <= ELEMENTS_MAX)
            ranges[ranks++] = LLVMDIBuilderGetOrCreateSubrange(l->b, 0, (int64_t)n.count);
    uint64_t bytes = bytes_of(r, e->at, 0);
    if (element == NULL || ranks == 0 || bytes == 0)
        return NULL;
    return LLVMDIBuilderCreateArrayType(l->b, bytes * 8, 0, element, ranges, ranks);
}

static LLVMMetadataRef pointer_type(struct reading *r, const struct dwarf_entry *e, int depth)
{
    struct debug_lines *l = r->cg->lines;
    return LLVMDIBuilderCreatePointerType(l->b, type_at(r, e->type, depth + 1), 64, 0, 0, "", 0);
}

static LLVMMetadataRef make_type(struct reading *r, const struct dwarf_entry *e, int depth)
{
    struct debug_lines *l = r->cg->lines;
    switch (e->tag) {
    case DWARF_BASE:
        return LLVMDIBuilderCreateBasicType(l->b, text_of(e->name), length_of(e->name),
                                            e->bytes * 8, (unsigned)e->encoding, LLVMDIFlagZero);
    case DWARF_POINTER:
    case DWARF_REFERENCE:
    case DWARF_RVALUE: return pointer_type(r, e, depth);
    case DWARF_CONST:
    case DWARF_VOLATILE: return type_at(r, e->type, depth + 1);
    case DWARF_TYPEDEF: {
        LLVMMetadataRef type = type_at(r, e->type, depth + 1);
        return type == NULL
                   ? NULL
                   : LLVMDIBuilderCreateTypedef(l->b, type, text_of(e->name), length_of(e->name),
                                                l->files[0], 0, l->unit, 0);
    }
    case DWARF_STRUCT:
    case DWARF_CLASS:
    case DWARF_UNION: return e->declared ? forward(r, e) : struct_type(r, e, depth);
    case DWARF_ENUMERATION: return enum_type(r, e);
    case DWARF_ARRAY: return array_type(r, e, depth);
    default: return NULL;
    }
}

/* NULL: it has none (void), or is not understood. A structure within itself is its name alone. */
static LLVMMetadataRef type_at(struct reading *r, uint32_t at, int depth)
{
    struct dwarf_entry e;
    for (size_t n = 0; n < r->count; n++)
        if (r->items[n].at == at)
            return r->items[n].type;
    if (at == 0 || !dwarf_read(&r->d, at, &e))
        return NULL;
    bool named = e.tag == DWARF_STRUCT || e.tag == DWARF_CLASS || e.tag == DWARF_UNION;
    if (depth > DEPTH_MAX)
        return named ? forward(r, &e) : NULL;
    size_t slot = r->count;
    vec_push(r, (struct made){at, named ? forward(r, &e) : NULL});
    LLVMMetadataRef type = make_type(r, &e, depth);
    r->items[slot].type = type;
    return type;
}

/* ---- variables ---- */

/* Where the variable of that name is in the window that the list lays out; -1: not there. (What is
 * flattened has variables of its own, by the names of the PTX.) */
static int64_t offset_named(const struct jvar *list, size_t count, const char *name)
{
    for (size_t n = 0; n < count; n++)
        if (list[n].var->name != NULL && strcmp(list[n].var->name, name) == 0)
            return (int64_t)list[n].offset;
    return -1;
}

/* In the window of the block's lane. */
static void declare_local(struct codegen *cg, const char *name, LLVMMetadataRef type,
                          uint64_t offset)
{
    uint64_t ops[] = {DW_OP_DUP,
                      DW_OP_PLUS_UCONST,
                      BLOCK_FIELD(warp),
                      DW_OP_DEREF_SIZE,
                      4,
                      DW_OP_CONSTU,
                      JIT_WARP,
                      DW_OP_MUL,
                      DW_OP_OVER,
                      DW_OP_PLUS_UCONST,
                      BLOCK_FIELD(lane),
                      DW_OP_DEREF_SIZE,
                      4,
                      DW_OP_PLUS,
                      DW_OP_OVER,
                      DW_OP_PLUS_UCONST,
                      BLOCK_FIELD(local_stride),
                      DW_OP_DEREF,
                      DW_OP_MUL,
                      DW_OP_SWAP,
                      DW_OP_PLUS_UCONST,
                      BLOCK_FIELD(local),
                      DW_OP_DEREF,
                      DW_OP_PLUS,
                      DW_OP_PLUS_UCONST,
                      offset};
    debug_declare(cg, name, type, ops, WEIR_COUNT(ops));
}

static void declare_shared(struct codegen *cg, const char *name, LLVMMetadataRef type,
                           uint64_t offset)
{
    uint64_t ops[] = {DW_OP_PLUS_UCONST, BLOCK_FIELD(shared), DW_OP_DEREF, DW_OP_PLUS_UCONST,
                      offset};
    debug_declare(cg, name, type, ops, WEIR_COUNT(ops));
}

/* Where the kernel's parameter of that name is; -1: there is none. */
static int64_t parameter_named(const struct codegen *cg, const char *name)
{
    const struct ptx_func *f = cg->k->entry;
    uint64_t at = 0;
    for (int n = 0; n < f->nparams && f->is_entry; n++) {
        uint64_t align = f->params[n]->align != 0 ? f->params[n]->align : 1;
        at = (at + align - 1) / align * align;
        if (strcmp(f->params[n]->name, name) == 0)
            return (int64_t)at;
        at += f->params[n]->size;
    }
    return -1;
}

static void declare_parameter(struct codegen *cg, const char *name, LLVMMetadataRef type,
                              uint64_t offset)
{
    uint64_t ops[] = {DW_OP_PLUS_UCONST, BLOCK_FIELD(params), DW_OP_DEREF, DW_OP_PLUS_UCONST,
                      offset};
    debug_declare(cg, name, type, ops, WEIR_COUNT(ops));
}

/* The second of two with one name, in blocks of their own, has its line. */
static const char *name_for(struct reading *r, const struct dwarf_entry *e)
{
    for (size_t n = 0; n < r->name_count; n++)
        if (strcmp(r->names[n], e->name) == 0) {
            size_t bytes = strlen(e->name) + 24;
            char *other = arena_alloc(&r->cg->k->arena, bytes);
            snprintf(other, bytes, "%s_%llu", e->name, (unsigned long long)e->line);
            return other;
        }
    if (r->name_count == r->name_cap) {
        r->name_cap = r->name_cap > 0 ? 2 * r->name_cap : 16;
        r->names = xrealloc(r->names, r->name_cap * sizeof *r->names);
    }
    r->names[r->name_count++] = e->name;
    return e->name;
}

static void declare_one(struct reading *r, const struct dwarf_entry *e)
{
    const struct jkernel *k = r->cg->k, *layout = k->layout != NULL ? k->layout : k;
    if (e->variable == NULL || e->name == NULL)
        return;
    int64_t local = offset_named(k->locals, k->nlocals, e->variable);
    int64_t shared = offset_named(layout->shared, layout->nshared, e->variable);
    int64_t param = parameter_named(r->cg, e->variable);
    bool known = local >= 0 || shared >= 0 || param >= 0;
    LLVMMetadataRef type = known ? type_at(r, e->type, 0) : NULL;
    if (type == NULL)
        return;
    if (local >= 0)
        declare_local(r->cg, name_for(r, e), type, (uint64_t)local + e->offset);
    else if (param >= 0)
        declare_parameter(r->cg, name_for(r, e), type, (uint64_t)param + e->offset);
    else
        declare_shared(r->cg, name_for(r, e), type, (uint64_t)shared + e->offset);
}

/* Of the function and its blocks; those of functions that are inlined are not its own. */
static void declare_below(struct reading *r, const struct dwarf_entry *of, int depth)
{
    struct dwarf_entry e;
    for (uint32_t at = of->next; of->children && dwarf_read(&r->d, at, &e) && e.tag != 0;
         at = dwarf_after(&r->d, &e)) {
        if (e.tag == DWARF_VARIABLE || e.tag == DWARF_PARAMETER)
            declare_one(r, &e);
        else if (e.tag == DWARF_BLOCK && depth < DEPTH_MAX)
            declare_below(r, &e, depth + 1);
    }
}

static bool is_function(const struct reading *r, const struct dwarf_entry *e, const char *name)
{
    struct dwarf_entry of;
    if (e->tag != DWARF_FUNCTION || e->declared)
        return false;
    const char *linkage = e->linkage, *own = e->name;
    if (e->origin != 0 && dwarf_read(&r->d, e->origin, &of)) {
        linkage = linkage != NULL ? linkage : of.linkage;
        own = own != NULL ? own : of.name;
    }
    const char *is = linkage != NULL ? linkage : own;
    return is != NULL && strcmp(is, name) == 0;
}

/* The function's entry in the unit; false: it has none. */
static bool find_function(const struct reading *r, const char *name, struct dwarf_entry *out)
{
    struct dwarf_entry unit;
    if (!dwarf_read(&r->d, r->d.first, &unit) || !unit.children)
        return false;
    for (uint32_t at = unit.next; at != 0 && dwarf_read(&r->d, at, out) && out->tag != 0;
         at = dwarf_after(&r->d, out))
        if (is_function(r, out, name))
            return true;
    return false;
}

bool debug_variables(struct codegen *cg)
{
    struct reading r = {.cg = cg};
    struct dwarf_entry function;
    uint32_t at = 0;
    while (dwarf_unit(cg->k->entry->module, &at, &r.d)) {
        r.count = 0; /* offsets are of all units, but a broken one ends here */
        if (find_function(&r, cg->k->entry->name, &function)) {
            declare_below(&r, &function, 0);
            break;
        }
    }
    free(r.items);
    free(r.names);
    return r.name_count > 0;
}
