/* What Python sees of sketches.c: sample(), look(), least_pairs(), least_words(), places() and without(). Rows of words come as buffers of aligned uint64. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "native.h"

#include <stdlib.h>
#include <string.h>

/* Return whether a buffer is a row of words; sets the error if not. */
static int is_row(const Py_buffer *b, const char *name) {
    if (b->len % 8 == 0 && (uintptr_t)b->buf % 8 == 0 && (size_t)b->len / 8 < UINT32_MAX) return 1;
    PyErr_Format(PyExc_ValueError, "%s: expected aligned uint64", name);
    return 0;
}

/* The numbers of a sequence of int, modulo 2**64; NULL and the error if they are none. The caller frees them. */
static uint64_t *numbers_of(PyObject *sequence, size_t *n) {
    PyObject *row = PySequence_Tuple(sequence);
    if (!row) return NULL;
    *n = (size_t)PyTuple_GET_SIZE(row);
    uint64_t *numbers = malloc(*n * sizeof *numbers + 1);
    if (!numbers) PyErr_NoMemory();
    for (size_t i = 0; numbers && i < *n; i++) {
        numbers[i] = PyLong_AsUnsignedLongLongMask(PyTuple_GET_ITEM(row, (Py_ssize_t)i));
        if (numbers[i] == UINT64_MAX && PyErr_Occurred()) {
            free(numbers);
            numbers = NULL;
        }
    }
    Py_DECREF(row);
    return numbers;
}

static PyObject *py_sample(PyObject *self, PyObject *args) {
    Py_buffer tokens, counts;
    PyObject *left_out, *found = NULL;
    uint64_t *words = NULL, *tops = NULL;
    size_t n_tops = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*O", &tokens, &counts, &left_out)) return NULL;
    if (!is_row(&tokens, "sample")) goto done;
    if (counts.len != PLACES) {
        PyErr_Format(PyExc_ValueError, "sample: expected a table of %d, found %zd", PLACES, counts.len);
        goto done;
    }
    if (!(tops = numbers_of(left_out, &n_tops))) goto done;
    if (!(words = malloc((size_t)tokens.len + PLACES))) {
        PyErr_NoMemory();
        goto done;
    }
    size_t n = (size_t)tokens.len / 8;
    uint8_t *table = (uint8_t *)(words + n);
    uint16_t out[1 + 2 * LEAST_THREES];
    memcpy(words, tokens.buf, (size_t)tokens.len);
    memcpy(table, counts.buf, PLACES);
    for (size_t i = 0; i < n_tops; i++) table[tops[i] >> (64 - PLACE_BITS)] = 0;
    found = PyBytes_FromStringAndSize((const char *)out, (Py_ssize_t)(sample_threes(words, n, table, out) * sizeof *out));
done:
    free(words);
    free(tops);
    PyBuffer_Release(&tokens);
    PyBuffer_Release(&counts);
    return found;
}

static PyObject *py_look(PyObject *self, PyObject *args) {
    PyObject *sampled, *table, *after = NULL;
    uint16_t numbers[1 + 2 * LEAST_THREES];
    static const uint8_t EMPTY[TABLE_BYTES];
    (void)self;
    if (!PyArg_ParseTuple(args, "SS", &sampled, &table)) return NULL;
    size_t size = (size_t)PyBytes_GET_SIZE(sampled), before = (size_t)PyBytes_GET_SIZE(table), n = size / 4, n_both;
    if (size % 4 != 2 || size < 6 || size > sizeof numbers || (before && before != TABLE_BYTES))
        return PyErr_Format(PyExc_ValueError, "look: expected a sample and a table of %d bytes, found %zu and %zu", TABLE_BYTES, size, before);
    memcpy(numbers, PyBytes_AS_STRING(sampled), size);
    for (size_t i = 1; i <= 2 * n; i++)
        if (numbers[i] >= PLACES) return PyErr_Format(PyExc_ValueError, "look: expected places below %d, found %d", PLACES, numbers[i]);
    const uint8_t *known = before ? (const uint8_t *)PyBytes_AS_STRING(table) : EMPTY;
    if (!unseen_pairs(numbers + 1, n, known, &n_both)) Py_RETURN_NONE;
    if (!(after = PyBytes_FromStringAndSize((const char *)known, TABLE_BYTES))) return NULL;
    enter_pairs(numbers + 1, n, (uint8_t *)PyBytes_AS_STRING(after));
    return Py_BuildValue("(nnN)", (Py_ssize_t)n_both, (Py_ssize_t)n, after);
}

static PyObject *py_least_pairs(PyObject *self, PyObject *args) {
    Py_buffer tokens;
    Py_ssize_t most;
    PyObject *found = NULL;
    uint32_t least[MOST_PAIRS];
    (void)self;
    if (!PyArg_ParseTuple(args, "y*n", &tokens, &most)) return NULL;
    if (most < 0 || most > MOST_PAIRS) PyErr_Format(PyExc_ValueError, "least_pairs: expected at most %d", MOST_PAIRS);
    else if (is_row(&tokens, "least_pairs")) {
        size_t n = least_pairs(tokens.buf, (size_t)tokens.len / 8, (size_t)most, least);
        found = PyBytes_FromStringAndSize((const char *)least, (Py_ssize_t)(n * sizeof *least));
    }
    PyBuffer_Release(&tokens);
    return found;
}

static PyObject *py_places(PyObject *self, PyObject *args) {
    Py_buffer tokens;
    PyObject *sequence, *found = NULL;
    uint64_t *wanted = NULL;
    uint32_t *places = NULL;
    size_t n_wanted = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*O", &tokens, &sequence)) return NULL;
    if (!is_row(&tokens, "places") || !(wanted = numbers_of(sequence, &n_wanted))) goto done;
    if (!(places = malloc((size_t)tokens.len / 2 + 1))) {
        PyErr_NoMemory();
        goto done;
    }
    size_t n = places_among(tokens.buf, (size_t)tokens.len / 8, wanted, n_wanted, places);
    found = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; found && i < n; i++) {
        PyObject *place = PyLong_FromUnsignedLong(places[i]);
        if (!place) Py_CLEAR(found);
        else PyList_SET_ITEM(found, (Py_ssize_t)i, place);
    }
done:
    free(places);
    free(wanted);
    PyBuffer_Release(&tokens);
    return found;
}

/* Mark what a sequence of rows names; returns 1 if anything was, 0 if not, -1 and the error. */
static int mark_rows(PyObject *rows, const uint64_t *tokens, size_t n, uint8_t *gone) {
    int is_there = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); i++) {
        size_t length = 0;
        uint64_t *row = numbers_of(PyTuple_GET_ITEM(rows, i), &length);
        if (!row) return -1;
        is_there |= mark_row(tokens, n, row, length, gone);
        free(row);
    }
    return is_there;
}

static PyObject *py_without(PyObject *self, PyObject *args) {
    Py_buffer tokens;
    PyObject *sequence, *rows, *found = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*O", &tokens, &sequence)) return NULL;
    rows = is_row(&tokens, "without") ? PySequence_Tuple(sequence) : NULL;
    size_t n = (size_t)tokens.len / 8, kept = 0;
    uint8_t *gone = rows ? calloc(n + 1, 1) : NULL;
    if (rows && !gone) PyErr_NoMemory();
    int is_there = gone ? mark_rows(rows, tokens.buf, n, gone) : -1;
    if (is_there == 0) found = Py_NewRef(Py_None);
    if (is_there == 1 && (found = PyByteArray_FromStringAndSize(NULL, tokens.len))) {
        uint64_t *out = (uint64_t *)(void *)PyByteArray_AS_STRING(found);
        for (size_t i = 0; i < n; i++)
            if (!gone[i]) out[kept++] = ((const uint64_t *)tokens.buf)[i];
        if (PyByteArray_Resize(found, (Py_ssize_t)(kept * 8)) < 0) Py_CLEAR(found);
    }
    free(gone);
    Py_XDECREF(rows);
    PyBuffer_Release(&tokens);
    return found;
}

static PyObject *py_least_words(PyObject *self, PyObject *args) {
    enum { MOST = 64 };
    Py_buffer tokens;
    Py_ssize_t ends, most;
    uint32_t least[MOST + 1];
    PyObject *found = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*nn", &tokens, &ends, &most)) return NULL;
    if (most < 1 || most > MOST || ends < 1) PyErr_Format(PyExc_ValueError, "least_words: expected 1 to %d of a word or more", MOST);
    else if (is_row(&tokens, "least_words")) {
        size_t n = least_words(tokens.buf, (size_t)tokens.len / 8, (size_t)ends, (size_t)most, least);
        found = PyList_New((Py_ssize_t)n);
        for (size_t i = 0; found && i < n; i++) {
            PyObject *word = PyLong_FromUnsignedLong(least[i]);
            if (!word) Py_CLEAR(found);
            else PyList_SET_ITEM(found, (Py_ssize_t)i, word);
        }
    }
    PyBuffer_Release(&tokens);
    return found;
}

PyMethodDef SKETCH_METHODS[] = {
    {"sample", py_sample, METH_VARARGS, "sample(tokens: uint64, counts: 16,384 bytes, left_out: ints) -> bytes, as novelty.sample"},
    {"look", py_look, METH_VARARGS, "look(sampled, table) -> (threes with two new pairs, threes, new table), None if no pair is new"},
    {"least_pairs", py_least_pairs, METH_VARARGS, "least_pairs(tokens: uint64, most) -> bytes of uint32, distinct, ascending"},
    {"least_words", py_least_words, METH_VARARGS, "least_words(tokens: uint64, ends, most) -> list of int, the least of a sample, ascending"},
    {"places", py_places, METH_VARARGS, "places(tokens: uint64, wanted: ints) -> list of int, where words stand that are wanted"},
    {"without", py_without, METH_VARARGS, "without(tokens: uint64, rows: of ints) -> bytearray without these rows, None if none is there"},
    {NULL, NULL, 0, NULL},
};
