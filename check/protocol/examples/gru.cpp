// A GRU that speaks grucible's protocol, in C++17 without a library: c++ -std=c++17 -O2 -o gru gru.cpp
//
//     grucible check --runtime 'exec: ./gru'
//
// It answers OpenVINO GRUSequence-5 in float32 and float64. Replace gru() by your own kernel.
// Assumes a little-endian machine.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Tensor {
    std::string name, dtype, shown;  // shown: the shape as it was announced, 2x3x4
    std::vector<long> shape;
    std::size_t bytes = 0;
    std::vector<double> data;  // the numbers, whatever they were
};

struct Question {
    std::map<std::string, std::vector<std::string>> attributes;
    std::map<std::string, Tensor> inputs;
    std::vector<Tensor> outputs;
    bool refused = false;  // what the hello does not name is not asked through a pipe; a file holds it, too
};

// Reads "NAME DTYPE 2x3x4 BYTES".
Tensor announced(std::istringstream& line) {
    Tensor t;
    if (!(line >> t.name >> t.dtype >> t.shown >> t.bytes)) throw std::runtime_error("no tensor is announced");
    std::istringstream axes(t.shown);
    for (std::string size; t.shown != "scalar" && std::getline(axes, size, 'x');) t.shape.push_back(std::stol(size));
    return t;
}

template <typename Number>
void convert(const std::vector<char>& raw, std::vector<double>& data) {
    std::vector<Number> numbers(raw.size() / sizeof(Number));
    std::memcpy(numbers.data(), raw.data(), raw.size());
    data.assign(numbers.begin(), numbers.end());
}

void receive(Tensor& t) {
    std::vector<char> raw(t.bytes);
    if (!std::cin.read(raw.data(), static_cast<std::streamsize>(raw.size())))
        throw std::runtime_error("the input ended within a tensor");
    if (t.dtype == "float32") convert<float>(raw, t.data);
    else if (t.dtype == "float64") convert<double>(raw, t.data);
    else if (t.dtype == "int32") convert<std::int32_t>(raw, t.data);
    else if (t.dtype == "int64") convert<std::int64_t>(raw, t.data);
}

template <typename Number>
void transmit(const std::vector<double>& data) {
    const std::vector<Number> numbers(data.begin(), data.end());
    std::cout.write(reinterpret_cast<const char*>(numbers.data()),
                    static_cast<std::streamsize>(numbers.size() * sizeof(Number)));
}

// Reads a question up to the bytes of its last input; false where there is none left.
bool ask(Question& q) {
    std::vector<std::string> order;
    for (std::string text; std::getline(std::cin, text);) {
        if (text == "end") {
            for (const auto& name : order) receive(q.inputs[name]);
            return true;
        }
        std::istringstream line(text);
        std::string keyword;
        line >> keyword;
        if (keyword == "attribute") {
            std::string name, whose, type;
            line >> name >> whose >> type;
            for (std::string value; line >> value;) q.attributes[name].push_back(value);
        } else if (keyword == "input") {
            Tensor t = announced(line);
            order.push_back(t.name);
            q.inputs[t.name] = t;
        } else if (keyword == "output") {
            q.outputs.push_back(announced(line));
        } else if (text.rfind("operator ", 0) == 0) {
            q.refused |= text != "operator openvino.GRUSequence-5";
        } else if (text.rfind("dtype ", 0) == 0) {
            q.refused |= text != "dtype float32" && text != "dtype float64";
        }  // other lines are of a later version
    }
    return false;
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

// The operator: Y and Ho.
std::map<std::string, std::vector<double>> gru(Question& q) {
    const Tensor &X = q.inputs.at("X"), &h0 = q.inputs.at("initial_hidden_state");
    const Tensor &W = q.inputs.at("W"), &R = q.inputs.at("R"), &B = q.inputs.at("B");
    const long batch = X.shape[0], time = X.shape[1], input = X.shape[2];
    const long directions = h0.shape[1], hidden = h0.shape[2];
    const bool after = q.attributes.at("linear_before_reset").at(0) == "1";
    const double clip = std::strtod(q.attributes.at("clip").at(0).c_str(), nullptr);  // reads inf, too
    const auto& functions = q.attributes.at("activations");
    std::vector<double> Y(batch * directions * time * hidden), Ho(batch * directions * hidden);
    for (long row = 0; row < batch; row++) {
        const long length = static_cast<long>(q.inputs.at("sequence_lengths").data[row]);
        for (long d = 0; d < directions; d++) {
            const bool backward = q.attributes.at("direction").at(0) == "reverse" || d == 1;
            const double *w = &W.data[d * 3 * hidden * input], *r = &R.data[d * 3 * hidden * hidden];
            const double* b = &B.data[d * B.shape[1]];
            std::vector<double> h(hidden), gates(2 * hidden), gated(hidden), next(hidden);
            if (length) std::copy_n(&h0.data[(row * directions + d) * hidden], hidden, h.begin());
            for (long number = 0; number < length; number++) {
                const long t = backward ? length - 1 - number : number;
                const double* x = &X.data[(row * time + t) * input];
                for (long j = 0; j < 2 * hidden; j++)  // z, then r
                    gates[j] = activation(functions[0], dot(w + j * input, x, input) + dot(r + j * hidden, h.data(), hidden) + b[j], clip);
                for (long j = 0; j < hidden; j++) gated[j] = gates[hidden + j] * h[j];
                for (long j = 0; j < hidden; j++) {
                    const long k = 2 * hidden + j;
                    const double recurrent = after ? gates[hidden + j] * (dot(r + k * hidden, h.data(), hidden) + b[k + hidden])
                                                   : dot(r + k * hidden, gated.data(), hidden);
                    const double candidate = activation(functions[1], dot(w + k * input, x, input) + recurrent + b[k], clip);
                    next[j] = (1 - gates[j]) * candidate + gates[j] * h[j];
                }
                h = next;
                std::copy(h.begin(), h.end(), Y.begin() + ((row * directions + d) * time + t) * hidden);
            }
            std::copy(h.begin(), h.end(), Ho.begin() + (row * directions + d) * hidden);
        }
    }
    return {{"Y", Y}, {"Ho", Ho}};
}

int main() try {
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line) && line != "end";) {}  // the judge's hello
    std::cout << "grucible 1\nname gru.cpp\nversion 1\noperator openvino.GRUSequence-5\ndtype float32\ndtype float64\nend\n"
              << std::flush;
    for (Question q; ask(q); q = Question()) {
        if (q.refused) {
            std::cout << "unsupported\nend\n" << std::flush;
            continue;
        }
        const auto found = gru(q);
        std::cout << "ok\n";
        for (const Tensor& t : q.outputs)
            std::cout << "output " << t.name << ' ' << t.dtype << ' ' << t.shown << ' ' << t.bytes << '\n';
        std::cout << "end\n";
        for (const Tensor& t : q.outputs)
            t.dtype == "float64" ? transmit<double>(found.at(t.name)) : transmit<float>(found.at(t.name));
        std::cout << std::flush;
    }
} catch (const std::exception& error) {
    std::cerr << "gru: " << error.what() << '\n';  // the judge shows it with the case
    return 1;
}
