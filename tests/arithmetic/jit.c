/* jit: compiles test functions (see loader.h). */
#include "jit.h"

#include "loader/lane_math.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static LLVMOrcLLJITRef jit;
static LLVMTargetMachineRef machine;
static char *features;
static LLVMOrcThreadSafeContextRef context;
static LLVMModuleRef module;
static unsigned serial, pending_count;
static struct {
    struct compiled *out;
    unsigned id;
} pending[4096];

static void must(LLVMErrorRef e)
{
    if (e == NULL)
        return;
    fprintf(stderr, "%s\n", LLVMGetErrorMessage(e));
    exit(1);
}

const char *jit_features(void) { return features; }

/* weir_alu_* by our table, all else by the process. */
static LLVMErrorRef find_symbols(LLVMOrcDefinitionGeneratorRef g, void *ctx,
                                 LLVMOrcLookupStateRef *state, LLVMOrcLookupKind kind,
                                 LLVMOrcJITDylibRef lib, LLVMOrcJITDylibLookupFlags flags,
                                 LLVMOrcCLookupSet set, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        void *p = alu_symbol(LLVMOrcSymbolStringPoolEntryStr(set[k].Name));
        if (p == NULL)
            continue;
        LLVMOrcRetainSymbolStringPoolEntry(set[k].Name);
        LLVMOrcCSymbolMapPair pair = {
            set[k].Name, {(LLVMOrcExecutorAddress)p, {LLVMJITSymbolGenericFlagsExported, 0}}};
        LLVMErrorRef e = LLVMOrcJITDylibDefine(lib, LLVMOrcAbsoluteSymbols(&pair, 1));
        if (e != NULL)
            return e;
    }
    return LLVMErrorSuccess;
}

/* Turns off what a lesser CPU lacks. */
static char *masked_features(const char *simd)
{
    char *host = LLVMGetHostCPUFeatures(), *out = malloc(strlen(host) * 2 + 200);
    bool sse2 = !strcmp(simd, "sse2");
    out[0] = 0;
    for (char *p = strtok(host, ","); p != NULL; p = strtok(NULL, ",")) {
        bool off =
            strcmp(simd, "host") && (strstr(p, "avx512") != NULL || strstr(p, "evex") != NULL);
        off |= sse2 && (strstr(p, "avx") != NULL || strstr(p, "fma") != NULL ||
                        strstr(p, "f16c") != NULL || strstr(p, "vaes") != NULL ||
                        strstr(p, "vpclmul") != NULL || strstr(p, "sse3") != NULL ||
                        strstr(p, "sse4") != NULL || strstr(p, "gfni") != NULL);
        sprintf(out + strlen(out), "%s%c%s", out[0] ? "," : "", off ? '-' : p[0], p + 1);
    }
    LLVMDisposeMessage(host);
    return out;
}

void jit_init(const char *simd)
{
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMTargetRef target;
    char *error = NULL, *triple = LLVMGetDefaultTargetTriple(), *host = LLVMGetHostCPUName();
    LLVMGetTargetFromTriple(triple, &target, &error);
    features = masked_features(simd);
    const char *cpu = strcmp(simd, "host") ? "x86-64" : host;
    LLVMTargetMachineRef m[2];
    for (int k = 0; k < 2; k++)
        m[k] = LLVMCreateTargetMachine(target, triple, cpu, features, LLVMCodeGenLevelDefault,
                                       LLVMRelocPIC, LLVMCodeModelJITDefault);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(host);
    machine = m[0];
    LLVMOrcLLJITBuilderRef b = LLVMOrcCreateLLJITBuilder();
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(
        b, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(m[1]));
    must(LLVMOrcCreateLLJIT(&jit, b));
    LLVMOrcJITDylibRef lib = LLVMOrcLLJITGetMainJITDylib(jit);
    LLVMOrcJITDylibAddGenerator(
        lib, LLVMOrcCreateCustomCAPIDefinitionGenerator(find_symbols, NULL, NULL));
    LLVMOrcDefinitionGeneratorRef process;
    must(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
        &process, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL));
    LLVMOrcJITDylibAddGenerator(lib, process);
}

unsigned lane_bytes(unsigned type)
{
    unsigned bits = ptx_type_bits(type);
    return bits <= 8 ? 1 : bits / 8;
}

/* Address of slot k (and of a lane in it). */
static LLVMValueRef slot(struct alu *a, LLVMValueRef base, unsigned k, unsigned bytes,
                         LLVMValueRef lane)
{
    LLVMTypeRef i8 = LLVMInt8TypeInContext(a->ctx), i64 = LLVMInt64TypeInContext(a->ctx);
    LLVMValueRef at = LLVMConstInt(i64, k * SLOT, false);
    if (lane != NULL) {
        LLVMValueRef wide = LLVMBuildZExt(a->b, lane, i64, "");
        at = LLVMBuildAdd(a->b, at, LLVMBuildMul(a->b, wide, LLVMConstInt(i64, bytes, false), ""),
                          "");
    }
    return LLVMBuildGEP2(a->b, i8, base, &at, 1, "");
}

static LLVMTypeRef memory_type(struct alu *a, unsigned type)
{
    return alu_type(a, type == PTX_PRED ? PTX_U8 : type);
}

static LLVMValueRef load(struct alu *a, LLVMValueRef base, unsigned k, unsigned type,
                         LLVMValueRef lane)
{
    LLVMValueRef p = slot(a, base, k, lane_bytes(type), lane);
    LLVMValueRef v = LLVMBuildLoad2(a->b, memory_type(a, type), p, "");
    LLVMSetAlignment(v, 1);
    return type == PTX_PRED ? LLVMBuildTrunc(a->b, v, alu_type(a, type), "") : v;
}

static void store(struct alu *a, LLVMValueRef v, LLVMValueRef base, unsigned k, unsigned type,
                  LLVMValueRef lane)
{
    if (type == PTX_PRED)
        v = LLVMBuildZExt(a->b, v, memory_type(a, type), "");
    if (LLVMTypeOf(v) != memory_type(a, type)) {
        fprintf(stderr, "result %u has type %s, not %s\n", k, LLVMPrintTypeToString(LLVMTypeOf(v)),
                LLVMPrintTypeToString(memory_type(a, type)));
        abort();
    }
    LLVMSetAlignment(LLVMBuildStore(a->b, v, slot(a, base, k, lane_bytes(type), lane)), 1);
}

static LLVMValueRef immediate(struct alu *a, const struct ptx_operand *o, unsigned type)
{
    LLVMTypeRef t = alu_type(a, type), e = a->lanes > 1 ? LLVMGetElementType(t) : t;
    if (ptx_type_is_float(type)) /* the table has no other float constant than 0 */
        return LLVMConstNull(t);
    LLVMValueRef c = LLVMConstInt(e, o->imm, false), all[LANES];
    for (unsigned k = 0; k < LANES; k++)
        all[k] = c;
    return a->lanes > 1 ? LLVMConstVector(all, LANES) : c;
}

/* Lane 0's value, loaded as a scalar and broadcast. */
static LLVMValueRef broadcast(struct alu *a, LLVMValueRef base, unsigned k, unsigned type)
{
    unsigned lanes = a->lanes;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(a->ctx), t = alu_type(a, type);
    a->lanes = 1;
    LLVMValueRef v = load(a, base, k, type, NULL);
    a->lanes = lanes;
    if (lanes == 1)
        return v;
    v = LLVMBuildInsertElement(a->b, LLVMGetPoison(t), v, LLVMConstInt(i32, 0, false), "");
    return LLVMBuildShuffleVector(a->b, v, LLVMGetPoison(t),
                                  LLVMConstNull(LLVMVectorType(i32, lanes)), "");
}

static void build(struct alu *a, const struct ptx_instr *i, const bool *uniform, const char *math,
                  const struct alu_sig *sig, const char *name)
{
    LLVMTypeRef ptr = LLVMPointerTypeInContext(a->ctx, 0),
                types[] = {ptr, ptr, LLVMInt32TypeInContext(a->ctx)};
    LLVMTypeRef t =
        LLVMFunctionType(LLVMVoidTypeInContext(a->ctx), types, a->lanes > 1 ? 2 : 3, false);
    LLVMValueRef f = LLVMAddFunction(a->module, name, t), src[ALU_MAX_SRC], dst[ALU_MAX_DST];
    LLVMPositionBuilderAtEnd(a->b, LLVMAppendBasicBlockInContext(a->ctx, f, ""));
    LLVMValueRef in = LLVMGetParam(f, 0), out = LLVMGetParam(f, 1);
    LLVMValueRef lane = a->lanes > 1 ? NULL : LLVMGetParam(f, 2);
    unsigned first = i != NULL ? sig->ndst - sig->carry_out : 0;
    for (unsigned k = 0; k < sig->nsrc; k++) {
        bool carry = sig->carry_in && k + 1u == sig->nsrc;
        const struct ptx_operand *o = i != NULL && !carry ? &i->operands[first + k] : NULL;
        src[k] = o != NULL && o->kind == PTX_OPR_IMM ? immediate(a, o, sig->src[k])
                 : o != NULL && uniform != NULL && uniform[first + k]
                     ? broadcast(a, in, k, sig->src[k])
                     : load(a, in, k, sig->src[k], lane);
    }
    if (i != NULL)
        alu_emit(a, i, src, dst);
    else
        alu_math_emit(a, math, src, dst);
    for (unsigned k = 0; k < sig->ndst; k++)
        store(a, dst[k], out, k, sig->dst[k], lane);
    LLVMBuildRetVoid(a->b);
}

bool jit_add(const struct ptx_instr *i, const bool *uniform, const char *math, struct compiled *out,
             struct diag *d)
{
    if (i != NULL ? !alu_supported(i, d) || !alu_signature(i, &out->sig)
                  : !alu_math_known(math, &out->sig))
        return false;
    if (context == NULL) {
        context = LLVMOrcCreateNewThreadSafeContext();
        module =
            LLVMModuleCreateWithNameInContext("batch", LLVMOrcThreadSafeContextGetContext(context));
    }
    struct alu a = {.ctx = LLVMOrcThreadSafeContextGetContext(context), .module = module};
    alu_host(&a, features);
    a.b = LLVMCreateBuilderInContext(a.ctx);
    char name[32];
    snprintf(name, sizeof name, "warp%u", serial);
    a.lanes = LANES;
    build(&a, i, uniform, math, &out->sig, name);
    snprintf(name, sizeof name, "lane%u", serial);
    a.lanes = 1;
    build(&a, i, uniform, math, &out->sig, name);
    LLVMDisposeBuilder(a.b);
    pending[pending_count].out = out;
    pending[pending_count++].id = serial++;
    return true;
}

void jit_finish(void)
{
    if (context == NULL)
        return;
    char *error = NULL;
    char *triple = LLVMGetTargetMachineTriple(machine);
    LLVMSetTarget(module, triple);
    LLVMDisposeMessage(triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetModuleDataLayout(module, layout);
    LLVMDisposeTargetData(layout);
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &error)) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    LLVMDisposeMessage(error);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    must(LLVMRunPasses(module, "default<O1>", machine, options));
    LLVMDisposePassBuilderOptions(options);
    if (getenv("DUMP_IR") != NULL)
        LLVMDumpModule(module);
    if (getenv("DUMP_ASM") != NULL)
        LLVMTargetMachineEmitToFile(machine, module, "/dev/stderr", LLVMAssemblyFile, &error);
    must(LLVMOrcLLJITAddLLVMIRModule(jit, LLVMOrcLLJITGetMainJITDylib(jit),
                                     LLVMOrcCreateNewThreadSafeModule(module, context)));
    LLVMOrcDisposeThreadSafeContext(context);
    context = NULL;
    for (unsigned k = 0; k < pending_count; k++) {
        char name[32];
        LLVMOrcExecutorAddress p;
        snprintf(name, sizeof name, "warp%u", pending[k].id);
        must(LLVMOrcLLJITLookup(jit, &p, name));
        pending[k].out->warp = (warp_fn)p;
        snprintf(name, sizeof name, "lane%u", pending[k].id);
        must(LLVMOrcLLJITLookup(jit, &p, name));
        pending[k].out->lane = (lane_fn)p;
    }
    pending_count = 0;
}

void jit_exit(void)
{
    must(LLVMOrcDisposeLLJIT(jit));
    LLVMDisposeTargetMachine(machine);
    free(features);
    LLVMShutdown();
}
