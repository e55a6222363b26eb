/* URLs of one row, front-coded: of each how many bytes it shares with the one before, how many follow, and these. Lengths are seven bits a
   byte, the lower first; all bytes of a length but its last have bit 7. storage/url_rows.py says the same in Python. Also the links of a page
   and its new rows of `seen`: storage/packing.py says them in Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "native.h"

#include <string.h>

static int append_length(Buffer *b, size_t n) {
    unsigned char bytes[10];
    size_t k = 0;
    for (; n > 127; n >>= 7) bytes[k++] = (unsigned char)(n & 127) | 128;
    bytes[k++] = (unsigned char)n;
    return append(b, bytes, k);
}

/* Read a length at *at, before end; returns 0 if there is none. */
static int read_length(Bytes *at, Bytes end, size_t *n) {
    *n = 0;
    for (int shift = 0; *at < end && shift < 63; shift += 7) {
        unsigned char c = *(*at)++;
        *n |= (size_t)(c & 127) << shift;
        if (c < 128) return 1;
    }
    return 0;
}

static PyObject *py_front_coded(PyObject *self, PyObject *texts) {
    static Buffer out; /* stays between two rows */
    Bytes before = (Bytes)"";
    size_t n_before = 0;
    (void)self;
    PyObject *row = PySequence_Fast(texts, "front_coded: expected a sequence");
    if (!row) return NULL;
    out.n = 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(row); i++) {
        Py_ssize_t length;
        Bytes text = (Bytes)PyUnicode_AsUTF8AndSize(PySequence_Fast_GET_ITEM(row, i), &length);
        if (!text) goto failed;
        size_t n = (size_t)length, shared = 0, most = n < n_before ? n : n_before;
        while (shared < most && text[shared] == before[shared]) shared++;
        if (!append_length(&out, shared) || !append_length(&out, n - shared) || !append(&out, text + shared, n - shared)) {
            PyErr_NoMemory();
            goto failed;
        }
        before = text;
        n_before = n;
    }
    Py_DECREF(row);
    return PyBytes_FromStringAndSize((const char *)out.at, (Py_ssize_t)out.n);
failed:
    Py_DECREF(row);
    return NULL;
}

static PyObject *py_front_decoded(PyObject *self, PyObject *args) {
    static Buffer text; /* the one before */
    Py_buffer row;
    Py_ssize_t first, n;
    size_t shared, rest;
    PyObject *found = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*nn", &row, &first, &n)) return NULL;
    if (first < 0 || first > row.len || n < 0 || n > (row.len - first) / 2) goto torn;
    Bytes at = (Bytes)row.buf + first, end = (Bytes)row.buf + row.len;
    text.n = 0;
    found = PyList_New(n);
    for (Py_ssize_t i = 0; found && i < n; i++) {
        if (!read_length(&at, end, &shared) || !read_length(&at, end, &rest) || shared > text.n || rest > (size_t)(end - at)) goto torn;
        text.n = shared;
        PyObject *url = append(&text, at, rest) ? PyUnicode_DecodeUTF8((const char *)text.at, (Py_ssize_t)text.n, NULL) : PyErr_NoMemory();
        if (!url) {
            Py_CLEAR(found);
            break;
        }
        PyList_SET_ITEM(found, i, url);
        at += rest;
    }
    PyBuffer_Release(&row);
    return found;
torn:
    Py_XDECREF(found);
    PyBuffer_Release(&row);
    return PyErr_Format(PyExc_ValueError, "a row of URLs is torn");
}

enum { SITE = 8, KEY = 16, MOST_SITES = 256 };

/* The place of a key's site among those before, which is most often that of the last one; -1 if there are too many. */
static int place_of(unsigned char sites[][SITE], int *n_sites, const char *key, int last) {
    if (*n_sites && memcmp(sites[last], key, SITE) == 0) return last;
    for (int i = 0; i < *n_sites; i++)
        if (memcmp(sites[i], key, SITE) == 0) return i;
    if (*n_sites == MOST_SITES) return -1;
    memcpy(sites[*n_sites], key, SITE);
    return (*n_sites)++;
}

/* Keys as a row has them: the sites, of each key which it is (if there are several), and the rest of each. */
static PyObject *py_packed_keys(PyObject *self, PyObject *keys) {
    static Buffer which, rests; /* stay between two rows */
    unsigned char sites[MOST_SITES][SITE];
    int n_sites = 0, place = 0, is_done = 1;
    (void)self;
    PyObject *row = PySequence_Tuple(keys), *found = NULL;
    if (!row) return NULL;
    which.n = rests.n = 0;
    for (Py_ssize_t i = 0; is_done && place >= 0 && i < PyTuple_GET_SIZE(row); i++) {
        PyObject *key = PyTuple_GET_ITEM(row, i);
        is_done = PyBytes_Check(key) && PyBytes_GET_SIZE(key) == KEY;
        if (!is_done) {
            PyErr_Format(PyExc_ValueError, "packed_keys: expected keys of 16 bytes, found %R", key);
        } else if ((place = place_of(sites, &n_sites, PyBytes_AS_STRING(key), place)) >= 0) {
            unsigned char at = (unsigned char)place;
            is_done = append(&which, &at, 1) && append(&rests, (Bytes)PyBytes_AS_STRING(key) + SITE, KEY - SITE);
            if (!is_done) PyErr_NoMemory();
        }
    }
    Py_DECREF(row);
    if (!is_done) return NULL;
    if (place < 0) Py_RETURN_NONE;
    size_t n_which = n_sites > 1 ? which.n : 0, n_places = (size_t)n_sites * SITE;
    if ((found = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n_places + n_which + rests.n)))) {
        char *to = PyBytes_AS_STRING(found);
        memcpy(to, sites, n_places);
        if (n_which) memcpy(to + n_places, which.at, n_which);
        if (rests.n) memcpy(to + n_places + n_which, rests.at, rests.n);
    }
    return found ? Py_BuildValue("iN", n_sites, found) : NULL;
}

/* Numbers from 1, ascending, as differences. */
static PyObject *py_steps(PyObject *self, PyObject *numbers) {
    static Buffer out; /* stays between two rows */
    unsigned long long before = 0;
    (void)self;
    PyObject *row = PySequence_Tuple(numbers);
    if (!row) return NULL;
    out.n = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(row); i++) {
        unsigned long long number = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(row, i));
        if (PyErr_Occurred()) goto failed;
        if (number <= before) {
            PyErr_Format(PyExc_ValueError, "steps: expected numbers from 1, ascending");
            goto failed;
        }
        if (!append_length(&out, (size_t)(number - before))) {
            PyErr_NoMemory();
            goto failed;
        }
        before = number;
    }
    Py_DECREF(row);
    return PyBytes_FromStringAndSize((const char *)out.at, (Py_ssize_t)out.n);
failed:
    Py_DECREF(row);
    return NULL;
}

/* One row of `seen`: what its depth says of it, its number, and that it was never visited. */
static PyObject *new_row(PyObject *heads, PyObject *depth, unsigned long long number) {
    PyObject *head = PyDict_GetItemWithError(heads, depth);
    if (!head || !PyBytes_Check(head) || PyBytes_GET_SIZE(head) != 8)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "new_rows: expected 8 bytes for each depth");
    PyObject *row = PyBytes_FromStringAndSize(NULL, 24);
    if (!row) return NULL;
    char *at = PyBytes_AS_STRING(row);
    memcpy(at, PyBytes_AS_STRING(head), 8);
    for (int i = 0; i < 8; i++) at[8 + i] = (char)(number >> 8 * (7 - i));
    memset(at + 16, 0, 8);
    return row;
}

static PyObject *py_new_rows(PyObject *self, PyObject *args) {
    PyObject *keys, *depths, *heads, *found = NULL;
    unsigned long long first;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOO!K", &keys, &depths, &PyDict_Type, &heads, &first)) return NULL;
    PyObject *key = PySequence_Tuple(keys), *depth = key ? PySequence_Tuple(depths) : NULL;
    if (depth && PyTuple_GET_SIZE(key) != PyTuple_GET_SIZE(depth)) PyErr_Format(PyExc_ValueError, "new_rows: expected a depth for each key");
    else if (depth) found = PyDict_New();
    for (Py_ssize_t i = 0; found && i < PyTuple_GET_SIZE(key); i++) {
        PyObject *row = new_row(heads, PyTuple_GET_ITEM(depth, i), first + (unsigned long long)i);
        if (!row || PyDict_SetItem(found, PyTuple_GET_ITEM(key, i), row) < 0) Py_CLEAR(found);
        Py_XDECREF(row);
    }
    Py_XDECREF(key);
    Py_XDECREF(depth);
    return found;
}

PyMethodDef FRONT_METHODS[] = {
    {"front_coded", py_front_coded, METH_O, "front_coded(texts) -> bytes"},
    {"front_decoded", py_front_decoded, METH_VARARGS, "front_decoded(row: bytes, first, n) -> list of n texts"},
    {"new_rows", py_new_rows, METH_VARARGS, "new_rows(keys, depths, heads: dict, first) -> dict of 24 bytes by key"},
    {"packed_keys", py_packed_keys, METH_O, "packed_keys(keys) -> (number of sites, bytes), None if they are of more than 256 sites"},
    {"steps", py_steps, METH_O, "steps(numbers: ascending) -> bytes"},
    {NULL, NULL, 0, NULL},
};
