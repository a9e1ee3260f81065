// Apple's BNNSGraph gru behind grucible's protocol, in Swift: macOS 26 and Xcode 26.
//
//     xcrun swiftc -O -target arm64-apple-macos26.0 gru.swift -o gru
//     grucible check --runtime 'exec: ./gru' --select 'bnnsgraph.*'
//
// NOBODY HERE HAS COMPILED IT WITH APPLE'S SDK OR RUN IT ON AN APPLE MACHINE: we have none. It was compiled and run on Linux, with
// a module in the place of Accelerate that declares what Apple's pages declare. cases/bnnsgraph/SWIFT.md says what is uncertain.
//
// It answers BNNSGraph gru in float32, and in float16 where Swift has it. For a kernel of your own, replace gru().
import Accelerate
import Foundation

typealias File = UnsafeMutablePointer<FILE>

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

struct Tensor {
    let name, dtype, shown: String  // shown: the shape as it was announced, 2x3x4
    let shape: [Int]
    let bytes: Int
    var raw: [UInt8] = []  // little-endian, as all Apple machines are

    /// Reads ["input", NAME, DTYPE, "2x3x4", BYTES].
    init(announced words: [String]) throws {
        guard words.count == 5, let bytes = Int(words[4]) else { throw Failure("no tensor is announced: \(words)") }
        (name, dtype, shown) = (words[1], words[2], words[3])
        shape = shown.split(separator: "x").compactMap { Int($0) }  // empty where it says "scalar"
        self.bytes = bytes
    }

    mutating func receive(_ input: File) throws {
        raw = [UInt8](unsafeUninitializedCapacity: bytes) { $1 = fread($0.baseAddress, 1, bytes, input) }
        guard raw.count == bytes else { throw Failure("the input ended within a tensor") }
    }

    func numbers<T>(of _: T.Type) -> [T] { raw.withUnsafeBytes { Array($0.bindMemory(to: T.self)) } }
}

struct Question {
    var dtype = ""
    var attributes: [String: String] = [:]
    var inputs: [Tensor] = []
    var outputs: [Tensor] = []
    var refused = false  // what the hello does not name is not asked through a pipe; a file holds it, too

    func attribute(_ name: String) throws -> String {
        guard let value = attributes[name] else { throw Failure("no attribute \(name)") }
        return value
    }

    func input(_ name: String) throws -> Tensor {
        guard let tensor = inputs.first(where: { $0.name == name }) else { throw Failure("no input \(name)") }
        return tensor
    }

    func count(ofOutput name: String) -> Int {
        outputs.first { $0.name == name }?.shape.reduce(1, *) ?? 0
    }
}

/// The next line without its end; nil where there is none.
func nextLine(_ input: File) -> String? {
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { free(line) }
    guard getline(&line, &capacity, input) > 0, let line else { return nil }
    return String(String(cString: line).prefix { !$0.isNewline })
}

/// Reads a question up to the bytes of its last input; nil where there is none left.
func ask(_ input: File) throws -> Question? {
    var question = Question()
    while let line = nextLine(input), line != "end" {
        let words = line.split(separator: " ").map(String.init)
        switch words.first {
        case "operator": question.refused = question.refused || line != "operator bnnsgraph.gru"
        case "dtype": question.dtype = words.last ?? ""
        case "attribute": question.attributes[words[1]] = words.last  // NAME, given or default, TYPE, value
        case "input": question.inputs.append(try Tensor(announced: words))
        case "output": question.outputs.append(try Tensor(announced: words))
        default: break  // of a later version
        }
    }
    for place in question.inputs.indices { try question.inputs[place].receive(input) }
    return feof(input) == 0 ? question : nil
}

func activation(_ name: String) throws -> BNNSGraph.Builder.Activation {
    switch name {
    case "hardSigmoid": return .hardSigmoid
    case "linear": return .linear
    case "relu": return .relu
    case "scaledTanh": return .scaledTanh
    case "sigmoid": return .sigmoid
    case "tanh": return .tanh
    default: throw Failure("no activation \(name)")
    }
}

/// The operator: output and hiddenStates, by name. Each question has a graph of its own, in which weights and biases are
/// constants; x and initialHiddenStates are its arguments.
func gru<T: BNNSScalar>(_ question: Question, of type: T.Type) throws -> [String: [UInt8]] {
    let x = try question.input("x"), initialHiddenStates = try question.input("initialHiddenStates")
    let inputHiddenWeight = try question.input("inputHiddenWeight")
    let hiddenHiddenWeight = try question.input("hiddenHiddenWeight")
    let bias = try question.input("bias"), inputBias = try question.input("inputBias")
    let reverse = try question.attribute("direction") == "reverse"
    let new = try activation(question.attribute("activation"))
    let recurrent = try activation(question.attribute("recurrentActivation"))
    let after = try question.attribute("applyResetGateAfterMatMul") == "1"
    let sequence = try question.attribute("outputSequence") == "1"

    let context = try BNNSGraph.makeContext { builder in
        func argument(_ tensor: Tensor) -> BNNSGraph.Builder.Tensor<T> {
            builder.argument(name: tensor.name, dataType: type, shape: tensor.shape)
        }
        func constant(_ tensor: Tensor) -> BNNSGraph.Builder.Tensor<T> {
            builder.constant(name: tensor.name, values: tensor.numbers(of: type), shape: tensor.shape)
        }
        let made = argument(x).gru(
            initialHiddenStates: argument(initialHiddenStates), inputHiddenWeight: constant(inputHiddenWeight),
            hiddenHiddenWeight: constant(hiddenHiddenWeight), bias: constant(bias), inputBias: constant(inputBias),
            direction: reverse ? .reverse : .forward, activation: new, recurrentActivation: recurrent,
            applyResetGateAfterMatMul: after, outputSequence: sequence)
        return [made.output, made.hiddenStates]
    }

    // BNNS names the graph's outputs, in an order that Apple's examples do not agree on: they are known by their rank
    let names = context.argumentNames()
    var tensors: [BNNSTensor] = []
    for name in names {
        guard let tensor = context.tensor(argument: name, fillKnownDynamicShapes: false) else {
            throw Failure("no tensor for the argument \(name) of the graph")
        }
        tensors.append(tensor)
    }
    let arguments = [x, initialHiddenStates]
    let unknown = names.indices.filter { place in !arguments.contains { $0.name == names[place] } }
    guard names.count == arguments.count + 2, unknown.count == 2,
        let output = unknown.first(where: { tensors[$0].rank == 3 }),
        let hiddenStates = unknown.first(where: { tensors[$0].rank == 2 })
    else { throw Failure("the graph's arguments are \(names), of ranks \(tensors.map(\.rank))") }

    defer { tensors.forEach { $0.deallocate() } }
    for tensor in arguments {
        tensors[context.argumentPosition(argument: tensor.name)].allocate(initializingFrom: tensor.numbers(of: type))
    }
    for (name, place) in [("output", output), ("hiddenStates", hiddenStates)] {
        tensors[place].allocate(as: type, count: question.count(ofOutput: name))
    }
    try context.executeFunction(arguments: &tensors)
    return [
        "output": tensors[output].makeArray(of: type).withUnsafeBytes { Array($0) },
        "hiddenStates": tensors[hiddenStates].makeArray(of: type).withUnsafeBytes { Array($0) },
    ]
}

typealias Kernel = (Question) throws -> [String: [UInt8]]

func kernels() -> [String: Kernel] {
    var known: [String: Kernel] = ["float32": { try gru($0, of: Float.self) }]
    #if !(os(macOS) && arch(x86_64))  // Swift has no Float16 on Macs with Intel processors
        known["float16"] = { try gru($0, of: Float16.self) }
    #endif
    return known
}

/// The header of the answer to a question, and the bytes that follow it.
func answer(_ question: Question, _ known: [String: Kernel]) -> (header: String, bytes: [[UInt8]]) {
    guard !question.refused, let kernel = known[question.dtype] else { return ("unsupported\nend\n", []) }
    do {
        let made = try kernel(question)
        var header = "ok\n", bytes: [[UInt8]] = []
        for tensor in question.outputs {
            guard let raw = made[tensor.name], raw.count == tensor.bytes else {
                throw Failure("\(tensor.name) has \(made[tensor.name]?.count ?? 0) bytes; expected \(tensor.bytes)")
            }
            header += "output \(tensor.name) \(tensor.dtype) \(tensor.shown) \(raw.count)\n"
            bytes.append(raw)
        }
        return (header + "end\n", bytes)
    } catch {
        let text = "\(error)".split(whereSeparator: \.isNewline).joined(separator: " ")
        return ("error \(text)\nend\n", [])
    }
}

/// Answers questions until there are no more. An app has its files in the place of standard input and output.
func serve(_ input: File, _ output: File) throws {
    let known = kernels()
    while let line = nextLine(input), line != "end" {}  // the judge's hello
    let dtypes = known.keys.sorted().map { "dtype \($0)\n" }.joined()
    fputs("grucible 1\nname gru.swift\nversion 1\noperator bnnsgraph.gru\n\(dtypes)end\n", output)
    fflush(output)
    while let question = try ask(input) {
        let (header, bytes) = answer(question, known)
        fputs(header, output)
        for raw in bytes { fwrite(raw, 1, raw.count, output) }
        fflush(output)
    }
}

do {
    try serve(fdopen(0, "r"), fdopen(1, "w"))  // standard input and output
} catch {
    FileHandle.standardError.write(Data("gru: \(error)\n".utf8))  // the judge shows it with the case
    exit(1)
}
