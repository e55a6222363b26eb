/* The records of a filter that were read or written lately, and which were never met: storage/tables/record_cache.py says what it is. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "native.h"

#include <stdlib.h>

enum { FIRST_BITS = 20, GROWTH_BITS = 3, BITS_PER_KEY = 16, MOST_MAPS = 8 };

typedef struct {
    uint8_t *bits;
    uint64_t mask; /* of its places */
} Map;

typedef struct {
    PyObject_HEAD
    PyObject *read;         /* asked for what is not remembered; NULL once it was cleared */
    PyObject *young, *old;  /* dicts, NULL once they were cleared */
    Py_ssize_t generation;
    int begins_empty;       /* whatever was met is in the maps */
    int n_maps;
    uint64_t n_free;        /* keys that the latest map takes yet */
    Map maps[MOST_MAPS];
} Cache;

static int has_met(const Cache *cache, uint64_t hash) {
    for (int i = 0; i < cache->n_maps; i++) {
        uint64_t place = hash & cache->maps[i].mask;
        if (cache->maps[i].bits[place >> 3] >> (place & 7) & 1) return 1;
    }
    return 0;
}

/* Returns 0 if there is no memory. */
static int meet(Cache *cache, uint64_t hash) {
    if (!cache->n_free && cache->n_maps < MOST_MAPS) {
        uint64_t n_bits = (uint64_t)1 << (FIRST_BITS + GROWTH_BITS * cache->n_maps);
        uint8_t *bits = calloc(n_bits >> 3, 1);
        if (!bits) return 0;
        cache->maps[cache->n_maps++] = (Map){bits, n_bits - 1};
        cache->n_free = n_bits / BITS_PER_KEY;
    }
    if (cache->n_free) cache->n_free--;
    Map *latest = &cache->maps[cache->n_maps - 1];
    uint64_t place = hash & latest->mask;
    latest->bits[place >> 3] |= (uint8_t)(1 << (place & 7));
    return 1;
}

/* Remember a value; returns 0 and the error if that fails. */
static int remember(Cache *cache, PyObject *key, PyObject *value) {
    if (PyDict_GET_SIZE(cache->young) >= cache->generation) {
        int is_there = PyDict_Contains(cache->young, key);
        if (is_there < 0) return 0;
        if (!is_there) {
            PyObject *young = PyDict_New();
            if (!young) return 0;
            Py_SETREF(cache->old, cache->young);
            cache->young = young;
        }
    }
    return PyDict_SetItem(cache->young, key, value) == 0;
}

static int is_ready(const Cache *cache, PyObject *key, const char *name) {
    if (!PyBytes_CheckExact(key)) PyErr_Format(PyExc_TypeError, "%s: expected bytes, found %R", name, key);
    else if (!cache->young || !cache->old || !cache->read) PyErr_Format(PyExc_RuntimeError, "%s: the cache is gone", name);
    else return 1;
    return 0;
}

/* What is remembered of a key, a new reference; NULL, with an error or without, if nothing is. */
static PyObject *remembered(Cache *cache, PyObject *key) {
    PyObject *value = PyDict_GetItemWithError(cache->young, key);
    if (value || PyErr_Occurred()) return Py_XNewRef(value);
    if (!(value = Py_XNewRef(PyDict_GetItemWithError(cache->old, key)))) return NULL;
    if (!remember(cache, key, value)) Py_CLEAR(value);
    return value;
}

static PyObject *found(Cache *cache, PyObject *key, Py_hash_t hash) {
    PyObject *value = remembered(cache, key);
    if (value || PyErr_Occurred()) return value;
    if (cache->begins_empty && !has_met(cache, (uint64_t)hash)) Py_RETURN_NONE;
    if (!(value = PyObject_CallOneArg(cache->read, key))) return NULL;
    if (!cache->young) PyErr_SetString(PyExc_RuntimeError, "get: the cache is gone");
    if (!cache->young || !remember(cache, key, value)) Py_CLEAR(value);
    return value;
}

PyDoc_STRVAR(get_doc, "get(key) -> the value of a record, None if there is none");

static PyObject *cache_get(PyObject *self, PyObject *key) {
    Cache *cache = (Cache *)self;
    Py_hash_t hash = is_ready(cache, key, "get") ? PyObject_Hash(key) : -1;
    return hash == -1 ? NULL : found(cache, key, hash);
}

PyDoc_STRVAR(put_doc, "put(key, value) remembers what is written, None for what is deleted -> what was there before");

static PyObject *cache_put(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    Cache *cache = (Cache *)self;
    if (n != 2) return PyErr_Format(PyExc_TypeError, "put: expected a key and a value");
    Py_hash_t hash = is_ready(cache, args[0], "put") ? PyObject_Hash(args[0]) : -1;
    PyObject *before = hash == -1 ? NULL : found(cache, args[0], hash);
    if (!before) return NULL;
    if (cache->young && !remember(cache, args[0], args[1])) Py_CLEAR(before);
    if (before == Py_None && cache->begins_empty && args[1] != Py_None && !meet(cache, (uint64_t)hash)) {
        Py_CLEAR(before);
        PyErr_NoMemory();
    }
    return before;
}

PyDoc_STRVAR(unread_doc, "unread(keys) -> list of those that must be read");

static PyObject *cache_unread(PyObject *self, PyObject *keys) {
    Cache *cache = (Cache *)self;
    PyObject *row = PySequence_Tuple(keys), *unread = row ? PyList_New(0) : NULL;
    for (Py_ssize_t i = 0; unread && i < PyTuple_GET_SIZE(row); i++) {
        PyObject *key = PyTuple_GET_ITEM(row, i), *value;
        Py_hash_t hash = is_ready(cache, key, "unread") ? PyObject_Hash(key) : -1;
        if (hash == -1) Py_CLEAR(unread);
        else if ((value = remembered(cache, key))) Py_DECREF(value);
        else if (PyErr_Occurred()) Py_CLEAR(unread);
        else if ((!cache->begins_empty || has_met(cache, (uint64_t)hash)) && PyList_Append(unread, key) < 0) Py_CLEAR(unread);
    }
    Py_XDECREF(row);
    return unread;
}

static PyObject *cache_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *read;
    Py_ssize_t generation;
    int begins_empty;
    if (kwargs && PyDict_GET_SIZE(kwargs)) return PyErr_Format(PyExc_TypeError, "RecordCache: expected no keywords");
    if (!PyArg_ParseTuple(args, "Onp", &read, &generation, &begins_empty)) return NULL;
    if (generation < 1) return PyErr_Format(PyExc_ValueError, "RecordCache: expected a generation of one record or more");
    Cache *cache = (Cache *)type->tp_alloc(type, 0);
    if (!cache) return NULL;
    cache->read = Py_NewRef(read);
    cache->generation = generation;
    cache->begins_empty = begins_empty;
    if (!(cache->young = PyDict_New()) || !(cache->old = PyDict_New())) Py_CLEAR(cache);
    return (PyObject *)cache;
}

static int cache_traverse(PyObject *self, visitproc visit, void *arg) {
    Cache *cache = (Cache *)self;
    Py_VISIT(cache->read);
    Py_VISIT(cache->young);
    Py_VISIT(cache->old);
    return 0;
}

static int cache_clear(PyObject *self) {
    Cache *cache = (Cache *)self;
    Py_CLEAR(cache->read);
    Py_CLEAR(cache->young);
    Py_CLEAR(cache->old);
    return 0;
}

static void cache_dealloc(PyObject *self) {
    Cache *cache = (Cache *)self;
    PyObject_GC_UnTrack(self);
    cache_clear(self);
    for (int i = 0; i < cache->n_maps; i++) free(cache->maps[i].bits);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef CACHE_METHODS[] = {
    {"get", cache_get, METH_O, get_doc},
    {"put", (PyCFunction)(void (*)(void))cache_put, METH_FASTCALL, put_doc},
    {"unread", cache_unread, METH_O, unread_doc},
    {NULL, NULL, 0, NULL},
};

PyTypeObject RECORD_CACHE = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "thresher.crawler.native._native.RecordCache",
    .tp_basicsize = sizeof(Cache),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = cache_new,
    .tp_dealloc = cache_dealloc,
    .tp_traverse = cache_traverse,
    .tp_clear = cache_clear,
    .tp_methods = CACHE_METHODS,
};
