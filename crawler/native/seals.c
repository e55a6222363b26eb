/* The checksums behind the values of rows on disk: storage/seal.py says what they are. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "native.h"

#include <stdlib.h>
#include <string.h>

enum { SEAL = 4 };

/* The checksum of a row; returns 0 if there is no memory. */
static int seal_of(Buffer *room, PyObject *key, Bytes value, size_t n, unsigned long seed, unsigned char seal[SEAL]) {
    room->n = 0;
    if (!append(room, (Bytes)PyBytes_AS_STRING(key), (size_t)PyBytes_GET_SIZE(key)) || !append(room, value, n)) return 0;
    uint32_t hash = xxh32(room->at, room->n, (uint32_t)seed);
    for (int i = 0; i < SEAL; i++) seal[i] = (unsigned char)(hash >> (24 - 8 * i));
    return 1;
}

/* A row as it goes to disk: a pair of its key and its value with the seal behind it. */
static PyObject *sealed_row(Buffer *room, PyObject *row, unsigned long seed) {
    PyObject *key = PyTuple_Check(row) && PyTuple_GET_SIZE(row) == 2 ? PyTuple_GET_ITEM(row, 0) : NULL;
    PyObject *value = key ? PyTuple_GET_ITEM(row, 1) : NULL, *stored, *pair = NULL;
    if (!value || !PyBytes_Check(key) || !PyBytes_Check(value))
        return PyErr_Format(PyExc_TypeError, "sealed: expected pairs of bytes, found %R", row);
    Py_ssize_t n = PyBytes_GET_SIZE(value);
    if (n > PY_SSIZE_T_MAX - SEAL) return PyErr_NoMemory();
    if (!(stored = PyBytes_FromStringAndSize(NULL, n + SEAL))) return NULL;
    unsigned char *at = (unsigned char *)PyBytes_AS_STRING(stored);
    memcpy(at, PyBytes_AS_STRING(value), (size_t)n);
    if (!seal_of(room, key, at, (size_t)n, seed, at + n)) PyErr_NoMemory();
    else if ((pair = PyTuple_Pack(2, key, stored)) && PyBytes_CheckExact(key)) PyObject_GC_UnTrack(pair); /* it can be in no circle */
    Py_DECREF(stored);
    return pair;
}

static PyObject *py_sealed(PyObject *self, PyObject *args) {
    PyObject *rows;
    unsigned long seed;
    Buffer room = {NULL, 0, 0};
    (void)self;
    if (!PyArg_ParseTuple(args, "Ok", &rows, &seed)) return NULL;
    PyObject *each = PyObject_GetIter(rows), *found = each ? PyList_New(0) : NULL, *row;
    while (found && (row = PyIter_Next(each))) {
        PyObject *pair = sealed_row(&room, row, seed);
        Py_DECREF(row);
        if (!pair || PyList_Append(found, pair) < 0) Py_CLEAR(found);
        Py_XDECREF(pair);
    }
    if (PyErr_Occurred()) Py_CLEAR(found);
    Py_XDECREF(each);
    free(room.at);
    return found;
}

static PyObject *py_opened(PyObject *self, PyObject *args) {
    PyObject *key, *stored, *value = NULL;
    unsigned long seed;
    unsigned char seal[SEAL];
    Buffer room = {NULL, 0, 0};
    (void)self;
    if (!PyArg_ParseTuple(args, "SSk", &key, &stored, &seed)) return NULL;
    Bytes at = (Bytes)PyBytes_AS_STRING(stored);
    Py_ssize_t n = PyBytes_GET_SIZE(stored) - SEAL;
    if (n < 0) Py_RETURN_NONE;
    if (!seal_of(&room, key, at, (size_t)n, seed, seal)) PyErr_NoMemory();
    else if (memcmp(seal, at + n, SEAL) != 0) value = Py_NewRef(Py_None);
    else value = PyBytes_FromStringAndSize((const char *)at, n);
    free(room.at);
    return value;
}

PyMethodDef SEAL_METHODS[] = {
    {"opened", py_opened, METH_VARARGS, "opened(key: bytes, stored: bytes, seed) -> the value, None if its seal is another's"},
    {"sealed", py_sealed, METH_VARARGS, "sealed(rows: pairs of bytes, seed) -> list of pairs, each value with its seal"},
    {NULL, NULL, 0, NULL},
};
