/* What the files of the native pass share. Nothing here keeps a pointer into a page after the call that got it.
 *
 * bytes.c    buffers that grow, and what kinds of bytes there are
 * names.c    the elements that the HTML Standard names, and what each does to the others
 * markup.c   tags, attributes, references, the ends of raw text: the tokeniser
 * stack.c    open elements, scopes, what closes what: the tree builder without a tree
 * start.c    start tags · end.c  end tags
 * page.c     the pass itself: bytes to links, title, text
 * words.c    text to hashes of words, hashes to least ones
 * links.c    links to the least hashes of them
 * urls.c     clean links to canonical URLs, URLs to keyed hashes
 * sketches.c what filters ask of words
 * digests.c  many bodies to their SHA-256
 * module.c, sketches_module.c, urls_module.c, seals.c  what Python sees
 */
#ifndef THRESHER_NATIVE_H
#define THRESHER_NATIVE_H

#include <stddef.h>
#include <stdint.h>

typedef const unsigned char *Bytes;

typedef struct {
    Bytes at; /* NULL: absent */
    size_t n;
} Span;

/* -- bytes.c -------------------------------------------------------------------------------------------------------------------- */

enum { IS_SPACE = 1, ENDS_NAME = 2, IS_LETTER = 4, IS_ALNUM = 8 }; /* of ASCII */
extern unsigned char KIND[256], LOWER[256];

typedef struct {
    unsigned char *at;
    size_t n, room;
} Buffer;

/* Return whether bytes from Python are a row of uint64. One of none may lie anywhere: since 3.12 an empty bytes object is at an odd place. */
static inline int are_words(const void *at, ptrdiff_t n_bytes) {
    return n_bytes % 8 == 0 && (n_bytes == 0 || (uintptr_t)at % 8 == 0);
}
void make_kinds(void);
/* Make room for `more` bytes; returns 0 if there is no memory. */
int reserve(Buffer *b, size_t more);
int append(Buffer *b, Bytes at, size_t n);
/* Tell whether s[0:n] is the lower-case word w of the same length in any case. */
int is_word(Bytes s, size_t n, const char *w);
/* Tell whether s[0:n] has the lower-case word w somewhere, in any case. */
int has_word(Bytes s, size_t n, const char *w);
/* Tell whether s[0:n] has a word whose letter at place `at` is rare, in this case. */
int has_rare(Bytes s, size_t n, const char *w, size_t at);

/* -- names.c -------------------------------------------------------------------------------------------------------------------- */

enum Flags {
    VOID = 1,           /* has no end */
    SPECIAL = 2,        /* ends the search of an end tag for its element */
    CLOSES_P = 4,
    FORMATTING = 8,
    BREAKS_OUT = 16,    /* of svg and math */
    BOUNDS_SCOPE = 32,
    MARKER = 64,        /* formatting elements opened inside are not opened again outside */
    TABLE_PART = 128,   /* but for table itself */
    STRUCTURE = 256,    /* what stands right inside it is no text: table tbody tfoot thead tr colgroup */
    IN_HEAD = 512,      /* does not begin the body */
    IMPLIED = 1024,     /* its end may be left out */
    HIDES = 2048,       /* what it holds is not seen */
    BLOCK_END = 4096,   /* its end tag closes what is open inside it, if it is in scope */
    HEADING = 8192,
    RAW = 16384,        /* what it holds is no markup */
};

enum Name {
    N_OTHER,
#define ELEMENT(id, name, flags) N_##id,
#include "names.inc"
#undef ELEMENT
    N_COUNT
};

extern const uint16_t FLAGS_OF[N_COUNT];
extern const char *const NAME_OF[N_COUNT];
void make_names(void);
enum Name name_of(Bytes s, size_t n);

/* -- markup.c ------------------------------------------------------------------------------------------------------------------- */

enum Attribute { HREF, REL, SRC, NAME, CONTENT, HTTP_EQUIV, TYPE, N_ATTRIBUTES };

/* Remember that "name" (with its ";", if it has one) stands for n UTF-8 bytes; returns 0 if there is no room for it. */
int add_entity(Bytes name, size_t n_name, Bytes text, size_t n_text);
/* Append s[0:n] with its references decoded. */
int append_decoded(Buffer *b, Bytes s, size_t n, int is_attribute);
/* p stands behind a tag's name: return the place behind its ">", NULL if the page ends before. `found` may be NULL. */
Bytes attributes(Bytes p, Bytes e, Span found[N_ATTRIBUTES], int *is_self_closing);
/* Return the place of the "</name" that ends a raw element, or e. */
Bytes raw_end(Bytes p, Bytes e, enum Name name);
/* Return the place behind a comment or declaration that begins with "<!" or "<?" at p. */
Bytes comment_end(Bytes p, Bytes e);

/* -- stack.c -------------------------------------------------------------------------------------------------------------------- */

enum { MAX_DEPTH = 256 }; /* open elements; each search is within these */
enum Space { IN_HTML, IN_SVG, IN_MATH };
enum Gap { NO_GAP, UNSURE, SURE }; /* does a tag part the text before it from that behind? UNSURE: only a tree can tell */

typedef struct {
    Bytes name;
    uint32_t n;
    uint16_t id, flags;
    uint8_t space, holds_html, is_link; /* holds_html: an integration point */
} Open;

typedef struct {
    Bytes href;
    uint32_t at, n, rel_at, rel_n, type_at, type_n; /* in `values` */
    enum Name tag;
} FoundLink;

typedef struct {
    size_t n_before; /* links */
    enum Name tag;
    Span found[N_ATTRIBUTES];
} Other; /* an element that directs, or links by its rel */

enum Mode { HEAD, HEAD_NOSCRIPT, AFTER_HEAD, BODY };
enum Quirks { QUIRKS, NO_QUIRKS, PERHAPS_QUIRKS };

typedef struct {
    Open stack[MAX_DEPTH];
    int depth, n_hidden, n_templates, n_selects, form; /* form: its place on the stack, NO_FORM, or one that is not on it */
    enum Mode mode;
    enum Quirks quirks;
    enum Gap gap;
    int is_after_body, in_doubt, has_title, has_begun, is_raw; /* is_raw: the tag just taken begins what is no markup */
    uint8_t is_lost[N_COUNT]; /* formatting elements that are opened again behind where they were closed */
    const char *given_up; /* why this page is left to the tree; NULL: it is not */
    Span title;
    Buffer text, values;
    FoundLink *links;
    Other *others;
    size_t n_links, n_kept, max_links, room_links, n_others, room_others;
} Pass;

enum { NO_FORM = -1, FORM_APART = -2 };

int give_up(Pass *s, const char *why); /* returns 0 */
Open *top(Pass *s);
int push(Pass *s, Bytes name, size_t n, enum Name id, enum Space space, int is_link);
/* Close the element at place `at` and all above it. */
int close_from(Pass *s, int at);
void remove_at(Pass *s, int at);
int find_in_scope(const Pass *s, enum Name id, int also); /* its place, -1: none; also: flags or a list's items */
int find_in_table(const Pass *s, enum Name id);
int find_heading(const Pass *s);
int close_implied(Pass *s, enum Name but);
int close_p(Pass *s);
int is_same(const Open *o, Bytes name, size_t n, enum Name id);
enum { BUTTON_SCOPE = 1, LIST_SCOPE = 2 };
int end_formatting(Pass *s, Bytes name, size_t n, enum Name id);
int break_out(Pass *s);

/* -- start.c, end.c --------------------------------------------------------------------------------------------------------------- */

typedef struct {
    Bytes name;
    size_t n;
    enum Name id;
    int is_self_closing;
    Span found[N_ATTRIBUTES];
} Tag;

int start_tag(Pass *s, const Tag *t);
int end_tag(Pass *s, const Tag *t);
void begin_body(Pass *s);

/* -- found.c ---------------------------------------------------------------------------------------------------------------------- */

/* Take the links of an element, and what it directs; returns 0 if there is no memory. */
int take_element(Pass *s, const Tag *t);

/* -- page.c --------------------------------------------------------------------------------------------------------------------- */

/* Take a page in UTF-8; returns 0 and says in given_up if a tree is needed, or if there is no memory. */
int take_page(Pass *s, Bytes body, size_t n, size_t max_links);

/* -- words.c -------------------------------------------------------------------------------------------------------------------- */

enum { UNITS = 1 << 16 };
void set_letters(const int8_t *classes, const uint64_t *numbers, uint64_t base);
/* Hash the words of a text of n characters of 1, 2 or 4 bytes into out, which has room for one each unit; returns their number. */
size_t hash_words(const void *text, size_t n, int width, uint64_t *out);
/* Return the hash of n units as one word, whatever they are. */
uint64_t hash_whole(const void *text, size_t n, int width);
void least_hashes(const uint64_t *tokens, size_t n, size_t shingle, int64_t *least, int bits);
enum { MOST_SLOT_BITS = 10, BUCKET_BITS = 10, MOST_SUMS = 64 };
/* Let each slot without a hash have that of another one, as core/minhash.py says; bits: at most MOST_SLOT_BITS. */
void lend_slots(int64_t *least, int bits);
/* Project words by their buckets, as near_replica/random_projection.py says: the square of the vector's length, then k sums. */
void project_words(const uint64_t *tokens, size_t n, const int32_t *logs, size_t n_logs, const int32_t *weights, size_t k, uint64_t *sums);

/* -- links.c -------------------------------------------------------------------------------------------------------------------- */

uint32_t xxh32(Bytes at, size_t n, uint32_t seed);
/* Put a number among the least ones, ascending, of which there are n and room for most; returns how many there are now. */
size_t put_among_least(uint64_t *least, size_t n, size_t most, uint64_t number);

/* -- urls.c --------------------------------------------------------------------------------------------------------------------- */

typedef struct {
    size_t n_origin; /* length of its own scheme and authority, 0 if it has none */
    size_t n_up;     /* how many "../" it begins with */
    size_t n_ahead;  /* where its path and query begin, behind its origin, its slash or its "../" */
    int is_rooted;   /* a slash follows its origin, or it begins with one */
} CleanLink;

void make_clean(void);
/* Take a link apart; returns 0 if the URL standard might change it. */
int read_link(Bytes s, size_t n, CleanLink *found);
/* Return the length of the folder that lies n_up above folder[0:n], which ends with a slash; at least its root and a slash. */
size_t folder_above(Bytes folder, size_t n, size_t n_root, size_t n_up);
size_t count_byte(Bytes s, size_t n, unsigned char wanted);

enum { BLAKE_BLOCK = 128, BLAKE_KEY = 64, BLAKE_DIGEST = 8 };
/* Begin BLAKE2b of 8 bytes with a key of 1 to 64 bytes and a purpose of at most 16. */
void begin_hash(uint64_t *state, Bytes key, size_t n_key, Bytes person, size_t n_person);
/* Return the hash of s[0:n], a byte at least, as a number whose bytes are in little-endian order. */
uint64_t hash_of(const uint64_t *begun, Bytes s, size_t n);

/* -- bloom.c -------------------------------------------------------------------------------------------------------------------- */

enum { BLOOM_MAPS = 8 };
typedef struct {
    uint8_t *bits;
    uint64_t mask; /* of its places */
} BloomMap;
typedef struct {
    int n;
    uint64_t n_free; /* keys that the latest map takes yet */
    BloomMap maps[BLOOM_MAPS];
} Bloom;
int bloom_has(const Bloom *bloom, uint64_t hash);
/* Returns 0 if there is no memory. most: maps, of which the last takes whatever comes. */
int bloom_add(Bloom *bloom, uint64_t hash, int most);
void bloom_free(Bloom *bloom);

/* -- sketches.c ----------------------------------------------------------------------------------------------------------------- */

enum { PLACE_BITS = 14, PLACES = 1 << PLACE_BITS, TABLE_BYTES = PLACES / 8, LEAST_THREES = 64, MOST_PAIRS = 256, FAR_GAP = 255 };
/* Take the words that count, a byte each of the table's 2**14 for their top bits, to `words`, which has room for all, and sample their
   threes: how many there are, then both pairs of each of the least. Returns how many numbers that are, at most 1 + 2 * LEAST_THREES. */
size_t sample_threes(const uint64_t *tokens, size_t n, const uint8_t *counts, uint64_t *words, uint16_t *out);
/* Return how many pairs of n threes a table does not have, and of how many threes both. Each place is below PLACES. */
size_t unseen_pairs(const uint16_t *pairs, size_t n, const uint8_t *table, size_t *n_both);
/* Enter them; the table is emptied if more than half of it is set. */
void enter_pairs(const uint16_t *pairs, size_t n, uint8_t *table);
/* Open a table of n bytes: as it is, or packed (novelty.py); returns 0 if it is none. */
int open_table(const uint8_t *packed, size_t n, uint8_t *table);
/* Pack a table; returns the bytes, TABLE_BYTES if it is not shorter so: then nothing of use is there. packed: room for TABLE_BYTES. */
size_t pack_table(const uint8_t *table, uint8_t *packed);
/* Return how many of the least distinct hashes of pairs of words there are, at most `most`; of one word its own. */
size_t least_pairs(const uint64_t *tokens, size_t n, size_t most, uint32_t *least);
/* The distinct upper halves of the first and last `ends` words, ascending; returns how many. out: 2 * ends. */
size_t end_words(const uint64_t *tokens, size_t n, size_t ends, uint32_t *out);
/* For each of `width` places the byte that `least` of n rows have there, which must be more than half of them; 0 if there is none. */
void common_bytes(const uint8_t *rows, size_t n, size_t width, size_t least, uint8_t *out);
/* Return how many of n_words words, ascending, are the upper half of one of the first and last `ends` tokens. is_met: n_words bytes. */
size_t shared_words(const uint64_t *tokens, size_t n, size_t ends, const uint32_t *words, size_t n_words, uint8_t *is_met);
/* Mark each place of a row of words; returns whether it is there. gone: n bytes. */
int mark_row(const uint64_t *tokens, size_t n, const uint64_t *row, size_t length, uint8_t *gone);
/* Words of which runs of `least` or more are looked for. */
typedef struct {
    uint64_t *words;
    size_t n, least;
} Group;
/* Mark each run that a group looks for; returns whether there is one. Sorts the groups' words.
   at: room for n places; all: for the words of all groups; gone: n bytes. */
int mark_runs(const uint64_t *tokens, size_t n, const Group *groups, size_t n_groups, size_t *at, uint64_t *all, uint8_t *gone);

#endif
