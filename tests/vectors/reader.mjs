// A reader of vector files, written from vectors/FORMAT.md alone: node reader.mjs FILE...
//
// Prints one JSON object per file: what its attributes say, both digests as computed here, and of its first
// block the first case with its attributes and the numbers of one array. h5wasm is looked for below
// GRUCIBLE_NODE_MODULES, else where node looks.

import { createHash } from "node:crypto";
import path from "node:path";
import { pathToFileURL } from "node:url";

const modules = process.env.GRUCIBLE_NODE_MODULES;
const library = modules ? pathToFileURL(path.resolve(modules, "h5wasm/dist/node/hdf5_hl.js")) : "h5wasm/node";
const { default: h5wasm } = await import(library);
const hdf5 = await h5wasm.ready;

const STRING = 3, FLOAT = 1; // HDF5's classes of types
const DTYPES = ["float16", "float32", "float64", "bfloat16"];

function fail(words) {
  throw new Error(words);
}

/** Paths in ascending order of their UTF-8 bytes. */
function ordered(paths) {
  return [...paths].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** An attribute; the type of a text is looked at before it is read. */
function attribute(node, name) {
  if (!(name in node.attrs)) return undefined;
  const held = node.attrs[name];
  if (held.metadata.type === STRING && held.metadata.vlen) fail(`${name} is of variable length`);
  return typeof held.value === "bigint" ? Number(held.value) : held.value;
}

function textAttribute(node, name) {
  const value = attribute(node, name);
  return typeof value === "string" ? value : fail(`${name} is no text`);
}

/** The bytes of a dataset as they are stored. */
function bytes(data) {
  const { size, total_size: count } = data.metadata;
  const place = hdf5._malloc(size * count);
  try {
    hdf5.get_dataset_data(data.file_id, data.path, null, null, null, BigInt(place));
    return Buffer.from(hdf5.HEAPU8.slice(place, place + size * count));
  } finally {
    hdf5._free(place);
  }
}

/** The name that the type of a dataset has in headers. */
function typeName(data) {
  const { type, size, signed, vlen } = data.metadata;
  if (type === STRING && !vlen) return "text";
  if (type === FLOAT) return `float${8 * size}`;
  if (!signed && "dtype" in data.attrs) return textAttribute(data, "dtype"); // bfloat16, or the bool of a mask
  return `${signed ? "int" : "uint"}${8 * size}`;
}

/** The texts of a dataset, without their padding. */
function texts(data) {
  const raw = bytes(data), width = data.metadata.size;
  const found = [];
  for (let start = 0; start < raw.length; start += width) {
    let end = start + width;
    while (end > start && raw[end - 1] === 0) end -= 1;
    found.push(raw.subarray(start, end).toString("utf8"));
  }
  return found;
}

/** The numbers of a dataset. */
function numbers(data) {
  const raw = bytes(data), name = typeName(data), size = data.metadata.size;
  const read = {
    float16: at => half(raw.readUInt16LE(at)),
    bfloat16: at => {
      const word = Buffer.alloc(4);
      raw.copy(word, 2, at, at + 2);
      return word.readFloatLE(0);
    },
    float32: at => raw.readFloatLE(at),
    float64: at => raw.readDoubleLE(at),
    int32: at => raw.readInt32LE(at),
    bool: at => raw.readUInt8(at),
    int64: at => Number(raw.readBigInt64LE(at)),
  }[name] ?? fail(`${name} is no type of the format`);
  return Array.from({ length: raw.length / size }, (_, index) => read(index * size));
}

function half(bits) {
  const sign = bits >> 15 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

/** The datasets below a folder of a block, by their paths in the block. */
function below(block, ...folders) {
  let found = [["", block]];
  for (const folder of folders) {
    found = found.flatMap(([at, group]) => {
      const names = folder === "*" ? group.keys() : group.keys().filter(name => name === folder);
      return names.map(name => [at ? `${at}/${name}` : name, group.get(name)]);
    });
  }
  return Object.fromEntries(found);
}

function sorted(found) {
  return ordered(Object.keys(found)).map(at => [at, found[at]]);
}

function contentOf(block) {
  return [
    ["attributes", block.get("attributes")],
    ["id", block.get("id")],
    ...sorted(below(block, "inputs", "*")),
    ...sorted(below(block, "outputs", "*")),
    ...sorted(below(block, "readings", "*", "outputs", "*")),
  ];
}

function tolerancesOf(block) {
  return sorted({
    ...below(block, "tolerance", "*", "*"),
    ...below(block, "readings", "*", "tolerance", "*", "*"),
  });
}

function blockDigest(block, datasets) {
  const sha256 = createHash("sha256");
  for (const [name, data] of datasets(block)) {
    const type = typeName(data);
    sha256.update(`${name} ${type} ${data.shape.join("x")}\n`);
    sha256.update(type === "text" ? texts(data).map(text => `${text}\n`).join("") : bytes(data));
  }
  return sha256.digest("hex");
}

/** The digest of a file, and the blocks that hold something else than their own digest says. */
function digest(blocks, attributeName, datasets) {
  const sha256 = createHash("sha256"), differ = [];
  for (const [at, block] of blocks) {
    const computed = blockDigest(block, datasets);
    if (textAttribute(block, attributeName) !== computed) differ.push(at);
    sha256.update(`${computed}  ${at}\n`);
  }
  return { computed: sha256.digest("hex"), differ };
}

function read(name) {
  const file = new h5wasm.File(name, "r");
  if (textAttribute(file, "format") !== "grucible vectors") fail("is no vector file");
  if (attribute(file, "format_version") !== 2) fail("is of another version");
  const operator = textAttribute(file, "operator"), theme = textAttribute(file, "theme");
  const dtypes = file.keys().filter(key => key !== "spec");
  if (!dtypes.every(dtype => DTYPES.includes(dtype))) fail(`holds ${dtypes}`);
  const found = {};
  for (const dtype of dtypes) {
    for (const block of file.get(dtype).keys()) found[`${dtype}/${block}`] = file.get(`${dtype}/${block}`);
  }
  const blocks = sorted(found);
  const ids = blocks.flatMap(([at, block]) => {
    const own = texts(block.get("id"));
    const begin = `${operator}/${theme}/${at.split("/")[0]}/`;
    return own.every(id => id.startsWith(begin)) ? own : fail(`${at} holds another's id`);
  });
  if (new Set(ids).size !== ids.length) fail("holds a case twice");
  const content = digest(blocks, "content_sha256", contentOf);
  const tolerances = digest(blocks, "tolerance_sha256", tolerancesOf);
  const [at, block] = blocks[0];
  const [output] = ordered(block.get("outputs").keys());
  const shown = {
    operator, theme, blocks: blocks.map(([path]) => path), ids,
    stored: [textAttribute(file, "content_sha256"), textAttribute(file, "tolerance_sha256")],
    computed: [content.computed, tolerances.computed], differ: [content.differ, tolerances.differ],
    first: {
      block: at, id: texts(block.get("id"))[0], tier: textAttribute(block, "tier"),
      attributes: JSON.parse(texts(block.get("attributes"))[0]),
      output, shape: block.get("outputs").get(output).shape, numbers: numbers(block.get("outputs").get(output)),
    },
  };
  file.close();
  return shown;
}

for (const name of process.argv.slice(2)) console.log(JSON.stringify(read(name)));
