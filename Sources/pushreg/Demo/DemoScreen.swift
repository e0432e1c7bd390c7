import NIOHTTP1
import RegistryCore

/// Shows the demo on standard output, in colours on a terminal.
struct DemoScreen: Sendable {
    private enum Colour: String {
        case bold = "1"
        case dim = "2"
        case green = "32"
        case blue = "34"
    }

    private let output = Output.results
    private let isColourful = Output.results.isColourful

    /// Begins a scene: its title, and what it is about.
    func begin(_ title: String, _ story: String) throws {
        try output.line("\n" + paint(title, .bold) + "\n" + story)
    }

    /// Shows a call with its body.
    func show(_ call: DemoCall) throws {
        try output.line("\n" + paint("→ \(call.method.rawValue) \(call.path)", .blue))
        if let body = call.body { try showBody(.object(body)) }
    }

    /// Shows an answer with its body.
    func show(_ answer: DemoAnswer) throws {
        try output.line(paint("← \(answer.status.code) \(answer.status.reasonPhrase)", .blue))
        if let body = answer.body { try showBody(body) }
    }

    /// Shows a sentence that turned out to be true.
    func confirm(_ sentence: String) throws { try output.line(paint("✓ \(sentence)", .green)) }

    /// Shows a sentence.
    func say(_ sentence: String) throws { try output.line(sentence) }

    private func showBody(_ body: JSONValue) throws {
        for line in PrettyJSON.lines(body) { try output.line("  " + paint(line, .dim)) }
    }

    private func paint(_ text: String, _ colour: Colour) -> String {
        isColourful ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
    }
}
