/* debug_lines.c: source positions of the machine code, from PTX's .loc, so that a fault report can
 * name a line of the user's source; where the PTX has none, a line of the PTX itself. */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/DebugInfo.h>

#include "compiler/codegen/instructions.h"

struct debug_lines {
    LLVMDIBuilderRef b;
    LLVMMetadataRef *files; /* by index into the module's file table; 0: the PTX */
    LLVMMetadataRef unit;
    LLVMMetadataRef function; /* scope of the function being emitted */
    LLVMMetadataRef *scopes;  /* by file, within that function */
    int nfiles;
};

static LLVMMetadataRef debug_file(struct debug_lines *l, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t dir = slash != NULL ? (size_t)(slash - path) : 0;
    return LLVMDIBuilderCreateFile(l->b, name, strlen(name), path, dir);
}

struct debug_lines *debug_open(struct codegen *cg)
{
    const struct ptx_module *m = cg->k->entry->module;
    struct debug_lines *l = xcalloc(1, sizeof *l);
    l->b = LLVMCreateDIBuilder(cg->alu.module);
    l->nfiles = m->nfiles > 0 ? m->nfiles : 1;
    l->files = xcalloc((size_t)l->nfiles + 1, sizeof *l->files);
    l->scopes = xcalloc((size_t)l->nfiles + 1, sizeof *l->scopes);
    l->files[0] = debug_file(l, "PTX");
    for (int n = 1; n < m->nfiles; n++)
        if (m->files[n] != NULL)
            l->files[n] = debug_file(l, m->files[n]);
    l->unit = LLVMDIBuilderCreateCompileUnit(l->b, LLVMDWARFSourceLanguageC, l->files[0], "weir", 4,
                                             true, "", 0, 0, "", 0, LLVMDWARFEmissionLineTablesOnly,
                                             0, false, false, "", 0, "", 0);
    LLVMContextRef c = cg->alu.ctx;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c);
    LLVMAddModuleFlag(cg->alu.module, LLVMModuleFlagBehaviorWarning, "Debug Info Version", 18,
                      LLVMValueAsMetadata(LLVMConstInt(i32, LLVMDebugMetadataVersion(), false)));
    LLVMAddModuleFlag(cg->alu.module, LLVMModuleFlagBehaviorWarning, "Dwarf Version", 13,
                      LLVMValueAsMetadata(LLVMConstInt(i32, 4, false)));
    return l;
}

void debug_function(struct codegen *cg)
{
    struct debug_lines *l = cg->lines;
    if (l == NULL)
        return;
    LLVMMetadataRef type =
        LLVMDIBuilderCreateSubroutineType(l->b, l->files[0], NULL, 0, LLVMDIFlagZero);
    const char *name = cg->k->entry->name;
    l->function = LLVMDIBuilderCreateFunction(l->b, l->unit, name, strlen(name), "", 0, l->files[0],
                                              0, type, true, true, 0, LLVMDIFlagZero, true);
    LLVMSetSubprogram(cg->fn, l->function);
    memset(l->scopes, 0, sizeof *l->scopes * (size_t)l->nfiles);
    l->scopes[0] = l->function;
    /* code that belongs to no line */
    LLVMSetCurrentDebugLocation2(
        cg->alu.b, LLVMDIBuilderCreateDebugLocation(cg->alu.ctx, 0, 0, l->function, NULL));
}

void debug_at(struct codegen *cg, const struct ptx_instr *i)
{
    struct debug_lines *l = cg->lines;
    if (l == NULL)
        return;
    int file = i->loc_line > 0 && i->loc_file > 0 && i->loc_file < l->nfiles &&
                       l->files[i->loc_file] != NULL
                   ? i->loc_file
                   : 0;
    unsigned line = (unsigned)(file != 0 ? i->loc_line : i->line);
    if (l->scopes[file] == NULL)
        l->scopes[file] = LLVMDIBuilderCreateLexicalBlockFile(l->b, l->function, l->files[file], 0);
    LLVMSetCurrentDebugLocation2(
        cg->alu.b, LLVMDIBuilderCreateDebugLocation(cg->alu.ctx, line, 0, l->scopes[file], NULL));
}

void debug_close(struct debug_lines *l)
{
    if (l == NULL)
        return;
    LLVMDIBuilderFinalize(l->b);
    LLVMDisposeDIBuilder(l->b);
    free(l->files);
    free(l->scopes);
    free(l);
}
