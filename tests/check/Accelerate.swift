// In the place of Apple's Accelerate, where there is none: what check/protocol/examples/gru.swift uses of it, declared as Apple's
// pages declare it (developer.apple.com/documentation/accelerate/bnnsgraph), over a plain GRU in double precision. Written from
// these pages alone; what they do not show, such as the names of outputs, is made up.
//
// STAND_IN in the environment has words for what may be otherwise at Apple's: `before` and `time` are readings of the
// page of gru, `arguments-first` and `exchanged` orders of the graph's arguments, `padded`, `unnamed` and `throws` faults.
import Foundation

let standIn = (ProcessInfo.processInfo.environment["STAND_IN"] ?? "").split(separator: " ")

public protocol AccelerateBuffer<Element> {
    associatedtype Element
    var count: Int { get }
    func withUnsafeBufferPointer<R>(_ body: (UnsafeBufferPointer<Element>) throws -> R) rethrows -> R
}

extension Array: AccelerateBuffer {}

public protocol BNNSScalar {
    var asDouble: Double { get }
    init(asDouble: Double)
}

extension Float: BNNSScalar {
    public var asDouble: Double { Double(self) }
    public init(asDouble: Double) { self.init(asDouble) }
}

extension Float16: BNNSScalar {
    public var asDouble: Double { Double(self) }
    public init(asDouble: Double) { self.init(asDouble) }
}

public struct BNNSTensor {
    public var rank: UInt8
    public var data: UnsafeMutableRawPointer?
    var count = 0

    public mutating func allocate<T>(as scalarType: T.Type, count: Int) where T: BNNSScalar {
        data = UnsafeMutableRawPointer(UnsafeMutablePointer<T>.allocate(capacity: count))
        self.count = count
    }

    public mutating func allocate<T>(initializingFrom source: some AccelerateBuffer<T>) where T: BNNSScalar {
        allocate(as: T.self, count: source.count)
        source.withUnsafeBufferPointer { data!.assumingMemoryBound(to: T.self).initialize(from: $0.baseAddress!, count: count) }
    }

    public func makeArray<T>(of scalarType: T.Type) -> [T] where T: BNNSScalar {
        let count = standIn.contains("padded") ? count - 1 : count
        return Array(UnsafeBufferPointer(start: data!.assumingMemoryBound(to: T.self), count: count))
    }

    public func deallocate() { data?.deallocate() }
}

public enum BNNSGraph {
    public enum Error: Swift.Error { case unableToCreateContext }

    public struct CompileOptions {
        public init() {}
    }

    public protocol TensorDescriptor {}

    public struct Builder {
        public enum Activation { case hardSigmoid, linear, relu, scaledTanh, sigmoid, tanh }
        public enum Direction { case forward, reverse }
        public enum Intent { case input, output, inOut }

        public struct Tensor<T>: TensorDescriptor where T: BNNSScalar {
            let graph: Graph
            var name = ""
            let shape: [Int]
            var values: [Double]?  // of a constant
        }

        let graph = Graph()

        public func argument<T>(name: String? = nil, dataType: T.Type, shape: [Int], intent: Intent = .input) -> Tensor<T>
        where T: BNNSScalar {
            let name = name ?? "argument\(graph.arguments.count)"
            graph.arguments.append((name, shape.count))
            return Tensor(graph: graph, name: name, shape: shape)
        }

        public func constant<T>(name: String? = nil, values: some AccelerateBuffer<T>, shape: [Int]? = nil) -> Tensor<T>
        where T: BNNSScalar {
            precondition(values.count == (shape ?? [values.count]).reduce(1, *))
            return Tensor(graph: graph, shape: shape ?? [values.count], values: values.withUnsafeBufferPointer { $0.map(\.asDouble) })
        }
    }

    final class Graph {
        var arguments: [(name: String, rank: Int)] = []
        var run: ((_ tensor: (String) -> BNNSTensor) -> Void)!
    }

    public struct Context {
        let graph: Graph
        let arguments: [(name: String, rank: Int)]

        public func argumentNames(forFunction function: String? = nil) -> [String] {
            arguments.map { standIn.contains("unnamed") && $0.name == "x" ? "argument" : $0.name }
        }

        public func argumentPosition(forFunction function: String? = nil, argument: String) -> Int {
            arguments.firstIndex { $0.name == argument } ?? 0
        }

        public func tensor(forFunction function: String? = nil, argument: String, fillKnownDynamicShapes: Bool) -> BNNSTensor? {
            BNNSTensor(rank: UInt8(arguments[argumentPosition(argument: argument)].rank))
        }

        public func executeFunction(_ function: String? = nil, arguments: inout [BNNSTensor]) throws {
            let given = arguments
            graph.run { given[argumentPosition(argument: $0)] }
        }

        public func executeFunction(_ function: String? = nil, arguments: inout [BNNSTensor]) async throws {
            fatalError("Apple has two; a program without await means the other")
        }
    }

    public static func makeContext(
        options: CompileOptions = CompileOptions(), _ block: (inout Builder) -> [any TensorDescriptor]
    ) throws -> Context {
        if standIn.contains("throws") { throw Error.unableToCreateContext }
        var builder = Builder()
        let made = block(&builder)
        precondition(made.count == 2)
        var outputs = [(name: "output", rank: 3), (name: "hiddenStates", rank: 2)]
        if standIn.contains("exchanged") { outputs.reverse() }
        let inputs = builder.graph.arguments
        return Context(graph: builder.graph, arguments: standIn.contains("arguments-first") ? inputs + outputs : outputs + inputs)
    }
}

extension BNNSGraph.Builder.Tensor {
    public func gru(
        initialHiddenStates: BNNSGraph.Builder.Tensor<T>, inputHiddenWeight: BNNSGraph.Builder.Tensor<T>,
        hiddenHiddenWeight: BNNSGraph.Builder.Tensor<T>, bias: BNNSGraph.Builder.Tensor<T>,
        inputBias: BNNSGraph.Builder.Tensor<T>, direction: BNNSGraph.Builder.Direction,
        activation: BNNSGraph.Builder.Activation, recurrentActivation: BNNSGraph.Builder.Activation,
        applyResetGateAfterMatMul: Bool, outputSequence: Bool
    ) -> (output: BNNSGraph.Builder.Tensor<T>, hiddenStates: BNNSGraph.Builder.Tensor<T>) {
        let (time, rows, input, hidden) = (shape[0], shape[1], shape[2], hiddenHiddenWeight.shape[1])
        graph.run = { tensor in
            func numbers(_ one: Self) -> [Double] { one.values ?? tensor(one.name).doubles(of: T.self) }
            let cell = Cell(
                W: matrix(numbers(inputHiddenWeight), input), R: matrix(numbers(hiddenHiddenWeight), hidden),
                b: numbers(inputBias), Rb: numbers(bias), A: function(activation), RA: function(recurrentActivation),
                after: applyResetGateAfterMatMul)
            let x = matrix(numbers(self), input)
            var h = matrix(numbers(initialHiddenStates), hidden)
            var steps: [[Double]] = []
            for number in 0..<time {
                let t = direction == .reverse ? time - 1 - number : number
                for row in 0..<rows { h[row] = cell.step(x[t * rows + row], h[row]) }
                steps.append(Array(h.joined()))
            }
            if standIn.contains("time") && direction == .reverse { steps.reverse() }
            tensor("output").fill(outputSequence ? Array(steps.joined()) : Array(h.joined()), of: T.self)
            tensor("hiddenStates").fill(Array(h.joined()), of: T.self)
        }
        return (Self(graph: graph, shape: [outputSequence ? time : 1, rows, hidden]), Self(graph: graph, shape: [rows, hidden]))
    }
}

extension BNNSTensor {
    func doubles<T: BNNSScalar>(of _: T.Type) -> [Double] {
        UnsafeBufferPointer(start: data!.assumingMemoryBound(to: T.self), count: count).map(\.asDouble)
    }

    func fill<T: BNNSScalar>(_ values: [Double], of _: T.Type) {
        precondition(values.count == count)
        for place in 0..<count { data!.assumingMemoryBound(to: T.self)[place] = T(asDouble: values[place]) }
    }
}

/// One step of one row. W, R, b and Rb hold the gates r, n, z.
struct Cell {
    let W, R: [[Double]]
    let b, Rb: [Double]
    let A, RA: (Double) -> Double
    let after: Bool

    func step(_ x: [Double], _ h: [Double]) -> [Double] {
        let hidden = h.count
        func input(_ k: Int) -> Double { dot(W[k], x) + b[k] }
        let r = (0..<hidden).map { RA(input($0) + dot(R[$0], h) + Rb[$0]) }
        let gated = zip(r, h).map { $0 * $1 }
        return (0..<hidden).map { j in
            let z = RA(input(2 * hidden + j) + dot(R[2 * hidden + j], h) + Rb[2 * hidden + j])
            let k = hidden + j
            let product = standIn.contains("before") ? dot(R[k], gated) : dot(R[k], h) * r[j]
            let recurrent = after ? (dot(R[k], h) + Rb[k]) * r[j] : product + Rb[k]
            return (1 - z) * A(input(k) + recurrent) + z * h[j]
        }
    }
}

func dot(_ a: [Double], _ b: [Double]) -> Double { zip(a, b).reduce(0) { $0 + $1.0 * $1.1 } }

func matrix(_ numbers: [Double], _ columns: Int) -> [[Double]] {
    stride(from: 0, to: numbers.count, by: columns).map { Array(numbers[$0..<$0 + columns]) }
}

func function(_ activation: BNNSGraph.Builder.Activation) -> (Double) -> Double {
    switch activation {
    case .hardSigmoid: return { max(0, min(1, Double(Float(0.2)) * $0 + 0.5)) }
    case .linear: return { $0 }
    case .relu: return { max(0, $0) }
    case .scaledTanh: return { Double(Float(1.7159)) * tanh(Double(Float(2.0 / 3)) * $0) }
    case .sigmoid: return { 1 / (1 + exp(-$0)) }
    case .tanh: return { tanh($0) }
    }
}
