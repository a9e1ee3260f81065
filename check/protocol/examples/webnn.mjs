// A browser's WebNN, through MLGraphBuilder, for Node:
//
//     npm install puppeteer-core @sparticuz/chromium@147
//     grucible check --runtime 'exec: node webnn.mjs'
//
// It answers WebNN's gru and gruCell in float32 and float16. What it is given first names what it asks:
//
//     --constants         weights and biases are constants of the graph, as in most models, instead of inputs
//     --browser PATH      this browser, instead of Chromium from npm
//
// A page from 127.0.0.1 builds and runs one graph for each question. A question is unsupported where the browser says
// so: MLGraphBuilder throws a TypeError or a NotSupportedError. Everything else that goes wrong is an error.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { parseArgs } from "node:util";
import { serve } from "./gru.mjs";

const { values: options } = parseArgs({ options: { constants: { type: "boolean" }, browser: { type: "string" } } });
const require = createRequire(`${process.cwd()}/`); // packages are those of the current folder
const from = (name) => require(name).default ?? require(name);

/** Starts the browser with a page from 127.0.0.1: WebNN needs a secure context. */
async function open() {
  const server = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<!doctype html>"));
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const executablePath = options.browser ?? (await from("@sparticuz/chromium").executablePath());
  const args = ["--no-sandbox", "--enable-features=WebMachineLearningNeuralNetwork,WebNN"];
  const browser = await from("puppeteer-core").launch({ executablePath, args, headless: options.browser ? true : "shell" });
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  server.close();
  return { browser, page };
}

/** In the page: answers one question; texts hold the bytes of tensors. */
async function ask({ operator, given, inputs, outputs, constants }) {
  const bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer;
  const text = (buffer) => btoa(Array.from(new Uint8Array(buffer), (one) => String.fromCharCode(one)).join(""));
  const refused = (error) => ["TypeError", "NotSupportedError"].includes(error.name);
  const told = (error, unsupported) => ({ unsupported, message: `${error.name}: ${error.message}` });
  let context, graph;
  const feeds = {}, operands = {};
  try {
    context = await navigator.ml.createContext();
    const builder = new MLGraphBuilder(context);
    for (const { name, dtype, shape, raw } of inputs) {
      const descriptor = { dataType: dtype, shape };
      const constant = constants && /weight|bias/i.test(name);
      operands[name] = constant ? builder.constant(descriptor, bytes(raw)) : builder.input(name, descriptor);
      if (!constant) feeds[name] = { descriptor, raw };
    }
    const { input, weight, recurrentWeight, hiddenState, ...optional } = operands;
    const { steps, hiddenSize, ...attributes } = given; // what is not given is left to the browser
    const set = { ...optional, ...attributes };
    if (outputs.some((one) => one.name === "output1")) set.returnSequence = true;
    const found =
      operator === "webnn.gru"
        ? builder.gru(input, weight, recurrentWeight, steps, hiddenSize, set)
        : [builder.gruCell(input, weight, recurrentWeight, hiddenState, hiddenSize, set)];
    graph = await builder.build(Object.fromEntries(outputs.map(({ name }, place) => [name, found[place]])));
  } catch (error) {
    return told(error, refused(error));
  }
  try {
    const read = {};
    for (const [name, { descriptor, raw }] of Object.entries(feeds)) {
      feeds[name] = await context.createTensor({ ...descriptor, writable: true });
      context.writeTensor(feeds[name], bytes(raw));
    }
    for (const { name, dtype, shape } of outputs)
      read[name] = await context.createTensor({ dataType: dtype, shape, readable: true });
    context.dispatch(graph, feeds, read);
    const found = {};
    for (const name in read) found[name] = text(await context.readTensor(read[name]));
    return { found };
  } catch (error) {
    return told(error, false);
  } finally {
    context.destroy(); // with its graph and tensors
  }
}

const { browser, page } = await open();
const version = (await browser.version()).replace(/^.*\//, "");
const name = ["webnn", ...(options.constants ? ["--constants"] : [])].join(" ");
const backEnd = { linux: "LiteRT", darwin: "Core ML" }[process.platform] ?? process.platform; // WebNN does not tell
const hello = [`name ${name}`, `version Chromium ${version}, ${backEnd}`, "parallel yes"];
for (const one of ["operator webnn.gru", "operator webnn.gruCell", "dtype float32", "dtype float16"]) hello.push(one);

await serve(hello, async ({ operator, given, inputs, outputs }) => {
  const sent = Object.values(inputs).map((one) => ({ ...one, data: null, raw: Buffer.from(one.raw).toString("base64") }));
  const answer = await page.evaluate(ask, { operator, given, inputs: sent, outputs, constants: options.constants });
  if (!answer.found) throw answer;
  return Object.fromEntries(Object.entries(answer.found).map(([name, text]) => [name, Buffer.from(text, "base64")]));
});
await browser.close();
