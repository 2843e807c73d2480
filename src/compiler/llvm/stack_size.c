/* stack_size: see stack_size.h. LLVM tells the size of a frame as a warning of frames that are
 * larger than an attribute of the function says; nothing else of the C interface does. */
#include "compiler/llvm/stack_size.h"

#include <stdio.h>
#include <string.h>

/* What the frames call, launched kernels among it, finds as much space as on any stack of ours. */
enum { LARGE_FRAME = 128 << 10, CALLED = 8 << 20 };

static void watch(LLVMDiagnosticInfoRef info, void *arg)
{
    struct stack_size *size = arg;
    unsigned long long frame;
    char *text = LLVMGetDiagInfoDescription(info);
    const char *told = strstr(text, "stack frame size (");
    if (told != NULL && sscanf(told, "stack frame size (%llu)", &frame) == 1)
        size->frames += frame;
    else if (LLVMGetDiagInfoSeverity(info) == LLVMDSError)
        snprintf(size->failed, sizeof size->failed, "%s", text);
    LLVMDisposeMessage(text);
}

void stack_size_watch(LLVMModuleRef m, LLVMContextRef ctx, struct stack_size *size)
{
    static const char name[] = "warn-stack-size";
    char limit[16];
    int length = snprintf(limit, sizeof limit, "%d", LARGE_FRAME);
    LLVMAttributeRef warn =
        LLVMCreateStringAttribute(ctx, name, strlen(name), limit, (unsigned)length);
    *size = (struct stack_size){0};
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f != NULL; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, warn);
    LLVMContextSetDiagnosticHandler(ctx, watch, size);
}

uint64_t stack_size_wanted(const struct stack_size *size)
{
    return size->frames != 0 ? size->frames + CALLED : 0;
}
