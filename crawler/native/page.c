/* The pass: a page's bytes, in UTF-8, to its links, what directs, its title and its visible text, in one walk. */
#include "native.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT_BYTES = 4 << 20 }; /* of a buffer, between two pages */

/* -- text --------------------------------------------------------------------------------------------------------------------------- */

static int is_blank(Bytes s, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!(KIND[s[i]] & IS_SPACE)) return 0;
    return 1;
}

static int take_text(Pass *s, Bytes p, size_t n, int has_references) {
    Buffer *b = &s->text;
    const Open *o = top(s);
    int is_loose = o && o->space == IN_HTML && o->flags & STRUCTURE && !s->n_hidden;
    if (!n || (s->n_hidden && s->mode == BODY)) return 1;
    size_t before = b->n;
    int is_next_to = before && !(KIND[b->at[before - 1]] & IS_SPACE);
    if (s->gap == SURE && is_next_to && !append(b, (Bytes) " ", 1)) return give_up(s, "memory");
    size_t first = b->n;
    if (!(has_references ? append_decoded(b, p, n, 0) : append(b, p, n))) return give_up(s, "memory");
    if ((is_loose || s->mode != BODY || s->is_after_body) && !is_blank(b->at + first, b->n - first)) {
        if (is_loose) return give_up(s, "text in a table");
        if (s->mode != BODY && !s->n_templates) begin_body(s);
        s->is_after_body = 0;
    }
    if (s->n_hidden) {
        b->n = before;
        return 1;
    }
    if (s->gap == UNSURE && is_next_to && !(KIND[b->at[first]] & IS_SPACE)) return give_up(s, "text at a tag of no effect");
    s->gap = NO_GAP;
    return 1;
}

/* p stands behind the start tag of an element whose content is no markup; returns the place behind its end tag. */
static Bytes take_raw(Pass *s, const Tag *t, Bytes p, Bytes e) {
    int ignored, is_plain = t->id == N_PLAINTEXT, has_references = t->id == N_TEXTAREA;
    Bytes end = is_plain ? e : raw_end(p, e, t->id);
    if (t->id == N_TITLE && !s->has_title && !s->n_templates && (s->mode != BODY || !s->depth || s->in_doubt)) {
        if (s->mode == BODY && s->in_doubt) return give_up(s, "a title in the body"), NULL;
        s->has_title = 1;
        s->title = (Span){p, (size_t)(end - p)};
    }
    if (!(FLAGS_OF[t->id] & HIDES) && !take_text(s, p, (size_t)(end - p), has_references)) return NULL;
    s->gap = SURE;
    if (end == e) return e;
    p = attributes(end + 2 + t->n, e, NULL, &ignored);
    return p ? p : e;
}

/* -- the pass ----------------------------------------------------------------------------------------------------------------------- */

/* lt stands on "<" or "</" before a letter; returns the place behind the tag, e if the page ends in it, NULL if the page is given up. */
static Bytes take_tag(Pass *s, Bytes lt, Bytes e, int is_end) {
    Tag t = {.name = lt + 1 + is_end};
    Bytes p = t.name;
    while (p < e && !(KIND[*p] & ENDS_NAME && *p != '=')) p++;
    t.n = (size_t)(p - t.name);
    if (t.n > UINT32_MAX) return give_up(s, "size"), NULL;
    t.id = name_of(t.name, t.n);
    p = attributes(p, e, is_end ? NULL : t.found, &t.is_self_closing);
    if (!p) return e;
    s->has_begun = 1;
    if (is_end) return end_tag(s, &t) ? p : NULL;
    if (!start_tag(s, &t)) return NULL;
    return s->is_raw ? take_raw(s, &t, p, e) : p;
}

/* Remember whether the page asks for the quirks that decide where a table stands. */
static void take_doctype(Pass *s, Bytes p, Bytes e) {
    size_t n = (size_t)(e - p);
    if (s->has_begun || n < 9 || !is_word(p + 2, 7, "doctype")) return;
    s->has_begun = 1;
    for (p += 9; p < e && KIND[*p] & IS_SPACE; p++) {}
    int is_html = e - p > 4 && is_word(p, 4, "html");
    for (p += is_html ? 4 : 0; p < e && KIND[*p] & IS_SPACE; p++) {}
    s->quirks = is_html && p < e && *p == '>' ? NO_QUIRKS : PERHAPS_QUIRKS;
}

/* lt stands on "<!", "<?" or "</" before what is no letter. */
static Bytes take_comment(Pass *s, Bytes lt, Bytes e) {
    const Open *o = top(s);
    if (lt[1] == '!' && e - lt >= 9 && !memcmp(lt + 2, "[CDATA[", 7) && o && o->space != IN_HTML) {
        Bytes p = lt + 9, q = p;
        while (e - q > 2 && memcmp(q, "]]>", 3)) q++;
        int is_closed = e - q > 2;
        if (!is_closed) q = e;
        return take_text(s, p, (size_t)(q - p), 0) ? (is_closed ? q + 3 : e) : NULL;
    }
    Bytes end = comment_end(lt, e);
    int is_doctype = lt[1] == '!' && e - lt >= 9 && is_word(lt + 2, 7, "doctype");
    if (is_doctype) take_doctype(s, lt, end);
    int is_nothing = is_doctype || (lt[1] == '/' && e - lt > 2 && lt[2] == '>');
    enum Gap gap = is_nothing || s->is_after_body ? UNSURE : SURE;
    if (s->gap < gap) s->gap = gap;
    return end;
}

static void begin(Pass *s, size_t max_links) {
    s->depth = s->n_hidden = s->n_templates = s->n_selects = 0;
    s->form = NO_FORM;
    s->mode = HEAD;
    s->quirks = QUIRKS;
    s->gap = NO_GAP;
    s->is_after_body = s->in_doubt = s->has_title = s->has_begun = 0;
    s->given_up = NULL;
    memset(s->is_lost, 0, sizeof s->is_lost);
    s->title = (Span){NULL, 0};
    s->text.n = s->values.n = s->n_links = s->n_kept = s->n_others = 0;
    s->max_links = max_links;
    for (Buffer *b = &s->text;; b = &s->values) {
        if (b->room > KEPT_BYTES) {
            free(b->at);
            *b = (Buffer){NULL, 0, 0};
        }
        if (b == &s->values) break;
    }
}

int take_page(Pass *s, Bytes p, size_t n, size_t max_links) {
    Bytes e = p + n;
    begin(s, max_links);
    if (n && memchr(p, 0, n)) return give_up(s, "a NUL");
    while (p < e) {
        Bytes lt = memchr(p, '<', (size_t)(e - p));
        if (!lt) lt = e;
        if (!take_text(s, p, (size_t)(lt - p), 1)) return 0;
        if (lt == e) break;
        unsigned char c = e - lt > 1 ? lt[1] : 0, d = e - lt > 2 ? lt[2] : 0;
        if (KIND[c] & IS_LETTER) p = take_tag(s, lt, e, 0);
        else if (c == '/' && KIND[d] & IS_LETTER) p = take_tag(s, lt, e, 1);
        else if (c == '!' || c == '?' || (c == '/' && d)) p = take_comment(s, lt, e);
        else p = take_text(s, lt, c == '/' ? 2 : 1, 0) ? lt + (c == '/' ? 2 : 1) : NULL;
        if (!p) return 0;
    }
    return 1;
}
