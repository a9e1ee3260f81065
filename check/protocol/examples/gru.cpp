// A GRU that answers grucible, in C++17: c++ -std=c++17 -O2 -o gru gru.cpp
//
//     grucible check --runtime 'exec: ./gru'
//
// It answers OpenVINO GRUSequence-5 in float32 and float64. Replace gru() by your own kernel.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "grucible.h"

using Numbers = std::vector<double>;

template <typename Number>
Numbers converted(const gr_tensor& t) {
    const auto* numbers = static_cast<const Number*>(t.data);
    return Numbers(numbers, numbers + t.count);
}

// The numbers of an input as doubles, which hold them all.
Numbers input(gr_question& q, const char* name) {
    const gr_tensor* t = gr_input(&q, name);
    if (!t) throw std::runtime_error(std::string(name) + " is not there");
    const std::string dtype = t->dtype;
    if (dtype == "float32") return converted<float>(*t);
    if (dtype == "int32") return converted<std::int32_t>(*t);
    return dtype == "int64" ? converted<std::int64_t>(*t) : converted<double>(*t);
}

void output(gr_question& q, const char* name, const Numbers& values) {
    gr_tensor* t = gr_output(&q, name);
    if (!t) return;
    if (std::string(t->dtype) == "float64") std::copy(values.begin(), values.end(), static_cast<double*>(t->data));
    else std::transform(values.begin(), values.end(), static_cast<float*>(t->data), [](double v) { return static_cast<float>(v); });
}

double activation(const std::string& name, double v, double clip) {
    v = std::min(std::max(v, -clip), clip);
    if (name == "sigmoid") return 1 / (1 + std::exp(-v));
    return name == "tanh" ? std::tanh(v) : std::max(v, 0.0);
}

double dot(const double* a, const double* b, long n) {
    double sum = 0;
    for (long i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

// The operator: fills Y and Ho.
void gru(gr_question& q) {
    const Numbers X = input(q, "X"), h0 = input(q, "initial_hidden_state"), lengths = input(q, "sequence_lengths");
    const Numbers W = input(q, "W"), R = input(q, "R"), B = input(q, "B");
    const long *shape = gr_input(&q, "X")->shape, *state = gr_input(&q, "initial_hidden_state")->shape;
    const long batch = shape[0], time = shape[1], inputs = shape[2], directions = state[1], hidden = state[2];
    const long biases = gr_input(&q, "B")->shape[1];
    const bool after = gr_number(&q, "linear_before_reset") != 0;
    const double clip = gr_number(&q, "clip");
    std::string f, g;
    std::istringstream(gr_attribute(&q, "activations")) >> f >> g;
    Numbers Y(batch * directions * time * hidden), Ho(batch * directions * hidden);
    for (long row = 0; row < batch; row++) {
        const long length = static_cast<long>(lengths[row]);
        for (long d = 0; d < directions; d++) {
            const bool backward = std::string(gr_attribute(&q, "direction")) == "reverse" || d == 1;
            const double *w = &W[d * 3 * hidden * inputs], *r = &R[d * 3 * hidden * hidden], *b = &B[d * biases];
            Numbers h(hidden), gates(2 * hidden), gated(hidden), next(hidden);
            if (length) std::copy_n(&h0[(row * directions + d) * hidden], hidden, h.begin());
            for (long number = 0; number < length; number++) {
                const long t = backward ? length - 1 - number : number;
                const double* x = &X[(row * time + t) * inputs];
                for (long j = 0; j < 2 * hidden; j++)  // z, then r
                    gates[j] = activation(f, dot(w + j * inputs, x, inputs) + dot(r + j * hidden, h.data(), hidden) + b[j], clip);
                for (long j = 0; j < hidden; j++) gated[j] = gates[hidden + j] * h[j];
                for (long j = 0; j < hidden; j++) {
                    const long k = 2 * hidden + j;
                    const double recurrent = after ? gates[hidden + j] * (dot(r + k * hidden, h.data(), hidden) + b[k + hidden])
                                                   : dot(r + k * hidden, gated.data(), hidden);
                    const double candidate = activation(g, dot(w + k * inputs, x, inputs) + recurrent + b[k], clip);
                    next[j] = (1 - gates[j]) * candidate + gates[j] * h[j];
                }
                h = next;
                std::copy(h.begin(), h.end(), Y.begin() + ((row * directions + d) * time + t) * hidden);
            }
            std::copy(h.begin(), h.end(), Ho.begin() + (row * directions + d) * hidden);
        }
    }
    output(q, "Y", Y);
    output(q, "Ho", Ho);
}

int main() {
    static gr_question q;
    gr_hello("gru.cpp", "1", "operator openvino.GRUSequence-5\ndtype float32\ndtype float64\n");
    while (gr_next(&q)) {
        try {
            gru(q);
        } catch (const std::exception& error) {
            gr_fail(error.what());
        }
        gr_answer(&q);
    }
}
