//! grucible's protocol for a kernel in Rust, without a crate: put this file beside yours, and `mod grucible;` into it.
#![allow(dead_code)]
use std::collections::HashMap;
use std::error::Error;
use std::io::{self, stdin, stdout, BufRead, Write};

/// An input with its bytes, or an output that is asked for, which has none yet.
pub struct Tensor {
    pub name: String,
    pub dtype: String,
    pub shape: Vec<usize>,
    pub raw: Vec<u8>, // little-endian, in C order
    shown: String,    // the shape as it was announced, 2x3x4
    pub bytes: usize,
}

/// What is asked: each attribute has one word or several.
#[derive(Default)]
pub struct Question {
    pub id: String,
    pub operator: String,
    pub dtype: String,
    pub attributes: HashMap<String, Vec<String>>,
    pub inputs: Vec<Tensor>,
    pub outputs: Vec<Tensor>,
}

/// Why there is no answer.
pub enum Refusal {
    Unsupported(String),
    Error(String),
}

impl<E: Error> From<E> for Refusal {
    fn from(error: E) -> Self {
        Refusal::Error(error.to_string())
    }
}

impl Tensor {
    /// The numbers as f64, which holds them all but those of int64; of float16 and bfloat16 there are only the bytes.
    pub fn numbers(&self) -> Vec<f64> {
        let four = |b: &[u8]| [b[0], b[1], b[2], b[3]];
        let eight = |b: &[u8]| [b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]];
        match self.dtype.as_str() {
            "float32" => self.raw.chunks(4).map(|b| f32::from_le_bytes(four(b)) as f64).collect(),
            "float64" => self.raw.chunks(8).map(|b| f64::from_le_bytes(eight(b))).collect(),
            "int32" => self.raw.chunks(4).map(|b| i32::from_le_bytes(four(b)) as f64).collect(),
            "int64" => self.raw.chunks(8).map(|b| i64::from_le_bytes(eight(b)) as f64).collect(),
            _ => Vec::new(),
        }
    }

    /// The bytes of an output with these numbers, in float32 or float64.
    pub fn bytes_of(&self, numbers: &[f64]) -> Vec<u8> {
        match self.dtype.as_str() {
            "float64" => numbers.iter().flat_map(|v| v.to_le_bytes()).collect(),
            _ => numbers.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect(),
        }
    }
}

impl Question {
    pub fn given(&self, name: &str) -> Option<&Tensor> {
        self.inputs.iter().find(|tensor| tensor.name == name)
    }

    pub fn input(&self, name: &str) -> Result<&Tensor, Refusal> {
        self.given(name).ok_or_else(|| Refusal::Error(format!("{name} is not there")))
    }

    /// The words of an attribute; none where it has no value.
    pub fn attribute(&self, name: &str) -> &[String] {
        self.attributes.get(name).map_or(&[], |words| words)
    }

    /// The number that an attribute has, or the first of several; a bool is 0 or 1, and inf is a number.
    pub fn number(&self, name: &str) -> f64 {
        self.attribute(name).first().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN)
    }
}

/// Reads "NAME DTYPE 2x3x4 BYTES".
fn announced(text: &str) -> Result<Tensor, Box<dyn Error>> {
    let words: Vec<&str> = text.split(' ').collect();
    let [name, dtype, shown, bytes] = words[..] else {
        return Err(format!("announces no tensor: {text}").into());
    };
    let shape = shown.split('x').filter(|axis| *axis != "scalar").map(str::parse).collect::<Result<_, _>>()?;
    let (name, dtype, shown) = (name.into(), dtype.into(), shown.into());
    Ok(Tensor { name, dtype, shape, raw: Vec::new(), shown, bytes: bytes.parse()? })
}

/// Reads the next question; None where there is none left.
fn next(from: &mut impl BufRead) -> Result<Option<Question>, Box<dyn Error>> {
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
            "question" => question.id = rest.into(),
            "operator" => question.operator = rest.into(),
            "dtype" => question.dtype = rest.into(),
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
        tensor.raw = vec![0; tensor.bytes];
        from.read_exact(&mut tensor.raw)?;
    }
    Ok(Some(question))
}

/// Answers every question. `hello` has lines: name, version, and the operators and dtypes that are answered.
/// `answer` gives the bytes of each output that is asked for, in order.
pub fn serve(hello: &[&str], answer: impl Fn(&Question) -> Result<Vec<Vec<u8>>, Refusal>) -> Result<(), Box<dyn Error>> {
    let (mut from, mut to) = (stdin().lock(), stdout().lock());
    write!(to, "grucible 1\n{}\nend\n", hello.join("\n"))?;
    to.flush()?;
    let mut line = String::new();
    while from.read_line(&mut line)? > 0 && line != "end\n" {
        line.clear(); // the judge's hello
    }
    while let Some(question) = next(&mut from)? {
        let named = |keyword: &str, what: &str| hello.contains(&format!("{keyword} {what}").as_str());
        let known = named("operator", &question.operator) && named("dtype", &question.dtype);
        let found = if known { answer(&question) } else { Err(Refusal::Unsupported(String::new())) };
        hand_out(&mut to, &question, found)?;
        to.flush()?;
    }
    Ok(())
}

fn hand_out(to: &mut impl Write, question: &Question, found: Result<Vec<Vec<u8>>, Refusal>) -> io::Result<()> {
    match found {
        Err(Refusal::Unsupported(why)) => write!(to, "unsupported {why}\nend\n"),
        Err(Refusal::Error(why)) => write!(to, "error {}\nend\n", why.replace('\n', " ")),
        Ok(outputs) => {
            writeln!(to, "ok")?;
            for t in &question.outputs {
                writeln!(to, "output {} {} {} {}", t.name, t.dtype, t.shown, t.bytes)?;
            }
            writeln!(to, "end")?;
            outputs.iter().try_for_each(|bytes| to.write_all(bytes))
        }
    }
}
