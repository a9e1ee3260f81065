// A GRU that speaks grucible's protocol, in JavaScript on Node, without a package:
//
//     grucible check --runtime 'exec: node gru.mjs'
//
// It answers OpenVINO GRUSequence-5 in float32 and float64. Replace gru() by your own kernel. Or import serve(),
// as webnn.mjs does.
import { readSync, writeSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ARRAYS = { float32: Float32Array, float64: Float64Array, int32: Int32Array, int64: BigInt64Array };
const HELLO = ["name gru.mjs", "version 1", "operator openvino.GRUSequence-5", "dtype float32", "dtype float64"];

let unread = Buffer.alloc(0);

/** Reads or writes, again and again while the pipe is not ready. */
function waiting(act) {
  for (;;) {
    try {
      return act();
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1); // a millisecond
    }
  }
}

/** Reads more of standard input; false at its end. */
function more() {
  const piece = Buffer.alloc(1 << 16);
  const count = waiting(() => readSync(0, piece));
  unread = Buffer.concat([unread, piece.subarray(0, count)]);
  return count > 0;
}

/** The lines of a header without its `end`; null at the end of the input. */
function header() {
  const lines = [];
  for (;;) {
    let at;
    while ((at = unread.indexOf(10)) < 0) if (!more()) return null;
    const line = unread.toString("utf8", 0, at);
    unread = unread.subarray(at + 1);
    if (line === "end") return lines;
    lines.push(line);
  }
}

/** The bytes of an announced tensor, and its numbers as JavaScript's. */
function receive(tensor) {
  while (unread.length < tensor.bytes) if (!more()) throw Error("the input ended within a tensor");
  tensor.raw = Uint8Array.from(unread.subarray(0, tensor.bytes)).buffer; // aligned
  unread = unread.subarray(tensor.bytes);
  if (ARRAYS[tensor.dtype]) tensor.data = Array.from(new ARRAYS[tensor.dtype](tensor.raw), Number);
}

/** "NAME DTYPE 2x3x4 BYTES". */
function announced(text) {
  const [name, dtype, shape, bytes] = text.split(" ");
  return { name, dtype, shape: shape === "scalar" ? [] : shape.split("x").map(Number), bytes: Number(bytes) };
}

function asked(lines, hello) {
  const question = { attributes: {}, given: {}, inputs: {}, outputs: [] };
  for (const line of lines) {
    const at = line.indexOf(" ");
    const keyword = line.slice(0, at), rest = line.slice(at + 1);
    if (keyword === "attribute") {
      const [name, from, type, ...values] = rest.split(" ");
      const read = { bool: (v) => v === "1", text: String, int: Number, float: (v) => (v === "inf" ? Infinity : Number(v)) };
      const all = values.map(read[type.replace(/s$/, "")]);
      question.attributes[name] = type.endsWith("s") ? all : all[0];
      if (from === "given") question.given[name] = question.attributes[name];
    } else if (keyword === "input") {
      const tensor = announced(rest);
      question.inputs[tensor.name] = tensor;
    } else if (keyword === "operator" || keyword === "dtype") {
      question[keyword] = rest;
      question.refused ||= !hello.includes(line); // not asked through a pipe; a file holds it, too
    } else if (keyword === "output") question.outputs.push(announced(rest));
  } // other keywords are of a later version
  Object.values(question.inputs).forEach(receive); // in the order of their lines
  return question;
}

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

/** Writes all of it: a pipe may take less at a time. */
function write(bytes) {
  for (let at = 0; at < bytes.length; ) at += waiting(() => writeSync(1, bytes, at));
}

/** Answers every question. answer() gives the outputs by name, or throws; `unsupported` in its error says so. */
export async function serve(hello, answer) {
  header(); // the judge's hello
  write(Buffer.from(["grucible 1", ...hello, "end\n"].join("\n")));
  for (let lines; (lines = header()); ) {
    const question = asked(lines, hello);
    try {
      if (question.refused) throw { unsupported: true, message: "another operator or dtype" };
      const found = await answer(question);
      const told = question.outputs.map((o) => `output ${o.name} ${o.dtype} ${o.shape.join("x")} ${o.bytes}\n`);
      const bytes = question.outputs.map((o) => Buffer.from(found[o.name]));
      write(Buffer.from(`ok\n${told.join("")}end\n`));
      bytes.forEach(write);
    } catch (error) {
      const said = String(error.message).replace(/\s+/g, " ").slice(0, 2000);
      write(Buffer.from(`${error.unsupported ? "unsupported" : "error"} ${said}\nend\n`));
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) serve(HELLO, gru);
