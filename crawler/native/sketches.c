/* What filters ask of the words of a page: filters/depth_cutoff/novelty.py, filters/soft_error/looks.py and core/echo.py say what it is. */
#include "native.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t FACTOR = 0x9E3779B97F4A7C15u;

/* -- threes ------------------------------------------------------------------------------------------------------------------------- */

enum { CANDIDATES = 2 * LEAST_THREES, MOST_BELOW = 4 * CANDIDATES, SPREAD = 256 };

typedef struct {
    uint64_t hash;
    size_t at;
} Three;

/* Let an element of a heap, the greatest first, sink to its place. */
static void sink(Three *heap, size_t n, size_t at) {
    Three moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && heap[child + 1].hash > heap[child].hash) child++;
        if (heap[child].hash <= moved.hash) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* Sort, the least first. */
static void heap_sort(Three *heap, size_t n) {
    while (n > 1) {
        Three greatest = heap[0];
        heap[0] = heap[--n];
        heap[n] = greatest;
        sink(heap, n, 0);
    }
}

/* The n least threes, sorted; returns n, of which there are as many at least. */
static size_t least_of_all(const uint64_t *words, size_t n_threes, Three *heap, size_t n) {
    for (size_t i = 0; i < n_threes; i++) {
        Three three = {(words[i + 2] * FACTOR + words[i + 1]) * FACTOR + words[i], i};
        if (i < n) {
            heap[i] = three;
            if (i == n - 1)
                for (size_t at = n / 2; at-- > 0;) sink(heap, n, at);
        } else if (three.hash < heap[0].hash) {
            heap[0] = three;
            sink(heap, n, 0);
        }
    }
    heap_sort(heap, n);
    return n;
}

/* Sort hashes that are spread evenly up to a limit, the least first. `sorted` has room for as many. */
static void sort_spread(const Three *some, size_t n, uint64_t limit, Three *sorted) {
    uint16_t ends[SPREAD] = {0};
    int shift = 0;
    while (limit >> shift >= SPREAD) shift++;
    for (size_t i = 0; i < n; i++) ends[some[i].hash >> shift]++;
    for (size_t i = 1; i < SPREAD; i++) ends[i] = (uint16_t)(ends[i] + ends[i - 1]);
    for (size_t i = n; i-- > 0;) sorted[--ends[some[i].hash >> shift]] = some[i];
    for (size_t i = 1; i < n; i++) { /* hardly any is out of its place */
        Three moved = sorted[i];
        size_t at = i;
        for (; at && sorted[at - 1].hash > moved.hash; at--) sorted[at] = sorted[at - 1];
        sorted[at] = moved;
    }
}

/* The least threes, sorted; returns how many there are, at most CANDIDATES. least: room for MOST_BELOW. */
static size_t least_threes(const uint64_t *words, size_t n_threes, Three *least) {
    size_t n = n_threes < CANDIDATES ? n_threes : CANDIDATES, found = 0;
    Three some[MOST_BELOW + 1];
    /* half as many again as are wanted lie below the limit, unless many are repeated */
    uint64_t limit = n_threes > 3 * LEAST_THREES ? UINT64_MAX / n_threes * 3 * LEAST_THREES : UINT64_MAX;
    for (size_t i = 0; i < n_threes && found <= MOST_BELOW; i++) {
        some[found] = (Three){(words[i + 2] * FACTOR + words[i + 1]) * FACTOR + words[i], i};
        found += some[found].hash <= limit;
    }
    if (found < n || found > MOST_BELOW) return least_of_all(words, n_threes, least, n);
    sort_spread(some, found, limit, least);
    return n;
}

static uint16_t pair_of(uint64_t first, uint64_t second) {
    return (uint16_t)(((first * FACTOR ^ second) * FACTOR) >> (64 - PLACE_BITS));
}

size_t sample_threes(const uint64_t *tokens, size_t n, const uint8_t *counts, uint64_t *words, uint16_t *out) {
    size_t kept = 0, found = 0;
    for (size_t i = 0; i < n; i++) {
        words[kept] = tokens[i];
        kept += counts[tokens[i] >> (64 - PLACE_BITS)] != 0;
    }
    if (kept < 3) return 0;
    Three least[MOST_BELOW];
    size_t n_least = least_threes(words, kept - 2, least);
    for (size_t i = 0; i < n_least && found < LEAST_THREES; i++)
        if (!i || least[i].hash != least[i - 1].hash) least[found++] = least[i];
    *out++ = (uint16_t)(kept - 2 < 0xFFFF ? kept - 2 : 0xFFFF);
    for (size_t i = 0; i < found; i++) {
        const uint64_t *word = words + least[i].at;
        out[i] = pair_of(word[0], word[1]);
        out[found + i] = pair_of(word[1], word[2]);
    }
    return 1 + 2 * found;
}

/* -- a table of pairs --------------------------------------------------------------------------------------------------------------- */

static int has_place(const uint8_t *table, uint16_t place) { return table[place >> 3] >> (7 - (place & 7)) & 1; }

size_t unseen_pairs(const uint16_t *pairs, size_t n, const uint8_t *table, size_t *n_both) {
    size_t unseen = 0;
    *n_both = 0;
    for (size_t i = 0; i < n; i++) {
        int first = !has_place(table, pairs[i]), second = !has_place(table, pairs[n + i]);
        unseen += (size_t)first + (size_t)second;
        *n_both += (size_t)(first & second);
    }
    return unseen;
}

void enter_pairs(const uint16_t *pairs, size_t n, uint8_t *table) {
    size_t n_set = 0;
    for (size_t i = 0; i < 2 * n; i++) table[pairs[i] >> 3] |= (uint8_t)(0x80 >> (pairs[i] & 7));
    for (size_t i = 0; i < TABLE_BYTES; i++)
        for (unsigned bits = table[i]; bits; bits &= bits - 1) n_set++;
    if (n_set > TABLE_BYTES * 4) memset(table, 0, TABLE_BYTES); /* more than half */
}

int open_table(const uint8_t *packed, size_t n, uint8_t *table) {
    size_t place = 0;
    if (n == TABLE_BYTES) {
        memcpy(table, packed, TABLE_BYTES);
        return 1;
    }
    memset(table, 0, TABLE_BYTES);
    for (size_t i = 0; i < n; i++) {
        place += packed[i];
        if (packed[i] == FAR_GAP) continue;
        if (place >= PLACES) return 0;
        table[place >> 3] |= (uint8_t)(0x80 >> (place & 7));
        place++;
    }
    return 1;
}

size_t pack_table(const uint8_t *table, uint8_t *packed) {
    size_t n = 0, next = 0; /* the place after the last one in it */
    for (size_t i = 0; i < TABLE_BYTES; i++) {
        if (!table[i]) continue;
        for (size_t place = 8 * i; place < 8 * i + 8; place++) {
            if (!has_place(table, (uint16_t)place)) continue;
            size_t gap = place - next;
            if (n + gap / FAR_GAP + 1 >= TABLE_BYTES) return TABLE_BYTES;
            for (; gap >= FAR_GAP; gap -= FAR_GAP) packed[n++] = FAR_GAP;
            packed[n++] = (uint8_t)gap;
            next = place + 1;
        }
    }
    return n;
}

/* -- pairs -------------------------------------------------------------------------------------------------------------------------- */

/* The least distinct pairs below a limit, which may be none, ascending. */
static size_t least_pairs_below(const uint64_t *tokens, size_t n, uint32_t limit, size_t most, uint32_t *least) {
    size_t found = 0;
    for (size_t i = 0; i + 1 < n || (n == 1 && !i); i++) {
        uint32_t pair = (uint32_t)((n == 1 ? tokens[0] : tokens[i] * FACTOR + tokens[i + 1]) >> 32);
        if (pair > limit || (found == most && pair >= least[found - 1])) continue;
        size_t low = 0, high = found;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (least[middle] < pair) low = middle + 1;
            else high = middle;
        }
        if (low < found && least[low] == pair) continue;
        size_t moved = (found < most ? found : most - 1) - low;
        memmove(least + low + 1, least + low, moved * sizeof *least);
        least[low] = pair;
        found += found < most;
    }
    return found;
}

/* The same where so many lie below the limit that most of them are wanted, but not many more; returns 0 if that is not so. */
static size_t least_pairs_spread(const uint64_t *tokens, size_t n, uint32_t limit, size_t most, uint32_t *least) {
    Three some[MOST_BELOW + 1], sorted[MOST_BELOW];
    size_t below = 0, found = 0;
    some[0] = (Three){0, 0}; /* there may be no pair */
    for (size_t i = 0; i + 1 < n && below <= MOST_BELOW; i++) {
        some[below] = (Three){(tokens[i] * FACTOR + tokens[i + 1]) >> 32, i};
        below += some[below].hash <= limit;
    }
    if (below < most || below > MOST_BELOW) return 0;
    sort_spread(some, below, limit, sorted);
    for (size_t i = 0; i < below && found < most; i++)
        if (!i || sorted[i].hash != sorted[i - 1].hash) least[found++] = (uint32_t)sorted[i].hash;
    return found == most ? most : 0;
}

size_t least_pairs(const uint64_t *tokens, size_t n, size_t most, uint32_t *least) {
    if (!most) return 0;
    uint64_t limit = n ? (uint64_t)UINT32_MAX / n * 2 * most : 0; /* twice as many as are wanted lie below, unless many are repeated */
    if (limit < UINT32_MAX && least_pairs_spread(tokens, n, (uint32_t)limit, most, least)) return most;
    return least_pairs_below(tokens, n, UINT32_MAX, most, least);
}

/* -- words that a URL contains ------------------------------------------------------------------------------------------------------- */

enum { SLOT_BITS = 10, NO_WORD = 0, MANY_WORDS = 255 };

static int in_order(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;
    return (one > two) - (one < two);
}

/* Words that are looked for. */
typedef struct {
    const uint64_t *words; /* in order */
    size_t n;
    uint8_t slots[1 << SLOT_BITS]; /* by a word's top bits: the place behind it, NO_WORD, or MANY_WORDS: it is to be searched for */
} Wanted;

static void want(Wanted *wanted, uint64_t *words, size_t n) {
    memset(wanted->slots, NO_WORD, sizeof wanted->slots);
    qsort(words, n, sizeof *words, in_order);
    for (size_t i = 0; i < n; i++) {
        uint8_t *slot = &wanted->slots[words[i] >> (64 - SLOT_BITS)];
        if (*slot != NO_WORD && words[i] == words[i - 1]) continue;
        *slot = (uint8_t)(*slot == NO_WORD && i + 1 < MANY_WORDS ? i + 1 : MANY_WORDS);
    }
    wanted->words = words;
    wanted->n = n;
}

static int is_wanted(const Wanted *wanted, uint64_t word) {
    uint8_t slot = wanted->slots[word >> (64 - SLOT_BITS)];
    if (slot == NO_WORD) return 0;
    if (slot != MANY_WORDS) return wanted->words[slot - 1] == word;
    return bsearch(&word, wanted->words, wanted->n, sizeof word, in_order) != NULL;
}

/* Mark the runs of `least` words or more, of those at some places, ascending, that are among the words; returns whether there is one. */
static int mark_runs_at(const uint64_t *tokens, const size_t *at, size_t n_at, const Wanted *wanted, size_t least, uint8_t *gone) {
    int is_there = 0;
    size_t begin = 0, length = 0; /* of the run */
    for (size_t i = 0; i <= n_at; i++) {
        int is_in = i < n_at && is_wanted(wanted, tokens[at[i]]);
        if (is_in && length && at[i] == begin + length) {
            length++;
            continue;
        }
        if (length && length >= least) {
            memset(gone + begin, 1, length);
            is_there = 1;
        }
        length = is_in;
        begin = is_in ? at[i] : 0;
    }
    return is_there;
}

int mark_runs(const uint64_t *tokens, size_t n, const Group *groups, size_t n_groups, size_t *at, uint64_t *all, uint8_t *gone) {
    Wanted wanted;
    size_t n_all = 0, n_at = 0;
    int is_there = 0;
    for (size_t i = 0; i < n_groups; i++) {
        memcpy(all + n_all, groups[i].words, groups[i].n * sizeof *all);
        n_all += groups[i].n;
    }
    if (!n_all) return 0;
    want(&wanted, all, n_all);
    for (size_t i = 0; i < n; i++)
        if (is_wanted(&wanted, tokens[i])) at[n_at++] = i;
    for (size_t i = 0; n_at && i < n_groups; i++) {
        if (!groups[i].n) continue;
        want(&wanted, groups[i].words, groups[i].n);
        is_there |= mark_runs_at(tokens, at, n_at, &wanted, groups[i].least, gone);
    }
    return is_there;
}

int mark_row(const uint64_t *tokens, size_t n, const uint64_t *row, size_t length, uint8_t *gone) {
    int is_there = 0;
    if (!length) return 0;
    for (size_t i = 0; i + length <= n; i++) {
        if (tokens[i] != row[0] || memcmp(tokens + i, row, length * sizeof *row) != 0) continue;
        memset(gone + i, 1, length);
        is_there = 1;
    }
    return is_there;
}

void common_bytes(const uint8_t *rows, size_t n, size_t width, size_t least, uint8_t *out) {
    for (size_t i = 0; i < width; i++) {
        uint8_t value = 0;
        size_t lead = 0, n_same = 0; /* a byte that most rows have is what is left when pairs of unequal ones are crossed out */
        for (size_t row = 0; row < n; row++) {
            uint8_t at = rows[row * width + i];
            if (!lead) value = at;
            lead = at == value ? lead + 1 : lead - 1;
        }
        for (size_t row = 0; row < n; row++) n_same += rows[row * width + i] == value;
        out[i] = n_same >= least ? value : 0;
    }
}

static int compare_words(const void *a, const void *b) {
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return (one > other) - (one < other);
}

size_t end_words(const uint64_t *tokens, size_t n, size_t ends, uint32_t *out) {
    size_t found = 0, distinct = 0;
    for (size_t i = 0; i < n; i++) {
        if (n > 2 * ends && i == ends) i = n - ends;
        out[found++] = (uint32_t)(tokens[i] >> 32);
    }
    qsort(out, found, sizeof *out, compare_words);
    for (size_t i = 0; i < found; i++)
        if (!distinct || out[distinct - 1] != out[i]) out[distinct++] = out[i];
    return distinct;
}

size_t shared_words(const uint64_t *tokens, size_t n, size_t ends, const uint32_t *words, size_t n_words, uint8_t *is_met) {
    size_t found = 0;
    memset(is_met, 0, n_words);
    for (size_t i = 0; i < n; i++) {
        if (n > 2 * ends && i == ends) i = n - ends;
        uint32_t word = (uint32_t)(tokens[i] >> 32);
        size_t low = 0, high = n_words;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (words[middle] < word) low = middle + 1;
            else high = middle;
        }
        if (low == n_words || words[low] != word || is_met[low]) continue;
        is_met[low] = 1;
        found++;
    }
    return found;
}
