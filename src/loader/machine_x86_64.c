/* x86-64 relocations, as the psABI defines them (calculations by the psABI's letters: S symbol,
 * A addend, P place, GOT, L stub). */
#include "loader/machine.h"

#if defined(__x86_64__)

#include <elf.h>
#include <string.h>

static unsigned x86_needs(uint32_t type)
{
    switch (type) {
    case R_X86_64_NONE:
    case R_X86_64_64:
    case R_X86_64_PC32:
    case R_X86_64_PC64:
    case R_X86_64_32:
    case R_X86_64_32S:
    case R_X86_64_16:
    case R_X86_64_8:
    case R_X86_64_PC16:
    case R_X86_64_PC8:
    case R_X86_64_GOTOFF64:
    case R_X86_64_GOTPC32:
    case R_X86_64_GOTPC64: return RELOC_PLAIN;
    case R_X86_64_PLT32:
    case R_X86_64_PLTOFF64: return RELOC_STUB;
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
    case R_X86_64_GOTPCREL64:
    case R_X86_64_GOT32:
    case R_X86_64_GOT64: return RELOC_GOT;
    default: return RELOC_REFUSED;
    }
}

enum width { W8 = 1, W16 = 2, W32 = 4, W64 = 8 };
enum range { SIGNED, UNSIGNED, EITHER };

/* Writes a value of that width, refusing one that does not fit (the message says which symbol is
 * out of reach: the usual cause is code that was not compiled as position-independent). */
static bool put(const struct reloc *r, uint64_t value, enum width width, enum range range,
                struct diag *d)
{
    if (r->available < (uint64_t)width)
        return diag_set(d, 0, 0, "a relocation for %s reaches past the end of its section",
                        r->name);
    if (width != W64) {
        int bits = 8 * (int)width;
        int64_t s = (int64_t)value;
        bool fits_signed = s >= -((int64_t)1 << (bits - 1)) && s < (int64_t)1 << (bits - 1);
        bool fits_unsigned = value >> bits == 0;
        if (!(range == SIGNED ? fits_signed : fits_unsigned || (range == EITHER && fits_signed)))
            return diag_set(d, 0, 0, "%s is out of reach of the code (relocation type %u)", r->name,
                            r->type);
    }
    memcpy(r->at, &value, width); /* little-endian both */
    return true;
}

static bool fits_pc32(uint64_t value)
{
    return (int64_t)value >= INT32_MIN && (int64_t)value <= INT32_MAX;
}

static bool x86_apply(const struct reloc *r, struct diag *d)
{
    uint64_t sa = r->symbol + (uint64_t)r->addend;
    uint64_t ga = r->got + (uint64_t)r->addend;
    switch (r->type) {
    case R_X86_64_NONE: return true;
    case R_X86_64_64: return put(r, sa, W64, EITHER, d);
    case R_X86_64_32: return put(r, sa, W32, UNSIGNED, d);
    case R_X86_64_32S: return put(r, sa, W32, SIGNED, d);
    case R_X86_64_16: return put(r, sa, W16, EITHER, d);
    case R_X86_64_8: return put(r, sa, W8, EITHER, d);
    case R_X86_64_PC64: return put(r, sa - r->place, W64, SIGNED, d);
    case R_X86_64_PC32: return put(r, sa - r->place, W32, SIGNED, d);
    case R_X86_64_PC16: return put(r, sa - r->place, W16, SIGNED, d);
    case R_X86_64_PC8: return put(r, sa - r->place, W8, SIGNED, d);
    case R_X86_64_PLT32: { /* straight to the symbol when that is near enough */
        uint64_t direct = sa - r->place;
        if (!fits_pc32(direct) && r->stub != 0)
            direct = r->stub + (uint64_t)r->addend - r->place;
        return put(r, direct, W32, SIGNED, d);
    }
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX: return put(r, ga - r->place, W32, SIGNED, d);
    case R_X86_64_GOTPCREL64: return put(r, ga - r->place, W64, SIGNED, d);
    case R_X86_64_GOT32: return put(r, ga - r->got_base, W32, SIGNED, d);
    case R_X86_64_GOT64: return put(r, ga - r->got_base, W64, SIGNED, d);
    case R_X86_64_GOTOFF64: return put(r, sa - r->got_base, W64, SIGNED, d);
    case R_X86_64_PLTOFF64:
        return put(r, (r->stub ? r->stub : r->symbol) + (uint64_t)r->addend - r->got_base, W64,
                   SIGNED, d);
    case R_X86_64_GOTPC32:
        return put(r, r->got_base + (uint64_t)r->addend - r->place, W32, SIGNED, d);
    case R_X86_64_GOTPC64:
        return put(r, r->got_base + (uint64_t)r->addend - r->place, W64, SIGNED, d);
    default: return diag_set(d, 0, 0, "relocation type %u is not supported", r->type);
    }
}

/* endbr64; jmp *slot(%rip); filled up with int3 */
static bool x86_write_stub(uint8_t *at, uint64_t address, uint64_t got, struct diag *d)
{
    static const uint8_t code[16] = {0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0,    0,
                                     0,    0,    0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc};
    uint64_t distance = got - (address + 10);
    if (!fits_pc32(distance))
        return diag_set(d, 0, 0, "the object is too large");
    int32_t displacement = (int32_t)distance;
    memcpy(at, code, sizeof code);
    memcpy(at + 6, &displacement, sizeof displacement);
    return true;
}

static void x86_flush(void *start, size_t bytes)
{
    (void)start;
    (void)bytes; /* instruction fetch sees stores */
}

const struct load_machine *load_machine_host(struct diag *d)
{
    static const struct load_machine machine = {
        .name = "x86-64",
        .elf = EM_X86_64,
        .stub_bytes = 16,
        .needs = x86_needs,
        .apply = x86_apply,
        .write_stub = x86_write_stub,
        .flush = x86_flush,
    };
    (void)d;
    return &machine;
}

#else

const struct load_machine *load_machine_host(struct diag *d)
{
    diag_set(d, 0, 0, "this version of Weir runs kernels on x86-64 CPUs only");
    return NULL;
}

#endif
