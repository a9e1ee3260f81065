/* grucible's protocol for a kernel in C99 or C++17: include it once. It needs a little-endian machine.
 *
 *     gr_question q;
 *     gr_hello("my kernel", "1.0", "operator openvino.GRUCell-3\ndtype float32\n");
 *     while (gr_next(&q)) {
 *         if (gr_number(&q, "clip") < 1) gr_refuse(&q, "no clip below 1");
 *         else { ...; gr_answer(&q); }
 *     }
 *
 * gr_input and gr_output give a tensor by its name in the operator's specification; NULL where the question
 * has none. Its `data` are its bytes in C order: fill those of each output. Outputs are zeros at first.
 * gr_refuse or gr_answer ends a question: a second one does nothing, and no tensor may be used any more.
 * gr_number gives 0 for an attribute that the question lacks, and gr_attribute "". */
#ifndef GRUCIBLE_H
#define GRUCIBLE_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GR_MOST = 16, GR_AXES = 8, GR_LINE = 8200 };

typedef struct {
    char name[64], dtype[16], shown[160]; /* shown: the shape as it is announced, 2x3x4 */
    long shape[GR_AXES], count, bytes;    /* lengths of the axes, how many numbers, and their bytes */
    int axes;
    void *data;
} gr_tensor;

typedef struct {
    char id[GR_LINE], op[64], dtype[16]; /* op: the operator's name */
    gr_tensor in[GR_MOST], out[GR_MOST];
    int ins, outs, attributes, ended;
    struct { char name[64], type[16], value[256]; } attribute[GR_MOST];
} gr_question;

static inline void gr_fail(const char *why) {
    fprintf(stderr, "grucible.h: %s\n", why); /* the judge shows it with the case */
    exit(1);
}

static const char *gr_named = ""; /* the operators and dtypes of the hello */

/* Says who answers. `more` has a line for each operator and dtype: nothing else is asked, or gets an answer. */
static inline void gr_hello(const char *name, const char *version, const char *more) {
    gr_named = more;
    printf("grucible 1\nname %s\nversion %s\n%send\n", name, version, more);
    fflush(stdout);
    char line[GR_LINE];
    while (fgets(line, GR_LINE, stdin) && strcmp(line, "end\n")) {} /* the judge's hello */
}

/* Reads "NAME DTYPE 2x3x4 BYTES". */
static inline void gr_announced(gr_tensor *t, const char *text) {
    char shape[160];
    if (sscanf(text, "%63s %15s %159s %ld", t->name, t->dtype, t->shown, &t->bytes) != 4)
        gr_fail("a line that announces no tensor");
    strcpy(shape, t->shown);
    t->count = 1;
    if (strcmp(shape, "scalar"))
        for (char *size = strtok(shape, "x"); size && t->axes < GR_AXES; size = strtok(NULL, "x"))
            t->count *= t->shape[t->axes++] = atol(size);
    t->data = calloc(t->bytes > 0 ? (size_t)t->bytes : 1, 1);
    if (!t->data) gr_fail("no memory");
}

static inline void gr_end(gr_question *q) {
    q->ended = 1;
    fflush(stdout);
    for (gr_tensor *t = q->in; t < q->in + q->ins; t++) free(t->data);
    for (gr_tensor *t = q->out; t < q->out + q->outs; t++) free(t->data);
}

/* Ends a question without an answer: the user is shown why. */
static inline void gr_refuse(gr_question *q, const char *why) {
    if (q->ended) return;
    printf("unsupported %s\nend\n", why);
    gr_end(q);
}

/* Says whether the hello has a line of keyword and word, or none with the keyword. */
static inline int gr_names(const char *keyword, const char *word) {
    char line[96];
    snprintf(line, sizeof line, "%s %s\n", keyword, word);
    return !strstr(gr_named, keyword) || strstr(gr_named, line);
}

/* Reads the next question; 0 where there is none left. */
static inline int gr_read(gr_question *q) {
    char line[GR_LINE];
    memset(q, 0, sizeof *q);
    for (;;) {
        if (!fgets(line, GR_LINE, stdin)) return 0;
        line[strcspn(line, "\n")] = 0;
        if (!strcmp(line, "end")) break;
        sscanf(line, "question %8191s", q->id);
        sscanf(line, "operator %63s", q->op);
        sscanf(line, "dtype %15s", q->dtype);
        if (!strncmp(line, "attribute ", 10) && q->attributes < GR_MOST) {
            int n = q->attributes++;
            sscanf(line, "attribute %63s %*s %15s %255[^\n]", q->attribute[n].name, q->attribute[n].type,
                   q->attribute[n].value);
        }
        if (!strncmp(line, "input ", 6) && q->ins < GR_MOST) gr_announced(&q->in[q->ins++], line + 6);
        if (!strncmp(line, "output ", 7) && q->outs < GR_MOST) gr_announced(&q->out[q->outs++], line + 7);
    } /* other lines are of a later version */
    for (gr_tensor *t = q->in; t < q->in + q->ins; t++)
        if (fread(t->data, 1, (size_t)t->bytes, stdin) != (size_t)t->bytes) gr_fail("the input ended early");
    return 1;
}

/* Reads the next question that the hello names, and refuses others, which files hold; 0 where none is left. */
static inline int gr_next(gr_question *q) {
    while (gr_read(q)) {
        if (gr_names("operator", q->op) && gr_names("dtype", q->dtype)) return 1;
        gr_refuse(q, "");
    }
    return 0;
}

static inline gr_tensor *gr_input(gr_question *q, const char *name) {
    for (gr_tensor *t = q->in; t < q->in + q->ins; t++)
        if (!strcmp(t->name, name)) return t;
    return NULL;
}

static inline gr_tensor *gr_output(gr_question *q, const char *name) {
    for (gr_tensor *t = q->out; t < q->out + q->outs; t++)
        if (!strcmp(t->name, name)) return t;
    return NULL;
}

/* The words of an attribute's value, with spaces between them; "" where it has no value. */
static inline const char *gr_attribute(const gr_question *q, const char *name) {
    for (int n = 0; n < q->attributes; n++)
        if (!strcmp(q->attribute[n].name, name)) return q->attribute[n].value;
    return "";
}

/* The number that an attribute has, or the first of several; a bool is 0 or 1, and inf is a number. */
static inline double gr_number(const gr_question *q, const char *name) {
    return strtod(gr_attribute(q, name), NULL);
}

/* Hands out what the outputs hold. */
static inline void gr_answer(gr_question *q) {
    if (q->ended) return;
    printf("ok\n");
    for (gr_tensor *t = q->out; t < q->out + q->outs; t++)
        printf("output %s %s %s %ld\n", t->name, t->dtype, t->shown, t->bytes);
    printf("end\n");
    for (gr_tensor *t = q->out; t < q->out + q->outs; t++) fwrite(t->data, 1, (size_t)t->bytes, stdout);
    gr_end(q);
}
#endif
