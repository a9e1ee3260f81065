// Stands for the package puppeteer-core: a "browser" in this process, whose WebNN is written from the specification's
// algorithm (its checks) and emulation (its numbers). It has no float16, and no relu: as a browser may.
const fail = (why) => { throw new TypeError(why); };
const same = (one, other) => one.length === other.length && one.every((n, at) => n === other[at]);
const FUNCTIONS = { sigmoid: (v) => 1 / (1 + Math.exp(-v)), tanh: Math.tanh, relu: null };

class MLGraphBuilder {
  input(name, descriptor) { return this.operand(name, descriptor); }
  constant(descriptor, bytes) { return { ...this.operand(null, descriptor), data: new Float32Array(bytes) }; }
  operand(name, { dataType, shape }) {
    if (dataType === "float16") throw new DOMException("no float16", "NotSupportedError");
    if (!["float32", "int32"].includes(dataType) || shape.some((n) => n < 1)) fail("descriptor");
    return { name, dataType, shape };
  }
  gruCell(input, weight, recurrentWeight, hiddenState, hiddenSize, options = {}) {
    hiddenState ?? fail("hiddenState");
    const up = (one) => one && { ...one, shape: [1, ...one.shape] };
    const given = { ...options, bias: up(options.bias), recurrentBias: up(options.recurrentBias), initialHiddenState: up(hiddenState) };
    return this.gru(up(input), up(weight), up(recurrentWeight), 1, hiddenSize, given)[0];
  }
  gru(input, weight, recurrentWeight, steps, hiddenSize, options = {}) {
    const { bias, recurrentBias, initialHiddenState, resetAfter = true, returnSequence = false } = options;
    const { direction = "forward", layout = "zrn", activations = ["sigmoid", "tanh"] } = options;
    if (!input || !weight || !recurrentWeight) fail("an operand is missing");
    for (const n of [steps, hiddenSize]) if (!Number.isInteger(n) || n < 1) fail("a size");
    if (!["forward", "backward", "both"].includes(direction) || !["zrn", "rzn"].includes(layout)) fail("enumeration");
    if (activations.length !== 2 || activations.some((one) => !(one in FUNCTIONS))) fail("activations");
    const D = direction === "both" ? 2 : 1, H = hiddenSize, [T, N, I] = input.shape;
    const shapes = [[input, [steps, N, I]], [weight, [D, 3 * H, I]], [recurrentWeight, [D, 3 * H, H]],
      [bias, [D, 3 * H]], [recurrentBias, [D, 3 * H]], [initialHiddenState, [D, N, H]]];
    for (const [one, shape] of shapes) if (one && !same(one.shape, shape)) fail("a shape");
    for (const [one] of shapes) if (one && one.dataType !== "float32") fail("a data type");
    if (activations.includes("relu")) throw new DOMException("no relu", "NotSupportedError");
    const [f, g] = activations.map((name) => FUNCTIONS[name]);
    const run = (data) => {
      const [x, w, r, b, rb, h0] = shapes.map(([one]) => one && (one.data ?? data[one.name]));
      const last = new Float32Array(D * N * H), all = new Float32Array(T * D * N * H);
      for (let d = 0; d < D; d++) for (let n = 0; n < N; n++) {
        let h = Array.from({ length: H }, (_, j) => (h0 ? h0[(d * N + n) * H + j] : 0));
        for (let step = 0; step < T; step++) {
          const t = d === 1 || direction === "backward" ? T - step - 1 : step;
          const row = (gate, j) => d * 3 * H + layout.indexOf(gate) * H + j;
          const wx = (gate, j) => { let sum = 0; for (let i = 0; i < I; i++) sum += w[row(gate, j) * I + i] * x[(t * N + n) * I + i]; return sum; };
          const rh = (gate, j, s) => s.reduce((sum, value, k) => sum + r[row(gate, j) * H + k] * value, 0);
          const bi = (gate, j) => (b ? b[row(gate, j)] : 0), rbi = (gate, j) => (rb ? rb[row(gate, j)] : 0);
          const gate = (name) => h.map((_, j) => f(wx(name, j) + rh(name, j, h) + bi(name, j) + rbi(name, j)));
          const z = gate("z"), reset = gate("r"), old = h, gated = h.map((value, j) => reset[j] * value);
          h = old.map((value, j) => {
            const inner = resetAfter ? reset[j] * (rh("n", j, old) + rbi("n", j)) : rh("n", j, gated) + rbi("n", j);
            return z[j] * value + (1 - z[j]) * g(wx("n", j) + bi("n", j) + inner);
          });
          all.set(h, ((t * D + d) * N + n) * H);
        }
        last.set(h, (d * N + n) * H);
      }
      return [last, all];
    };
    return (returnSequence ? [0, 1] : [0]).map((place) => ({ compute: (data) => run(data)[place] }));
  }
  async build(outputs) { return outputs; }
}

const context = {
  createTensor: async () => ({}),
  writeTensor: (tensor, bytes) => { tensor.data = new Float32Array(bytes); },
  readTensor: async (tensor) => tensor.data.buffer,
  dispatch: (graph, feeds, read) => {
    const data = Object.fromEntries(Object.entries(feeds).map(([name, tensor]) => [name, tensor.data]));
    for (const name in read) read[name].data = graph[name].compute(data);
  },
  destroy: () => {},
};
globalThis.MLGraphBuilder = MLGraphBuilder;
Object.defineProperty(globalThis, "navigator", { value: { ml: { createContext: async () => context } } });
const page = { goto: async () => {}, evaluate: async (f, ...given) => f(...JSON.parse(JSON.stringify(given))) };
exports.launch = async () => ({ version: async () => "Browser/7", newPage: async () => page, close: async () => {} });
