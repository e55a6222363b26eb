/* The elements that the HTML Standard names, found by their names in any case. */
#include "native.h"

#include <string.h>

const uint16_t FLAGS_OF[N_COUNT] = {
    0,
#define ELEMENT(id, name, flags) flags,
#include "names.inc"
#undef ELEMENT
};

const char *const NAME_OF[N_COUNT] = {
    "",
#define ELEMENT(id, name, flags) name,
#include "names.inc"
#undef ELEMENT
};

enum { SLOTS = 512, LONGEST = 14 };
static uint8_t SLOT[SLOTS]; /* by hash, the next ones where it is taken; 0: free */

static unsigned slot_of(Bytes s, size_t n) {
    unsigned h = (unsigned)n;
    for (size_t i = 0; i < n; i++) h = h * 31 + LOWER[s[i]];
    return (h ^ h >> 9) % SLOTS;
}

void make_names(void) {
    memset(SLOT, 0, sizeof SLOT);
    for (int id = 1; id < N_COUNT; id++) {
        unsigned slot = slot_of((Bytes)NAME_OF[id], strlen(NAME_OF[id]));
        while (SLOT[slot]) slot = (slot + 1) % SLOTS;
        SLOT[slot] = (uint8_t)id;
    }
}

enum Name name_of(Bytes s, size_t n) {
    if (n > LONGEST) return N_OTHER;
    for (unsigned slot = slot_of(s, n); SLOT[slot]; slot = (slot + 1) % SLOTS) {
        const char *name = NAME_OF[SLOT[slot]];
        if (strlen(name) == n && is_word(s, n, name)) return (enum Name)SLOT[slot];
    }
    return N_OTHER;
}
