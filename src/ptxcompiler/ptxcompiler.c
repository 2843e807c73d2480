/* ptxcompiler: libnvptxcompiler_static.a, ptxas as functions, for programs that have no file and
 * start no process to turn their PTX into what the driver loads: a container. */
#include <stdlib.h>
#include <string.h>

#include "nvPTXCompiler.h"
#include "ptxcompiler/options.h"

#define EXPORT __attribute__((visibility("default")))

struct nvPTXCompiler {
    char *text;
    struct strbuf image, errors, info;
    bool compiled; /* and image is what came out */
    int (*callback)(void *, void *);
    void *payload;
};

/* Versions of the PTX ISA: of each major one, the last minor one. */
static const uint8_t last_minor[] = {0, 5, 3, 2, 3, 0, 5, 8, 8, 0};

EXPORT nvPTXCompileResult nvPTXCompilerGetVersion(unsigned int *major, unsigned int *minor)
{
    if (major == NULL || minor == NULL)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    *major = 13;
    *minor = 0;
    return NVPTXCOMPILE_SUCCESS;
}

EXPORT nvPTXCompileResult nvPTXCompilerGetNumSupportedVersions(int *numVersions)
{
    if (numVersions == NULL)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    *numVersions = 0;
    for (size_t major = 1; major < WEIR_COUNT(last_minor); major++)
        *numVersions += last_minor[major] + 1;
    return NVPTXCOMPILE_SUCCESS;
}

EXPORT nvPTXCompileResult nvPTXCompilerGetSupportedVersions(int (*versions)[2])
{
    if (versions == NULL)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    for (int major = 1; major < (int)WEIR_COUNT(last_minor); major++)
        for (int minor = 0; minor <= last_minor[major]; minor++, versions++) {
            (*versions)[0] = major;
            (*versions)[1] = minor;
        }
    return NVPTXCOMPILE_SUCCESS;
}

EXPORT nvPTXCompileResult nvPTXCompilerCreate(struct nvPTXCompiler **compiler, size_t ptxCodeLen,
                                              const char *ptxCode)
{
    if (compiler == NULL || ptxCode == NULL)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    struct nvPTXCompiler *c = calloc(1, sizeof *c);
    if (c != NULL)
        c->text = strndup(ptxCode, ptxCodeLen);
    if (c == NULL || c->text == NULL) {
        free(c);
        return NVPTXCOMPILE_ERROR_OUT_OF_MEMORY;
    }
    *compiler = c;
    return NVPTXCOMPILE_SUCCESS;
}

EXPORT nvPTXCompileResult nvPTXCompilerDestroy(struct nvPTXCompiler **compiler)
{
    if (compiler == NULL || *compiler == NULL)
        return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
    struct nvPTXCompiler *c = *compiler;
    sb_free(&c->image);
    sb_free(&c->errors);
    sb_free(&c->info);
    free(c->text);
    free(c);
    *compiler = NULL;
    return NVPTXCOMPILE_SUCCESS;
}

static nvPTXCompileResult refuse(struct nvPTXCompiler *c, const struct diag *d)
{
    if (d->line > 0)
        sb_printf(&c->errors,
                  "ptxas application ptx input, line %d; error   : %s\n"
                  "ptxas fatal   : Ptx assembly aborted due to errors\n",
                  d->line, d->text);
    else
        sb_printf(&c->errors, "ptxas fatal   : %s\n", d->text);
    return NVPTXCOMPILE_ERROR_COMPILATION_FAILURE;
}

/* What -v asks for. */
static void tell(struct nvPTXCompiler *c, const struct ptx_module *m)
{
    for (int32_t n = 0; n < m->nfuncs; n++)
        if (m->funcs[n]->is_entry && m->funcs[n]->has_body)
            sb_printf(&c->info, "ptxas info    : Compiling entry function '%s' for 'sm_%d%.1s'\n",
                      m->funcs[n]->name, m->target_sm, &m->target_suffix);
}

/* Does the text ask for a version of PTX that is newer than those that are read? */
static bool is_newer(const char *text)
{
    const char *at = strstr(text, ".version");
    const size_t newest = WEIR_COUNT(last_minor) - 1;
    if (at == NULL)
        return false;
    char *end;
    unsigned long major = strtoul(at + strlen(".version"), &end, 10);
    unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return major > newest || (major == newest && minor > last_minor[newest]);
}

static nvPTXCompileResult compile(struct nvPTXCompiler *c, const struct options *o)
{
    struct diag d = {0};
    struct ptx_module *m = ptx_parse(c->text, strlen(c->text), &d);
    if (m == NULL) {
        nvPTXCompileResult r = refuse(c, &d);
        return is_newer(c->text) ? NVPTXCOMPILE_ERROR_UNSUPPORTED_PTX_VERSION : r;
    }
    nvPTXCompileResult r = NVPTXCOMPILE_SUCCESS;
    if (o->verbose)
        tell(c, m);
    if (!options_write(o, m, c->text, strlen(c->text), &c->image, &d))
        r = refuse(c, &d);
    ptx_free(m);
    c->compiled = r == NVPTXCOMPILE_SUCCESS;
    return r;
}

EXPORT nvPTXCompileResult nvPTXCompilerCompile(struct nvPTXCompiler *c, int numCompileOptions,
                                               const char *const *compileOptions)
{
    if (c == NULL)
        return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
    if (numCompileOptions < 0 || (numCompileOptions > 0 && compileOptions == NULL))
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    sb_free(&c->image);
    sb_free(&c->errors);
    sb_free(&c->info);
    c->compiled = false;
    if (c->callback != NULL && c->callback(c->payload, NULL) == 1)
        return NVPTXCOMPILE_ERROR_CANCELLED;
    /* a name before, as a command line has it, and after the options the input */
    char **words = calloc((size_t)numCompileOptions + 3, sizeof *words);
    struct options o;
    struct diag d = {0};
    if (words == NULL)
        return NVPTXCOMPILE_ERROR_OUT_OF_MEMORY;
    int count = 0;
    words[count++] = strdup("ptxas");
    for (int n = 0; n < numCompileOptions; n++)
        words[count++] = strdup(compileOptions[n] != NULL ? compileOptions[n] : "");
    words[count++] = strdup("--input-as-string=");
    nvPTXCompileResult r = options_read(&o, count, words, &d) ? compile(c, &o) : refuse(c, &d);
    for (int n = 0; n < count; n++)
        free(words[n]);
    free(words);
    return r;
}

EXPORT nvPTXCompileResult nvPTXCompilerGetCompiledProgramSize(struct nvPTXCompiler *c,
                                                              size_t *binaryImageSize)
{
    if (c == NULL)
        return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
    if (binaryImageSize == NULL)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    *binaryImageSize = c->image.count;
    return c->compiled ? NVPTXCOMPILE_SUCCESS : NVPTXCOMPILE_ERROR_COMPILER_INVOCATION_INCOMPLETE;
}

EXPORT nvPTXCompileResult nvPTXCompilerGetCompiledProgram(struct nvPTXCompiler *c,
                                                          void *binaryImage)
{
    if (c == NULL)
        return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
    if (binaryImage == NULL)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    if (!c->compiled)
        return NVPTXCOMPILE_ERROR_COMPILER_INVOCATION_INCOMPLETE;
    memcpy(binaryImage, c->image.items, c->image.count);
    return NVPTXCOMPILE_SUCCESS;
}

/* ---- logs ---- */

static nvPTXCompileResult log_size(const struct nvPTXCompiler *c, const struct strbuf *log,
                                   size_t *size)
{
    if (c == NULL)
        return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
    if (size == NULL)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    *size = log->count;
    return NVPTXCOMPILE_SUCCESS;
}

static nvPTXCompileResult log_text(const struct nvPTXCompiler *c, const struct strbuf *log,
                                   char *text)
{
    if (c == NULL)
        return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
    if (text == NULL)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    if (log->count > 0)
        memcpy(text, log->items, log->count);
    text[log->count] = '\0';
    return NVPTXCOMPILE_SUCCESS;
}

EXPORT nvPTXCompileResult nvPTXCompilerGetErrorLogSize(struct nvPTXCompiler *c,
                                                       size_t *errorLogSize)
{
    return log_size(c, c != NULL ? &c->errors : NULL, errorLogSize);
}

EXPORT nvPTXCompileResult nvPTXCompilerGetErrorLog(struct nvPTXCompiler *c, char *errorLog)
{
    return log_text(c, c != NULL ? &c->errors : NULL, errorLog);
}

EXPORT nvPTXCompileResult nvPTXCompilerGetInfoLogSize(struct nvPTXCompiler *c, size_t *infoLogSize)
{
    return log_size(c, c != NULL ? &c->info : NULL, infoLogSize);
}

EXPORT nvPTXCompileResult nvPTXCompilerGetInfoLog(struct nvPTXCompiler *c, char *infoLog)
{
    return log_text(c, c != NULL ? &c->info : NULL, infoLog);
}

EXPORT nvPTXCompileResult nvPTXCompilerSetFlowCallback(struct nvPTXCompiler *c,
                                                       int (*callback)(void *, void *),
                                                       void *payload)
{
    if (c == NULL)
        return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
    if (callback == NULL)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    c->callback = callback;
    c->payload = payload;
    return NVPTXCOMPILE_SUCCESS;
}
