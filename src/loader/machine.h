/* machine: all that the loader needs to know about a CPU family. One table per family
 * (machine_x86_64.c); the rest of the loader is the same for all. */
#ifndef WEIR_LOADER_MACHINE_H
#define WEIR_LOADER_MACHINE_H

#include "base/base.h"

/* What a relocation asks the loader to supply beside the symbol's address. */
enum reloc_need {
    RELOC_PLAIN = 0,
    RELOC_GOT = 1,     /* a slot that holds the symbol's address */
    RELOC_STUB = 2,    /* a jump through such a slot, in case the symbol is too far away to call */
    RELOC_REFUSED = 4, /* a kind this loader does not know */
};

/* One relocation with everything found out about it. */
struct reloc {
    uint32_t type;
    uint8_t *at;        /* where to write */
    uint64_t available; /* bytes of the section from there on */
    uint64_t place;     /* the address that code will see `at` under (P) */
    uint64_t symbol;    /* S */
    int64_t addend;     /* A */
    uint64_t got;       /* address of the symbol's slot (G + GOT); 0 when it has none */
    uint64_t got_base;  /* address of the first slot (GOT) */
    uint64_t stub;      /* address of the symbol's stub; 0 when it has none */
    const char *name;   /* the symbol's, for messages */
};

struct load_machine {
    const char *name;                 /* for messages */
    uint16_t elf;                     /* e_machine of its objects */
    uint32_t stub_bytes;              /* size of a stub, a multiple of 16 */
    unsigned (*needs)(uint32_t type); /* set of enum reloc_need */
    bool (*apply)(const struct reloc *r, struct diag *d);
    /* Writes a stub that will run at `address` and jumps to what the slot at `got` holds. */
    bool (*write_stub)(uint8_t *at, uint64_t address, uint64_t got, struct diag *d);
    void (*flush)(void *start, size_t bytes); /* makes new code visible to instruction fetch */
};

/* The one this program runs on; NULL (and a message) when there is no table for it. */
const struct load_machine *load_machine_host(struct diag *d);

#endif
