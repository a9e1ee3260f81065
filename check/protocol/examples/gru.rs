// A GRU that speaks grucible's protocol, in Rust without a crate: rustc -O -o gru gru.rs
//
//     grucible check --runtime 'exec: ./gru'
//
// It answers OpenVINO GRUSequence-5 in float32 and float64. Replace gru() by your own kernel.
use std::collections::HashMap;
use std::error::Error;
use std::io::{stdin, stdout, BufRead, Read, Write};

struct Tensor {
    name: String,
    dtype: String,
    shown: String, // the shape as it was announced, 2x3x4
    shape: Vec<usize>,
    bytes: usize,
    data: Vec<f64>, // the numbers, whatever they were
}

#[derive(Default)]
struct Question {
    attributes: HashMap<String, Vec<String>>,
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
    refused: bool, // what the hello does not name is not asked through a pipe; a file holds it, too
}

impl Question {
    fn input(&self, name: &str) -> Result<&Tensor, Box<dyn Error>> {
        let found = self.inputs.iter().find(|tensor| tensor.name == name);
        found.ok_or_else(|| format!("{name} is not there").into())
    }

    fn attribute(&self, name: &str) -> Result<&[String], Box<dyn Error>> {
        let found = self.attributes.get(name);
        Ok(found.ok_or_else(|| format!("{name} is not there"))?)
    }
}

/// Reads "NAME DTYPE 2x3x4 BYTES".
fn announced(text: &str) -> Result<Tensor, Box<dyn Error>> {
    let words: Vec<&str> = text.split(' ').collect();
    let [name, dtype, shown, bytes] = words[..] else {
        return Err(format!("announces no tensor: {text}").into());
    };
    let shape = shown.split('x').filter(|axis| *axis != "scalar").map(str::parse).collect::<Result<_, _>>()?;
    Ok(Tensor {
        name: name.into(),
        dtype: dtype.into(),
        shown: shown.into(),
        shape,
        bytes: bytes.parse()?,
        data: Vec::new(),
    })
}

fn receive(tensor: &mut Tensor, from: &mut impl Read) -> Result<(), Box<dyn Error>> {
    let mut raw = vec![0; tensor.bytes];
    from.read_exact(&mut raw)?;
    let four = |b: &[u8]| [b[0], b[1], b[2], b[3]];
    let eight = |b: &[u8]| [b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]];
    tensor.data = match tensor.dtype.as_str() {
        "float32" => raw.chunks(4).map(|b| f32::from_le_bytes(four(b)) as f64).collect(),
        "float64" => raw.chunks(8).map(|b| f64::from_le_bytes(eight(b))).collect(),
        "int32" => raw.chunks(4).map(|b| i32::from_le_bytes(four(b)) as f64).collect(),
        "int64" => raw.chunks(8).map(|b| i64::from_le_bytes(eight(b)) as f64).collect(),
        _ => Vec::new(), // of a question that is refused
    };
    Ok(())
}

/// Reads a question up to the bytes of its last input; None where there is none left.
fn ask(from: &mut impl BufRead) -> Result<Option<Question>, Box<dyn Error>> {
    let mut question = Question::default();
    let mut line = String::new();
    loop {
        line.clear();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let (keyword, rest) = line.trim_end().split_once(' ').unwrap_or((line.trim_end(), ""));
        match keyword {
            "end" => break,
            "operator" => question.refused |= rest != "openvino.GRUSequence-5",
            "dtype" => question.refused |= rest != "float32" && rest != "float64",
            "input" => question.inputs.push(announced(rest)?),
            "output" => question.outputs.push(announced(rest)?),
            "attribute" => {
                let mut words = rest.split(' ').map(String::from);
                let name = words.next().unwrap_or_default(); // then given or default, then the type
                question.attributes.insert(name, words.skip(2).collect());
            }
            _ => {} // of a later version
        }
    }
    for tensor in &mut question.inputs {
        receive(tensor, from)?;
    }
    Ok(Some(question))
}

fn activation(name: &str, v: f64, clip: f64) -> f64 {
    let v = v.max(-clip).min(clip);
    match name {
        "sigmoid" => 1.0 / (1.0 + (-v).exp()),
        "tanh" => v.tanh(),
        _ => v.max(0.0),
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// One step of one row, from the state h; w, r and b of its direction hold the gates z, r, h.
fn step(question: &Question, x: &[f64], h: &[f64], w: &[f64], r: &[f64], b: &[f64]) -> Result<Vec<f64>, Box<dyn Error>> {
    let (hidden, input) = (h.len(), x.len());
    let after = question.attribute("linear_before_reset")?[0] == "1";
    let clip: f64 = question.attribute("clip")?[0].parse()?; // reads inf, too
    let functions = question.attribute("activations")?;
    let wx = |j: usize| dot(&w[j * input..(j + 1) * input], x);
    let rh = |j: usize, state: &[f64]| dot(&r[j * hidden..(j + 1) * hidden], state);
    let gates: Vec<f64> = (0..2 * hidden).map(|j| activation(&functions[0], wx(j) + rh(j, h) + b[j], clip)).collect();
    let (z, reset) = gates.split_at(hidden);
    let gated: Vec<f64> = reset.iter().zip(h).map(|(r, h)| r * h).collect();
    let next = (0..hidden).map(|j| {
        let k = 2 * hidden + j;
        let recurrent = if after { reset[j] * (rh(k, h) + b[k + hidden]) } else { rh(k, &gated) };
        let candidate = activation(&functions[1], wx(k) + recurrent + b[k], clip);
        (1.0 - z[j]) * candidate + z[j] * h[j]
    });
    Ok(next.collect())
}

/// The operator: Y and Ho.
fn gru(question: &Question) -> Result<[Vec<f64>; 2], Box<dyn Error>> {
    let (x, h0, lengths) = (question.input("X")?, question.input("initial_hidden_state")?, question.input("sequence_lengths")?);
    let (w, r, b) = (question.input("W")?, question.input("R")?, question.input("B")?);
    let (batch, time, input) = (x.shape[0], x.shape[1], x.shape[2]);
    let (directions, hidden, biases) = (h0.shape[1], h0.shape[2], b.shape[1]);
    let mut y = vec![0.0; batch * directions * time * hidden];
    let mut ho = vec![0.0; batch * directions * hidden];
    for row in 0..batch {
        let length = lengths.data[row] as usize;
        for d in 0..directions {
            let backward = question.attribute("direction")?[0] == "reverse" || d == 1;
            let place = (row * directions + d) * hidden;
            let mut h = if length > 0 { h0.data[place..place + hidden].to_vec() } else { vec![0.0; hidden] };
            for number in 0..length {
                let t = if backward { length - 1 - number } else { number };
                let at = (row * time + t) * input;
                h = step(
                    question,
                    &x.data[at..at + input],
                    &h,
                    &w.data[d * 3 * hidden * input..(d + 1) * 3 * hidden * input],
                    &r.data[d * 3 * hidden * hidden..(d + 1) * 3 * hidden * hidden],
                    &b.data[d * biases..(d + 1) * biases],
                )?;
                let at = ((row * directions + d) * time + t) * hidden;
                y[at..at + hidden].copy_from_slice(&h);
            }
            ho[place..place + hidden].copy_from_slice(&h);
        }
    }
    Ok([y, ho])
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut input, mut output) = (stdin().lock(), stdout().lock());
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 && line != "end\n" {
        line.clear(); // the judge's hello
    }
    let dtypes = "dtype float32\ndtype float64\n";
    write!(output, "grucible 1\nname gru.rs\nversion 1\noperator openvino.GRUSequence-5\n{dtypes}end\n")?;
    output.flush()?;
    while let Some(question) = ask(&mut input)? {
        if question.refused {
            output.write_all(b"unsupported\nend\n")?;
            output.flush()?;
            continue;
        }
        let [y, ho] = gru(&question)?;
        let mut answer = b"ok\n".to_vec();
        for t in &question.outputs {
            writeln!(answer, "output {} {} {} {}", t.name, t.dtype, t.shown, t.bytes)?;
        }
        answer.extend(b"end\n");
        for t in &question.outputs {
            for &value in if t.name == "Y" { &y } else { &ho } {
                match t.dtype.as_str() {
                    "float64" => answer.extend(value.to_le_bytes()),
                    _ => answer.extend((value as f32).to_le_bytes()),
                }
            }
        }
        output.write_all(&answer)?;
        output.flush()?;
    }
    Ok(())
}
