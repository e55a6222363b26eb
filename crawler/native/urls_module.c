/* What Python sees of urls.c, and what filters ask of the spelling of many URLs at a time. URLs come as lists of canonical ones: ASCII. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "native.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT64_MAX

/* The bytes of an ASCII string, NULL if it is another, or no string. */
static Bytes ascii_of(PyObject *text, size_t *n) {
    if (!PyUnicode_Check(text) || !PyUnicode_IS_COMPACT_ASCII(text)) return NULL;
    *n = (size_t)PyUnicode_GET_LENGTH(text);
    return (Bytes)PyUnicode_DATA(text);
}

/* Where a URL's query begins, or its end. */
static size_t path_length(Bytes s, size_t n) {
    Bytes query = memchr(s, '?', n);
    return query ? (size_t)(query - s) : n;
}

/* The length of a URL's scheme and authority; 0 and the error if it is not canonical. */
static size_t n_origin(PyObject *url, Bytes *at, size_t *n) {
    Bytes slash = (*at = ascii_of(url, n)) && *n > 8 ? memchr(*at + 8, '/', *n - 8) : NULL;
    if (slash) return (size_t)(slash - *at);
    PyErr_Format(PyExc_ValueError, "expected canonical URLs, found %R", url);
    return 0;
}

/* A new string of two parts, both ASCII. */
static PyObject *joined(Bytes a, size_t n_a, Bytes b, size_t n_b) {
    PyObject *text = PyUnicode_New((Py_ssize_t)(n_a + n_b), 127);
    if (!text) return NULL;
    memcpy(PyUnicode_1BYTE_DATA(text), a, n_a);
    memcpy(PyUnicode_1BYTE_DATA(text) + n_a, b, n_b);
    return text;
}

/* -- join --------------------------------------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject *root, *known; /* origin → its canonical form */
    Bytes folder;
    size_t n_folder, n_root, n_scheme, max_length, max_slashes; /* n_scheme: with its colon */
    int keeps_queries; /* no parameter is dropped */
    int is_known;      /* the root is known to be canonical */
    int is_clean;      /* nothing in the folder may change */
} Place;

/* Tell whether an origin is known to be canonical; -1 and the error. */
static int is_canonical(const Place *p, PyObject *origin) {
    PyObject *form = PyDict_GetItemWithError(p->known, origin);
    return form ? PyUnicode_Compare(form, origin) == 0 : PyErr_Occurred() ? -1 : 0;
}

/* The canonical form of a link that names its origin, but perhaps not its scheme; None if Python has to look. */
static PyObject *absolute(const Place *p, Bytes s, size_t n, const CleanLink *link) {
    size_t n_scheme = s[0] == '/' ? p->n_scheme : 0;
    PyObject *origin = joined(p->folder, n_scheme, s, link->n_origin), *url = NULL;
    for (size_t i = 0; origin && i < link->n_origin; i++) PyUnicode_1BYTE_DATA(origin)[n_scheme + i] = LOWER[s[i]];
    int is_met = origin ? is_canonical(p, origin) : -1;
    if (is_met > 0) url = joined(PyUnicode_1BYTE_DATA(origin), n_scheme + link->n_origin, s + link->n_origin, n - link->n_origin);
    if (is_met == 0) url = Py_NewRef(Py_None);
    Py_XDECREF(origin);
    return url;
}

/* The canonical form of a link; None if Python has to look, "" if it names the page itself. */
static PyObject *meaning(const Place *p, PyObject *href) {
    size_t n = 0;
    Bytes s = ascii_of(href, &n);
    CleanLink link;
    if (!s) Py_RETURN_NONE;
    Bytes hash = memchr(s, '#', n);
    if (hash) n = (size_t)(hash - s);
    if (!n) return PyUnicode_New(0, 127);
    if (n > p->max_length || s[0] == '?' || !read_link(s, n, &link)) Py_RETURN_NONE;
    if (!p->keeps_queries && memchr(s, '?', n)) Py_RETURN_NONE;
    size_t from = link.is_rooted ? link.n_ahead - 1 : link.n_ahead, n_path = path_length(s, n) - from;
    size_t n_base = link.is_rooted ? p->n_root : folder_above(p->folder, p->n_folder, p->n_root, link.n_up);
    size_t n_slashes = count_byte(s + from, n_path, '/') + count_byte(p->folder + p->n_root, n_base - p->n_root, '/');
    if ((link.n_origin ? p->n_scheme + link.n_origin : n_base) + n - from > p->max_length || n_slashes > p->max_slashes) Py_RETURN_NONE;
    if (link.n_origin) return absolute(p, s, n, &link);
    if (!p->is_known || !(link.is_rooted || p->is_clean)) Py_RETURN_NONE;
    return joined(p->folder, n_base, s + from, n - from);
}

static PyObject *py_join(PyObject *self, PyObject *args) {
    PyObject *hrefs, *folder, *found = NULL;
    Py_ssize_t max_length, max_slashes;
    Place p;
    (void)self;
    if (!PyArg_ParseTuple(args, "OUUO!nnp", &hrefs, &p.root, &folder, &PyDict_Type, &p.known, &max_length, &max_slashes, &p.keeps_queries))
        return NULL;
    Bytes root = ascii_of(p.root, &p.n_root);
    p.folder = ascii_of(folder, &p.n_folder);
    if (!root || !p.folder || p.n_folder <= p.n_root || memcmp(root, p.folder, p.n_root) || p.folder[p.n_root] != '/' ||
        p.folder[p.n_folder - 1] != '/' || max_length < 0 || max_slashes < 0)
        return PyErr_Format(PyExc_ValueError, "join: expected an origin and a folder of it, found %R and %R", p.root, folder);
    Bytes colon = memchr(root, ':', p.n_root);
    p.n_scheme = colon ? (size_t)(colon - root) + 1 : 0;
    p.max_length = (size_t)max_length, p.max_slashes = (size_t)max_slashes;
    p.is_clean = !memchr(p.folder, '%', p.n_folder);
    p.is_known = is_canonical(&p, p.root);
    PyObject *row = p.is_known < 0 ? NULL : PySequence_Tuple(hrefs);
    if (row) found = PyList_New(PyTuple_GET_SIZE(row));
    for (Py_ssize_t i = 0; found && i < PyTuple_GET_SIZE(row); i++) {
        PyObject *url = meaning(&p, PyTuple_GET_ITEM(row, i));
        if (url) PyList_SET_ITEM(found, i, url);
        else Py_CLEAR(found);
    }
    Py_XDECREF(row);
    return found;
}

/* -- origins, keys ------------------------------------------------------------------------------------------------------------------ */

/* The origin of a URL as a string that is one for all of them: that of the last, or one of those met. */
static PyObject *origin_among(PyObject *met, PyObject *last, PyObject *url) {
    Bytes at;
    size_t n, length = n_origin(url, &at, &n);
    if (!length) return NULL;
    if (last && (size_t)PyUnicode_GET_LENGTH(last) == length && !memcmp(PyUnicode_DATA(last), at, length)) return Py_NewRef(last);
    PyObject *origin = joined(at, length, at, 0), *first = origin ? PyDict_SetDefault(met, origin, origin) : NULL;
    Py_XINCREF(first);
    Py_XDECREF(origin);
    return first;
}

static PyObject *py_origins(PyObject *self, PyObject *urls) {
    (void)self;
    PyObject *row = PySequence_Tuple(urls), *met = row ? PyDict_New() : NULL, *found = NULL, *last = NULL;
    if (met) found = PyList_New(PyTuple_GET_SIZE(row));
    for (Py_ssize_t i = 0; found && i < PyTuple_GET_SIZE(row); i++) {
        last = origin_among(met, last, PyTuple_GET_ITEM(row, i));
        if (last) PyList_SET_ITEM(found, i, last);
        else Py_CLEAR(found);
    }
    Py_XDECREF(met);
    Py_XDECREF(row);
    return found;
}

/* The key of a URL: that of its site, and its hash. */
static PyObject *key_of(const uint64_t *begun, PyObject *url, PyObject *site) {
    Bytes at;
    size_t n;
    if (!n_origin(url, &at, &n)) return NULL;
    if (!PyBytes_Check(site) || PyBytes_GET_SIZE(site) != 8) return PyErr_Format(PyExc_ValueError, "keys: expected 8 bytes for a site");
    PyObject *key = PyBytes_FromStringAndSize(NULL, 16);
    if (!key) return NULL;
    uint64_t hash = hash_of(begun, at, n);
    memcpy(PyBytes_AS_STRING(key), PyBytes_AS_STRING(site), 8);
    for (int i = 0; i < 8; i++) PyBytes_AS_STRING(key)[8 + i] = (char)(hash >> 8 * i);
    return key;
}

static PyObject *py_keys(PyObject *self, PyObject *args) {
    PyObject *urls, *sites, *found = NULL;
    Py_buffer secret, person;
    uint64_t begun[8];
    (void)self;
    if (!PyArg_ParseTuple(args, "OOy*y*", &urls, &sites, &secret, &person)) return NULL;
    PyObject *row = PySequence_Tuple(urls), *site = row ? PySequence_Tuple(sites) : NULL;
    int fits = site && PyTuple_GET_SIZE(row) == PyTuple_GET_SIZE(site) && secret.len && secret.len <= BLAKE_KEY && person.len <= 16;
    if (fits) begin_hash(begun, secret.buf, (size_t)secret.len, person.buf, (size_t)person.len);
    else if (site) PyErr_Format(PyExc_ValueError, "keys: expected a site for each URL, a secret of 1 to 64 bytes, a purpose of at most 16");
    if (fits) found = PyList_New(PyTuple_GET_SIZE(row));
    for (Py_ssize_t i = 0; found && i < PyTuple_GET_SIZE(row); i++) {
        PyObject *key = key_of(begun, PyTuple_GET_ITEM(row, i), PyTuple_GET_ITEM(site, i));
        if (key) PyList_SET_ITEM(found, i, key);
        else Py_CLEAR(found);
    }
    Py_XDECREF(row);
    Py_XDECREF(site);
    PyBuffer_Release(&secret);
    PyBuffer_Release(&person);
    return found;
}

/* -- spelling ----------------------------------------------------------------------------------------------------------------------- */

/* Append a place to a list; returns 0 and the error. */
static int add_place(PyObject *found, Py_ssize_t i) {
    PyObject *place = PyLong_FromSsize_t(i);
    int is_added = place && PyList_Append(found, place) == 0;
    Py_XDECREF(place);
    return is_added;
}

static PyObject *py_crowded(PyObject *self, PyObject *args) {
    PyObject *urls, *found = NULL;
    Py_ssize_t most_slashes, most_ands;
    (void)self;
    if (!PyArg_ParseTuple(args, "Onn", &urls, &most_slashes, &most_ands)) return NULL;
    PyObject *row = PySequence_Tuple(urls);
    if (row) found = PyList_New(0);
    for (Py_ssize_t i = 0; found && i < PyTuple_GET_SIZE(row); i++) {
        Bytes at;
        size_t n;
        if (!n_origin(PyTuple_GET_ITEM(row, i), &at, &n)) Py_CLEAR(found);
        else if ((Py_ssize_t)count_byte(at, n, '/') > most_slashes || (Py_ssize_t)count_byte(at, n, '&') > most_ands)
            if (!add_place(found, i)) Py_CLEAR(found);
    }
    Py_XDECREF(row);
    return found;
}

/* The extension of a URL's path in lower case, its first letter in the highest byte; NONE if it has none, or one of more than 8 letters. */
static uint64_t extension_of(Bytes s, size_t n) {
    uint64_t extension = 0;
    size_t end = path_length(s, n), at = end;
    for (; at && end - at <= 8 && s[at - 1] != '.' && s[at - 1] != '/'; at--) {}
    if (!at || s[at - 1] != '.') return NONE;
    for (int i = 0; i < 8; i++) extension = extension << 8 | (at < end ? LOWER[s[at++]] : 0);
    return at == end ? extension : NONE;
}

static int is_among(const uint64_t *sorted, size_t n, uint64_t wanted) {
    size_t first = 0;
    while (first < n) {
        size_t middle = first + (n - first) / 2;
        if (sorted[middle] == wanted) return 1;
        if (sorted[middle] < wanted) first = middle + 1;
        else n = middle;
    }
    return 0;
}

static PyObject *py_endings(PyObject *self, PyObject *args) {
    PyObject *urls, *found = NULL;
    Py_buffer sorted;
    (void)self;
    if (!PyArg_ParseTuple(args, "Oy*", &urls, &sorted)) return NULL;
    PyObject *row = PySequence_Tuple(urls);
    if (row && !are_words(sorted.buf, sorted.len)) PyErr_Format(PyExc_ValueError, "endings: expected aligned uint64");
    else if (row) found = PyList_New(0);
    for (Py_ssize_t i = 0; found && i < PyTuple_GET_SIZE(row); i++) {
        Bytes at;
        size_t n;
        if (!n_origin(PyTuple_GET_ITEM(row, i), &at, &n)) Py_CLEAR(found);
        else if (is_among(sorted.buf, (size_t)sorted.len / 8, extension_of(at, n)))
            if (!add_place(found, i)) Py_CLEAR(found);
    }
    Py_XDECREF(row);
    PyBuffer_Release(&sorted);
    return found;
}

static int by_bytes(const void *one, const void *other) {
    const Span *a = one, *b = other;
    int order = memcmp(a->at, b->at, a->n < b->n ? a->n : b->n);
    return order ? order : (a->n > b->n) - (a->n < b->n);
}

/* The different ones of spans that are sorted, a line each. */
static PyObject *lines_of(Span *spans, size_t n) {
    size_t n_different = 0, length = 0;
    for (size_t i = 0; i < n; i++) {
        if (n_different && !by_bytes(spans + i, spans + n_different - 1)) continue;
        spans[n_different++] = spans[i];
        length += spans[i].n + 1;
    }
    PyObject *found = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(length ? length - 1 : 0));
    char *to = found ? PyBytes_AS_STRING(found) : NULL;
    for (size_t i = 0; to && i < n_different; i++) {
        if (i) *to++ = '\n';
        memcpy(to, spans[i].at, spans[i].n);
        to += spans[i].n;
    }
    return found;
}

static PyObject *py_paths(PyObject *self, PyObject *urls) {
    PyObject *row = PySequence_Tuple(urls), *found = NULL;
    (void)self;
    if (!row) return NULL;
    size_t n_urls = (size_t)PyTuple_GET_SIZE(row), i = 0;
    Span *spans = PyMem_New(Span, n_urls + 1);
    if (!spans) PyErr_NoMemory();
    for (; spans && i < n_urls; i++) {
        Bytes at;
        size_t n, n_host = n_origin(PyTuple_GET_ITEM(row, (Py_ssize_t)i), &at, &n);
        if (!n_host) break;
        spans[i] = (Span){at + n_host + 1, path_length(at + n_host + 1, n - n_host - 1)};
    }
    if (spans && i == n_urls) {
        qsort(spans, n_urls, sizeof *spans, by_bytes);
        found = lines_of(spans, n_urls);
    }
    PyMem_Free(spans);
    Py_DECREF(row);
    return found;
}

PyMethodDef URL_METHODS[] = {
    {"join", py_join, METH_VARARGS, "join(hrefs, root, folder, known, max_length, max_slashes, keeps_queries) -> canonical URLs; \"\", None"},
    {"origins", py_origins, METH_O, "origins(urls) -> list of str, the scheme and authority of each"},
    {"keys", py_keys, METH_VARARGS, "keys(urls, sites: bytes, secret, person) -> list of bytes, 8 of its site and 8 of its own each"},
    {"crowded", py_crowded, METH_VARARGS, "crowded(urls, most_slashes, most_ands) -> list of int, which have more"},
    {"paths", py_paths, METH_O, "paths(urls) -> bytes, their different paths, ascending, a line each, without slash and query"},
    {"endings", py_endings, METH_VARARGS, "endings(urls, extensions: uint64, ascending) -> list of int, which have one of them"},
    {NULL, NULL, 0, NULL},
};
