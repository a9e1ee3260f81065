/* A GRU that answers grucible, in C99: cc -O2 -o gru gru.c -lm
 *
 *     grucible check --runtime 'exec: ./gru'
 *
 * It answers OpenVINO GRUSequence-5 in float32 and float64. Replace gru() by your own kernel. */
#include <math.h>

#include "grucible.h"

typedef struct {
    char f[32], g[32]; /* the activations of the gates, and of the candidate */
    double clip;
    int reset_after; /* linear_before_reset */
    long hidden, input;
} layer;

/* The numbers of a tensor as doubles, which hold them all. */
static double *numbers(const gr_tensor *t) {
    double *found = (double *)malloc((t->count + 1) * sizeof *found);
    for (long i = 0; i < t->count; i++)
        found[i] = !strcmp(t->dtype, "float64") ? ((double *)t->data)[i]
                 : !strcmp(t->dtype, "float32") ? ((float *)t->data)[i]
                 : !strcmp(t->dtype, "int64")   ? (double)((long long *)t->data)[i] : ((int *)t->data)[i];
    return found;
}

static void store(gr_tensor *t, long at, const double *values, long n) {
    for (long i = 0; t && i < n; i++)
        if (!strcmp(t->dtype, "float64")) ((double *)t->data)[at + i] = values[i];
        else ((float *)t->data)[at + i] = (float)values[i];
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
static void step(const layer *l, const double *x, const double *W, const double *R, const double *B, double *h) {
    long hidden = l->hidden, input = l->input;
    double *z = (double *)calloc(4 * hidden, sizeof *z);
    double *r = z + hidden, *gated = r + hidden, *next = gated + hidden;
    for (long j = 0; j < 2 * hidden; j++)
        z[j] = activation(l->f, dot(W + j * input, x, input) + dot(R + j * hidden, h, hidden) + B[j], l->clip);
    for (long j = 0; j < hidden; j++) gated[j] = r[j] * h[j];
    for (long j = 0; j < hidden; j++) {
        long row = 2 * hidden + j;
        double recurrent = l->reset_after ? r[j] * (dot(R + row * hidden, h, hidden) + B[row + hidden])
                                          : dot(R + row * hidden, gated, hidden);
        double t = activation(l->g, dot(W + row * input, x, input) + recurrent + B[row], l->clip);
        next[j] = (1 - z[j]) * t + z[j] * h[j];
    }
    memcpy(h, next, hidden * sizeof *h);
    free(z);
}

/* The operator: fills the outputs of the question. */
static void gru(gr_question *q) {
    gr_tensor *X = gr_input(q, "X"), *h0 = gr_input(q, "initial_hidden_state"), *B = gr_input(q, "B");
    gr_tensor *Y = gr_output(q, "Y"), *Ho = gr_output(q, "Ho");
    const char *names[] = {"X", "initial_hidden_state", "W", "R", "B", "sequence_lengths"};
    double *in[6];
    for (int i = 0; i < 6; i++) {
        if (!gr_input(q, names[i])) gr_fail("an input is not there");
        in[i] = numbers(gr_input(q, names[i]));
    }
    long batch = X->shape[0], time = X->shape[1], input = X->shape[2];
    long directions = h0->shape[1], hidden = h0->shape[2], biases = B->shape[1];
    layer l = {.clip = gr_number(q, "clip"), .reset_after = gr_number(q, "linear_before_reset") != 0,
               .hidden = hidden, .input = input};
    sscanf(gr_attribute(q, "activations"), "%31s %31s", l.f, l.g);
    for (long row = 0; row < batch; row++) {
        for (long d = 0; d < directions; d++) {
            long length = (long)in[5][row], place = row * directions + d;
            int backward = !strcmp(gr_attribute(q, "direction"), "reverse") || d == 1;
            double *h = (double *)calloc(hidden, sizeof *h);
            if (length) memcpy(h, in[1] + place * hidden, hidden * sizeof *h);
            for (long number = 0; number < length; number++) {
                long t = backward ? length - 1 - number : number;
                step(&l, in[0] + (row * time + t) * input, in[2] + d * 3 * hidden * input,
                     in[3] + d * 3 * hidden * hidden, in[4] + d * biases, h);
                store(Y, (place * time + t) * hidden, h, hidden);
            }
            store(Ho, place * hidden, h, hidden);
            free(h);
        }
    }
    for (int i = 0; i < 6; i++) free(in[i]);
}

int main(void) {
    static gr_question q;
    gr_hello("gru.c", "1", "operator openvino.GRUSequence-5\ndtype float32\ndtype float64\n");
    while (gr_next(&q)) {
        gru(&q);
        gr_answer(&q);
    }
    return 0;
}
