/* Bloom filters, in a few bitmaps of growing size: which keys were certainly never added. storage/tables/bloom.py says what they are, in Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "native.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BITS = 20, GROWTH_BITS = 3, BITS_PER_KEY = 16, HASH = 8 };

int bloom_has(const Bloom *bloom, uint64_t hash) {
    for (int i = 0; i < bloom->n; i++) {
        uint64_t place = hash & bloom->maps[i].mask;
        if (bloom->maps[i].bits[place >> 3] >> (place & 7) & 1) return 1;
    }
    return 0;
}

int bloom_add(Bloom *bloom, uint64_t hash, int most) {
    if (!bloom->n_free && bloom->n < most) {
        uint64_t n_bits = (uint64_t)1 << (FIRST_BITS + GROWTH_BITS * bloom->n);
        uint8_t *bits = calloc(n_bits >> 3, 1);
        if (!bits) return 0;
        bloom->maps[bloom->n++] = (BloomMap){bits, n_bits - 1};
        bloom->n_free = n_bits / BITS_PER_KEY;
    }
    if (bloom->n_free) bloom->n_free--;
    BloomMap *latest = &bloom->maps[bloom->n - 1];
    uint64_t place = hash & latest->mask;
    latest->bits[place >> 3] |= (uint8_t)(1 << (place & 7));
    return 1;
}

void bloom_free(Bloom *bloom) {
    for (int i = 0; i < bloom->n; i++) free(bloom->maps[i].bits);
}

typedef struct {
    PyObject_HEAD
    Bloom bloom;
    int most; /* bitmaps */
} KeyFilter;

/* A key ends with a hash; returns 0 and the error if it cannot. */
static int hash_in(PyObject *key, uint64_t *hash) {
    if (!PyBytes_Check(key) || PyBytes_GET_SIZE(key) < HASH) {
        PyErr_Format(PyExc_ValueError, "KeyFilter: expected keys that end with a hash of 8 bytes, found %R", key);
        return 0;
    }
    memcpy(hash, PyBytes_AS_STRING(key) + PyBytes_GET_SIZE(key) - HASH, HASH);
    return 1;
}

PyDoc_STRVAR(add_doc, "add(keys) adds a list of keys, which end with a hash of 8 bytes");

static PyObject *filter_add(PyObject *self, PyObject *keys) {
    KeyFilter *filter = (KeyFilter *)self;
    uint64_t hash;
    if (!PyList_Check(keys)) return PyErr_Format(PyExc_TypeError, "add: expected a list, found %R", keys);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys); i++) {
        if (!hash_in(PyList_GET_ITEM(keys, i), &hash)) return NULL;
        if (!bloom_add(&filter->bloom, hash, filter->most)) return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(among_doc, "among(keys) -> the positions in a list of those keys that may have been added");

static PyObject *filter_among(PyObject *self, PyObject *keys) {
    KeyFilter *filter = (KeyFilter *)self;
    uint64_t hash;
    if (!PyList_Check(keys)) return PyErr_Format(PyExc_TypeError, "among: expected a list, found %R", keys);
    PyObject *found = PyList_New(0);
    for (Py_ssize_t i = 0; found && i < PyList_GET_SIZE(keys); i++) {
        if (!hash_in(PyList_GET_ITEM(keys, i), &hash)) {
            Py_CLEAR(found);
        } else if (bloom_has(&filter->bloom, hash)) {
            PyObject *at = PyLong_FromSsize_t(i);
            if (!at || PyList_Append(found, at) < 0) Py_CLEAR(found);
            Py_XDECREF(at);
        }
    }
    return found;
}

static PyObject *filter_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    int most;
    if (kwargs && PyDict_GET_SIZE(kwargs)) return PyErr_Format(PyExc_TypeError, "KeyFilter: expected no keywords");
    if (!PyArg_ParseTuple(args, "i", &most)) return NULL;
    if (most < 1 || most > BLOOM_MAPS) return PyErr_Format(PyExc_ValueError, "KeyFilter: expected 1 to %d bitmaps", BLOOM_MAPS);
    KeyFilter *filter = (KeyFilter *)type->tp_alloc(type, 0);
    if (filter) filter->most = most;
    return (PyObject *)filter;
}

static void filter_dealloc(PyObject *self) {
    bloom_free(&((KeyFilter *)self)->bloom);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef FILTER_METHODS[] = {
    {"add", filter_add, METH_O, add_doc},
    {"among", filter_among, METH_O, among_doc},
    {NULL, NULL, 0, NULL},
};

PyTypeObject KEY_FILTER = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "thresher.crawler.native._native.KeyFilter",
    .tp_basicsize = sizeof(KeyFilter),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = filter_new,
    .tp_dealloc = filter_dealloc,
    .tp_methods = FILTER_METHODS,
};
