/* The records of a filter that were read or written lately, and which were never met: storage/tables/record_cache.py says what it is. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "native.h"

enum { SITE = 8, HEADER = 8 }; /* bytes: of a key, and before a row's value */
enum { RECORD = 110 }; /* bytes that a remembered record takes beside those of its key and its value */

typedef struct {
    PyObject_HEAD
    PyObject *read;         /* asked for what is not remembered; NULL once it was cleared */
    PyObject *young, *old;  /* dicts, NULL once they were cleared */
    PyObject *visits, *grow, *tag; /* whose `visit` is the present one; asked for a site's bytes; begins a row's key */
    PyObject *unwritten, *used, *unsaved; /* row's key -> row, site -> bytes, set of sites */
    PyObject *name, *noted, *changes; /* of the filter; site -> set of keys, site -> list of changes: see filters/evidence/undo.py; or NULL */
    Py_ssize_t most;        /* bytes of a site */
    Py_ssize_t generation;  /* bytes */
    Py_ssize_t n_young;     /* bytes that were remembered in `young` */
    int begins_empty;       /* whatever was met is in the filter */
    Bloom met;
} Cache;

static Py_ssize_t size_of(PyObject *value) { return PyBytes_Check(value) ? PyBytes_GET_SIZE(value) : 0; }

/* Remember a value; returns 0 and the error if that fails. */
static int remember(Cache *cache, PyObject *key, PyObject *value) {
    PyObject *before = PyDict_GetItemWithError(cache->young, key);
    if (!before && PyErr_Occurred()) return 0;
    if (!before && cache->n_young >= cache->generation) {
        PyObject *young = PyDict_New();
        if (!young) return 0;
        Py_SETREF(cache->old, cache->young);
        cache->young = young;
        cache->n_young = 0;
    }
    cache->n_young += size_of(value) + (before ? -size_of(before) : RECORD + PyBytes_GET_SIZE(key));
    return PyDict_SetItem(cache->young, key, value) == 0;
}

static int is_ready(const Cache *cache, PyObject *key, const char *name) {
    if (!PyBytes_CheckExact(key)) PyErr_Format(PyExc_TypeError, "%s: expected bytes, found %R", name, key);
    else if (!cache->young || !cache->old || !cache->unsaved) PyErr_Format(PyExc_RuntimeError, "%s: the cache is gone", name);
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
    if (cache->begins_empty && !bloom_has(&cache->met, (uint64_t)hash)) Py_RETURN_NONE;
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

/* Remember what is written under a key of bytes; returns what was there before, a new reference. */
static PyObject *replaced(Cache *cache, PyObject *key, PyObject *value, Py_hash_t hash) {
    PyObject *before = found(cache, key, hash);
    if (!before) return NULL;
    if (!remember(cache, key, value)) Py_CLEAR(before);
    if (before == Py_None && cache->begins_empty && value != Py_None && !bloom_add(&cache->met, (uint64_t)hash, BLOOM_MAPS)) {
        Py_CLEAR(before);
        PyErr_NoMemory();
    }
    return before;
}

PyDoc_STRVAR(put_doc, "put(key, value) remembers what is written, None for what is deleted -> what was there before");

static PyObject *cache_put(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    Cache *cache = (Cache *)self;
    if (n != 2) return PyErr_Format(PyExc_TypeError, "put: expected a key and a value");
    Py_hash_t hash = is_ready(cache, args[0], "put") ? PyObject_Hash(args[0]) : -1;
    return hash == -1 ? NULL : replaced(cache, args[0], args[1], hash);
}

/* Let a row wait until it is written: weight f32, visit u32, value; returns 0 and the error if that fails. */
static int wait_row(Cache *cache, PyObject *key, PyObject *value, double weight) {
    static PyObject *visit_name = NULL; /* made once: a name that is made for each row must be hashed, too */
    if (!visit_name && !(visit_name = PyUnicode_InternFromString("visit"))) return 0;
    PyObject *visit = PyObject_GetAttr(cache->visits, visit_name);
    unsigned long long number = visit ? PyLong_AsUnsignedLongLongMask(visit) : 0;
    Py_ssize_t n_tag = PyBytes_GET_SIZE(cache->tag), n_key = PyBytes_GET_SIZE(key), n = PyBytes_GET_SIZE(value);
    PyObject *name = NULL, *row = NULL;
    int is_done = 0;
    Py_XDECREF(visit);
    if (PyErr_Occurred()) return 0;
    if (n > PY_SSIZE_T_MAX - HEADER || n_key > PY_SSIZE_T_MAX - n_tag) PyErr_NoMemory();
    else if ((name = PyBytes_FromStringAndSize(NULL, n_tag + n_key)) && (row = PyBytes_FromStringAndSize(NULL, HEADER + n))) {
        char *at = PyBytes_AS_STRING(name), *to = PyBytes_AS_STRING(row);
        memcpy(at, PyBytes_AS_STRING(cache->tag), (size_t)n_tag);
        memcpy(at + n_tag, PyBytes_AS_STRING(key), (size_t)n_key);
        for (int i = 0; i < 4; i++) to[4 + i] = (char)(number >> (24 - 8 * i) & 0xFF);
        memcpy(to + HEADER, PyBytes_AS_STRING(value), (size_t)n);
        is_done = PyFloat_Pack4(weight, to, 0) == 0 && PyDict_SetItem(cache->unwritten, name, row) == 0;
    }
    Py_XDECREF(name);
    Py_XDECREF(row);
    return is_done;
}

/* Count the bytes by which a site's records have grown; returns 0 and the error if that fails. */
static int count_bytes(Cache *cache, PyObject *site, Py_ssize_t grown) {
    PyObject *n = NULL, *known = PyDict_GetItemWithError(cache->used, site);
    Py_ssize_t used = known ? PyLong_AsSsize_t(known) : 0;
    if (PyErr_Occurred()) goto done;
    if (used > 0 && grown <= cache->most && used <= cache->most - grown) n = PyLong_FromSsize_t(used + grown);
    else n = PyObject_CallFunction(cache->grow, "On", site, grown);
    if (n && !cache->unsaved) {
        PyErr_SetString(PyExc_RuntimeError, "write: the cache is gone");
        Py_CLEAR(n);
    } else if (n && (PyDict_SetItem(cache->used, site, n) < 0 || PySet_Add(cache->unsaved, site) < 0)) {
        Py_CLEAR(n);
    }
done:
    Py_XDECREF(n);
    return n != NULL;
}

/* Return the value of a dict by a site, made by `make` if there is none; NULL and the error. A borrowed reference. */
static PyObject *of_site(PyObject *dict, PyObject *site, PyObject *(*make)(void)) {
    PyObject *value = PyDict_GetItemWithError(dict, site);
    if (value || PyErr_Occurred()) return value;
    PyObject *made = make();
    if (made && PyDict_SetItem(dict, site, made) == 0) value = made;
    Py_XDECREF(made); /* the dict keeps it */
    return value;
}

static PyObject *empty_set(void) { return PySet_New(NULL); }
static PyObject *empty_list(void) { return PyList_New(0); }

/* Note what a record was before it changes for the first time; returns 0 and the error if that fails. */
static int note_change(Cache *cache, PyObject *site, PyObject *key, PyObject *before, double weight) {
    const char *bytes = PyBytes_AS_STRING(site);
    if (!(bytes[5] | bytes[6] | bytes[7])) return 1; /* it belongs to no site */
    PyObject *keys = of_site(cache->noted, site, empty_set), *changes = NULL, *change = NULL;
    int is_known = keys ? PySet_Contains(keys, key) : -1;
    if (!is_known && PySet_Add(keys, key) == 0 && (changes = of_site(cache->changes, site, empty_list))
        && (change = Py_BuildValue("(OOOd)", cache->name, key, before, weight)))
        is_known = PyList_Append(changes, change) == 0 ? 1 : -1;
    Py_XDECREF(change);
    return is_known == 1;
}

static PyObject *written(Cache *cache, PyObject *const *args, Py_ssize_t n, PyObject *names, int is_noted) {
    Py_ssize_t n_names = names ? PyTuple_GET_SIZE(names) : 0;
    int is_named = n == 2 && n_names == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "weight") == 0;
    if (!is_named && (n_names || n < 2 || n > 3)) return PyErr_Format(PyExc_TypeError, "write: expected a key, a value and a weight");
    PyObject *key = args[0], *value = args[1];
    double weight = n + n_names > 2 ? PyFloat_AsDouble(args[2]) : 0.0;
    if (weight == -1.0 && PyErr_Occurred()) return NULL;
    if (!PyBytes_CheckExact(value)) return PyErr_Format(PyExc_TypeError, "write: expected bytes, found %R", value);
    Py_hash_t hash = is_ready(cache, key, "write") ? PyObject_Hash(key) : -1;
    if (hash == -1) return NULL;
    if (PyBytes_GET_SIZE(key) < SITE) return PyErr_Format(PyExc_ValueError, "write: a key begins with the 8 bytes of its site, found %R", key);
    PyObject *before = replaced(cache, key, value, hash);
    if (!before) return NULL;
    Py_ssize_t grown = PyBytes_GET_SIZE(value);
    if (PyBytes_CheckExact(before)) grown -= PyBytes_GET_SIZE(before);
    else grown += PyBytes_GET_SIZE(cache->tag) + PyBytes_GET_SIZE(key) + HEADER;
    PyObject *site = PyBytes_FromStringAndSize(PyBytes_AS_STRING(key), SITE);
    int is_done = site && (!is_noted || note_change(cache, site, key, before, weight)) && wait_row(cache, key, value, weight)
                  && (!grown || count_bytes(cache, site, grown));
    Py_DECREF(before);
    Py_XDECREF(site);
    if (!is_done) return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(write_doc, "write(key, value, weight=0.0) remembers a record, lets its row wait in `unwritten`, counts its site's bytes");

static PyObject *cache_write(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    return written((Cache *)self, args, n, names, 0);
}

PyDoc_STRVAR(write_noted_doc, "write_noted(key, value, weight=0.0) writes, and notes what the record was before its first change, where note_in() said");

static PyObject *cache_write_noted(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    Cache *cache = (Cache *)self;
    if (!cache->noted || !cache->changes) return PyErr_Format(PyExc_RuntimeError, "write_noted: note_in() comes first");
    return written(cache, args, n, names, 1);
}

PyDoc_STRVAR(note_in_doc, "note_in(name, noted, changes): a dict of sites to the sets of keys that are noted, one of sites to lists of changes");

static PyObject *cache_note_in(PyObject *self, PyObject *args) {
    Cache *cache = (Cache *)self;
    PyObject *name, *noted, *changes;
    if (!PyArg_ParseTuple(args, "UO!O!", &name, &PyDict_Type, &noted, &PyDict_Type, &changes)) return NULL;
    Py_XSETREF(cache->name, Py_NewRef(name));
    Py_XSETREF(cache->noted, Py_NewRef(noted));
    Py_XSETREF(cache->changes, Py_NewRef(changes));
    Py_RETURN_NONE;
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
        else if ((!cache->begins_empty || bloom_has(&cache->met, (uint64_t)hash)) && PyList_Append(unread, key) < 0) Py_CLEAR(unread);
    }
    Py_XDECREF(row);
    return unread;
}

static PyObject *cache_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *read, *visits, *grow, *tag;
    Py_ssize_t generation, most;
    int begins_empty;
    if (kwargs && PyDict_GET_SIZE(kwargs)) return PyErr_Format(PyExc_TypeError, "RecordCache: expected no keywords");
    if (!PyArg_ParseTuple(args, "OnpOOSn", &read, &generation, &begins_empty, &visits, &grow, &tag, &most)) return NULL;
    if (generation < 1) return PyErr_Format(PyExc_ValueError, "RecordCache: expected a generation of one byte or more");
    Cache *cache = (Cache *)type->tp_alloc(type, 0);
    if (!cache) return NULL;
    cache->read = Py_NewRef(read);
    cache->visits = Py_NewRef(visits);
    cache->grow = Py_NewRef(grow);
    cache->tag = Py_NewRef(tag);
    cache->generation = generation;
    cache->begins_empty = begins_empty;
    cache->most = most;
    if (!(cache->young = PyDict_New()) || !(cache->old = PyDict_New()) || !(cache->unwritten = PyDict_New())
        || !(cache->used = PyDict_New()) || !(cache->unsaved = PySet_New(NULL)))
        Py_CLEAR(cache);
    return (PyObject *)cache;
}

static int cache_traverse(PyObject *self, visitproc visit, void *arg) {
    Cache *cache = (Cache *)self;
    Py_VISIT(cache->read);
    Py_VISIT(cache->young);
    Py_VISIT(cache->old);
    Py_VISIT(cache->visits);
    Py_VISIT(cache->grow);
    Py_VISIT(cache->unwritten);
    Py_VISIT(cache->used);
    Py_VISIT(cache->unsaved);
    Py_VISIT(cache->noted);
    Py_VISIT(cache->changes);
    return 0;
}

static int cache_clear(PyObject *self) {
    Cache *cache = (Cache *)self;
    Py_CLEAR(cache->read);
    Py_CLEAR(cache->young);
    Py_CLEAR(cache->old);
    Py_CLEAR(cache->visits);
    Py_CLEAR(cache->grow);
    Py_CLEAR(cache->tag);
    Py_CLEAR(cache->unwritten);
    Py_CLEAR(cache->used);
    Py_CLEAR(cache->unsaved);
    Py_CLEAR(cache->name);
    Py_CLEAR(cache->noted);
    Py_CLEAR(cache->changes);
    return 0;
}

static void cache_dealloc(PyObject *self) {
    Cache *cache = (Cache *)self;
    PyObject_GC_UnTrack(self);
    cache_clear(self);
    bloom_free(&cache->met);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef CACHE_METHODS[] = {
    {"get", cache_get, METH_O, get_doc},
    {"put", (PyCFunction)(void (*)(void))cache_put, METH_FASTCALL, put_doc},
    {"unread", cache_unread, METH_O, unread_doc},
    {"write", (PyCFunction)(void (*)(void))cache_write, METH_FASTCALL | METH_KEYWORDS, write_doc},
    {"write_noted", (PyCFunction)(void (*)(void))cache_write_noted, METH_FASTCALL | METH_KEYWORDS, write_noted_doc},
    {"note_in", cache_note_in, METH_VARARGS, note_in_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef CACHE_MEMBERS[] = {
    {"unwritten", T_OBJECT_EX, offsetof(Cache, unwritten), READONLY, "rows that wait, by their keys"},
    {"used", T_OBJECT_EX, offsetof(Cache, used), READONLY, "bytes that the records of sites met lately take"},
    {"unsaved", T_OBJECT_EX, offsetof(Cache, unsaved), READONLY, "sites of which that has changed"},
    {NULL, 0, 0, 0, NULL},
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
    .tp_members = CACHE_MEMBERS,
};
