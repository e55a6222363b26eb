/* Open elements, as the HTML Standard's tree builder (13.2.6) has them, but no tree. What needs one makes the pass give the page up: text
 * or elements that a table throws out, links that are opened again elsewhere. Searches stay within MAX_DEPTH entries. */
#include "native.h"

#include <string.h>

enum { MAX_ADOPTIONS = 7 };

int give_up(Pass *s, const char *why) {
    s->given_up = why;
    return 0;
}

Open *top(Pass *s) {
    return s->depth ? &s->stack[s->depth - 1] : NULL;
}

static int holds_html(enum Name id, enum Space space) {
    if (space == IN_SVG) return id == N_FOREIGNOBJECT || id == N_DESC || id == N_TITLE;
    return space == IN_MATH && (id == N_MI || id == N_MO || id == N_MN || id == N_MS || id == N_MTEXT);
}

int push(Pass *s, Bytes name, size_t n, enum Name id, enum Space space, int is_link) {
    if (s->depth == MAX_DEPTH) return give_up(s, "deep");
    Open *o = &s->stack[s->depth++];
    unsigned flags = space == IN_HTML ? FLAGS_OF[id] : id == N_TEMPLATE ? 0 : FLAGS_OF[id] & HIDES;
    *o = (Open){name, (uint32_t)n, (uint16_t)id, (uint16_t)flags, (uint8_t)space, (uint8_t)holds_html(id, space), (uint8_t)is_link};
    if (o->holds_html) o->flags |= SPECIAL | BOUNDS_SCOPE;
    s->n_hidden += (o->flags & HIDES) != 0;
    s->n_templates += space == IN_HTML && id == N_TEMPLATE;
    s->n_selects += space == IN_HTML && id == N_SELECT;
    return 1;
}

static void forget(Pass *s, const Open *o) {
    s->n_hidden -= (o->flags & HIDES) != 0;
    s->n_templates -= o->space == IN_HTML && o->id == N_TEMPLATE;
    s->n_selects -= o->space == IN_HTML && o->id == N_SELECT;
}

/* What is closed but by its own end tag is opened again behind, if it is formatting and no marker held it. */
static int lose(Pass *s, int at) {
    for (int i = at; i < s->depth && !(s->stack[i].flags & MARKER); i++) {
        const Open *o = &s->stack[i];
        if (i == at || !(o->flags & FORMATTING)) continue;
        if (o->is_link) return give_up(s, "a link that is opened again");
        s->in_doubt = s->is_lost[o->id] = 1;
    }
    return 1;
}

int close_from(Pass *s, int at) {
    if (!lose(s, at)) return 0;
    while (s->depth > at) forget(s, &s->stack[--s->depth]);
    if (s->form >= at) s->form = FORM_APART;
    return 1;
}

void remove_at(Pass *s, int at) {
    forget(s, &s->stack[at]);
    memmove(&s->stack[at], &s->stack[at + 1], (size_t)(s->depth - at - 1) * sizeof *s->stack);
    s->depth--;
    if (s->form == at) s->form = FORM_APART;
    else if (s->form > at) s->form--;
}

int is_same(const Open *o, Bytes name, size_t n, enum Name id) {
    if (o->id != id) return 0;
    if (id != N_OTHER) return 1;
    if (o->n != n) return 0;
    for (size_t i = 0; i < n; i++)
        if (LOWER[o->name[i]] != LOWER[name[i]]) return 0;
    return 1;
}

int find_in_scope(const Pass *s, enum Name id, int also) {
    for (int i = s->depth - 1; i >= 0; i--) {
        const Open *o = &s->stack[i];
        if (o->space == IN_HTML && o->id == id) return i;
        if (o->flags & BOUNDS_SCOPE) return -1;
        if (o->space != IN_HTML) continue;
        if (also == BUTTON_SCOPE && o->id == N_BUTTON) return -1;
        if (also == LIST_SCOPE && (o->id == N_OL || o->id == N_UL)) return -1;
    }
    return -1;
}

int find_in_table(const Pass *s, enum Name id) {
    for (int i = s->depth - 1; i >= 0; i--) {
        const Open *o = &s->stack[i];
        if (o->space != IN_HTML) continue;
        if (o->id == id) return i;
        if (o->id == N_TABLE || o->id == N_TEMPLATE) return -1;
    }
    return -1;
}

int find_heading(const Pass *s) {
    for (int i = s->depth - 1; i >= 0 && !(s->stack[i].flags & BOUNDS_SCOPE); i--)
        if (s->stack[i].flags & HEADING) return i;
    return -1;
}

int close_implied(Pass *s, enum Name but) {
    const Open *o;
    while ((o = top(s)) && o->space == IN_HTML && o->flags & IMPLIED && o->id != but)
        if (!close_from(s, s->depth - 1)) return 0;
    return 1;
}

int close_p(Pass *s) {
    int at = find_in_scope(s, N_P, BUTTON_SCOPE);
    return at < 0 || close_from(s, at);
}

int break_out(Pass *s) {
    const Open *o;
    while ((o = top(s)) && o->space != IN_HTML && !o->holds_html)
        if (!close_from(s, s->depth - 1)) return 0;
    return 1;
}

static int has_open_link(const Pass *s) {
    for (int i = s->depth - 1; i >= 0; i--)
        if (s->stack[i].is_link) return 1;
    return 0;
}

/* The adoption agency, as far as it moves nothing that matters. Sets the gap. */
int end_formatting(Pass *s, Bytes name, size_t n, enum Name id) {
    int at = s->depth - 1, block = -1, has_link = 0;
    if (s->is_lost[id]) return give_up(s, "formatting that is opened again");
    for (; at >= 0; at--) {
        const Open *o = &s->stack[at];
        if (o->space == IN_HTML && is_same(o, name, n, id)) break;
        if (o->flags & BOUNDS_SCOPE) at = 0; /* it stands outside, if at all */
        if (o->flags & SPECIAL) block = at;
        has_link |= o->is_link;
    }
    if (at < 0) return !s->in_doubt || !has_open_link(s) || give_up(s, "a link that is opened again"); /* it may end one opened again */
    if (block < 0) {
        if (!s->in_doubt || at == s->depth - 1) s->gap = SURE;
        return close_from(s, at);
    }
    if (has_link || s->stack[at].is_link) return give_up(s, "a link that is opened again");
    if (s->depth - at > MAX_ADOPTIONS) return give_up(s, "formatting that is opened again");
    for (int i = at + 1; i < s->depth; i++)
        if (!(s->stack[i].flags & SPECIAL)) return give_up(s, "formatting that is opened again");
    remove_at(s, at); /* it goes into each of the blocks, around what they hold so far */
    s->in_doubt = 1;
    s->gap = SURE;
    return 1;
}
