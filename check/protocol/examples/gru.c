/* A GRU that speaks grucible's protocol, in C99 without a library: cc -O2 -o gru gru.c -lm
 *
 *     grucible check --runtime 'exec: ./gru'
 *
 * It answers OpenVINO GRUSequence-5 in float32 and float64. Replace gru() by your own kernel.
 * What is not a C float or double it cannot answer: its hello says so. Assumes a little-endian machine. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8, LINE = 9000 };

typedef struct {
    char name[64], dtype[16];
    long shape[MOST], count; /* sizes of the axes, and how many numbers */
    long bytes;
    double *data; /* the numbers, whatever they were */
} tensor;

typedef struct {
    char activations[2][32], direction[32];
    double clip;
    int reset_after; /* linear_before_reset */
    tensor in[MOST], out[MOST];
    int ins, outs;
    int refused; /* what the hello does not name is not asked through a pipe; a file holds it, too */
} question;

static void fail(const char *why) {
    fprintf(stderr, "gru: %s\n", why); /* the judge shows it with the case */
    exit(1);
}

/* Reads "NAME DTYPE 2x3x4 BYTES". */
static tensor announced(const char *text) {
    tensor t = {.count = 1};
    char shape[256];
    if (sscanf(text, "%63s %15s %255s %ld", t.name, t.dtype, shape, &t.bytes) != 4)
        fail("a line that announces no tensor");
    int axis = 0;
    for (char *size = strtok(shape, "x"); size && axis < MOST; size = strtok(NULL, "x"))
        t.count *= t.shape[axis++] = atol(size);
    t.data = calloc(t.count ? t.count : 1, sizeof *t.data);
    if (!t.data) fail("no memory");
    return t;
}

static size_t width(const tensor *t) {
    return !strcmp(t->dtype, "float64") || !strcmp(t->dtype, "int64") ? 8 : 4;
}

/* Reads the bytes of a tensor; every number becomes a double, which holds it. */
static void receive(tensor *t) {
    for (long i = 0; i < t->count; i++) {
        union { float f; double d; int i; long long l; } number;
        if (fread(&number, width(t), 1, stdin) != 1) fail("the input ended within a tensor");
        t->data[i] = !strcmp(t->dtype, "float64") ? number.d
                   : !strcmp(t->dtype, "float32") ? number.f
                   : !strcmp(t->dtype, "int64")   ? (double)number.l : (double)number.i;
    }
}

static void pass_over(const tensor *t) {
    for (long i = 0; i < t->bytes; i++) getchar();
}

static void transmit(const tensor *t) {
    for (long i = 0; i < t->count; i++) {
        float f = (float)t->data[i];
        if (width(t) == 8) fwrite(&t->data[i], 8, 1, stdout);
        else fwrite(&f, 4, 1, stdout);
    }
}

/* "attribute NAME given|default TYPE VALUE ..." without its first word. */
static void attribute(question *q, const char *text) {
    char name[64], value[128] = "", second[32] = "";
    if (sscanf(text, "%63s %*s %*s %127s %31s", name, value, second) < 2) return;
    if (!strcmp(name, "clip")) q->clip = strtod(value, NULL); /* reads inf, too */
    else if (!strcmp(name, "linear_before_reset")) q->reset_after = !strcmp(value, "1");
    else if (!strcmp(name, "direction")) snprintf(q->direction, 32, "%.31s", value);
    else if (!strcmp(name, "activations")) {
        snprintf(q->activations[0], 32, "%.31s", value);
        snprintf(q->activations[1], 32, "%.31s", second);
    }
}

/* Reads a question up to the bytes of its last input; 0 where there is none left. */
static int ask(question *q) {
    char line[LINE];
    memset(q, 0, sizeof *q);
    q->clip = INFINITY;
    for (;;) {
        if (!fgets(line, LINE, stdin)) return 0;
        line[strcspn(line, "\n")] = 0;
        if (!strcmp(line, "end")) break;
        if (!strncmp(line, "operator ", 9)) q->refused |= !!strcmp(line + 9, "openvino.GRUSequence-5");
        if (!strncmp(line, "dtype ", 6)) q->refused |= strcmp(line + 6, "float32") && strcmp(line + 6, "float64");
        if (!strncmp(line, "attribute ", 10)) attribute(q, line + 10);
        if (!strncmp(line, "input ", 6) && q->ins < MOST) q->in[q->ins++] = announced(line + 6);
        if (!strncmp(line, "output ", 7) && q->outs < MOST) q->out[q->outs++] = announced(line + 7);
    } /* other lines are of a later version */
    for (int i = 0; i < q->ins; i++) q->refused ? pass_over(&q->in[i]) : receive(&q->in[i]);
    return 1;
}

static tensor *find(tensor *of, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (!strcmp(of[i].name, name)) return &of[i];
    return NULL;
}

static double activation(const char *name, double v, double clip) {
    v = fmin(fmax(v, -clip), clip);
    if (!strcmp(name, "sigmoid")) return 1 / (1 + exp(-v));
    return !strcmp(name, "tanh") ? tanh(v) : v > 0 ? v : 0;
}

static double dot(const double *a, const double *b, long n) {
    double sum = 0;
    for (long i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* One step of one row: the state h becomes the next one. W, R, B of this direction, gates z, r, h. */
static void step(const question *q, long hidden, long input, const double *x, const double *W,
                 const double *R, const double *B, double *h) {
    double *z = calloc(4 * hidden, sizeof *z), *r = z + hidden, *gated = r + hidden, *next = gated + hidden;
    const char *f = q->activations[0], *g = q->activations[1];
    for (long j = 0; j < 2 * hidden; j++)
        z[j] = activation(f, dot(W + j * input, x, input) + dot(R + j * hidden, h, hidden) + B[j], q->clip);
    for (long j = 0; j < hidden; j++) gated[j] = r[j] * h[j];
    for (long j = 0; j < hidden; j++) {
        long row = 2 * hidden + j;
        double recurrent = q->reset_after ? r[j] * (dot(R + row * hidden, h, hidden) + B[row + hidden])
                                          : dot(R + row * hidden, gated, hidden);
        double t = activation(g, dot(W + row * input, x, input) + recurrent + B[row], q->clip);
        next[j] = (1 - z[j]) * t + z[j] * h[j];
    }
    memcpy(h, next, hidden * sizeof *h);
    free(z);
}

/* The operator: fills the outputs of the question. */
static void gru(question *q) {
    tensor *X = find(q->in, q->ins, "X"), *h0 = find(q->in, q->ins, "initial_hidden_state");
    tensor *W = find(q->in, q->ins, "W"), *R = find(q->in, q->ins, "R"), *B = find(q->in, q->ins, "B");
    tensor *lengths = find(q->in, q->ins, "sequence_lengths");
    tensor *Y = find(q->out, q->outs, "Y"), *Ho = find(q->out, q->outs, "Ho");
    if (!X || !h0 || !W || !R || !B || !lengths) fail("an input is not there");
    long batch = X->shape[0], time = X->shape[1], input = X->shape[2];
    long directions = h0->shape[1], hidden = h0->shape[2], biases = B->shape[1];
    for (long row = 0; row < batch; row++) {
        for (long d = 0; d < directions; d++) {
            long length = (long)lengths->data[row];
            int backward = !strcmp(q->direction, "reverse") || d == 1;
            double *h = calloc(hidden, sizeof *h);
            if (length) memcpy(h, h0->data + (row * directions + d) * hidden, hidden * sizeof *h);
            for (long number = 0; number < length; number++) {
                long t = backward ? length - 1 - number : number;
                step(q, hidden, input, X->data + (row * time + t) * input, W->data + d * 3 * hidden * input,
                     R->data + d * 3 * hidden * hidden, B->data + d * biases, h);
                if (Y) memcpy(Y->data + ((row * directions + d) * time + t) * hidden, h, hidden * sizeof *h);
            }
            if (Ho) memcpy(Ho->data + (row * directions + d) * hidden, h, hidden * sizeof *h);
            free(h);
        }
    }
}

static void answer(question *q) {
    gru(q);
    printf("ok\n");
    for (int i = 0; i < q->outs; i++) {
        tensor *t = &q->out[i];
        printf("output %s %s ", t->name, t->dtype);
        int axes = strcmp(t->name, "Y") ? 3 : 4;
        for (int axis = 0; axis < axes; axis++) printf("%ld%s", t->shape[axis], axis < axes - 1 ? "x" : " ");
        printf("%ld\n", t->bytes);
    }
    printf("end\n");
    for (int i = 0; i < q->outs; i++) transmit(&q->out[i]);
}

int main(void) {
    char line[LINE];
    while (fgets(line, LINE, stdin) && strcmp(line, "end\n")) {} /* the judge's hello */
    printf("grucible 1\nname gru.c\nversion 1\n"
           "operator openvino.GRUSequence-5\ndtype float32\ndtype float64\nend\n");
    fflush(stdout);
    for (question q; ask(&q);) {
        if (q.refused) printf("unsupported\nend\n");
        else answer(&q);
        fflush(stdout);
        for (int i = 0; i < q.ins; i++) free(q.in[i].data);
        for (int i = 0; i < q.outs; i++) free(q.out[i].data);
    }
    return 0;
}
