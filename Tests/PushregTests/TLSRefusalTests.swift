import Testing

@Suite(.timeLimit(.minutes(15))) struct TLSRefusalTests {
    private static func serve(_ flags: [String]) async throws -> Program.Outcome {
        try await Program.run(["serve", "--database-url", "host=127.0.0.1 port=1", "--port", "0"] + flags)
    }

    @Test func `A certificate without a key is refused, and a key without a certificate`() async throws {
        for flag in ["--tls-cert", "--tls-key"] {
            let outcome = try await Self.serve([flag, "/nonexistent.pem"])
            #expect(outcome.status == 64)
            #expect(outcome.words.contains("--tls-cert and --tls-key go together"), "\(outcome.words)")
        }
    }

    @Test func `Missing TLS files are refused with a clear message`() async throws {
        let outcome = try await Self.serve(["--tls-cert", "/nonexistent.pem", "--tls-key", "/nonexistent.key"])
        #expect(outcome.status == 64)
        #expect(outcome.words == "pushreg: /nonexistent.pem cannot be read: No such file or directory.\n")
    }
}
