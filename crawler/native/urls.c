/* Clean links to canonical URLs, and URLs to keyed hashes: BLAKE2b [RFC 7693], as Python's hashlib computes it. */
#include "native.h"

#include <string.h>

/* -- links -------------------------------------------------------------------------------------------------------------------------- */

static unsigned char CLEAN[256]; /* what the URL standard leaves as it is, in a path and in a query; 2: also first in a path's segment */

void make_clean(void) {
    for (int c = 0; c < 256; c++) CLEAN[c] = KIND[c] & IS_ALNUM ? 2 : 0;
    for (Bytes p = (Bytes) "-_~$&()*+,;=@!"; *p; p++) CLEAN[*p] = 2;
    CLEAN['.'] = CLEAN['/'] = CLEAN[':'] = CLEAN['?'] = 1;
}

/* Return the length of an origin that is written out, "http://name" or "//name", perhaps with a port, and is followed by a slash; else 0. */
static size_t origin_length(Bytes s, size_t n) {
    size_t at = 0;
    if (n > 8 && is_word(s, 4, "http")) at = LOWER[s[4]] == 's' ? 5 : 4;
    if (at && s[at++] != ':') return 0;
    if (n - at < 2 || s[at] != '/' || s[at + 1] != '/') return 0;
    size_t name = at + 2;
    for (at = name; at < n && (KIND[s[at]] & IS_ALNUM || s[at] == '.' || s[at] == '-'); at++) {}
    if (at == name) return 0;
    if (at < n && s[at] == ':') {
        size_t port = ++at;
        for (; at < n && s[at] >= '0' && s[at] <= '9'; at++) {}
        if (at == port) return 0;
    }
    return at < n && s[at] == '/' ? at : 0;
}

/* Tell whether s[at:n] are segments of a path, none of them odd, and a query. */
static int is_clean(Bytes s, size_t at, size_t n) {
    while (at < n && s[at] != '?') {
        if (CLEAN[s[at]] != 2) return 0;
        for (; at < n && s[at] != '/' && s[at] != '?'; at++)
            if (!CLEAN[s[at]] || s[at] == ':') return 0;
        at += at < n && s[at] == '/';
    }
    for (; at < n; at++)
        if (!CLEAN[s[at]]) return 0;
    return 1;
}

int read_link(Bytes s, size_t n, CleanLink *found) {
    size_t at = found->n_origin = origin_length(s, n);
    found->n_up = 0;
    if (!at)
        for (; n - at >= 3 && !memcmp(s + at, "../", 3); at += 3) found->n_up++;
    found->is_rooted = !found->n_up && at < n && s[at] == '/';
    at += (size_t)found->is_rooted;
    found->n_ahead = at;
    return is_clean(s, at, n);
}

size_t folder_above(Bytes folder, size_t n, size_t n_root, size_t n_up) {
    for (; n_up && n > n_root + 1; n_up--)
        for (n--; n > n_root + 1 && folder[n - 1] != '/'; n--) {}
    return n;
}

size_t count_byte(Bytes s, size_t n, unsigned char wanted) { /* by searches: there are few */
    size_t found = 0;
    for (Bytes end = s + n; s < end && (s = memchr(s, wanted, (size_t)(end - s))); s++) found++;
    return found;
}

/* -- hashes ------------------------------------------------------------------------------------------------------------------------- */

enum { ROUNDS = 12, WORDS = 16 };
static const uint64_t START[8] = {0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
                                  0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u};
static const uint8_t ORDER[10][WORDS] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static uint64_t turned(uint64_t x, int by) { return x >> by | x << (64 - by); }

static uint64_t eight(Bytes at) {
    uint64_t word = 0;
    for (int i = 7; i >= 0; i--) word = word << 8 | at[i];
    return word;
}

static inline void mix(uint64_t *v, int a, int b, int c, int d, uint64_t x, uint64_t y) {
    v[a] += v[b] + x, v[d] = turned(v[d] ^ v[a], 32);
    v[c] += v[d], v[b] = turned(v[b] ^ v[c], 24);
    v[a] += v[b] + y, v[d] = turned(v[d] ^ v[a], 16);
    v[c] += v[d], v[b] = turned(v[b] ^ v[c], 63);
}

/* Take one block of 128 bytes in.    n_before: bytes of the message up to its end */
static void take_block(uint64_t *state, Bytes block, uint64_t n_before, int is_last) {
    uint64_t v[WORDS], m[WORDS];
    for (int i = 0; i < 8; i++) v[i] = state[i], v[i + 8] = START[i];
    for (int i = 0; i < WORDS; i++) m[i] = eight(block + 8 * i);
    v[12] ^= n_before;
    if (is_last) v[14] = ~v[14];
    for (int r = 0; r < ROUNDS; r++) {
        const uint8_t *o = ORDER[r % 10];
        mix(v, 0, 4, 8, 12, m[o[0]], m[o[1]]); /* eight times written out: then the compiler keeps v in registers */
        mix(v, 1, 5, 9, 13, m[o[2]], m[o[3]]);
        mix(v, 2, 6, 10, 14, m[o[4]], m[o[5]]);
        mix(v, 3, 7, 11, 15, m[o[6]], m[o[7]]);
        mix(v, 0, 5, 10, 15, m[o[8]], m[o[9]]);
        mix(v, 1, 6, 11, 12, m[o[10]], m[o[11]]);
        mix(v, 2, 7, 8, 13, m[o[12]], m[o[13]]);
        mix(v, 3, 4, 9, 14, m[o[14]], m[o[15]]);
    }
    for (int i = 0; i < 8; i++) state[i] ^= v[i] ^ v[i + 8];
}

void begin_hash(uint64_t *state, Bytes key, size_t n_key, Bytes person, size_t n_person) {
    unsigned char block[BLAKE_BLOCK] = {0}, padded[16] = {0};
    memcpy(padded, person, n_person < sizeof padded ? n_person : sizeof padded);
    memcpy(block, key, n_key < BLAKE_KEY ? n_key : BLAKE_KEY);
    memcpy(state, START, sizeof START);
    state[0] ^= 0x01010000u ^ (uint64_t)n_key << 8 ^ BLAKE_DIGEST;
    state[6] ^= eight(padded);
    state[7] ^= eight(padded + 8);
    take_block(state, block, BLAKE_BLOCK, 0);
}

uint64_t hash_of(const uint64_t *begun, Bytes s, size_t n) {
    unsigned char block[BLAKE_BLOCK] = {0};
    uint64_t state[8], n_before = BLAKE_BLOCK;
    memcpy(state, begun, sizeof state);
    for (; n > BLAKE_BLOCK; s += BLAKE_BLOCK, n -= BLAKE_BLOCK) take_block(state, s, n_before += BLAKE_BLOCK, 0);
    memcpy(block, s, n);
    take_block(state, block, n_before + n, 1);
    return state[0];
}
