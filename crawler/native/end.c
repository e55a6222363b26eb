/* End tags (HTML Standard 13.2.6.4 and .5): the gap is sure where one closes something. */
#include "native.h"

static int is_there(Pass *s, int at) {
    if (at >= 0) s->gap = SURE;
    return at >= 0;
}

static int end_in_head(Pass *s, const Tag *t, int *is_done) {
    *is_done = 1;
    if (t->id == N_NOSCRIPT && s->mode == HEAD_NOSCRIPT) {
        begin_body(s);
        s->mode = HEAD;
        s->gap = SURE;
    } else if (t->id == N_HEAD && s->mode == HEAD) {
        s->mode = AFTER_HEAD;
    } else if (t->id == N_BR || ((t->id == N_BODY || t->id == N_HTML) && s->mode != HEAD_NOSCRIPT)) {
        begin_body(s);
        *is_done = 0;
    }
    return 1;
}

/* Any other end tag: of the innermost element with its name, unless a special one is nearer. */
static int end_any(Pass *s, const Tag *t) {
    for (int i = s->depth - 1; i >= 0; i--) {
        const Open *o = &s->stack[i];
        if (o->space == IN_HTML && is_same(o, t->name, t->n, t->id)) {
            if (!s->in_doubt || i == s->depth - 1) s->gap = SURE;
            return close_from(s, i);
        }
        if (o->flags & SPECIAL) return 1;
    }
    return 1;
}

static int end_form(Pass *s) {
    int at = s->form;
    if (s->n_templates) {
        at = find_in_scope(s, N_FORM, 0);
        return !is_there(s, at) || close_from(s, at);
    }
    s->form = NO_FORM;
    if (at < 0 || find_in_scope(s, N_FORM, 0) != at) return 1;
    if (!close_implied(s, N_OTHER)) return 0;
    if (at == s->depth - 1) {
        if (!s->in_doubt) s->gap = SURE; /* else what is opened again inside it stays open */
        return close_from(s, at) && (s->form = NO_FORM, 1);
    }
    remove_at(s, at);
    s->form = NO_FORM;
    return 1;
}

static int has_bounds(const Pass *s) {
    for (int i = 0; i < s->depth; i++)
        if (s->stack[i].flags & BOUNDS_SCOPE) return 1;
    return 0;
}

static int end_in_body(Pass *s, const Tag *t) {
    unsigned flags = FLAGS_OF[t->id];
    int at;
    switch (t->id) {
    case N_BODY: case N_HTML:
        if (!has_bounds(s)) s->is_after_body = 1;
        return 1;
    case N_FORM:
        return end_form(s);
    case N_BR:
        s->gap = SURE;
        return 1;
    case N_P:
        s->gap = SURE; /* one that closes nothing is an empty paragraph */
        return close_p(s);
    case N_LI:
        at = find_in_scope(s, N_LI, LIST_SCOPE);
        return !is_there(s, at) || close_from(s, at);
    case N_TABLE: case N_TBODY: case N_THEAD: case N_TFOOT: case N_TR: case N_TD: case N_TH: case N_CAPTION:
        at = find_in_table(s, t->id);
        return !is_there(s, at) || close_from(s, at);
    case N_COLGROUP:
        return !top(s) || top(s)->id != N_COLGROUP || close_from(s, s->depth - 1);
    case N_COL:
        return 1;
    default:
        break;
    }
    if (flags & BLOCK_END || t->id == N_DD || t->id == N_DT) {
        at = find_in_scope(s, t->id, 0);
        return !is_there(s, at) || close_from(s, at);
    }
    if (flags & HEADING) {
        at = find_heading(s);
        return !is_there(s, at) || close_from(s, at);
    }
    return flags & FORMATTING ? end_formatting(s, t->name, t->n, t->id) : end_any(s, t);
}

/* The innermost element is foreign; *is_done: so is the one that ends. */
static int end_foreign(Pass *s, const Tag *t, int *is_done) {
    *is_done = 0;
    if (t->id == N_BR || t->id == N_P) return break_out(s);
    for (int i = s->depth - 1; i >= 0 && s->stack[i].space != IN_HTML; i--)
        if (is_same(&s->stack[i], t->name, t->n, t->id)) {
            *is_done = 1;
            s->gap = SURE;
            return close_from(s, i);
        }
    return 1;
}

static int end_template(Pass *s) {
    if (!s->n_templates) return 1;
    int at = s->depth - 1;
    while (at > 0 && !(s->stack[at].space == IN_HTML && s->stack[at].id == N_TEMPLATE)) at--;
    s->gap = SURE;
    return close_from(s, at);
}

int end_tag(Pass *s, const Tag *t) {
    int is_done = 0;
    s->gap = s->gap == SURE ? SURE : UNSURE;
    if (s->mode != BODY && !s->n_templates && t->id != N_TEMPLATE && (!end_in_head(s, t, &is_done) || is_done)) return !s->given_up;
    const Open *o = top(s);
    if (o && o->space != IN_HTML && (!end_foreign(s, t, &is_done) || is_done)) return !s->given_up;
    if (t->id == N_TEMPLATE) return end_template(s);
    o = top(s);
    int is_part = FLAGS_OF[t->id] & TABLE_PART || t->id == N_TABLE || t->id == N_FORM;
    if (o && o->space == IN_HTML && o->flags & STRUCTURE && !is_part) {
        if (t->id == N_SELECT) return give_up(s, "a select around a table");
        return 1;
    }
    return end_in_body(s, t);
}
