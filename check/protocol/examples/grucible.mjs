// grucible's protocol for a kernel in JavaScript on Node: import serve().
//
// An input has its numbers in `data`, unless it is float16 or bfloat16, and its bytes in `raw`.
import { readSync, writeSync } from "node:fs";

export const ARRAYS = { float32: Float32Array, float64: Float64Array, int32: Int32Array, int64: BigInt64Array };

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
