/* jitlink: libnvJitLink, which programs link device code with that they compiled themselves. Inputs
 * are whatever PTX comes in (container/container.h); the "cubin" that comes out is a container of
 * the linked PTX, which libcuda loads. Nothing is optimized here: that is done when a kernel is
 * compiled for the CPU, so options about code are accepted and change nothing. LTO-IR, a vendor's
 * intermediate code, is refused.
 *
 * The functions are exported under the names that each version of the vendor's header gives them
 * (JITLINK_VERSIONS) and the plain ones. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/reserve.h"
#include "container/container.h"
#include "jitlink/jitlink.h"

/* Opens the definition of a function, of which the exported names at the end are aliases. */
#define JITLINK(name) static __attribute__((used)) nvJitLinkResult jitlink##name

struct nvJitLink {
    unsigned sm;
    uint32_t most_registers; /* -maxrregcount, 0: none */
    struct container_units units;
    struct strbuf ptx, image; /* what came out */
    struct strbuf errors, info;
};

static nvJitLinkResult fail(struct nvJitLink *l, nvJitLinkResult code, const char *text)
{
    sb_printf(&l->errors, "%s%s", l->errors.count > 0 ? "\n" : "", text);
    return code;
}

/* ---- options ---- */

/* Options that may be given and say nothing about what is linked. With '=' at the end: a value
 * follows. */
static const char *const known[] = {
    "-time",
    "-verbose",
    "-v",
    "-lto",
    "-ptx",
    "-g",
    "-lineinfo",
    "-ftz=",
    "-prec-div=",
    "-prec-sqrt=",
    "-fma=",
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-O=",
    "-Xptxas=",
    "-Xnvvm=",
    "-kernels-used=",
    "-no-cache",
    "-Xptxas",
    "-Xnvvm",
    "-variables-used=",
    "-optimize-unused-variables",
    "-split-compile=",
    "-split-compile-extended=",
    "-jump-table-density=",
    "-device-stack-protector",
    "-device-stack-protector=",
    "-minimal",
    "-time-passes",
};

static bool is_known(const char *option)
{
    for (size_t n = 0; n < WEIR_COUNT(known); n++) {
        size_t length = strlen(known[n]);
        bool takes_value = known[n][length - 1] == '=';
        if (takes_value ? strncmp(option, known[n], length) == 0 : strcmp(option, known[n]) == 0)
            return true;
    }
    return false;
}

/* sm_90, compute_90, sm_90a: the number; 0: it is none. */
static unsigned read_arch(const char *text)
{
    size_t prefix = strncmp(text, "sm_", 3) == 0 ? 3 : strncmp(text, "compute_", 8) == 0 ? 8 : 0;
    char *end;
    if (prefix == 0 || !isdigit((unsigned char)text[prefix]))
        return 0;
    unsigned long sm = strtoul(text + prefix, &end, 10);
    bool suffix = (*end == 'a' || *end == 'f') && end[1] == '\0';
    return sm <= 999 && (*end == '\0' || suffix) ? (unsigned)sm : 0;
}

static nvJitLinkResult read_options(struct nvJitLink *l, uint32_t count, const char *const *options)
{
    for (uint32_t n = 0; n < count; n++) {
        const char *option = options[n];
        if (option == NULL)
            return NVJITLINK_ERROR_NULL_INPUT;
        if (option[0] == '-' && option[1] == '-')
            option++;
        if (strncmp(option, "-arch=", 6) == 0) {
            l->sm = read_arch(option + 6);
            if (l->sm == 0) /* as the vendor's says of what is no target at all */
                return NVJITLINK_ERROR_UNRECOGNIZED_OPTION;
        } else if (strncmp(option, "-maxrregcount=", 14) == 0) {
            char *end;
            l->most_registers = (uint32_t)strtoul(option + 14, &end, 10);
            if (end == option + 14 || *end != '\0')
                return NVJITLINK_ERROR_UNRECOGNIZED_OPTION;
        } else if (!is_known(option)) {
            return NVJITLINK_ERROR_UNRECOGNIZED_OPTION;
        } else if (strcmp(option, "-Xptxas") == 0 || strcmp(option, "-Xnvvm") == 0) {
            n++; /* its value is the next one */
        }
    }
    return l->sm == 0 ? NVJITLINK_ERROR_MISSING_ARCH : NVJITLINK_SUCCESS;
}

static void jitlink_free(struct nvJitLink *l)
{
    container_free(&l->units);
    sb_free(&l->ptx);
    sb_free(&l->image);
    sb_free(&l->errors);
    sb_free(&l->info);
    free(l);
}

JITLINK(Create)(struct nvJitLink **out, uint32_t count, const char **options)
{
    if (out == NULL || (count > 0 && options == NULL))
        return NVJITLINK_ERROR_NULL_INPUT;
    struct nvJitLink *l = xcalloc(1, sizeof *l);
    nvJitLinkResult r = read_options(l, count, options);
    if (r != NVJITLINK_SUCCESS) {
        jitlink_free(l);
        l = NULL;
    }
    *out = l;
    return r;
}

JITLINK(Destroy)(struct nvJitLink **handle)
{
    if (handle == NULL || *handle == NULL)
        return NVJITLINK_ERROR_NULL_INPUT;
    jitlink_free(*handle);
    *handle = NULL;
    return NVJITLINK_SUCCESS;
}

/* ---- inputs ---- */

static nvJitLinkResult result_of(enum container_status s, nvJitLinkInputType type)
{
    switch (s) {
    case CONTAINER_OK: return NVJITLINK_SUCCESS;
    case CONTAINER_BAD_PTX: return NVJITLINK_ERROR_PTX_COMPILE;
    case CONTAINER_NO_CODE:
        return type == NVJITLINK_INPUT_LIBRARY ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_MISSING_FATBIN;
    case CONTAINER_NO_PTX:
        return type == NVJITLINK_INPUT_LIBRARY ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_INVALID_INPUT;
    default: return NVJITLINK_ERROR_UNRECOGNIZED_INPUT;
    }
}

JITLINK(AddData)(struct nvJitLink *l, nvJitLinkInputType type, const void *data, size_t size,
                 const char *name)
{
    struct diag d = {0};
    struct strbuf text = {0};
    if (l == NULL || data == NULL || size == 0)
        return NVJITLINK_ERROR_NULL_INPUT;
    name = name != NULL ? name : "input";
    nvJitLinkResult r;
    if (type == NVJITLINK_INPUT_LTOIR || type == NVJITLINK_INPUT_INDEX) {
        diag_set(&d, 0, 0, "%s is not supported: give PTX",
                 type == NVJITLINK_INPUT_LTOIR ? "LTO-IR" : "an index file");
        r = NVJITLINK_ERROR_INVALID_INPUT;
    } else if (type == NVJITLINK_INPUT_CUBIN && !container_is_elf(data, size)) {
        diag_set(&d, 0, 0, "it is no ELF file, as what stands for machine code is");
        r = NVJITLINK_ERROR_INCORRECT_INPUT_TYPE;
    } else {
        int before = l->units.left_out;
        r = result_of(container_read(data, size, l->sm, &l->units, &d), type);
        if (r == NVJITLINK_SUCCESS && l->units.left_out > before)
            sb_printf(&l->info, "%s: %d parts without PTX were left out: %s\n", name,
                      l->units.left_out - before, l->units.first_left_out.text);
    }
    if (r != NVJITLINK_SUCCESS) {
        if (d.line > 0)
            sb_printf(&text, "%s: line %d: %s", name, d.line, d.text);
        else
            sb_printf(&text, "%s: %s", name, d.text);
        fail(l, r, text.items);
        sb_free(&text);
    }
    return r;
}

JITLINK(AddFile)(struct nvJitLink *l, nvJitLinkInputType type, const char *path)
{
    struct diag d = {0};
    size_t size;
    if (l == NULL || path == NULL)
        return NVJITLINK_ERROR_NULL_INPUT;
    char *data = file_read(path, &size, &d);
    if (data == NULL)
        return fail(l, NVJITLINK_ERROR_INVALID_INPUT, d.text);
    nvJitLinkResult r = jitlinkAddData(l, type, data, size, path);
    free(data);
    return r;
}

/* ---- linking ---- */

static nvJitLinkResult link_units(struct nvJitLink *l)
{
    struct diag d = {0};
    struct ptx_module *m = ptx_link(l->units.items, (int)l->units.count, &d);
    if (m == NULL)
        return fail(l, NVJITLINK_ERROR_INVALID_INPUT, d.text);
    if (!ptx_check_defined(m, &d)) {
        ptx_free(m);
        return fail(l, NVJITLINK_ERROR_INTERNAL, d.text);
    }
    ptx_limit_registers(m, l->most_registers);
    bool fits = m->target_sm <= (int)l->sm;
    bool fine = fits && ptx_print_guarded(m, &l->ptx);
    ptx_free(m);
    if (!fits)
        return fail(l, NVJITLINK_ERROR_ARCH_MISMATCH, "PTX for a newer target than -arch names");
    return fine ? NVJITLINK_SUCCESS
                : fail(l, NVJITLINK_ERROR_INTERNAL, "there is no memory for what was linked");
}

/* Without inputs an empty module comes out: of the oldest target that is parsed, which fits all. */
static nvJitLinkResult link_nothing(struct nvJitLink *l)
{
    sb_printf(&l->ptx, ".version 6.0\n.target sm_50\n.address_size 64\n");
    return NVJITLINK_SUCCESS;
}

JITLINK(Complete)(struct nvJitLink *l)
{
    if (l == NULL)
        return NVJITLINK_ERROR_NULL_INPUT;
    if (l->image.count > 0)
        return NVJITLINK_SUCCESS;
    nvJitLinkResult r = l->units.count > 0 ? link_units(l) : link_nothing(l);
    if (r != NVJITLINK_SUCCESS)
        return r;
    container_write(l->ptx.items, l->ptx.count, l->sm, false, &l->image);
    return NVJITLINK_SUCCESS;
}

/* ---- answers ---- */

/* What is linked; `count` bytes of it. */
static nvJitLinkResult tell(const struct nvJitLink *l, const char *bytes, size_t count, void *out)
{
    if (l == NULL || out == NULL)
        return NVJITLINK_ERROR_NULL_INPUT;
    if (l->image.count == 0)
        return NVJITLINK_ERROR_INVALID_INPUT; /* not linked yet */
    memcpy(out, bytes, count);
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult tell_size(const struct nvJitLink *l, size_t count, size_t *out)
{
    if (l == NULL || out == NULL)
        return NVJITLINK_ERROR_NULL_INPUT;
    if (l->image.count == 0)
        return NVJITLINK_ERROR_INVALID_INPUT;
    *out = count;
    return NVJITLINK_SUCCESS;
}

JITLINK(GetLinkedCubinSize)(struct nvJitLink *l, size_t *size)
{
    return tell_size(l, l != NULL ? l->image.count : 0, size);
}

JITLINK(GetLinkedCubin)(struct nvJitLink *l, void *out)
{
    return tell(l, l != NULL ? l->image.items : NULL, l != NULL ? l->image.count : 0, out);
}

JITLINK(GetLinkedPtxSize)(struct nvJitLink *l, size_t *size)
{
    return tell_size(l, l != NULL ? l->ptx.count + 1 : 0, size);
}

JITLINK(GetLinkedPtx)(struct nvJitLink *l, char *out)
{
    return tell(l, l != NULL ? l->ptx.items : NULL, l != NULL ? l->ptx.count + 1 : 0, out);
}

/* There is no LTO-IR: nothing links to it. */
JITLINK(GetLinkedLTOIRSize)(struct nvJitLink *l, size_t *size)
{
    (void)size;
    return l == NULL ? NVJITLINK_ERROR_NULL_INPUT
                     : fail(l, NVJITLINK_ERROR_INVALID_INPUT, "LTO-IR is not supported");
}

JITLINK(GetLinkedLTOIR)(struct nvJitLink *l, void *out)
{
    (void)out;
    return l == NULL ? NVJITLINK_ERROR_NULL_INPUT
                     : fail(l, NVJITLINK_ERROR_INVALID_INPUT, "LTO-IR is not supported");
}

static nvJitLinkResult log_size(const struct strbuf *log, size_t *size)
{
    if (size == NULL)
        return NVJITLINK_ERROR_NULL_INPUT;
    *size = log->count + 1;
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult log_text(const struct strbuf *log, char *out)
{
    if (out == NULL)
        return NVJITLINK_ERROR_NULL_INPUT;
    memcpy(out, log->count > 0 ? log->items : "", log->count + 1);
    return NVJITLINK_SUCCESS;
}

JITLINK(GetErrorLogSize)(struct nvJitLink *l, size_t *size)
{
    return l != NULL ? log_size(&l->errors, size) : NVJITLINK_ERROR_NULL_INPUT;
}

JITLINK(GetErrorLog)(struct nvJitLink *l, char *out)
{
    return l != NULL ? log_text(&l->errors, out) : NVJITLINK_ERROR_NULL_INPUT;
}

JITLINK(GetInfoLogSize)(struct nvJitLink *l, size_t *size)
{
    return l != NULL ? log_size(&l->info, size) : NVJITLINK_ERROR_NULL_INPUT;
}

JITLINK(GetInfoLog)(struct nvJitLink *l, char *out)
{
    return l != NULL ? log_text(&l->info, out) : NVJITLINK_ERROR_NULL_INPUT;
}

/* Clients take 12.3 and newer as a promise that LTO-IR can be linked, and compile to that instead
 * of PTX. So both libraries call themselves the last version before. */
JITLINK(Version)(unsigned int *major, unsigned int *minor)
{
    if (major == NULL || minor == NULL)
        return NVJITLINK_ERROR_NULL_INPUT;
    *major = 12;
    *minor = 2;
    return NVJITLINK_SUCCESS;
}

/* ---- exported names ---- */

#define EXPORT(name, symbol)                                                                       \
    extern __typeof__(jitlink##name) symbol                                                        \
        __attribute__((alias("jitlink" #name), visibility("default")));
#define VERSIONED(name, version) EXPORT(name, __nvJitLink##name##_##version)
#define PLAIN(name, unused)      EXPORT(name, nvJitLink##name)
#define ALL_OF(version)          JITLINK_FUNCTIONS(VERSIONED, version)
JITLINK_VERSIONS(ALL_OF)
JITLINK_FUNCTIONS(PLAIN, )
EXPORT(Version, nvJitLinkVersion)
