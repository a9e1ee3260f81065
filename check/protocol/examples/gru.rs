// A GRU that answers grucible, in Rust: rustc -O -o gru gru.rs
//
//     grucible check --runtime 'exec: ./gru'
//
// It answers OpenVINO GRUSequence-5 in float32 and float64. Replace gru() by your own kernel.
mod grucible;
use grucible::{Question, Refusal};

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
fn step(question: &Question, x: &[f64], h: &[f64], w: &[f64], r: &[f64], b: &[f64]) -> Vec<f64> {
    let (hidden, input) = (h.len(), x.len());
    let after = question.number("linear_before_reset") != 0.0;
    let clip = question.number("clip");
    let functions = question.attribute("activations");
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
    next.collect()
}

/// The operator: the bytes of Y and Ho, as far as they are asked for.
fn gru(question: &Question) -> Result<Vec<Vec<u8>>, Refusal> {
    let (x, h0, lengths) = (question.input("X")?, question.input("initial_hidden_state")?, question.input("sequence_lengths")?);
    let (w, r, b) = (question.input("W")?, question.input("R")?, question.input("B")?);
    let (batch, time, input) = (x.shape[0], x.shape[1], x.shape[2]);
    let (directions, hidden, biases) = (h0.shape[1], h0.shape[2], b.shape[1]);
    let (xs, h0s, lengths) = (x.numbers(), h0.numbers(), lengths.numbers());
    let (ws, rs, bs) = (w.numbers(), r.numbers(), b.numbers());
    let mut y = vec![0.0; batch * directions * time * hidden];
    let mut ho = vec![0.0; batch * directions * hidden];
    for row in 0..batch {
        let length = lengths[row] as usize;
        for d in 0..directions {
            let backward = question.attribute("direction")[0] == "reverse" || d == 1;
            let place = (row * directions + d) * hidden;
            let mut h = if length > 0 { h0s[place..place + hidden].to_vec() } else { vec![0.0; hidden] };
            for number in 0..length {
                let t = if backward { length - 1 - number } else { number };
                let at = (row * time + t) * input;
                h = step(
                    question,
                    &xs[at..at + input],
                    &h,
                    &ws[d * 3 * hidden * input..(d + 1) * 3 * hidden * input],
                    &rs[d * 3 * hidden * hidden..(d + 1) * 3 * hidden * hidden],
                    &bs[d * biases..(d + 1) * biases],
                );
                let at = ((row * directions + d) * time + t) * hidden;
                y[at..at + hidden].copy_from_slice(&h);
            }
            ho[place..place + hidden].copy_from_slice(&h);
        }
    }
    Ok(question.outputs.iter().map(|t| t.bytes_of(if t.name == "Y" { &y } else { &ho })).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let answered = ["operator openvino.GRUSequence-5", "dtype float32", "dtype float64"];
    grucible::serve(&[&["name gru.rs", "version 1"], &answered[..]].concat(), gru)
}
