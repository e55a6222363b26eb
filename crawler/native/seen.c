/* Rows of `seen` that were met lately, and which keys were certainly never added. storage/tables/seen_cache.py does the former in Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "native.h"

#include <stdlib.h>
#include <string.h>

enum { KEY = 16, ROW = 24, WAYS = 4, FIELDS = 9, MOST_BITS = 24, HASH_AT = 8, SET_SHIFT = 40 };

typedef struct {
    uint8_t key[KEY], row[ROW]; /* row[0] is the state; 0: nothing is kept here */
} Place;

typedef struct {
    PyObject_HEAD
    PyTypeObject *type; /* of rows */
    PyObject *states, *reasons, *purposes; /* tuples: what each code stands for */
    Place *places; /* sets of WAYS places, the one that was met last first */
    uint64_t mask; /* of sets */
    Bloom bloom;
    int most; /* bitmaps of the filter; 0: there is none, and every key may have been added */
} SeenCache;

static const uint8_t *key_in(PyObject *key) {
    if (PyBytes_Check(key) && PyBytes_GET_SIZE(key) == KEY) return (const uint8_t *)PyBytes_AS_STRING(key);
    PyErr_Format(PyExc_ValueError, "SeenCache: expected keys of %d bytes, found %R", KEY, key);
    return NULL;
}

static uint64_t end_of(const uint8_t *key) { /* a key ends with its own keyed hash */
    uint64_t hash;
    memcpy(&hash, key + HASH_AT, sizeof hash);
    return hash;
}

/* Return the first place of a key's set, after the key's own place, or the longest unmet one, has moved there. */
static Place *to_front(SeenCache *cache, const uint8_t *key) {
    Place *set = cache->places + (end_of(key) >> SET_SHIFT & cache->mask) * WAYS, met;
    int at = 0;
    while (at < WAYS - 1 && set[at].row[0] && memcmp(set[at].key, key, KEY)) at++;
    if (at) {
        met = set[at];
        memmove(set + 1, set, (size_t)at * sizeof *set);
        set[0] = met;
    }
    return set;
}

static const Place *kept(SeenCache *cache, const uint8_t *key) {
    Place *set = cache->places + (end_of(key) >> SET_SHIFT & cache->mask) * WAYS;
    for (int at = 0; at < WAYS && set[at].row[0]; at++)
        if (!memcmp(set[at].key, key, KEY)) return at ? to_front(cache, key) : set;
    return NULL;
}

static PyObject *coded(PyObject *codes, unsigned code) {
    if ((Py_ssize_t)code < PyTuple_GET_SIZE(codes)) return Py_NewRef(PyTuple_GET_ITEM(codes, (Py_ssize_t)code));
    return PyErr_Format(PyExc_ValueError, "SeenCache: a row has the unknown code %u", code);
}

static unsigned short_at(const uint8_t *at) { return (unsigned)at[0] << 8 | at[1]; }

static uint64_t long_at(const uint8_t *at) {
    uint64_t n = 0;
    for (int i = 0; i < 8; i++) n = n << 8 | at[i];
    return n;
}

static PyObject *row_of(const SeenCache *cache, const uint8_t *row) {
    PyObject *fields[FIELDS] = {
        coded(cache->states, row[0]),         coded(cache->reasons, row[1]),           PyLong_FromLong((long)short_at(row + 4)),
        PyLong_FromLong((long)short_at(row + 6)), PyLong_FromLong(row[3]),             coded(cache->purposes, row[2] & 7),
        PyLong_FromUnsignedLongLong(long_at(row + 8)), PyLong_FromUnsignedLongLong(long_at(row + 16)), PyLong_FromLong(row[2] >> 3),
    };
    PyObject *found = PyErr_Occurred() ? NULL : cache->type->tp_alloc(cache->type, FIELDS);
    for (int i = 0; i < FIELDS; i++) {
        if (found && fields[i]) PyTuple_SET_ITEM(found, i, fields[i]);
        else Py_XDECREF(fields[i]);
    }
    if (found) PyObject_GC_UnTrack(found); /* numbers and members of enumerations, so it can be in no circle */
    return found;
}

PyDoc_STRVAR(rows_doc, "rows(keys) -> (the row of each key, None where none is kept; the places of those of these that may have a row)");

static PyObject *cache_rows(PyObject *self, PyObject *given) {
    SeenCache *cache = (SeenCache *)self;
    PyObject *keys = PySequence_Fast(given, "rows: expected keys"), *found = NULL, *unread = NULL, *at = NULL;
    if (!keys || !(found = PyList_New(PySequence_Fast_GET_SIZE(keys))) || !(unread = PyList_New(0))) goto error;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(keys); i++) {
        const uint8_t *key = key_in(PySequence_Fast_GET_ITEM(keys, i));
        if (!key) goto error;
        const Place *place = kept(cache, key);
        PyObject *row = place ? row_of(cache, place->row) : Py_NewRef(Py_None);
        if (!row) goto error;
        PyList_SET_ITEM(found, i, row);
        if (place || (cache->most && !bloom_has(&cache->bloom, end_of(key)))) continue;
        if (!(at = PyLong_FromSsize_t(i)) || PyList_Append(unread, at) < 0) goto error;
        Py_CLEAR(at);
    }
    Py_DECREF(keys);
    return Py_BuildValue("(NN)", found, unread);
error:
    Py_XDECREF(at);
    Py_XDECREF(unread);
    Py_XDECREF(found);
    Py_XDECREF(keys);
    return NULL;
}

PyDoc_STRVAR(keep_doc, "keep(key, value) keeps the packed row of a key, in place of an earlier one, and returns the row");

static PyObject *cache_keep(PyObject *self, PyObject *args) {
    SeenCache *cache = (SeenCache *)self;
    PyObject *name, *value;
    if (!PyArg_ParseTuple(args, "OS", &name, &value)) return NULL;
    const uint8_t *key = key_in(name), *row = (const uint8_t *)PyBytes_AS_STRING(value);
    if (!key) return NULL;
    if (PyBytes_GET_SIZE(value) != ROW || !row[0]) return PyErr_Format(PyExc_ValueError, "keep: expected a row of %d bytes, found %R", ROW, value);
    PyObject *found = row_of(cache, row);
    if (found) {
        Place *place = to_front(cache, key);
        memcpy(place->key, key, KEY);
        memcpy(place->row, row, ROW);
    }
    return found;
}

PyDoc_STRVAR(add_doc, "add(keys) notes keys that have a row from now on");

static PyObject *cache_add(PyObject *self, PyObject *given) {
    SeenCache *cache = (SeenCache *)self;
    PyObject *keys = PySequence_Fast(given, "add: expected keys");
    if (!keys) return NULL;
    for (Py_ssize_t i = 0; cache->most && i < PySequence_Fast_GET_SIZE(keys); i++) {
        const uint8_t *key = key_in(PySequence_Fast_GET_ITEM(keys, i));
        if (key && !bloom_add(&cache->bloom, end_of(key), cache->most)) PyErr_NoMemory();
        if (PyErr_Occurred()) break;
    }
    Py_DECREF(keys);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

static void cache_dealloc(PyObject *self) {
    SeenCache *cache = (SeenCache *)self;
    bloom_free(&cache->bloom);
    free(cache->places);
    Py_XDECREF(cache->type);
    Py_XDECREF(cache->states);
    Py_XDECREF(cache->reasons);
    Py_XDECREF(cache->purposes);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *cache_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyTypeObject *rows;
    PyObject *states, *reasons, *purposes;
    int bits, most;
    if (kwargs && PyDict_GET_SIZE(kwargs)) return PyErr_Format(PyExc_TypeError, "SeenCache: expected no keywords");
    if (!PyArg_ParseTuple(args, "O!O!O!O!ii", &PyType_Type, &rows, &PyTuple_Type, &states, &PyTuple_Type, &reasons, &PyTuple_Type, &purposes,
                          &bits, &most))
        return NULL;
    if (!PyType_IsSubtype(rows, &PyTuple_Type) || rows->tp_basicsize != PyTuple_Type.tp_basicsize)
        return PyErr_Format(PyExc_TypeError, "SeenCache: expected a class of tuples without fields of their own");
    if (bits < 0 || bits > MOST_BITS) return PyErr_Format(PyExc_ValueError, "SeenCache: expected 2 to the power of 0 to %d sets", MOST_BITS);
    if (most < 0 || most > BLOOM_MAPS) return PyErr_Format(PyExc_ValueError, "SeenCache: expected 0 to %d bitmaps", BLOOM_MAPS);
    SeenCache *cache = (SeenCache *)type->tp_alloc(type, 0);
    if (!cache) return NULL;
    cache->type = (PyTypeObject *)Py_NewRef(rows);
    cache->states = Py_NewRef(states);
    cache->reasons = Py_NewRef(reasons);
    cache->purposes = Py_NewRef(purposes);
    cache->mask = ((uint64_t)1 << bits) - 1;
    cache->most = most;
    if (!(cache->places = calloc((size_t)(cache->mask + 1) * WAYS, sizeof *cache->places))) {
        Py_DECREF(cache);
        return PyErr_NoMemory();
    }
    return (PyObject *)cache;
}

static PyMethodDef CACHE_METHODS[] = {
    {"rows", cache_rows, METH_O, rows_doc},
    {"keep", cache_keep, METH_VARARGS, keep_doc},
    {"add", cache_add, METH_O, add_doc},
    {NULL, NULL, 0, NULL},
};

PyTypeObject SEEN_CACHE = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "thresher.crawler.native._native.SeenCache",
    .tp_basicsize = sizeof(SeenCache),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = cache_new,
    .tp_dealloc = cache_dealloc,
    .tp_methods = CACHE_METHODS,
};
