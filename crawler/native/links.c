/* Hashes of links and rows: xxHash's XXH32, as Python's package xxhash computes it, and the least of many. */
#include "native.h"

#include <string.h>

enum { LANES = 4, STRIPE = 16 };
static const uint32_t P1 = 0x9E3779B1u, P2 = 0x85EBCA77u, P3 = 0xC2B2AE3Du, P4 = 0x27D4EB2Fu, P5 = 0x165667B1u;

static uint32_t turned(uint32_t x, int by) { return x << by | x >> (32 - by); }

static uint32_t four(Bytes at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24; }

uint32_t xxh32(Bytes at, size_t n, uint32_t seed) {
    size_t left = n;
    uint32_t hash = seed + P5;
    if (n >= STRIPE) {
        uint32_t lane[LANES] = {seed + P1 + P2, seed + P2, seed, seed - P1};
        for (; left >= STRIPE; at += STRIPE, left -= STRIPE)
            for (int i = 0; i < LANES; i++) lane[i] = turned(lane[i] + four(at + 4 * i) * P2, 13) * P1;
        hash = turned(lane[0], 1) + turned(lane[1], 7) + turned(lane[2], 12) + turned(lane[3], 18);
    }
    hash += (uint32_t)n;
    for (; left >= 4; at += 4, left -= 4) hash = turned(hash + four(at) * P3, 17) * P4;
    for (; left; at++, left--) hash = turned(hash + *at * P5, 11) * P1;
    hash = (hash ^ hash >> 15) * P2;
    hash = (hash ^ hash >> 13) * P3;
    return hash ^ hash >> 16;
}

size_t put_among_least(uint64_t *least, size_t n, size_t most, uint64_t number) {
    if (!most || (n == most && number >= least[n - 1])) return n;
    size_t at = n < most ? n : most - 1;
    for (; at && least[at - 1] > number; at--) least[at] = least[at - 1];
    least[at] = number;
    return n < most ? n + 1 : n;
}
