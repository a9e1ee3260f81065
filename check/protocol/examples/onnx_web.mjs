// onnxruntime-web in a browser, for Node:
//
//     npm install onnxruntime-web puppeteer-core @sparticuz/chromium@147
//     grucible check --runtime 'exec: node onnx_web.mjs --provider webnn'
//
// It answers ONNX GRU. The provider is wasm (the usual one), webnn, or webgpu on a CPU (SwiftShader). Weights and lengths
// are initializers. What a provider does not take would fall back to wasm; here it is unsupported, as is what no session
// can be made of.
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { serve } from "./grucible.mjs";
import { open, received, sent } from "./webnn.mjs";

const { provider, browser } = parseArgs({
  options: { provider: { type: "string", default: "wasm" }, browser: { type: "string" } },
}).values;
const dist = path.join(process.cwd(), "node_modules/onnxruntime-web/dist");
const module = provider === "webgpu" ? "ort.webgpu.min.mjs" : "ort.all.min.mjs";
const flags = provider === "webgpu" ? ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"] : [];
const CONSTANTS = ["W", "R", "B", "sequence_lens"];

// a model's protobuf: a field is its number, a kind (0 a number, 2 bytes, 5 a float), and its value
const varint = (n) => {
  const bytes = [];
  for (let rest = BigInt.asUintN(64, BigInt(n)); ; rest >>= 7n) {
    bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    if (rest < 128n) return Buffer.from(bytes);
  }
};
const int = (field, n) => Buffer.concat([varint(field << 3), varint(n)]);
const message = (field, ...parts) => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([varint((field << 3) | 2), varint(body.length), body]);
};
const float = (field, n) => Buffer.concat([varint((field << 3) | 5), Buffer.from(Float32Array.of(n).buffer)]);

const TYPES = { float32: 1, int32: 6, int64: 7, float16: 10, float64: 11, bfloat16: 16 };
const KINDS = {
  hidden_size: (n) => [int(3, n), int(20, 2)],
  layout: (n) => [int(3, n), int(20, 2)],
  linear_before_reset: (n) => [int(3, n), int(20, 2)],
  direction: (word) => [message(4, word), int(20, 3)],
  clip: (n) => [float(2, n), int(20, 1)],
  activations: (words) => [...words.map((word) => message(9, word)), int(20, 8)],
  activation_alpha: (all) => [...all.map((n) => float(7, n)), int(20, 6)],
  activation_beta: (all) => [...all.map((n) => float(7, n)), int(20, 6)],
};

/** The bytes of a model of one GRU. */
function model({ given, inputs, outputs }) {
  const ports = (names, there) => {
    const last = names.findLastIndex((name) => there.includes(name));
    return names.slice(0, last + 1).map((name) => (there.includes(name) ? name : "")); // "": left out
  };
  const given_to = ports(["X", "W", "R", "B", "sequence_lens", "initial_h"], Object.keys(inputs));
  const node = [
    ...given_to.map((name) => message(1, name)),
    ...ports(["Y", "Y_h"], outputs.map((one) => one.name)).map((name) => message(2, name)),
    message(4, "GRU"),
    ...Object.entries(given).map(([name, value]) => message(5, message(1, name), ...KINDS[name](value))),
  ];
  const port = ({ name, dtype, shape }) => {
    const sizes = message(2, ...shape.map((n) => message(1, int(1, n))));
    return [message(1, name), message(2, message(1, int(1, TYPES[dtype]), sizes))];
  };
  const tensor = ({ name, dtype, shape, raw }) =>
    [...shape.map((n) => int(1, n)), int(2, TYPES[dtype]), message(8, name), message(9, raw)];
  const graph = Object.values(inputs).map((one) =>
    CONSTANTS.includes(one.name) ? message(5, ...tensor(one)) : message(11, ...port(one)));
  graph.push(message(1, ...node), message(2, "gru"), ...outputs.map((one) => message(12, ...port(one))));
  return Buffer.concat([int(1, 10), message(7, ...graph), message(8, message(1, ""), int(2, 14))]);
}

/** In the page: answers one question. */
async function ask({ model, operands, outputs, provider }) {
  const bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const text = (view) => btoa(Array.from(view, (one) => String.fromCharCode(one)).join(""));
  const arrays = { float32: Float32Array, float16: globalThis.Float16Array ?? Uint16Array, int32: Int32Array };
  const extra = provider === "wasm" ? {} : { session: { disable_cpu_ep_fallback: "1" } };
  let session;
  try {
    session = await ort.InferenceSession.create(bytes(model), { executionProviders: [provider], extra });
  } catch (error) {
    return { unsupported: true, message: String(error.message ?? error) };
  }
  try {
    const feeds = {}, found = {};
    for (const { name, dtype, shape, raw } of operands)
      feeds[name] = new ort.Tensor(dtype, new arrays[dtype](bytes(raw).buffer), shape);
    const results = await session.run(feeds);
    for (const { name } of outputs) {
      const data = await results[name].getData();
      found[name] = text(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    }
    return { found };
  } catch (error) {
    return { message: String(error.message ?? error) };
  } finally {
    await session.release();
  }
}

const file = (url) => {
  const type = { ".mjs": "text/javascript", ".wasm": "application/wasm" }[path.extname(url)];
  return type && [type, readFileSync(path.join(dist, path.basename(url)))];
};
const { page, close } = await open(browser, flags, file);
await page.evaluate(async (name) => {
  globalThis.ort = await import(`/${name}`);
  Object.assign(ort.env.wasm, { numThreads: 1, wasmPaths: "/" });
  ort.env.logLevel = "fatal";
}, module);
const { version } = JSON.parse(readFileSync(path.join(dist, "../package.json")));
const hello = [`name onnx_web --provider ${provider}`, `version ${version}`, "parallel yes", "operator onnx.GRU-14"];
await serve([...hello, "dtype float32", "dtype float16"], async (question) => {
  const operands = sent(question.inputs).filter((one) => !CONSTANTS.includes(one.name));
  const asked = { model: model(question).toString("base64"), operands, outputs: question.outputs, provider };
  return received(await page.evaluate(ask, asked));
});
await close();
