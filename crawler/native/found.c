/* What an element of a page gives: links, and what directs (base, link, meta). */
#include "native.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_HREF = 1 << 16 }; /* characters of a link, as html.py has it */

static size_t n_characters(Bytes s, size_t n) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++) found += (s[i] & 0xC0) != 0x80;
    return found;
}

/* Append an attribute's value as a tree has it: references decoded, line ends as LF. Returns its place. */
static int append_value(Pass *s, Span v, size_t *at, size_t *n) {
    Bytes p = v.at, e = v.at + v.n;
    *at = s->values.n;
    while (p < e) {
        Bytes cr = memchr(p, '\r', (size_t)(e - p)), stop = cr ? cr : e;
        if (!append_decoded(&s->values, p, (size_t)(stop - p), 1)) return give_up(s, "memory");
        p = stop;
        if (p < e) {
            if (!append(&s->values, (Bytes) "\n", 1)) return give_up(s, "memory");
            p += e - p > 1 && p[1] == '\n' ? 2 : 1;
        }
    }
    *n = s->values.n - *at;
    return 1;
}

static void *grown(void *at, size_t n, size_t *room, size_t each) {
    if (n < *room) return at;
    size_t more = *room * 2 + 64;
    if (more > SIZE_MAX / each) return NULL;
    void *new = realloc(at, more * each);
    if (new) *room = more;
    return new;
}

static int add_link(Pass *s, Span v, Span rel, Span type, enum Name tag) {
    size_t at, n, rel_at = 0, rel_n = 0, type_at = 0, type_n = 0;
    if (!v.at || !v.n) return 1;
    if (!append_value(s, v, &at, &n)) return 0;
    while (n && KIND[s->values.at[at]] & IS_SPACE) at++, n--;
    while (n && KIND[s->values.at[at + n - 1]] & IS_SPACE) n--;
    if (!n) return 1;
    s->n_links++;
    if (s->n_kept >= s->max_links || (n > MAX_HREF && n_characters(s->values.at + at, n) > MAX_HREF)) return 1;
    if (rel.at && rel.n && !append_value(s, rel, &rel_at, &rel_n)) return 0;
    if (type.at && type.n && !append_value(s, type, &type_at, &type_n)) return 0;
    if (s->values.n > UINT32_MAX) return give_up(s, "size");
    FoundLink *links = grown(s->links, s->n_kept, &s->room_links, sizeof *links);
    if (!links) return give_up(s, "memory");
    s->links = links;
    FoundLink found = {v.at, (uint32_t)at, (uint32_t)n, (uint32_t)rel_at, (uint32_t)rel_n, (uint32_t)type_at, (uint32_t)type_n, tag};
    links[s->n_kept++] = found;
    return 1;
}

static int add_other(Pass *s, const Tag *t) {
    Other *others = grown(s->others, s->n_others, &s->room_others, sizeof *others);
    if (!others) return give_up(s, "memory");
    s->others = others;
    Other *o = &others[s->n_others++];
    o->n_before = s->n_kept;
    o->tag = t->id;
    memcpy(o->found, t->found, sizeof o->found);
    return 1;
}

/* Tell whether html.py would look at a <link>: the words that make it follow one; with a reference in it, it may. */
static int may_link(Span rel) {
    return rel.at && (memchr(rel.at, '&', rel.n) || has_word(rel.at, rel.n, "next") || has_word(rel.at, rel.n, "prev") ||
                      has_word(rel.at, rel.n, "alternate") || has_word(rel.at, rel.n, "canonical"));
}

int take_element(Pass *s, const Tag *t) {
    static const Span none = {NULL, 0};
    if (s->n_templates) return 1;
    switch (t->id) {
    case N_A: case N_AREA:
        return add_link(s, t->found[HREF], t->found[REL], t->found[TYPE], t->id);
    case N_FRAME: /* in HTML there is none outside a frameset */
        if (!top(s) || top(s)->space == IN_HTML) return 1;
        return add_link(s, t->found[SRC], none, none, t->id);
    case N_IFRAME:
        return add_link(s, t->found[SRC], none, none, t->id);
    case N_BASE:
        return t->found[HREF].at ? add_other(s, t) : 1;
    case N_LINK:
        return t->found[HREF].at && may_link(t->found[REL]) ? add_other(s, t) : 1;
    case N_META:
        return t->found[CONTENT].at ? add_other(s, t) : 1;
    default:
        return 1;
    }
}
