/* What Python sees: page(), words(), least(), and the tables that they work with. Everything runs under the interpreter's lock. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "native.h"

#include <stdlib.h>
#include <string.h>

extern PyTypeObject RECORD_CACHE;     /* records.c */
extern PyTypeObject SEEN_CACHE;       /* seen.c */
extern PyMethodDef SKETCH_METHODS[]; /* sketches_module.c */
extern PyMethodDef URL_METHODS[];    /* urls_module.c */
extern PyMethodDef FRONT_METHODS[];  /* front_coding.c */
extern PyMethodDef SEAL_METHODS[];   /* seals.c */
extern PyMethodDef DIGEST_METHODS[]; /* digests.c */
static Pass PASS; /* its buffers stay between two pages */
static int HAS_LETTERS;

/* -- page ------------------------------------------------------------------------------------------------------------------------- */

static PyObject *text_of(const unsigned char *at, size_t n) {
    return PyUnicode_DecodeUTF8((const char *)at, (Py_ssize_t)n, "replace");
}

/* An attribute's value, None if the element has none of that name. */
static PyObject *decoded(Pass *s, Span v) {
    if (!v.at) Py_RETURN_NONE;
    size_t first = s->values.n;
    for (Bytes p = v.at, e = v.at + v.n; p < e;) {
        Bytes cr = memchr(p, '\r', (size_t)(e - p)), stop = cr ? cr : e;
        if (!append_decoded(&s->values, p, (size_t)(stop - p), 1)) return PyErr_NoMemory();
        p = stop;
        if (p < e) {
            if (!append(&s->values, (Bytes) "\n", 1)) return PyErr_NoMemory();
            p += e - p > 1 && p[1] == '\n' ? 2 : 1;
        }
    }
    PyObject *text = text_of(s->values.at + first, s->values.n - first);
    s->values.n = first;
    return text;
}

/* A link's rel in lower case. */
static PyObject *rel_of(const Pass *s, const FoundLink *f) {
    unsigned char lower[64];
    Bytes at = s->values.at + f->rel_at;
    if (!f->rel_n) return PyUnicode_FromStringAndSize("", 0);
    int is_short = f->rel_n <= sizeof lower;
    for (uint32_t i = 0; is_short && i < f->rel_n; i++) {
        lower[i] = LOWER[at[i]];
        is_short = at[i] < 0x80;
    }
    if (is_short) return PyUnicode_DecodeASCII((const char *)lower, f->rel_n, NULL);
    PyObject *text = text_of(at, f->rel_n);
    PyObject *found = text ? PyObject_CallMethod(text, "lower", NULL) : NULL;
    Py_XDECREF(text);
    return found;
}

static PyObject *link_of(const Pass *s, const FoundLink *f, PyTypeObject *type, PyObject *const *tags) {
    PyObject *href = text_of(s->values.at + f->at, f->n), *rel = rel_of(s, f), *link = NULL;
    PyObject *said = text_of(s->values.at + f->type_at, f->type_n);
    if (href && rel && said) link = type->tp_alloc(type, 4);
    if (!link) {
        Py_XDECREF(href);
        Py_XDECREF(rel);
        Py_XDECREF(said);
        return NULL;
    }
    PyTuple_SET_ITEM(link, 0, href);
    PyTuple_SET_ITEM(link, 1, rel);
    PyTuple_SET_ITEM(link, 2, Py_NewRef(tags[f->tag]));
    PyTuple_SET_ITEM(link, 3, said);
    PyObject_GC_UnTrack(link); /* strings alone, so it can be in no circle */
    return link;
}

static PyObject *TAGS[N_COUNT]; /* their names */

static PyObject *links_of(const Pass *s, PyTypeObject *type) {
    PyObject *links = PyList_New((Py_ssize_t)s->n_kept);
    for (size_t i = 0; links && i < s->n_kept; i++) {
        PyObject *link = link_of(s, &s->links[i], type, TAGS);
        if (!link) Py_CLEAR(links);
        else PyList_SET_ITEM(links, (Py_ssize_t)i, link);
    }
    return links;
}

/* (links before it, tag, its attributes): whatever else html.py looks at */
static PyObject *other_of(Pass *s, const Other *o) {
    static const char *const names[N_ATTRIBUTES] = {"href", "rel", "src", "name", "content", "http-equiv", "type"};
    PyObject *found = PyDict_New();
    for (int k = 0; found && k < N_ATTRIBUTES; k++) {
        if (!o->found[k].at) continue;
        PyObject *value = decoded(s, o->found[k]);
        if (!value || PyDict_SetItemString(found, names[k], value) < 0) Py_CLEAR(found);
        Py_XDECREF(value);
    }
    return found ? Py_BuildValue("(nON)", (Py_ssize_t)o->n_before, TAGS[o->tag], found) : NULL;
}

static PyObject *others_of(Pass *s) {
    PyObject *others = PyList_New((Py_ssize_t)s->n_others);
    for (size_t i = 0; others && i < s->n_others; i++) {
        PyObject *other = other_of(s, &s->others[i]);
        if (!other) Py_CLEAR(others);
        else PyList_SET_ITEM(others, (Py_ssize_t)i, other);
    }
    return others;
}

static PyObject *title_of(Pass *s) {
    size_t first = s->values.n;
    if (!s->title.n) return PyUnicode_FromStringAndSize("", 0);
    if (!append_decoded(&s->values, s->title.at, s->title.n, 0)) return PyErr_NoMemory();
    return text_of(s->values.at + first, s->values.n - first);
}

PyDoc_STRVAR(page_doc, "page(body, max_links, link) -> (title, text, links, number of links, others), or why a tree is needed");

static PyObject *py_page(PyObject *self, PyObject *args) {
    Py_buffer body;
    Py_ssize_t max_links;
    PyTypeObject *type;
    PyObject *answer = NULL, *title = NULL, *text = NULL, *links = NULL, *others = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*nO!", &body, &max_links, &PyType_Type, &type)) return NULL;
    Pass *s = &PASS;
    if (!PyType_IsSubtype(type, &PyTuple_Type) || type->tp_basicsize != PyTuple_Type.tp_basicsize) {
        PyErr_SetString(PyExc_TypeError, "link: expected a class of tuples without fields of their own");
    } else if (!take_page(s, body.buf, (size_t)body.len, max_links < 0 ? 0 : (size_t)max_links)) {
        answer = PyUnicode_FromString(s->given_up ? s->given_up : "memory");
    } else if ((title = title_of(s)) && (text = text_of(s->text.at, s->text.n)) && (links = links_of(s, type)) && (others = others_of(s))) {
        answer = Py_BuildValue("(OOOnO)", title, text, links, (Py_ssize_t)s->n_links, others);
    }
    Py_XDECREF(title);
    Py_XDECREF(text);
    Py_XDECREF(links);
    Py_XDECREF(others);
    PyBuffer_Release(&body);
    return answer;
}

PyDoc_STRVAR(asks_doc, "asks(body) -> bool, whether it may have a form for passwords or for several lines of text");

static PyObject *py_asks(PyObject *self, PyObject *args) {
    Py_buffer body;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*", &body)) return NULL;
    Bytes s = body.buf;
    size_t n = (size_t)body.len;
    int asks = has_rare(s, n, "assword", 3) || has_rare(s, n, "ASSWORD", 3) || has_rare(s, n, "extarea", 1) || has_rare(s, n, "EXTAREA", 1);
    PyBuffer_Release(&body);
    return PyBool_FromLong(asks);
}

/* -- words ------------------------------------------------------------------------------------------------------------------------ */

/* Hash n units; returns a bytearray of 8 bytes a word. */
static PyObject *hashed(const void *units, size_t n, int width) {
    PyObject *out = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(n * 8));
    if (!out) return NULL;
    size_t found = hash_words(units, n, width, (uint64_t *)(void *)PyByteArray_AS_STRING(out));
    if (PyByteArray_Resize(out, (Py_ssize_t)(found * 8)) < 0) Py_CLEAR(out);
    return out;
}

/* Text of 4 bytes a character as units. */
static PyObject *hashed_wide(PyObject *text, size_t most) {
    size_t n = (size_t)PyUnicode_GET_LENGTH(text), found = 0;
    const Py_UCS4 *c = PyUnicode_4BYTE_DATA(text);
    uint16_t *units = malloc(n * 2 * sizeof *units + 1);
    if (!units) return PyErr_NoMemory();
    for (size_t i = 0; i < n; i++) {
        uint32_t past = c[i] - 0x10000;
        if (c[i] > 0xFFFF) units[found++] = (uint16_t)(0xD800 | past >> 10);
        units[found++] = (uint16_t)(c[i] > 0xFFFF ? 0xDC00 | (past & 0x3FF) : c[i]);
    }
    PyObject *out = found > most ? Py_NewRef(Py_None) : hashed(units, found, 2);
    free(units);
    return out;
}

PyDoc_STRVAR(words_doc, "words(text, most) -> bytearray of uint64, a hash each word in order; None if the text has more UTF-16 units than `most`");

static PyObject *py_words(PyObject *self, PyObject *args) {
    PyObject *text;
    Py_ssize_t most;
    (void)self;
    if (!PyArg_ParseTuple(args, "Un", &text, &most)) return NULL;
    if (!HAS_LETTERS) return PyErr_Format(PyExc_RuntimeError, "words: letters() comes first");
    Py_ssize_t n = PyUnicode_GET_LENGTH(text);
    if (most < 0 || n > most) Py_RETURN_NONE;
    if (PyUnicode_KIND(text) == PyUnicode_4BYTE_KIND) return hashed_wide(text, (size_t)most);
    return hashed(PyUnicode_DATA(text), (size_t)n, PyUnicode_KIND(text) == PyUnicode_1BYTE_KIND ? 1 : 2);
}

PyDoc_STRVAR(word_doc, "word(text) -> the hash of a text as one word, None if it has characters past U+FFFF");

static PyObject *py_word(PyObject *self, PyObject *text) {
    (void)self;
    if (!HAS_LETTERS) return PyErr_Format(PyExc_RuntimeError, "word: letters() comes first");
    if (!PyUnicode_Check(text)) return PyErr_Format(PyExc_TypeError, "word: expected text, found %R", text);
    if (PyUnicode_KIND(text) == PyUnicode_4BYTE_KIND) Py_RETURN_NONE;
    size_t n = (size_t)PyUnicode_GET_LENGTH(text);
    return PyLong_FromUnsignedLongLong(hash_whole(PyUnicode_DATA(text), n, PyUnicode_KIND(text) == PyUnicode_1BYTE_KIND ? 1 : 2));
}

PyDoc_STRVAR(letters_doc, "letters(classes: int8 x 65536, numbers: uint64 x 65536, base) gives the tables of words()");

static PyObject *py_letters(PyObject *self, PyObject *args) {
    Py_buffer classes, numbers;
    unsigned long long base;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*K", &classes, &numbers, &base)) return NULL;
    int fits = classes.len == UNITS && numbers.len == UNITS * 8;
    for (Py_ssize_t i = 0; fits && i < UNITS; i++) fits = ((const int8_t *)classes.buf)[i] >= 0 && ((const int8_t *)classes.buf)[i] <= 3;
    if (fits) set_letters(classes.buf, numbers.buf, base);
    PyBuffer_Release(&classes);
    PyBuffer_Release(&numbers);
    HAS_LETTERS |= fits;
    if (!fits) return PyErr_Format(PyExc_ValueError, "letters: expected 65,536 classes from 0 to 3 and as many numbers of 8 bytes");
    Py_RETURN_NONE;
}

PyDoc_STRVAR(least_doc, "least(tokens: uint64, shingle, bits) -> bytearray of int64, the least hash of shingles of each of 2**bits slots");

static PyObject *py_least(PyObject *self, PyObject *args) {
    Py_buffer tokens;
    Py_ssize_t shingle;
    int bits;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*ni", &tokens, &shingle, &bits)) return NULL;
    PyObject *out = NULL;
    if (bits < 1 || bits > 16 || shingle < 1 || !are_words(tokens.buf, tokens.len)) {
        PyErr_SetString(PyExc_ValueError, "least: expected aligned uint64, shingles of a word or more, 1 to 16 bits");
    } else if ((out = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)8 << bits))) {
        int64_t *least = (int64_t *)(void *)PyByteArray_AS_STRING(out);
        for (size_t i = 0; i < (size_t)1 << bits; i++) least[i] = INT64_MAX;
        least_hashes(tokens.buf, (size_t)tokens.len / 8, (size_t)shingle, least, bits);
    }
    PyBuffer_Release(&tokens);
    return out;
}

PyDoc_STRVAR(slots_doc, "slots(tokens: uint64, shingle, bits, step) -> lowest bytes of least(), every step-th of it as it is; None of no words");

static PyObject *py_slots(PyObject *self, PyObject *args) {
    Py_buffer tokens;
    Py_ssize_t shingle, step;
    int bits;
    int64_t least[1 << MOST_SLOT_BITS];
    uint8_t low[1 << MOST_SLOT_BITS];
    (void)self;
    if (!PyArg_ParseTuple(args, "y*nin", &tokens, &shingle, &bits, &step)) return NULL;
    if (bits < 1 || bits > MOST_SLOT_BITS || shingle < 1 || step < 1 || !are_words(tokens.buf, tokens.len)) {
        PyErr_Format(PyExc_ValueError, "slots: expected aligned uint64, shingles of a word or more, 1 to %d bits, steps", MOST_SLOT_BITS);
        PyBuffer_Release(&tokens);
        return NULL;
    }
    size_t n = (size_t)1 << bits, n_tags = 0, n_empty = 0, n_words = (size_t)tokens.len / 8;
    for (size_t i = 0; i < n; i++) least[i] = INT64_MAX;
    least_hashes(tokens.buf, (size_t)tokens.len / 8, (size_t)shingle, least, bits);
    PyBuffer_Release(&tokens);
    if (!n_words) Py_RETURN_NONE;
    for (size_t i = 0; i < n; i++) n_empty += least[i] == INT64_MAX;
    if (n_empty) lend_slots(least, bits);
    for (size_t i = 0; i < n; i++) low[i] = (uint8_t)least[i];
    for (size_t i = 0; i < n; i += (size_t)step) least[n_tags++] = least[i];
    return Py_BuildValue("(y#y#)", (const char *)low, (Py_ssize_t)n, (const char *)least, (Py_ssize_t)(8 * n_tags));
}

/* -- links -------------------------------------------------------------------------------------------------------------------------- */

enum { MOST_LINKS = 64 };

/* The hash of a link's path and query, then that of its origin, as one number; returns 0 if it has no path. */
static int number_of(PyObject *url, uint64_t *number) {
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(url, &length);
    if (!text) return 0;
    size_t n = (size_t)length;
    Bytes at = (Bytes)text, slash = n > 8 ? memchr(at + 8, '/', n - 8) : NULL;
    if (!slash) {
        PyErr_Format(PyExc_ValueError, "least_links: expected canonical URLs, found %R", url);
        return 0;
    }
    size_t origin = (size_t)(slash - at);
    *number = (uint64_t)xxh32(slash + 1, n - origin - 1, 0) << 32 | xxh32(at, origin, 0);
    return 1;
}

PyDoc_STRVAR(least_links_doc, "least_links(urls, most) -> list of int, the least hashes of canonical URLs, ascending");

static PyObject *py_least_links(PyObject *self, PyObject *args) {
    PyObject *urls, *row, *found = NULL;
    Py_ssize_t most;
    uint64_t least[MOST_LINKS], number;
    size_t n = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "On", &urls, &most)) return NULL;
    if (most < 0 || most > MOST_LINKS) return PyErr_Format(PyExc_ValueError, "least_links: expected at most %d", MOST_LINKS);
    if (!(row = PySequence_Tuple(urls))) return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(row); i++) {
        if (!number_of(PyTuple_GET_ITEM(row, i), &number)) goto done;
        n = put_among_least(least, n, (size_t)most, number);
    }
    found = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; found && i < n; i++) {
        PyObject *value = PyLong_FromUnsignedLongLong(least[i]);
        if (!value) Py_CLEAR(found);
        else PyList_SET_ITEM(found, (Py_ssize_t)i, value);
    }
done:
    Py_DECREF(row);
    return found;
}

/* -- the module --------------------------------------------------------------------------------------------------------------------- */

PyDoc_STRVAR(entities_doc, "entities({name: text}) gives the named character references, with or without \";\"");

static PyObject *py_entities(PyObject *self, PyObject *named) {
    PyObject *key, *value;
    Py_ssize_t at = 0, n_key, n_value;
    (void)self;
    if (!PyDict_Check(named)) return PyErr_Format(PyExc_TypeError, "entities: expected a dict");
    while (PyDict_Next(named, &at, &key, &value)) {
        const char *k = PyUnicode_AsUTF8AndSize(key, &n_key), *v = k ? PyUnicode_AsUTF8AndSize(value, &n_value) : NULL;
        if (!v) return NULL;
        if (!add_entity((Bytes)k, (size_t)n_key, (Bytes)v, (size_t)n_value)) return PyErr_Format(PyExc_ValueError, "entities: no room for %R", key);
    }
    Py_RETURN_NONE;
}

static PyMethodDef METHODS[] = {
    {"asks", py_asks, METH_VARARGS, asks_doc},
    {"entities", py_entities, METH_O, entities_doc},     {"least", py_least, METH_VARARGS, least_doc},
    {"letters", py_letters, METH_VARARGS, letters_doc},  {"least_links", py_least_links, METH_VARARGS, least_links_doc},
    {"page", py_page, METH_VARARGS, page_doc},           {"words", py_words, METH_VARARGS, words_doc},
    {"slots", py_slots, METH_VARARGS, slots_doc},        {"word", py_word, METH_O, word_doc},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_native", "A page in one pass; see thresher.crawler.native.", -1, METHODS,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) {
    make_kinds();
    make_names();
    make_clean();
    for (int id = 0; id < N_COUNT; id++)
        if (!TAGS[id] && !(TAGS[id] = PyUnicode_InternFromString(NAME_OF[id]))) return NULL;
    PyObject *module = PyModule_Create(&MODULE);
    if (module && (PyModule_AddFunctions(module, SKETCH_METHODS) < 0 || PyModule_AddFunctions(module, URL_METHODS) < 0)) Py_CLEAR(module);
    if (module && (PyModule_AddFunctions(module, FRONT_METHODS) < 0 || PyModule_AddFunctions(module, SEAL_METHODS) < 0)) Py_CLEAR(module);
    if (module && (PyModule_AddType(module, &RECORD_CACHE) < 0 || PyModule_AddType(module, &SEEN_CACHE) < 0)) Py_CLEAR(module);
    if (module && PyModule_AddFunctions(module, DIGEST_METHODS) < 0) Py_CLEAR(module);
    if (module && PyModule_AddIntConstant(module, "INTERFACE", 23) < 0) Py_CLEAR(module);
    return module;
}
