/* Hashes of words, and the least of the hashes of shingles: sketch.py and minhash.py say what they are, and give the tables. */
#include "native.h"

#include <string.h>

enum { USUAL_SHINGLE = 5, USUAL_SUMS = 5 }; /* of near_replica */
static const uint64_t FACTOR = 0x9E3779B97F4A7C15u, MIX = 0xD6E8FEB86659FD93u;
enum { NO_LETTER, LETTER, IDEOGRAPH, UNSPACED, UNSPACED_LENGTH = 3 };
enum { POWERS = 32, LATINS = 256 };
static int8_t CLASS[UNITS];      /* of a UTF-16 code unit */
static uint64_t NUMBER[UNITS];   /* random, of its lower case */
static uint64_t BASE;
static uint64_t POWER[POWERS];   /* of BASE: factors that do not wait for each other */
static uint64_t LATIN[LATINS];   /* NUMBER of a letter; 0: no letter. No letter has the number 0 (sketch.py: scrambled, and not of 0) */

void set_letters(const int8_t *classes, const uint64_t *numbers, uint64_t base) {
    memcpy(CLASS, classes, sizeof CLASS);
    memcpy(NUMBER, numbers, sizeof NUMBER);
    BASE = base;
    for (int i = 0; i < POWERS; i++) POWER[i] = i ? POWER[i - 1] * base : 1;
    for (int i = 0; i < LATINS; i++) LATIN[i] = CLASS[i] == LETTER ? NUMBER[i] : 0;
}

static uint64_t latin(uint8_t unit) { return LATIN[unit]; }

static uint64_t letter(uint16_t unit) { return CLASS[unit] == LETTER ? NUMBER[unit] : 0; }

static uint64_t scrambled(uint64_t x) {
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* The hashes of the words of n units, as many as there are; 0 < UNITS > each unit. */
#define HASH_UNITS(name, Unit, number_of)                                                        \
    static size_t name(const Unit *u, size_t n, uint64_t *out) {                                 \
        size_t found = 0;                                                                        \
        for (size_t i = 0; i < n;) {                                                             \
            uint64_t number = number_of(u[i]);                                                   \
            if (number) {                                                                        \
                uint64_t sum = 0, power = POWER[POWERS - 1];                                     \
                size_t first = i, stop = n - i > POWERS ? i + POWERS : n;                        \
                do sum += number * POWER[i - first];                                             \
                while (++i < stop && (number = number_of(u[i])));                                \
                for (; number && i < n && (number = number_of(u[i])); i++) sum += number * (power *= BASE);\
                out[found++] = scrambled(sum);                                                   \
            } else if (CLASS[u[i]] == NO_LETTER) {                                               \
                i++;                                                                             \
            } else { /* one begins at every letter */                                            \
                uint64_t sum = NUMBER[u[i]], power = BASE;                                       \
                size_t length = CLASS[u[i]] == UNSPACED ? UNSPACED_LENGTH : 1;                   \
                for (size_t j = 1; j < length && i + j < n && CLASS[u[i + j]] == UNSPACED; j++) {\
                    sum += NUMBER[u[i + j]] * power;                                             \
                    power *= BASE;                                                               \
                }                                                                                \
                out[found++] = scrambled(sum);                                                   \
                i++;                                                                             \
            }                                                                                    \
        }                                                                                        \
        return found;                                                                            \
    }

HASH_UNITS(hash_latin, uint8_t, latin)
HASH_UNITS(hash_units, uint16_t, letter)

size_t hash_words(const void *text, size_t n, int width, uint64_t *out) {
    return width == 1 ? hash_latin(text, n, out) : hash_units(text, n, out);
}

uint64_t hash_whole(const void *text, size_t n, int width) {
    uint64_t sum = 0, power = 1;
    for (size_t i = 0; i < n; i++) {
        sum += NUMBER[width == 1 ? ((const uint8_t *)text)[i] : ((const uint16_t *)text)[i]] * power;
        power *= BASE;
    }
    return scrambled(sum);
}

/* Keep the least hash of each slot of the shingles whose hash an expression over tokens from t on gives. */
#define KEEP_LEAST(expression)                                      \
    for (const uint64_t *t = tokens; t <= tokens + n - shingle; t++) { \
        uint64_t hash = (expression);                               \
        int64_t *slot = &least[hash >> (64 - bits)];                \
        *slot = (int64_t)hash < *slot ? (int64_t)hash : *slot; /* always written: which hashes are less cannot be predicted */ \
    }

static uint64_t hash_shingle(const uint64_t *t, size_t n) {
    uint64_t hash = t[n - 1];
    for (size_t i = n - 1; i-- > 0;) hash = hash * FACTOR + t[i];
    return hash;
}

void least_hashes(const uint64_t *tokens, size_t n, size_t shingle, int64_t *least, int bits) {
    if (!n || !shingle) return;
    if (shingle > n) shingle = n;
    if (shingle == USUAL_SHINGLE) KEEP_LEAST((((t[4] * FACTOR + t[3]) * FACTOR + t[2]) * FACTOR + t[1]) * FACTOR + t[0])
    else KEEP_LEAST(hash_shingle(t, shingle))
}

void lend_slots(int64_t *least, int bits) {
    enum { MOST_TRIES = 1024 };
    size_t n = (size_t)1 << bits, n_tries = 4 * n < MOST_TRIES ? 4 * n : MOST_TRIES, first = 0;
    uint8_t is_empty[1 << MOST_SLOT_BITS];
    for (size_t i = 0; i < n; i++) is_empty[i] = least[i] == INT64_MAX;
    while (first < n && is_empty[first]) first++;
    for (size_t i = 0; i < n; i++) {
        if (!is_empty[i]) continue;
        size_t lender = first < n ? first : 0;
        for (size_t turn = 0; turn < n_tries; turn++) {
            uint64_t number = (turn * n + i + 1) * FACTOR;
            number = (number ^ number >> 31) * MIX;
            number = (number ^ number >> 31) * MIX;
            if (is_empty[number >> (64 - bits)]) continue;
            lender = number >> (64 - bits);
            break;
        }
        least[i] = least[lender];
    }
}

void project_words(const uint64_t *tokens, size_t n, const int32_t *logs, size_t n_logs, const int32_t *weights, size_t k, uint64_t *sums) {
    uint32_t counts[1 << BUCKET_BITS] = {0};
    uint16_t found[1 << BUCKET_BITS];
    size_t n_found = 0;
    for (size_t i = 0; i < n; i++) counts[tokens[i] >> (64 - BUCKET_BITS)]++;
    memset(sums, 0, (k + 1) * sizeof *sums);
    for (size_t i = 0; i < (size_t)1 << BUCKET_BITS; i++) {
        found[n_found] = (uint16_t)i;
        n_found += counts[i] > 0; /* which buckets have a word cannot be predicted */
    }
    for (size_t f = 0; f < n_found; f++) {
        size_t i = found[f];
        int64_t log = logs[counts[i] < n_logs ? counts[i] : n_logs - 1];
        sums[0] += (uint64_t)(log * log);
        if (k == USUAL_SUMS)
            for (size_t j = 0; j < USUAL_SUMS; j++) sums[1 + j] += (uint64_t)(log * weights[i * USUAL_SUMS + j]);
        else
            for (size_t j = 0; j < k; j++) sums[1 + j] += (uint64_t)(log * weights[i * k + j]);
    }
}
