/* nvfatbin: libnvfatbin, which programs make fat binaries with of device code that they have
 * compiled themselves. What is added is kept as it is: the parts are looked at when the fat binary
 * is loaded, and are stored plain whatever the options say of compression. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container/container.h"
#include "container/elf.h"
#include "container/fatbin.h"
#include "nvFatbin.h"

#define EXPORT __attribute__((visibility("default")))

struct nvFatbin {
    uint64_t flags; /* of every entry */
    size_t begin;
    struct strbuf image;
};

EXPORT const char *nvFatbinGetErrorString(nvFatbinResult result)
{
    static const char *const texts[] = {
        [NVFATBIN_ERROR_INTERNAL] = "internal error",
        [NVFATBIN_ERROR_ELF_ARCH_MISMATCH] = "the ELF file is for another architecture",
        [NVFATBIN_ERROR_ELF_SIZE_MISMATCH] = "the ELF file is not of the size asked for",
        [NVFATBIN_ERROR_MISSING_PTX_VERSION] = "the PTX has no .version",
        [NVFATBIN_ERROR_NULL_POINTER] = "a pointer is null",
        [NVFATBIN_ERROR_COMPRESSION_FAILED] = "compression failed",
        [NVFATBIN_ERROR_COMPRESSED_SIZE_EXCEEDED] = "the compressed code is too large",
        [NVFATBIN_ERROR_UNRECOGNIZED_OPTION] = "unknown option",
        [NVFATBIN_ERROR_INVALID_ARCH] = "invalid architecture",
        [NVFATBIN_ERROR_INVALID_NVVM] = "the input is not LTO-IR",
        [NVFATBIN_ERROR_EMPTY_INPUT] = "the input is empty",
        [NVFATBIN_ERROR_MISSING_PTX_ARCH] = "the PTX has no .target",
        [NVFATBIN_ERROR_PTX_ARCH_MISMATCH] = "the PTX is for another architecture",
        [NVFATBIN_ERROR_MISSING_FATBIN] = "the object holds no fat binary",
        [NVFATBIN_ERROR_INVALID_INDEX] = "the input is not an index",
        [NVFATBIN_ERROR_IDENTIFIER_REUSE] = "two relocatable entries have the same name",
        [NVFATBIN_ERROR_INTERNAL_PTX_OPTION] = "an option is not one for users",
    };
    if (result == NVFATBIN_SUCCESS)
        return NULL;
    size_t n = (size_t)result;
    return n < WEIR_COUNT(texts) ? texts[n] : "unknown error";
}

EXPORT nvFatbinResult nvFatbinVersion(unsigned int *major, unsigned int *minor)
{
    if (major == NULL || minor == NULL)
        return NVFATBIN_ERROR_NULL_POINTER;
    *major = 13;
    *minor = 0;
    return NVFATBIN_SUCCESS;
}

/* ---- handles ---- */

/* What an option makes of the flags; false: there is no such option. */
static bool read_option(const char *option, uint64_t *flags)
{
    static const struct {
        const char *name;
        uint64_t off, on;
    } known[] = {
        {"-64", 0, FATBIN_64BIT},
        {"-32", FATBIN_64BIT, 0},
        {"-c", 0, 0},
        {"-cuda", FATBIN_OPENCL, FATBIN_CUDA},
        {"-opencl", FATBIN_CUDA, FATBIN_OPENCL},
        {"-g", 0, FATBIN_DEBUG},
        {"-host=linux", FATBIN_WINDOWS | FATBIN_MAC, FATBIN_LINUX},
        {"-host=windows", FATBIN_LINUX | FATBIN_MAC, FATBIN_WINDOWS},
        {"-host=mac", FATBIN_LINUX | FATBIN_WINDOWS, FATBIN_MAC},
        {"-compress=true", 0, 0},
        {"-compress=false", 0, 0},
        {"-compress-all", 0, 0},
        {"-compress-mode=default", 0, 0},
        {"-compress-mode=size", 0, 0},
        {"-compress-mode=speed", 0, 0},
        {"-compress-mode=balance", 0, 0},
        {"-compress-mode=none", 0, 0},
    };
    for (size_t n = 0; n < WEIR_COUNT(known); n++)
        if (strcmp(option, known[n].name) == 0) {
            *flags = (*flags & ~known[n].off) | known[n].on;
            return true;
        }
    return false;
}

/* As NVIDIA's, it gives a handle also where it refuses an option. */
EXPORT nvFatbinResult nvFatbinCreate(nvFatbinHandle *handle_indirect, const char **options,
                                     size_t optionsCount)
{
    if (handle_indirect == NULL || (options == NULL && optionsCount > 0))
        return NVFATBIN_ERROR_NULL_POINTER;
    struct nvFatbin *f = xcalloc(1, sizeof *f);
    nvFatbinResult r = NVFATBIN_SUCCESS;
    f->flags = FATBIN_64BIT | FATBIN_LINUX;
    f->begin = fatbin_begin(&f->image);
    for (size_t n = 0; n < optionsCount && r == NVFATBIN_SUCCESS; n++)
        if (options[n] == NULL)
            r = NVFATBIN_ERROR_NULL_POINTER;
        else if (!read_option(options[n], &f->flags))
            r = NVFATBIN_ERROR_UNRECOGNIZED_OPTION;
    *handle_indirect = f;
    return r;
}

EXPORT nvFatbinResult nvFatbinDestroy(nvFatbinHandle *handle_indirect)
{
    if (handle_indirect == NULL || *handle_indirect == NULL)
        return NVFATBIN_ERROR_NULL_POINTER;
    sb_free(&(*handle_indirect)->image);
    free(*handle_indirect);
    *handle_indirect = NULL;
    return NVFATBIN_SUCCESS;
}

EXPORT nvFatbinResult nvFatbinSize(nvFatbinHandle handle, size_t *size)
{
    if (handle == NULL || size == NULL)
        return NVFATBIN_ERROR_NULL_POINTER;
    *size = handle->image.count;
    return NVFATBIN_SUCCESS;
}

EXPORT nvFatbinResult nvFatbinGet(nvFatbinHandle handle, void *buffer)
{
    if (handle == NULL || buffer == NULL)
        return NVFATBIN_ERROR_NULL_POINTER;
    fatbin_end(&handle->image, handle->begin);
    memcpy(buffer, handle->image.items, handle->image.count);
    return NVFATBIN_SUCCESS;
}

/* ---- parts ---- */

/* Reads "90" and "90a". An empty text is no architecture: 0. */
static bool read_arch(const char *text, struct fatbin_part *part)
{
    char *end;
    unsigned long arch = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
    if (*text == '\0') {
        part->arch = 0;
        return true;
    }
    if (!isdigit((unsigned char)*text) || arch > 999)
        return false;
    if (*end == 'a')
        part->flags |= FATBIN_ARCH_SPECIFIC;
    if (*end == 'f')
        part->flags |= FATBIN_FAMILY_SPECIFIC;
    part->arch = (unsigned)arch;
    return *end == '\0' || ((*end == 'a' || *end == 'f') && end[1] == '\0');
}

/* What all kinds of code have in common. */
static nvFatbinResult begin_part(nvFatbinHandle handle, const void *code, size_t size,
                                 const char *arch, const char *identifier, struct fatbin_part *part)
{
    if (handle == NULL || code == NULL || arch == NULL)
        return NVFATBIN_ERROR_NULL_POINTER;
    if (size == 0)
        return NVFATBIN_ERROR_EMPTY_INPUT;
    part->flags = handle->flags;
    part->name = identifier;
    part->payload = code;
    part->size = size;
    return read_arch(arch, part) ? NVFATBIN_SUCCESS : NVFATBIN_ERROR_INVALID_ARCH;
}

/* The number after a directive of PTX, "8.0": false where there is none. */
static bool read_version(const char *code, size_t size, struct fatbin_part *part)
{
    static const char directive[] = ".version";
    const char *at = memmem(code, size, directive, strlen(directive));
    char digits[32] = "";
    unsigned major, minor;
    if (at == NULL)
        return false;
    at += strlen(directive);
    size_t rest = (size_t)(code + size - at);
    memcpy(digits, at, rest < sizeof digits ? rest : sizeof digits - 1);
    if (sscanf(digits, "%u.%u", &major, &minor) != 2)
        return false;
    part->major = (uint16_t)major;
    part->minor = (uint16_t)minor;
    return true;
}

EXPORT nvFatbinResult nvFatbinAddPTX(nvFatbinHandle handle, const char *code, size_t size,
                                     const char *arch, const char *identifier,
                                     const char *optionsCmdLine)
{
    struct fatbin_part part = {.kind = FATBIN_PTX, .is_text = true};
    nvFatbinResult r = begin_part(handle, code, size, arch, identifier, &part);
    if (r != NVFATBIN_SUCCESS)
        return r;
    part.size = strnlen(code, size);
    if (!read_version(code, part.size, &part))
        return NVFATBIN_ERROR_MISSING_PTX_VERSION;
    part.options = optionsCmdLine != NULL ? optionsCmdLine : "";
    fatbin_add(&handle->image, &part);
    return NVFATBIN_SUCCESS;
}

enum {
    ELF_HEADER = 64,
    ELF_CLASS = 4, /* offsets in an ELF file */
    ELF_ABI_VERSION = 8,
    ELF_MACHINE = 18,
    ELF_VERSION = 20,
    ELF_FLAGS = 48,
    MACHINE_CUDA = 190,
    NEW_ABI = 8, /* since which the architecture is in the second byte of the flags */
};

/* The architecture that an ELF file with device code is for; 0: it is none. */
static unsigned arch_of_elf(const uint8_t *p, size_t size)
{
    uint16_t machine;
    uint32_t flags;
    struct diag ignored = {0};
    memcpy(&machine, p + ELF_MACHINE, sizeof machine);
    memcpy(&flags, p + ELF_FLAGS, sizeof flags);
    if (machine == MACHINE_CUDA)
        return p[ELF_ABI_VERSION] >= NEW_ABI ? flags >> 8 & 0xff : flags & 0xff;
    size_t bytes;
    return container_find_ptx(p, size, &bytes, &ignored) != NULL ? flags : 0;
}

EXPORT nvFatbinResult nvFatbinAddCubin(nvFatbinHandle handle, const void *code, size_t size,
                                       const char *arch, const char *identifier)
{
    struct fatbin_part part = {.kind = FATBIN_ELF};
    nvFatbinResult r = begin_part(handle, code, size, arch, identifier, &part);
    if (r != NVFATBIN_SUCCESS)
        return r;
    const uint8_t *p = code;
    bool wide = (handle->flags & FATBIN_64BIT) != 0;
    if (!container_is_elf(code, size) || size < ELF_HEADER || p[ELF_CLASS] != (wide ? 2 : 1))
        return NVFATBIN_ERROR_ELF_SIZE_MISMATCH;
    if (arch_of_elf(p, size) != part.arch)
        return NVFATBIN_ERROR_ELF_ARCH_MISMATCH;
    part.minor = p[ELF_ABI_VERSION];
    part.major = p[ELF_VERSION];
    fatbin_add(&handle->image, &part);
    return NVFATBIN_SUCCESS;
}

EXPORT nvFatbinResult nvFatbinAddLTOIR(nvFatbinHandle handle, const void *code, size_t size,
                                       const char *arch, const char *identifier,
                                       const char *optionsCmdLine)
{
    static const char bitcode[] = "BC\xc0\xde", nvvm[] = "\xed\x43\x4e\x7f";
    struct fatbin_part part = {.kind = FATBIN_LTO, .minor = 1, .major = 2};
    nvFatbinResult r = begin_part(handle, code, size, arch, identifier, &part);
    if (r != NVFATBIN_SUCCESS)
        return r;
    if (size < 4 || (memcmp(code, bitcode, 4) != 0 && memcmp(code, nvvm, 4) != 0 &&
                     !container_is_elf(code, size)))
        return NVFATBIN_ERROR_INVALID_NVVM;
    part.options = optionsCmdLine != NULL ? optionsCmdLine : "";
    fatbin_add(&handle->image, &part);
    return NVFATBIN_SUCCESS;
}

/* An index says which objects of a library have what. Its form is not known here. */
EXPORT nvFatbinResult nvFatbinAddIndex(nvFatbinHandle handle, const void *code, size_t size,
                                       const char *identifier)
{
    if (handle == NULL || code == NULL)
        return NVFATBIN_ERROR_NULL_POINTER;
    return size == 0 ? NVFATBIN_ERROR_EMPTY_INPUT : NVFATBIN_ERROR_INVALID_INDEX;
}

/* ---- objects of the host's compiler ---- */

/* Adds the entries of the fat binaries in a section. False: one is damaged. */
static bool add_fatbins(struct nvFatbin *f, const char *at, size_t size)
{
    struct fatbin_place one;
    enum fatbin_status s;
    while ((s = fatbin_next(&at, &size, &one)) == FATBIN_OK)
        sb_append(&f->image, one.at + one.header, one.body);
    return s == FATBIN_NOT_ONE;
}

EXPORT nvFatbinResult nvFatbinAddReloc(nvFatbinHandle handle, const void *code, size_t size)
{
    struct elf_file elf;
    struct elf_bytes section;
    struct diag ignored = {0};
    if (handle == NULL || code == NULL)
        return NVFATBIN_ERROR_NULL_POINTER;
    if (size == 0)
        return NVFATBIN_ERROR_EMPTY_INPUT;
    if (!container_is_elf(code, size) || !container_elf_open(code, size, &elf, &ignored))
        return NVFATBIN_ERROR_MISSING_FATBIN;
    for (unsigned n = 1; n < elf.count; n++)
        if (container_elf_section(&elf, n, &section) && container_holds_fatbins(section.name) &&
            !add_fatbins(handle, section.at, section.size))
            return NVFATBIN_ERROR_MISSING_FATBIN;
    return NVFATBIN_SUCCESS;
}
