/* out_of_memory_llvm: the handlers of LLVM and of the C++ library, which C cannot install. */
#include <new>

#include <llvm-c/ErrorHandling.h>
#include <llvm/Support/ErrorHandling.h>

#include "compiler/out_of_memory.h"

static std::new_handler previous;
static void (*abandon)(); /* returns where the thread does not compile */

/* Of the whole process: threads that do not compile get what they would have got. */
static void no_memory()
{
    abandon();
    if (previous != nullptr)
        previous();
    else
        throw std::bad_alloc();
}

static void llvm_no_memory(void *, const char *, bool) { abandon(); }

void compile_catch(void (*no_memory_left)(), void (*gave_up)(const char *why))
{
    abandon = no_memory_left;
    previous = std::set_new_handler(no_memory);
    llvm::install_bad_alloc_error_handler(llvm_no_memory);
    LLVMInstallFatalErrorHandler(gave_up);
}
