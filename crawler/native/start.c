/* Start tags (HTML Standard 13.2.6.4 and .5). Each opens its element, or says that a tree is needed; the gap is sure where one is opened. */
#include "native.h"

void begin_body(Pass *s) {
    if (s->mode == HEAD_NOSCRIPT) s->depth = s->n_hidden = 0; /* nothing else can be open there */
    s->mode = BODY;
}

static int open_as(Pass *s, const Tag *t, enum Space space) {
    s->gap = SURE;
    if (t->is_self_closing && space != IN_HTML) return 1;
    return push(s, t->name, t->n, t->id, space, t->id == N_A && t->found[HREF].at != NULL);
}

/* As if `id` had been written here. */
static int open_implied(Pass *s, const Tag *t, enum Name id) {
    return push(s, t->name, 0, id, IN_HTML, 0);
}

/* -- foreign elements ----------------------------------------------------------------------------------------------------------- */

static int is_foreign(const Pass *s, const Tag *t) {
    const Open *o = s->depth ? &s->stack[s->depth - 1] : NULL;
    if (!o || o->space == IN_HTML) return 0;
    if (!o->holds_html) return 1;
    return o->space == IN_MATH && (t->id == N_MGLYPH || t->id == N_MALIGNMARK);
}

static int start_foreign(Pass *s, const Tag *t, int *is_done) {
    *is_done = 1;
    if (t->id == N_FONT) return give_up(s, "font in svg");
    if (t->id == N_ANNOTATION_XML) return give_up(s, "annotation-xml");
    if (FLAGS_OF[t->id] & BREAKS_OUT) {
        *is_done = 0;
        return break_out(s);
    }
    return open_as(s, t, (enum Space)top(s)->space) && take_element(s, t);
}

/* -- tables --------------------------------------------------------------------------------------------------------------------- */

static int is_structure(const Open *o) {
    return o && o->space == IN_HTML && o->flags & STRUCTURE;
}

static int is_group(enum Name id) {
    return id == N_TBODY || id == N_THEAD || id == N_TFOOT;
}

/* A part of a table, or a table, right inside its structure: what is missing between them is implied. */
static int start_part(Pass *s, const Tag *t) {
    for (;;) {
        enum Name in = (enum Name)top(s)->id, id = t->id;
        if (in == N_COLGROUP) {
            if (id == N_COL) return s->gap = SURE, 1;
        } else if (in == N_TR) {
            if (id == N_TD || id == N_TH) return open_as(s, t, IN_HTML);
        } else if (is_group(in)) {
            if (id == N_TR) return open_as(s, t, IN_HTML);
            if (id == N_TD || id == N_TH) return open_implied(s, t, N_TR) && open_as(s, t, IN_HTML);
        } else {
            if (id == N_TR) return open_implied(s, t, N_TBODY) && open_as(s, t, IN_HTML);
            if (id == N_TD || id == N_TH) return open_implied(s, t, N_TBODY) && open_implied(s, t, N_TR) && open_as(s, t, IN_HTML);
            if (id == N_COL) return open_implied(s, t, N_COLGROUP);
            return open_as(s, t, IN_HTML);
        }
        if (!close_from(s, s->depth - 1)) return 0;
        if (!is_structure(top(s))) return give_up(s, "a table part without table");
    }
}

/* Parts of a table wherever they stand: inside a cell or caption they end it. */
static int start_table_part(Pass *s, const Tag *t) {
    for (int i = s->depth - 1; i >= 0; i--) {
        const Open *o = &s->stack[i];
        if (o->space != IN_HTML) continue;
        if (o->id == N_TEMPLATE) {
            if (t->id == N_COL || t->id == N_COLGROUP || t->id == N_CAPTION || i < s->depth - 1) return give_up(s, "a table part in a template");
            return open_as(s, t, IN_HTML);
        }
        if (o->id == N_TD || o->id == N_TH || o->id == N_CAPTION) {
            if (!close_from(s, i)) return 0;
            if (!is_structure(top(s))) return give_up(s, "a cell without a table");
            return start_part(s, t);
        }
        if (o->flags & STRUCTURE) return i == s->depth - 1 ? start_part(s, t) : give_up(s, "an element in a table");
    }
    return 1; /* ignored */
}

/* Right inside a table's structure. */
static int start_in_structure(Pass *s, const Tag *t, int *is_done) {
    *is_done = 1;
    switch (t->id) {
    case N_TABLE: {
        int at = find_in_table(s, N_TABLE);
        if (at < 0) return give_up(s, "a table in a template");
        *is_done = 0;
        return close_from(s, at);
    }
    case N_SCRIPT: case N_STYLE: case N_TEMPLATE:
        if (top(s)->id == N_COLGROUP && t->id != N_TEMPLATE && !close_from(s, s->depth - 1)) return 0;
        *is_done = 0;
        return 1;
    case N_INPUT: case N_IMG: case N_BR:
        if (top(s)->id == N_COLGROUP && !close_from(s, s->depth - 1)) return 0;
        s->gap = SURE;
        return 1;
    case N_FORM:
        if (top(s)->id == N_COLGROUP && !close_from(s, s->depth - 1)) return 0;
        if (s->form == NO_FORM && !s->n_templates) s->form = FORM_APART;
        s->gap = SURE;
        return 1;
    case N_HTML: case N_HEAD: case N_BODY: case N_FRAME:
        return 1;
    default:
        return give_up(s, "an element in a table");
    }
}

/* -- the body --------------------------------------------------------------------------------------------------------------------- */

static int start_item(Pass *s, const Tag *t) {
    for (int i = s->depth - 1; i >= 0; i--) {
        const Open *o = &s->stack[i];
        int is_item = t->id == N_LI ? o->id == N_LI : o->id == N_DD || o->id == N_DT;
        if (o->space == IN_HTML && is_item) {
            if (!close_from(s, i)) return 0;
            break;
        }
        if (o->flags & SPECIAL && o->id != N_ADDRESS && o->id != N_DIV && o->id != N_P) break;
    }
    return close_p(s) && open_as(s, t, IN_HTML);
}

static int start_formatting(Pass *s, const Tag *t) {
    if ((t->id == N_A || t->id == N_NOBR) && s->is_lost[t->id]) return give_up(s, "formatting that is opened again");
    if (t->id == N_A) {
        for (int i = s->depth - 1; i >= 0 && !(s->stack[i].flags & MARKER); i--)
            if (s->stack[i].space == IN_HTML && s->stack[i].id == N_A) {
                if (find_in_scope(s, N_A, 0) < 0) return give_up(s, "a link around markup that bounds it");
                if (!end_formatting(s, t->name, t->n, N_A)) return 0;
                break;
            }
    } else if (t->id == N_NOBR && find_in_scope(s, N_NOBR, 0) >= 0 && !end_formatting(s, t->name, t->n, N_NOBR)) {
        return 0;
    }
    return open_as(s, t, IN_HTML);
}

static int start_table(Pass *s, const Tag *t) {
    int at = find_in_scope(s, N_P, BUTTON_SCOPE);
    if (at >= 0 && s->quirks != QUIRKS) {
        if (s->quirks == PERHAPS_QUIRKS && at != s->depth - 1) return give_up(s, "a table in a paragraph");
        if (!close_from(s, at)) return 0;
    }
    return open_as(s, t, IN_HTML);
}

/* The pass takes what it holds. */
static int start_raw(Pass *s) {
    s->gap = SURE;
    s->is_raw = 1;
    return 1;
}

static int start_in_select(Pass *s, const Tag *t) {
    if (t->id == N_SCRIPT) return start_raw(s);
    if (t->id != N_OPTION && t->id != N_OPTGROUP) return give_up(s, "an element in a select");
    if (!close_implied(s, t->id == N_OPTION ? N_OPTGROUP : N_OTHER)) return 0;
    if (top(s)->id != N_SELECT && top(s)->id != N_OPTGROUP) return give_up(s, "an element in a select");
    return open_as(s, t, IN_HTML);
}

static int is_in_ruby(const Pass *s) {
    return find_in_scope(s, N_RUBY, 0) >= 0;
}

static int start_in_body(Pass *s, const Tag *t) {
    unsigned flags = FLAGS_OF[t->id];
    const Open *o = top(s);
    if (s->n_selects && find_in_scope(s, N_SELECT, 0) >= 0) return start_in_select(s, t);
    if (flags & TABLE_PART) return start_table_part(s, t);
    switch (t->id) {
    case N_HTML: case N_HEAD: case N_BODY: case N_FRAME:
        return 1; /* ignored */
    case N_FRAMESET:
        return give_up(s, "frameset");
    case N_LI: case N_DD: case N_DT:
        return start_item(s, t);
    case N_FORM:
        if (s->form != NO_FORM && !s->n_templates) return 1;
        if (!close_p(s)) return 0;
        if (!s->n_templates) s->form = s->depth;
        return open_as(s, t, IN_HTML);
    case N_BUTTON: {
        int at = find_in_scope(s, N_BUTTON, 0);
        if (at >= 0 && !close_from(s, at)) return 0;
        return open_as(s, t, IN_HTML);
    }
    case N_TABLE:
        return start_table(s, t);
    case N_SVG: case N_MATH:
        return open_as(s, t, t->id == N_SVG ? IN_SVG : IN_MATH);
    case N_IMAGE:
        s->gap = SURE;
        return 1;
    case N_OPTGROUP: case N_OPTION:
        if (o && o->space == IN_HTML && o->id == N_OPTION && !close_from(s, s->depth - 1)) return 0;
        return open_as(s, t, IN_HTML);
    case N_RB: case N_RTC: case N_RP: case N_RT:
        if (is_in_ruby(s) && !close_implied(s, t->id == N_RP || t->id == N_RT ? N_RTC : N_OTHER)) return 0;
        return open_as(s, t, IN_HTML);
    default:
        break;
    }
    if (flags & CLOSES_P && !close_p(s)) return 0;
    if (flags & HEADING && (o = top(s)) && o->flags & HEADING && !close_from(s, s->depth - 1)) return 0;
    if (flags & VOID) return s->gap = SURE, 1;
    if (flags & RAW) return start_raw(s);
    return flags & FORMATTING ? start_formatting(s, t) : open_as(s, t, IN_HTML);
}

/* -- all of them -------------------------------------------------------------------------------------------------------------------- */

/* Before the body; *is_done: the tag has been dealt with. */
static int start_in_head(Pass *s, const Tag *t, int *is_done) {
    unsigned is_head = FLAGS_OF[t->id] & IN_HEAD;
    *is_done = 1;
    if (t->id == N_HTML || (t->id == N_HEAD && s->mode != AFTER_HEAD)) return 1;
    if (t->id == N_FRAMESET) return give_up(s, "frameset");
    if (s->mode == HEAD_NOSCRIPT) {
        if (t->id == N_NOSCRIPT) return 1;
        int may = is_head && t->id != N_SCRIPT && t->id != N_TEMPLATE && t->id != N_TITLE && t->id != N_BASE;
        if (!may) {
            begin_body(s);
            s->mode = HEAD;
        }
    }
    if (t->id == N_NOSCRIPT && s->mode == HEAD) {
        s->mode = HEAD_NOSCRIPT;
        return open_as(s, t, IN_HTML);
    }
    if (t->id == N_HEAD) return 1;
    *is_done = 0;
    if (t->id == N_BODY) {
        begin_body(s);
        *is_done = 1;
    } else if (!is_head) {
        begin_body(s);
    }
    return 1;
}

int start_tag(Pass *s, const Tag *t) {
    int is_done = 0;
    s->gap = s->gap == SURE ? SURE : UNSURE;
    s->is_raw = 0;
    if (s->mode != BODY && !s->n_templates && (!start_in_head(s, t, &is_done) || is_done)) return !s->given_up;
    if (t->id != N_HTML) s->is_after_body = 0;
    if (is_foreign(s, t) && (!start_foreign(s, t, &is_done) || is_done)) return !s->given_up;
    if (is_structure(top(s)) && !(FLAGS_OF[t->id] & TABLE_PART) && (!start_in_structure(s, t, &is_done) || is_done)) return !s->given_up;
    if (t->id == N_TEMPLATE) return open_as(s, t, IN_HTML);
    return start_in_body(s, t) && take_element(s, t);
}
