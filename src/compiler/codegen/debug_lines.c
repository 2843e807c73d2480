/* debug_lines.c: source positions of the machine code, from PTX's .loc, so that a fault report can
 * name a line of the user's source; where the PTX has none, a line of the PTX itself. And, for
 * debuggers, the block that a warp belongs to and the kernel's parameters as variables; those of
 * the source are debug_variables.c's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/codegen/debug.h"

static LLVMMetadataRef debug_file(struct debug_lines *l, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t dir = slash != NULL ? (size_t)(slash - path) : 0;
    return LLVMDIBuilderCreateFile(l->b, name, strlen(name), path, dir);
}

/* Headers of the compiler and of a CUDA toolkit: their functions are CUDA's own to a program. */
static bool is_library(const char *path)
{
    static const char *const directories[] = {"/lib/clang/", "/cuda/include/", "/lib/weir/cccl/",
                                              "/targets/x86_64-linux/include/",
                                              "/targets/sbsa-linux/include/"};
    for (size_t n = 0; n < WEIR_COUNT(directories); n++)
        if (strstr(path, directories[n]) != NULL)
            return true;
    return false;
}

struct debug_lines *debug_open(struct codegen *cg)
{
    const struct ptx_module *m = cg->k->entry->module;
    struct debug_lines *l = xcalloc(1, sizeof *l);
    LLVMSetIsNewDbgInfoFormat(cg->alu.module, true);
    l->b = LLVMCreateDIBuilder(cg->alu.module);
    l->nfiles = m->nfiles > 0 ? m->nfiles : 1;
    l->files = xcalloc((size_t)l->nfiles + 1, sizeof *l->files);
    l->scopes = xcalloc((size_t)l->nfiles + 1, sizeof *l->scopes);
    l->library = xcalloc((size_t)l->nfiles + 1, sizeof *l->library);
    l->files[0] = debug_file(l, "PTX");
    for (int n = 1; n < m->nfiles; n++)
        if (m->files[n] != NULL) {
            l->files[n] = debug_file(l, m->files[n]);
            l->library[n] = is_library(m->files[n]);
        }
    l->unit = LLVMDIBuilderCreateCompileUnit(l->b, LLVMDWARFSourceLanguageC_plus_plus, l->files[0],
                                             "weir", 4, true, "", 0, 0, "", 0,
                                             LLVMDWARFEmissionFull, 0, false, false, "", 0, "", 0);
    LLVMContextRef c = cg->alu.ctx;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c);
    LLVMAddModuleFlag(cg->alu.module, LLVMModuleFlagBehaviorWarning, "Debug Info Version", 18,
                      LLVMValueAsMetadata(LLVMConstInt(i32, LLVMDebugMetadataVersion(), false)));
    LLVMAddModuleFlag(cg->alu.module, LLVMModuleFlagBehaviorWarning, "Dwarf Version", 13,
                      LLVMValueAsMetadata(LLVMConstInt(i32, 4, false)));
    return l;
}

/* ---- variables ---- */

static LLVMMetadataRef number_type(struct debug_lines *l, enum ptx_type type)
{
    const char *name = ptx_type_name(type);
    unsigned encoding = ptx_type_is_float(type)    ? DW_ATE_FLOAT
                        : ptx_type_is_signed(type) ? DW_ATE_SIGNED
                                                   : DW_ATE_UNSIGNED;
    return LLVMDIBuilderCreateBasicType(l->b, name, strlen(name), ptx_type_bits(type), encoding,
                                        LLVMDIFlagZero);
}

/* Three words, x, y and z. */
static LLVMMetadataRef triple_type(struct debug_lines *l)
{
    LLVMMetadataRef word = number_type(l, PTX_U32), members[3];
    for (unsigned d = 0; d < 3; d++) {
        const char name[] = {(char)('x' + d)};
        members[d] = LLVMDIBuilderCreateMemberType(l->b, l->unit, name, 1, l->files[0], 0, 32, 32,
                                                   (uint64_t)d * 32, LLVMDIFlagZero, word);
    }
    return LLVMDIBuilderCreateStructType(l->b, l->unit, "dim3", 4, l->files[0], 0, 96, 32,
                                         LLVMDIFlagZero, NULL, members, 3, 0, NULL, "", 0);
}

/* A variable of the function that is at the address which the operations make of the block's. */
void debug_declare(struct codegen *cg, const char *name, LLVMMetadataRef type, uint64_t *ops,
                   size_t count)
{
    struct debug_lines *l = cg->lines;
    LLVMMetadataRef variable = LLVMDIBuilderCreateAutoVariable(
        l->b, l->function, name, strlen(name), l->files[0], 0, type, true, LLVMDIFlagZero, 0);
    LLVMMetadataRef at = LLVMDIBuilderCreateDebugLocation(cg->alu.ctx, 0, 0, l->function, NULL);
    LLVMDIBuilderInsertDeclareRecordAtEnd(l->b, cg->block.ptr, variable,
                                          LLVMDIBuilderCreateExpression(l->b, ops, count), at,
                                          LLVMGetInsertBlock(cg->alu.b));
}

static LLVMMetadataRef param_type(struct debug_lines *l, const struct ptx_var *v)
{
    LLVMMetadataRef one = number_type(l, (enum ptx_type)v->type);
    uint64_t bytes = ptx_type_bits((enum ptx_type)v->type) / 8;
    if (bytes == 0 || v->size <= bytes)
        return one;
    LLVMMetadataRef range = LLVMDIBuilderGetOrCreateSubrange(l->b, 0, (int64_t)(v->size / bytes));
    return LLVMDIBuilderCreateArrayType(l->b, v->size * 8, v->align * 8, one, &range, 1);
}

/* The kernel's parameters, whose names are not known: param_0 and so on. */
static void declare_params(struct codegen *cg)
{
    const struct ptx_func *f = cg->k->entry;
    uint64_t at = 0;
    for (int n = 0; n < f->nparams; n++) {
        const struct ptx_var *v = f->params[n];
        uint64_t align = v->align != 0 ? v->align : 1;
        char name[24];
        at = (at + align - 1) / align * align;
        uint64_t ops[] = {DW_OP_PLUS_UCONST, BLOCK_FIELD(params), DW_OP_DEREF, DW_OP_PLUS_UCONST,
                          at};
        snprintf(name, sizeof name, "param_%d", n);
        debug_declare(cg, name, param_type(cg->lines, v), ops, WEIR_COUNT(ops));
        at += v->size;
    }
}

/* Whether the function is a library's: what begins its code stands in one of its files. */
static bool of_library(const struct codegen *cg)
{
    const struct ptx_func *f = cg->k->entry;
    const struct debug_lines *l = cg->lines;
    for (int32_t n = 0; n < f->ninstrs; n++) {
        int file = f->instrs[n].loc_file;
        if (file > 0 && file < l->nfiles)
            return l->library[file];
    }
    return false;
}

/* What a debugger can show of a warp: where it is in the grid, and what the kernel was given. */
static void declare_variables(struct codegen *cg)
{
    static const struct {
        const char *name;
        uint64_t offset;
        bool triple;
    } fields[] = {{"blockIdx", BLOCK_FIELD(ctaid), true},
                  {"blockDim", BLOCK_FIELD(ntid), true},
                  {"gridDim", BLOCK_FIELD(nctaid), true},
                  {"warp", BLOCK_FIELD(warp), false},
                  {"lane", BLOCK_FIELD(lane), false}};
    LLVMMetadataRef triple = triple_type(cg->lines), word = number_type(cg->lines, PTX_U32);
    for (size_t n = 0; n < WEIR_COUNT(fields); n++) {
        uint64_t ops[] = {DW_OP_PLUS_UCONST, fields[n].offset};
        debug_declare(cg, fields[n].name, fields[n].triple ? triple : word, ops, WEIR_COUNT(ops));
    }
    bool variables = !of_library(cg) && debug_variables(cg);
    cg->lines->variables |= variables;
    if (!variables && !cg->k->is_function)
        declare_params(cg);
}

void debug_function(struct codegen *cg)
{
    struct debug_lines *l = cg->lines;
    if (l == NULL)
        return;
    LLVMMetadataRef type =
        LLVMDIBuilderCreateSubroutineType(l->b, l->files[0], NULL, 0, LLVMDIFlagZero);
    const char *name = cg->k->entry->name;
    l->function =
        LLVMDIBuilderCreateFunction(l->b, l->unit, name, strlen(name), name, strlen(name),
                                    l->files[0], 0, type, true, true, 0, LLVMDIFlagZero, true);
    LLVMSetSubprogram(cg->fn, l->function);
    memset(l->scopes, 0, sizeof *l->scopes * (size_t)l->nfiles);
    l->scopes[0] = l->function;
    /* code that belongs to no line */
    LLVMSetCurrentDebugLocation2(
        cg->alu.b, LLVMDIBuilderCreateDebugLocation(cg->alu.ctx, 0, 0, l->function, NULL));
    declare_variables(cg);
}

/* Where the instruction is: in a function of a library that was inlined, where that was called. */
static struct ptx_loc position_of(const struct codegen *cg, const struct ptx_instr *i)
{
    const struct ptx_module *m = cg->k->entry->module;
    const struct debug_lines *l = cg->lines;
    struct ptx_loc at = {i->loc_file, i->loc_line, 0, i->loc_inlined_at};
    while (at.file > 0 && at.file < l->nfiles && l->library[at.file] && at.inlined_at > 0 &&
           at.inlined_at <= m->nlocs)
        at = m->locs[at.inlined_at - 1];
    return at;
}

void debug_at(struct codegen *cg, const struct ptx_instr *i)
{
    struct debug_lines *l = cg->lines;
    if (l == NULL)
        return;
    struct ptx_loc at = position_of(cg, i);
    int file = at.line > 0 && at.file > 0 && at.file < l->nfiles && l->files[at.file] != NULL
                   ? at.file
                   : 0;
    unsigned line = (unsigned)(file != 0 ? at.line : i->line);
    if (l->scopes[file] == NULL)
        l->scopes[file] = LLVMDIBuilderCreateLexicalBlockFile(l->b, l->function, l->files[file], 0);
    LLVMSetCurrentDebugLocation2(
        cg->alu.b, LLVMDIBuilderCreateDebugLocation(cg->alu.ctx, line, 0, l->scopes[file], NULL));
}

bool debug_close(struct debug_lines *l)
{
    if (l == NULL)
        return false;
    bool variables = l->variables;
    LLVMDIBuilderFinalize(l->b);
    LLVMDisposeDIBuilder(l->b);
    free(l->files);
    free(l->scopes);
    free(l->library);
    free(l);
    return variables;
}
