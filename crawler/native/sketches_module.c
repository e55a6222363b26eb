/* What Python sees of sketches.c: sample(), look(), project(), least_pairs(), end_words(), shared_words(), common(), without(), without_runs(), without_url() and near(). Rows of words come as buffers of aligned uint64. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Return whether a buffer is a row of words; sets the error if not. */
static int is_row(const Py_buffer *b, const char *name) {
    if (are_words(b->buf, b->len) && (size_t)b->len / 8 < UINT32_MAX) return 1;
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
    memcpy(table, counts.buf, PLACES);
    for (size_t i = 0; i < n_tops; i++) table[tops[i] >> (64 - PLACE_BITS)] = 0;
    found = PyBytes_FromStringAndSize((const char *)out, (Py_ssize_t)(sample_threes(tokens.buf, n, table, words, out) * sizeof *out));
done:
    free(words);
    free(tops);
    PyBuffer_Release(&tokens);
    PyBuffer_Release(&counts);
    return found;
}

static PyObject *py_look(PyObject *self, PyObject *args) {
    PyObject *sampled, *before;
    uint16_t numbers[1 + 2 * LEAST_THREES];
    uint8_t table[TABLE_BYTES], packed[TABLE_BYTES];
    (void)self;
    if (!PyArg_ParseTuple(args, "SS", &sampled, &before)) return NULL;
    size_t size = (size_t)PyBytes_GET_SIZE(sampled), n_before = (size_t)PyBytes_GET_SIZE(before), n = size / 4, n_both;
    if (size % 4 != 2 || size < 6 || size > sizeof numbers) return PyErr_Format(PyExc_ValueError, "look: expected a sample, found %zu bytes", size);
    if (n_before > TABLE_BYTES || !open_table((const uint8_t *)PyBytes_AS_STRING(before), n_before, table))
        return PyErr_Format(PyExc_ValueError, "look: expected a table of %d places, found %zu bytes of another one", PLACES, n_before);
    memcpy(numbers, PyBytes_AS_STRING(sampled), size);
    for (size_t i = 1; i <= 2 * n; i++)
        if (numbers[i] >= PLACES) return PyErr_Format(PyExc_ValueError, "look: expected places below %d, found %d", PLACES, numbers[i]);
    if (!unseen_pairs(numbers + 1, n, table, &n_both)) Py_RETURN_NONE;
    enter_pairs(numbers + 1, n, table);
    size_t n_after = pack_table(table, packed);
    return Py_BuildValue("(nny#)", (Py_ssize_t)n_both, (Py_ssize_t)n, (const char *)(n_after < TABLE_BYTES ? packed : table), (Py_ssize_t)n_after);
}

static PyObject *py_project(PyObject *self, PyObject *args) {
    enum { ROW = 4 << BUCKET_BITS }; /* bytes of weights for one sum */
    Py_buffer tokens, logs, weights;
    PyObject *found = NULL;
    uint64_t sums[1 + MOST_SUMS];
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*", &tokens, &logs, &weights)) return NULL;
    size_t k = (size_t)weights.len / ROW;
    if (!logs.len || logs.len % 4 || weights.len % ROW || k > MOST_SUMS || (uintptr_t)logs.buf % 4 || (uintptr_t)weights.buf % 4)
        PyErr_Format(PyExc_ValueError, "project: expected tables of int32, weights for at most %d sums", MOST_SUMS);
    else if (is_row(&tokens, "project") && (found = PyList_New((Py_ssize_t)k + 1))) {
        project_words(tokens.buf, (size_t)tokens.len / 8, logs.buf, (size_t)logs.len / 4, weights.buf, k, sums);
        for (size_t i = 0; found && i <= k; i++) {
            PyObject *sum = PyLong_FromLongLong((int64_t)sums[i]);
            if (sum) PyList_SET_ITEM(found, (Py_ssize_t)i, sum);
            else Py_CLEAR(found);
        }
    }
    PyBuffer_Release(&tokens);
    PyBuffer_Release(&logs);
    PyBuffer_Release(&weights);
    return found;
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

/* The words that are not marked, None if none is (is_there is 0), NULL and the error (-1). */
static PyObject *kept_of(const Py_buffer *tokens, const uint8_t *gone, int is_there) {
    const uint64_t *words = tokens->buf;
    size_t n = (size_t)tokens->len / 8, kept = 0;
    if (is_there < 0) return NULL;
    if (!is_there) return Py_NewRef(Py_None);
    PyObject *found = PyByteArray_FromStringAndSize(NULL, tokens->len);
    if (!found) return NULL;
    uint64_t *out = (uint64_t *)(void *)PyByteArray_AS_STRING(found);
    for (size_t i = 0; i < n; i++)
        if (!gone[i]) out[kept++] = words[i];
    if (PyByteArray_Resize(found, (Py_ssize_t)(kept * 8)) < 0) Py_CLEAR(found);
    return found;
}

static PyObject *py_without(PyObject *self, PyObject *args) {
    Py_buffer tokens;
    PyObject *sequence, *rows, *found;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*O", &tokens, &sequence)) return NULL;
    rows = is_row(&tokens, "without") ? PySequence_Tuple(sequence) : NULL;
    size_t n = (size_t)tokens.len / 8;
    uint8_t *gone = rows ? calloc(n + 1, 1) : NULL;
    if (rows && !gone) PyErr_NoMemory();
    found = kept_of(&tokens, gone, gone ? mark_rows(rows, tokens.buf, n, gone) : -1);
    free(gone);
    Py_XDECREF(rows);
    PyBuffer_Release(&tokens);
    return found;
}

/* Read groups, a tuple of tuples (words, least); returns 0 and the error if they are none. The caller frees their words in any case. */
static int read_groups(PyObject *row, Group *groups, size_t *n_words) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(row); i++) {
        PyObject *group = PyTuple_GET_ITEM(row, i);
        if (!PyTuple_Check(group) || PyTuple_GET_SIZE(group) != 2) {
            PyErr_Format(PyExc_TypeError, "without_runs: expected words and a number, found %R", group);
            return 0;
        }
        groups[i].least = PyLong_AsSize_t(PyTuple_GET_ITEM(group, 1));
        groups[i].words = PyErr_Occurred() ? NULL : numbers_of(PyTuple_GET_ITEM(group, 0), &groups[i].n);
        if (!groups[i].words) return 0;
        *n_words += groups[i].n;
    }
    return 1;
}

/* Mark the runs of words that any of some groups looks for; returns as mark_rows. */
static int mark_groups(PyObject *row, const uint64_t *tokens, size_t n, uint8_t *gone) {
    size_t n_groups = (size_t)PyTuple_GET_SIZE(row), n_words = 0;
    Group *groups = calloc(n_groups + 1, sizeof *groups);
    size_t *at = malloc(n * sizeof *at + 1);
    uint64_t *all = NULL;
    int is_there = -1;
    if (!groups || !at) PyErr_NoMemory();
    else if (read_groups(row, groups, &n_words)) {
        if ((all = malloc(n_words * sizeof *all + 1))) is_there = mark_runs(tokens, n, groups, n_groups, at, all, gone);
        else PyErr_NoMemory();
    }
    for (size_t i = 0; groups && i < n_groups; i++) free(groups[i].words);
    free(groups);
    free(at);
    free(all);
    return is_there;
}

static PyObject *py_without_runs(PyObject *self, PyObject *args) {
    Py_buffer tokens;
    PyObject *sequence, *groups, *found;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*O", &tokens, &sequence)) return NULL;
    groups = is_row(&tokens, "without_runs") ? PySequence_Tuple(sequence) : NULL;
    size_t n = (size_t)tokens.len / 8;
    uint8_t *gone = groups ? calloc(n + 1, 1) : NULL;
    if (groups && !gone) PyErr_NoMemory();
    found = kept_of(&tokens, gone, gone ? mark_groups(groups, tokens.buf, n, gone) : -1);
    free(gone);
    Py_XDECREF(groups);
    PyBuffer_Release(&tokens);
    return found;
}

/* The place behind "//" in a URL of n bytes; n if there is none. */
static size_t behind_scheme(const char *url, size_t n) {
    for (size_t i = 0; i + 1 < n; i++)
        if (url[i] == '/' && url[i + 1] == '/') return i + 2;
    return n;
}

/* Whether a text of one word or more is one letter, beside signs. */
static int is_letter_alone(const char *text, size_t n) {
    size_t letters = 0, digits = 0;
    for (size_t i = 0; i < n; i++) {
        letters += (text[i] | 0x20) >= 'a' && (text[i] | 0x20) <= 'z';
        digits += text[i] >= '0' && text[i] <= '9';
    }
    return letters == 1 && !digits;
}

/* Mark the words that quote a URL of ASCII: `least` of its words in a row, or those of its last segment; returns as mark_rows. */
static int mark_url(const char *url, size_t n_url, size_t least, const uint64_t *tokens, size_t n, uint8_t *gone) {
    size_t end = n_url, begin, most = n_url / 2 + 1;
    while (end && url[end - 1] == '/') end--;
    for (begin = end; begin && url[begin - 1] != '/';) begin--;
    uint64_t *words = malloc(4 * most * sizeof *words); /* of the URL, of its last segment, and of both */
    size_t *at = malloc(n * sizeof *at + 1);
    int is_there = -1;
    if (words && at) {
        uint64_t *name = words + most;
        Group groups[2] = {{words, hash_words(url, n_url, 1, words), least}, {name, hash_words(url + begin, end - begin, 1, name), 0}};
        if (!groups[1].n || (groups[1].n == 1 && is_letter_alone(url + begin, end - begin))) {
            groups[1].n = groups[0].n;
            memcpy(name, words, groups[0].n * sizeof *words);
        }
        groups[1].least = groups[1].n < least ? groups[1].n : least;
        is_there = mark_runs(tokens, n, groups, 2, at, name + most, gone);
    } else {
        PyErr_NoMemory();
    }
    free(words);
    free(at);
    return is_there;
}

static PyObject *py_without_url(PyObject *self, PyObject *args) {
    Py_buffer tokens;
    PyObject *url, *found = NULL;
    Py_ssize_t least;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*Un", &tokens, &url, &least)) return NULL;
    if (!PyUnicode_IS_ASCII(url) || least < 1) PyErr_Format(PyExc_ValueError, "without_url: expected ASCII and a word or more, found %R and %zd", url, least);
    else if (is_row(&tokens, "without_url")) {
        const char *text = (const char *)PyUnicode_1BYTE_DATA(url);
        size_t n = (size_t)tokens.len / 8, n_url = (size_t)PyUnicode_GET_LENGTH(url), first = behind_scheme(text, n_url);
        uint8_t *gone = calloc(n + 1, 1);
        if (!gone) PyErr_NoMemory();
        found = kept_of(&tokens, gone, gone ? mark_url(text + first, n_url - first, (size_t)least, tokens.buf, n, gone) : -1);
        free(gone);
    }
    PyBuffer_Release(&tokens);
    return found;
}

static PyObject *py_shared_words(PyObject *self, PyObject *args) {
    enum { MOST = 1024 };
    Py_buffer tokens, common;
    Py_ssize_t ends;
    uint32_t words[MOST];
    uint8_t is_met[MOST];
    PyObject *found = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*ny*", &tokens, &ends, &common)) return NULL;
    if (ends < 1) PyErr_Format(PyExc_ValueError, "shared_words: expected a word or more at each end, found %zd", ends);
    else if (common.len % 4 || common.len > (Py_ssize_t)sizeof words) PyErr_Format(PyExc_ValueError, "shared_words: expected uint32, at most %d", MOST);
    else if (is_row(&tokens, "shared_words")) {
        memcpy(words, common.buf, (size_t)common.len);
        found = PyLong_FromSize_t(shared_words(tokens.buf, (size_t)tokens.len / 8, (size_t)ends, words, (size_t)common.len / 4, is_met));
    }
    PyBuffer_Release(&common);
    PyBuffer_Release(&tokens);
    return found;
}

static PyObject *py_end_words(PyObject *self, PyObject *args) {
    enum { MOST = 256 };
    Py_buffer tokens;
    Py_ssize_t ends;
    uint32_t words[2 * MOST];
    PyObject *found = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*n", &tokens, &ends)) return NULL;
    if (ends < 1 || ends > MOST) PyErr_Format(PyExc_ValueError, "end_words: expected 1 to %d words at each end, found %zd", MOST, ends);
    else if (is_row(&tokens, "end_words")) {
        size_t n = end_words(tokens.buf, (size_t)tokens.len / 8, (size_t)ends, words);
        found = PyBytes_FromStringAndSize((const char *)words, (Py_ssize_t)(n * sizeof *words));
    }
    PyBuffer_Release(&tokens);
    return found;
}

/* The greatest difference of two rows of n floats, which need not be aligned; not a number if one of them is none. */
static float farthest(const char *a, const char *b, size_t n) {
    float most = 0.0f;
    for (size_t i = 0; i < n; i++) {
        float one, two;
        memcpy(&one, a + 4 * i, 4);
        memcpy(&two, b + 4 * i, 4);
        float apart = fabsf(one - two);
        if (isnan(apart)) return apart;
        if (apart > most) most = apart;
    }
    return most;
}

/* Enter a name and how far it is; returns 0 and the error if that fails. */
static int enter_near(PyObject *found, const char *name, Py_ssize_t n, double apart) {
    PyObject *key = PyBytes_FromStringAndSize(name, n), *value = key ? PyFloat_FromDouble(apart) : NULL;
    int is_done = value && PyDict_SetItem(found, key, value) == 0;
    Py_XDECREF(key);
    Py_XDECREF(value);
    return is_done;
}

/* How many bytes of two rows are equal. */
static Py_ssize_t n_alike(const char *a, const char *b, Py_ssize_t n) {
    Py_ssize_t alike = 0;
    for (Py_ssize_t i = 0; i < n; i++) alike += a[i] == b[i];
    return alike;
}

static PyObject *py_near(PyObject *self, PyObject *args) {
    Py_buffer rows, signature, brief;
    Py_ssize_t name, fewest;
    double tolerance;
    PyObject *found = NULL, *items = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*ndy*n", &rows, &signature, &name, &tolerance, &brief, &fewest)) return NULL;
    if (name < brief.len || name > UINT16_MAX || !signature.len || signature.len % 4 || rows.len % (name + signature.len))
        PyErr_SetString(PyExc_ValueError, "near: expected rows of a name and as many floats as the signature has");
    else found = PyDict_New();
    for (Py_ssize_t at = 0; found && at < rows.len; at += name + signature.len) {
        const char *row = (const char *)rows.buf + at;
        if (n_alike(row + name - brief.len, brief.buf, brief.len) < fewest) continue;
        double apart = farthest(row + name, signature.buf, (size_t)signature.len / 4);
        if (apart < tolerance && !enter_near(found, row, name, apart)) Py_CLEAR(found);
    }
    if (found) items = PyDict_Items(found);
    Py_XDECREF(found);
    PyBuffer_Release(&rows);
    PyBuffer_Release(&signature);
    PyBuffer_Release(&brief);
    return items;
}

static PyObject *py_common(PyObject *self, PyObject *args) {
    Py_buffer rows;
    Py_ssize_t width, least;
    PyObject *found = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*nn", &rows, &width, &least)) return NULL;
    if (width < 1 || rows.len % width || least < 1 || least > rows.len || 2 * least <= rows.len / width)
        PyErr_SetString(PyExc_ValueError, "common: expected rows of so many bytes, and more than half of them");
    else if ((found = PyBytes_FromStringAndSize(NULL, width)))
        common_bytes(rows.buf, (size_t)(rows.len / width), (size_t)width, (size_t)least, (uint8_t *)PyBytes_AS_STRING(found));
    PyBuffer_Release(&rows);
    return found;
}

PyMethodDef SKETCH_METHODS[] = {
    {"common", py_common, METH_VARARGS, "common(rows, width, least) -> bytes, in each place what so many of the rows have, 0 if there is none"},
    {"sample", py_sample, METH_VARARGS, "sample(tokens: uint64, counts: 16,384 bytes, left_out: ints) -> bytes, as novelty.sample"},
    {"look", py_look, METH_VARARGS, "look(sampled, table) -> (threes with two new pairs, threes, new table), None if no pair is new"},
    {"project", py_project, METH_VARARGS, "project(tokens: uint64, logs: int32, weights: int32) -> list of int, see random_projection.py"},
    {"least_pairs", py_least_pairs, METH_VARARGS, "least_pairs(tokens: uint64, most) -> bytes of uint32, distinct, ascending"},
    {"end_words", py_end_words, METH_VARARGS, "end_words(tokens: uint64, ends) -> bytes of uint32, distinct, ascending"},
    {"shared_words", py_shared_words, METH_VARARGS, "shared_words(tokens: uint64, ends, words: uint32) -> how many are at the ends"},
    {"without", py_without, METH_VARARGS, "without(tokens: uint64, rows: of ints) -> bytearray without these rows, None if none is there"},
    {"near", py_near, METH_VARARGS, "near(rows, signature, n_name, tolerance, brief, fewest) -> list of (name, distance), each name once"},
    {"without_url", py_without_url, METH_VARARGS,
     "without_url(tokens: uint64, url: ASCII, least) -> bytearray without the words that quote the URL, None if none is there"},
    {"without_runs", py_without_runs, METH_VARARGS,
     "without_runs(tokens: uint64, groups: of (ints, least)) -> bytearray without runs of at least so many words, None if none is there"},
    {NULL, NULL, 0, NULL},
};
