/* Buffers that grow, and kinds of bytes. */
#include "native.h"

#include <stdlib.h>
#include <string.h>

unsigned char KIND[256], LOWER[256];

void make_kinds(void) {
    for (int c = 0; c < 256; c++) {
        int is_space = c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
        int is_upper = c >= 'A' && c <= 'Z';
        int is_letter = is_upper || (c >= 'a' && c <= 'z');
        LOWER[c] = (unsigned char)(is_upper ? c + 32 : c);
        KIND[c] = (unsigned char)((is_space ? IS_SPACE | ENDS_NAME : 0) | (c == '/' || c == '>' || c == '=' ? ENDS_NAME : 0) |
                                  (is_letter ? IS_LETTER | IS_ALNUM : 0) | (c >= '0' && c <= '9' ? IS_ALNUM : 0));
    }
}

int reserve(Buffer *b, size_t more) {
    if (more <= b->room - b->n) return 1;
    if (more > SIZE_MAX / 4 - b->n) return 0;
    size_t room = (b->n + more) * 2 + 256;
    unsigned char *at = realloc(b->at, room);
    if (!at) return 0;
    b->at = at;
    b->room = room;
    return 1;
}

int append(Buffer *b, Bytes at, size_t n) {
    if (!reserve(b, n)) return 0;
    if (n) memcpy(b->at + b->n, at, n);
    b->n += n;
    return 1;
}

static int is_start(Bytes s, size_t n, const char *w) {
    for (size_t i = 0; i < n; i++)
        if (!w[i] || LOWER[s[i]] != (unsigned char)w[i]) return 0;
    return 1;
}

int is_word(Bytes s, size_t n, const char *w) {
    return is_start(s, n, w) && !w[n];
}

int has_word(Bytes s, size_t n, const char *w) {
    size_t k = strlen(w);
    for (size_t i = 0; i + k <= n; i++)
        if (is_start(s + i, k, w)) return 1;
    return 0;
}

int has_rare(Bytes s, size_t n, const char *w, size_t at) {
    size_t length = strlen(w);
    for (Bytes p = s, end = s + n; (size_t)(end - p) >= length; p++) {
        Bytes rare = memchr(p + at, w[at], (size_t)(end - p) - length + 1);
        if (!rare) return 0;
        p = rare - at;
        if (!memcmp(p, w, length)) return 1;
    }
    return 0;
}
