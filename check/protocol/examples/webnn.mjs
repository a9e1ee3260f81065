// A browser's WebNN, through MLGraphBuilder, for Node:
//
//     npm install puppeteer-core @sparticuz/chromium@147
//     grucible check --runtime 'exec: node webnn.mjs'
//
// It answers WebNN's gru and gruCell in float32 and float16.
//
//     --constants         weights and biases are constants of the graph, as in most models, instead of inputs
//     --browser PATH      this browser, instead of Chromium from npm
//
// A page from 127.0.0.1 builds and runs one graph for each question. A question is unsupported where the browser says
// so: MLGraphBuilder throws a TypeError or a NotSupportedError. Everything else that goes wrong is an error.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { serve } from "./grucible.mjs";

const require = createRequire(`${process.cwd()}/`); // packages are those of the current folder
const from = (name) => require(name).default ?? require(name);

/** Starts a browser with an empty page from 127.0.0.1, because WebNN needs a secure context; other paths are `files`. */
export async function open(path, flags = [], files = () => null) {
  const server = createServer((question, answer) => {
    const [type, body] = question.url === "/" ? ["text/html", "<!doctype html>"] : (files(question.url) ?? []);
    answer.writeHead(body ? 200 : 404, type && { "content-type": type }).end(body);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const executablePath = path ?? (await from("@sparticuz/chromium").executablePath());
  const args = ["--no-sandbox", "--enable-features=WebMachineLearningNeuralNetwork,WebNN", ...flags];
  const browser = await from("puppeteer-core").launch({ executablePath, args, headless: path ? true : "shell" });
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const version = (await browser.version()).replace(/^.*\//, "");
  return { page, version, close: () => browser.close().then(() => server.close()) };
}

/** The operands of a question, with their bytes as text, for the page. */
export const sent = (inputs) =>
  Object.values(inputs).map(({ raw, name, dtype, shape }) => ({ name, dtype, shape, raw: Buffer.from(raw).toString("base64") }));

/** The outputs of the page's answer as bytes, by name. */
export function received(answer) {
  if (!answer.found) throw answer;
  return Object.fromEntries(Object.entries(answer.found).map(([name, text]) => [name, Buffer.from(text, "base64")]));
}

/** In the page: answers one question. */
async function ask({ operator, given, operands, outputs, constants }) {
  const bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer;
  const text = (buffer) => btoa(Array.from(new Uint8Array(buffer), (one) => String.fromCharCode(one)).join(""));
  const told = (error, unsupported) => ({ unsupported, message: `${error.name}: ${error.message}` });
  const feeds = {}, built = {}, read = {}, found = {};
  let context, graph;
  try {
    context = await navigator.ml.createContext();
    const builder = new MLGraphBuilder(context);
    for (const { name, dtype, shape, raw } of operands) {
      const descriptor = { dataType: dtype, shape };
      const constant = constants && /weight|bias/i.test(name);
      built[name] = constant ? builder.constant(descriptor, bytes(raw)) : builder.input(name, descriptor);
      if (!constant) feeds[name] = { descriptor, raw };
    }
    const { input, weight, recurrentWeight, hiddenState, ...optional } = built;
    const { steps, hiddenSize, ...options } = given; // what is not given is left to the browser
    Object.assign(options, optional, outputs.some((one) => one.name === "output1") && { returnSequence: true });
    const results =
      operator === "webnn.gru"
        ? builder.gru(input, weight, recurrentWeight, steps, hiddenSize, options)
        : [builder.gruCell(input, weight, recurrentWeight, hiddenState, hiddenSize, options)];
    graph = await builder.build(Object.fromEntries(outputs.map(({ name }, place) => [name, results[place]])));
  } catch (error) {
    return told(error, ["TypeError", "NotSupportedError"].includes(error.name));
  }
  try {
    for (const [name, { descriptor, raw }] of Object.entries(feeds)) {
      feeds[name] = await context.createTensor({ ...descriptor, writable: true });
      context.writeTensor(feeds[name], bytes(raw));
    }
    for (const { name, dtype, shape } of outputs)
      read[name] = await context.createTensor({ dataType: dtype, shape, readable: true });
    context.dispatch(graph, feeds, read);
    for (const name in read) found[name] = text(await context.readTensor(read[name]));
    return { found };
  } catch (error) {
    return told(error, false);
  } finally {
    context.destroy(); // with its graph and tensors
  }
}

async function main() {
  const { values } = parseArgs({ options: { constants: { type: "boolean" }, browser: { type: "string" } } });
  const { page, version, close } = await open(values.browser);
  const backEnd = { linux: "LiteRT", darwin: "Core ML" }[process.platform] ?? process.platform; // WebNN does not tell
  const hello = [`name webnn${values.constants ? " --constants" : ""}`, `version Chromium ${version}, ${backEnd}`];
  hello.push("parallel yes", "operator webnn.gru", "operator webnn.gruCell", "dtype float32", "dtype float16");
  await serve(hello, async ({ operator, given, inputs, outputs }) =>
    received(await page.evaluate(ask, { operator, given, operands: sent(inputs), outputs, constants: values.constants })));
  await close();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
