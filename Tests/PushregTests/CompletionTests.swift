import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct CompletionTests {
    @Test(arguments: [(["audit", "st"], "stale"), (["serve", "--tls-c"], "--tls-cert")])
    func `Bash completes commands and flags`(_ words: [String], _ completed: String) async throws {
        let script = """
            source <("$1" --generate-completion-script bash)
            COMP_WORDS=(pushreg \(words.joined(separator: " "))) COMP_CWORD=\(words.count)
            COMP_LINE="${COMP_WORDS[*]}" COMP_POINT=${#COMP_LINE}
            COMP_POINT=${#COMP_LINE}
            _pushreg pushreg "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            echo "${COMPREPLY[*]}"
            """
        let outcome = try await Program.run("/bin/bash", ["-c", script, "bash", Program.executable.path])
        #expect(outcome.results == completed + "\n", "\(outcome.words)")
    }
}
