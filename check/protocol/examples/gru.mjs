// A GRU that answers grucible, in JavaScript on Node, without a package:
//
//     grucible check --runtime 'exec: node gru.mjs'
//
// It answers OpenVINO GRUSequence-5 in float32 and float64. Replace gru() by your own kernel.
import { ARRAYS, serve } from "./grucible.mjs";

const FUNCTIONS = { sigmoid: (v) => 1 / (1 + Math.exp(-v)), tanh: Math.tanh, relu: (v) => (v > 0 ? v : 0) };

/** The operator: the bytes of Y and Ho, by name. */
function gru({ attributes, inputs }) {
  const { X, initial_hidden_state: h0, sequence_lengths: lengths, W, R, B } = inputs;
  const [batch, time, input] = X.shape, [, directions, hidden] = h0.shape;
  const { activations, clip, linear_before_reset: after, direction } = attributes;
  const [f, g] = activations.map((name) => (v) => FUNCTIONS[name](Math.min(Math.max(v, -clip), clip)));
  const dot = (a, i, b, j, n) => { let sum = 0; for (let k = 0; k < n; k++) sum += a[i + k] * b[j + k]; return sum; };
  const Y = new Float64Array(batch * directions * time * hidden), Ho = new Float64Array(batch * directions * hidden);

  for (let row = 0; row < batch; row++) for (let d = 0; d < directions; d++) {
    const length = lengths.data[row], backward = direction === "reverse" || d === 1;
    const place = (row * directions + d) * hidden, biases = B.shape[1];
    let h = length ? h0.data.slice(place, place + hidden) : new Array(hidden).fill(0);
    for (let number = 0; number < length; number++) {
      const t = backward ? length - 1 - number : number;
      const wx = (j) => dot(W.data, (d * 3 * hidden + j) * input, X.data, (row * time + t) * input, input);
      const rh = (j, state) => dot(R.data, (d * 3 * hidden + j) * hidden, state, 0, hidden);
      const b = (j) => B.data[d * biases + j];
      const old = h;
      const gate = (j) => f(wx(j) + rh(j, old) + b(j));
      const z = old.map((_, j) => gate(j)), r = old.map((_, j) => gate(hidden + j));
      const gated = old.map((value, j) => r[j] * value);
      h = old.map((value, j) => {
        const k = 2 * hidden + j;
        const recurrent = after ? r[j] * (rh(k, old) + b(k + hidden)) : rh(k, gated);
        return (1 - z[j]) * g(wx(k) + recurrent + b(k)) + z[j] * value;
      });
      Y.set(h, ((row * directions + d) * time + t) * hidden);
    }
    Ho.set(h, place);
  }
  const bytes = (values, { dtype }) => ARRAYS[dtype].from(values).buffer;
  return { Y: bytes(Y, X), Ho: bytes(Ho, X) };
}

serve(["name gru.mjs", "version 1", "operator openvino.GRUSequence-5", "dtype float32", "dtype float64"], gru);
