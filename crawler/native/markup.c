/* The HTML Standard's tokeniser (13.2.5), in the parts that a page without NUL bytes needs. Each byte is looked at a bounded number of
 * times: an open quote takes all that follows, and so do an open comment and an open raw element. */
#include "native.h"

#include <string.h>

/* -- character references ------------------------------------------------------------------------------------------------------- */

enum { LONGEST_NAME = 33, LONGEST_TEXT = 7, LONGEST_OPEN = 6, ENTITIES = 8192 }; /* LONGEST_OPEN: of names that need no ";" */
typedef struct {
    unsigned char n_name, n_text, name[LONGEST_NAME], text[LONGEST_TEXT];
} Entity;
static Entity ENTITY[ENTITIES];
static int N_ENTITIES;

static const uint16_t WINDOWS_1252[32] = {0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021, 0x2C6,  0x2030, 0x160,
                                          0x2039, 0x152,  0x8D,   0x17D,  0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
                                          0x2013, 0x2014, 0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178};

static unsigned entity_slot(Bytes name, size_t n) {
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++) h = (h ^ name[i]) * 16777619u;
    return (h ^ h >> 15) % ENTITIES;
}

static const Entity *entity(Bytes name, size_t n) {
    if (n > LONGEST_NAME || !n) return NULL;
    for (unsigned slot = entity_slot(name, n); ENTITY[slot].n_name; slot = (slot + 1) % ENTITIES)
        if (ENTITY[slot].n_name == n && !memcmp(ENTITY[slot].name, name, n)) return &ENTITY[slot];
    return NULL;
}

int add_entity(Bytes name, size_t n_name, Bytes text, size_t n_text) {
    if (!n_name || n_name > LONGEST_NAME || n_text > LONGEST_TEXT || N_ENTITIES > ENTITIES / 2) return 0;
    if (entity(name, n_name)) return 1;
    unsigned slot = entity_slot(name, n_name);
    while (ENTITY[slot].n_name) slot = (slot + 1) % ENTITIES;
    Entity *new = &ENTITY[slot];
    new->n_name = (unsigned char)n_name;
    new->n_text = (unsigned char)n_text;
    memcpy(new->name, name, n_name);
    memcpy(new->text, text, n_text);
    N_ENTITIES++;
    return 1;
}

static int append_character(Buffer *b, uint32_t c) {
    unsigned char u[4];
    if (c < 0x80) return u[0] = (unsigned char)c, append(b, u, 1);
    if (c < 0x800) {
        u[0] = (unsigned char)(0xC0 | c >> 6);
        u[1] = (unsigned char)(0x80 | (c & 63));
        return append(b, u, 2);
    }
    if (c < 0x10000) {
        u[0] = (unsigned char)(0xE0 | c >> 12);
        u[1] = (unsigned char)(0x80 | (c >> 6 & 63));
        u[2] = (unsigned char)(0x80 | (c & 63));
        return append(b, u, 3);
    }
    u[0] = (unsigned char)(0xF0 | c >> 18);
    u[1] = (unsigned char)(0x80 | (c >> 12 & 63));
    u[2] = (unsigned char)(0x80 | (c >> 6 & 63));
    u[3] = (unsigned char)(0x80 | (c & 63));
    return append(b, u, 4);
}

static int digit(unsigned char c, int is_hex) {
    if (c >= '0' && c <= '9') return c - '0';
    return is_hex && LOWER[c] >= 'a' && LOWER[c] <= 'f' ? LOWER[c] - 'a' + 10 : -1;
}

/* p stands on "&#": the number's character is appended; returns the place behind, NULL if it is no reference. */
static Bytes numeric(Buffer *b, Bytes p, Bytes e) {
    Bytes d = p + 2;
    int is_hex = d < e && LOWER[*d] == 'x';
    Bytes first = d += is_hex;
    uint32_t v = 0;
    for (int x; d < e && (x = digit(*d, is_hex)) >= 0; d++)
        if (v < 0x110000) v = v * (is_hex ? 16 : 10) + (uint32_t)x;
    if (d == first) return NULL;
    if (v == 0 || v > 0x10FFFF || (v >= 0xD800 && v < 0xE000)) v = 0xFFFD;
    else if (v >= 0x80 && v < 0xA0) v = WINDOWS_1252[v - 0x80];
    if (!append_character(b, v)) return NULL;
    return d < e && *d == ';' ? d + 1 : d;
}

/* p stands on "&" and a letter or digit: the longest name that there is counts, as `numeric`. */
static Bytes named(Buffer *b, Bytes p, Bytes e, int is_attribute) {
    Bytes q = p + 1;
    while (q < e && q - p <= LONGEST_NAME && KIND[*q] & IS_ALNUM) q++;
    size_t n = (size_t)(q - p - 1);
    const Entity *found = n && q < e && *q == ';' ? entity(p + 1, n + 1) : NULL;
    if (found) return append(b, found->text, found->n_text) ? q + 1 : NULL;
    for (n = n > LONGEST_OPEN ? LONGEST_OPEN : n; n > 1; n--)
        if ((found = entity(p + 1, n))) {
            Bytes after = p + 1 + n;
            if (is_attribute && after < e && (*after == '=' || KIND[*after] & IS_ALNUM)) return NULL;
            return append(b, found->text, found->n_text) ? after : NULL;
        }
    return NULL;
}

int append_decoded(Buffer *b, Bytes s, size_t n, int is_attribute) {
    Bytes p = s, e = s + n;
    while (p < e) {
        Bytes q = memchr(p, '&', (size_t)(e - p));
        if (!q) q = e;
        if (!append(b, p, (size_t)(q - p))) return 0;
        if (q == e) return 1;
        Bytes after = NULL;
        if (q + 1 < e && q[1] == '#') after = numeric(b, q, e);
        else if (q + 1 < e && KIND[q[1]] & IS_ALNUM) after = named(b, q, e, is_attribute);
        if (!after) {
            if (!append(b, q, 1)) return 0;
            after = q + 1;
        }
        p = after;
    }
    return 1;
}

/* -- tags ----------------------------------------------------------------------------------------------------------------------- */

static int attribute_of(Bytes s, size_t n) {
    static const char *const names[N_ATTRIBUTES] = {"href", "rel", "src", "name", "content", "http-equiv", "type"};
    static const unsigned char lengths[N_ATTRIBUTES] = {4, 3, 3, 4, 7, 10, 4};
    for (int k = 0; k < N_ATTRIBUTES; k++)
        if (n == lengths[k] && is_word(s, n, names[k])) return k;
    return -1;
}

/* p stands behind "=" and white space: take the value; returns the place behind it, NULL if the page ends in it. */
static Bytes value(Bytes p, Bytes e, Span *found) {
    if (*p == '"' || *p == '\'') {
        Bytes q = memchr(p + 1, *p, (size_t)(e - p - 1));
        if (!q) return NULL;
        *found = (Span){p + 1, (size_t)(q - p - 1)};
        return q + 1;
    }
    Bytes q = p;
    if (*p != '>')
        while (q < e && !(KIND[*q] & IS_SPACE) && *q != '>') q++;
    *found = (Span){p, (size_t)(q - p)};
    return q;
}

Bytes attributes(Bytes p, Bytes e, Span found[N_ATTRIBUTES], int *is_self_closing) {
    *is_self_closing = 0;
    for (;;) {
        while (p < e && (KIND[*p] & IS_SPACE || *p == '/')) *is_self_closing = *p++ == '/';
        if (p >= e) return NULL;
        if (*p == '>') return p + 1;
        *is_self_closing = 0;
        Bytes name = p++; /* a "=" in front is part of the name */
        while (p < e && !(KIND[*p] & ENDS_NAME)) p++;
        size_t n = (size_t)(p - name);
        while (p < e && KIND[*p] & IS_SPACE) p++;
        Span v = {p, 0};
        if (p < e && *p == '=') {
            p++;
            while (p < e && KIND[*p] & IS_SPACE) p++;
            if (p >= e || !(p = value(p, e, &v))) return NULL;
        }
        int k = found ? attribute_of(name, n) : -1;
        if (k >= 0 && !found[k].at) found[k] = v; /* of two with one name the first counts */
    }
}

/* -- what is no tag ----------------------------------------------------------------------------------------------------------------- */

Bytes comment_end(Bytes p, Bytes e) {
    if (e - p < 4 || p[1] != '!' || p[2] != '-' || p[3] != '-') {
        Bytes q = memchr(p, '>', (size_t)(e - p));
        return q ? q + 1 : e;
    }
    p += 4;
    if (p < e && *p == '>') return p + 1;
    if (e - p > 1 && p[0] == '-' && p[1] == '>') return p + 2;
    for (; p < e; p++) {
        p = memchr(p, '-', (size_t)(e - p));
        if (!p) return e;
        if (e - p > 2 && p[1] == '-' && p[2] == '>') return p + 3;
        if (e - p > 3 && p[1] == '-' && p[2] == '!' && p[3] == '>') return p + 4;
    }
    return e;
}

/* Tell whether "-->" stands in p[0:n]. */
static int has_comment_end(Bytes p, Bytes e) {
    for (; e - p > 2; p++) {
        p = memchr(p, '-', (size_t)(e - p - 2));
        if (!p) return 0;
        if (p[1] == '-' && p[2] == '>') return 1;
    }
    return 0;
}

Bytes raw_end(Bytes p, Bytes e, enum Name name) {
    enum { PLAIN, ESCAPED, DOUBLY } state = PLAIN; /* of a script: in "<!--", and in a script within it */
    const char *w = NAME_OF[name];
    size_t n = strlen(w);
    for (;;) {
        Bytes lt = memchr(p, '<', (size_t)(e - p));
        if (state != PLAIN && has_comment_end(p, lt ? lt : e)) state = PLAIN;
        if (!lt) return e;
        if (name == N_SCRIPT && e - lt > 3 && lt[1] == '!' && lt[2] == '-' && lt[3] == '-') {
            if (state == PLAIN) state = ESCAPED;
            p = lt + 2; /* its dashes may be those of an end, too */
            continue;
        }
        int is_end = e - lt > 1 && lt[1] == '/';
        Bytes q = lt + 1 + is_end;
        if ((size_t)(e - q) > n && is_word(q, n, w) && KIND[q[n]] & ENDS_NAME && q[n] != '=') {
            if (is_end && state != DOUBLY) return lt;
            if (is_end) state = ESCAPED;
            else if (state == ESCAPED) state = DOUBLY;
        }
        p = lt + 1;
    }
}
