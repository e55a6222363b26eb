/* Bloom filters, in a few bitmaps of growing size: which keys were certainly never added. storage/tables/bloom.py says what they are, in Python. */
#include "native.h"

#include <stdlib.h>

enum { FIRST_BITS = 20, GROWTH_BITS = 3, BITS_PER_KEY = 16 };

/* A key has two bits: most keys that were never added meet a bit of others at one of these, hardly any at both. */
static int has_bit(const BloomMap *map, uint64_t place) { return map->bits[(place & map->mask) >> 3] >> (place & 7) & 1; }

static void set_bit(const BloomMap *map, uint64_t place) { map->bits[(place & map->mask) >> 3] |= (uint8_t)(1 << (place & 7)); }

int bloom_has(const Bloom *bloom, uint64_t hash) {
    for (int i = 0; i < bloom->n; i++)
        if (has_bit(&bloom->maps[i], hash) && has_bit(&bloom->maps[i], hash >> 32)) return 1;
    return 0;
}

int bloom_add(Bloom *bloom, uint64_t hash, int most) {
    if (!bloom->n_free && bloom->n < most) {
        uint64_t n_bits = (uint64_t)1 << (FIRST_BITS + GROWTH_BITS * bloom->n);
        uint8_t *bits = calloc(n_bits >> 3, 1);
        if (!bits) return 0;
        bloom->maps[bloom->n++] = (BloomMap){bits, n_bits - 1};
        bloom->n_free = n_bits / BITS_PER_KEY;
    }
    if (bloom->n_free) bloom->n_free--;
    set_bit(&bloom->maps[bloom->n - 1], hash);
    set_bit(&bloom->maps[bloom->n - 1], hash >> 32);
    return 1;
}

void bloom_free(Bloom *bloom) {
    for (int i = 0; i < bloom->n; i++) free(bloom->maps[i].bits);
}
