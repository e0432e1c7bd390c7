import Foundation
import RegistryCore
import Testing

@Suite(.timeLimit(.minutes(15))) struct CompletionTests {
    @Test(arguments: ["bash", "zsh", "fish"]) func `Every shell has completions`(_ shell: String) async throws {
        let script = try await Program.run(["--generate-completion-script", shell])
        #expect(script.status == 0)
        #expect(script.words == "")
        for command in try await Self.commands() where !command.path.isEmpty {
            #expect(script.results.contains(command.path.last ?? ""), "\(command.path)")
            for flag in command.flags { #expect(script.results.contains(flag.dropFirst(2)), "\(flag)") }
        }
    }

    @Test(arguments: [
        (["au"], "audit"), (["exp"], "export"), (["audit", "st"], "stale"), (["serve", "--tls-c"], "--tls-cert"),
        (["import", "--rest"], "--restart"), (["doctor", "--j"], "--json"),
    ])
    func `Bash completes commands`(_ words: [String], _ completed: String) async throws {
        let script = """
            source <("$1" --generate-completion-script bash)
            COMP_WORDS=(pushreg \(words.joined(separator: " "))) COMP_CWORD=\(words.count)
            COMP_LINE="${COMP_WORDS[*]}" COMP_POINT=${#COMP_LINE}
            COMP_POINT=${#COMP_LINE}
            _pushreg pushreg "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            echo "${COMPREPLY[*]}"
            """
        let bash = URL(fileURLWithPath: "/bin/bash")
        let outcome = try await Program.run(bash, ["-c", script, "bash", Program.executable.path], [:])
        #expect(outcome.results == completed + "\n", "\(outcome.words)")
    }

    private struct Command {
        let path: [String]
        let flags: [String]
    }

    /// Each visible command, from the program's description of itself.
    private static func commands() async throws -> [Command] {
        let dump = try await Program.run(["--experimental-dump-help"])
        guard let root = try JSONParser.parse(dump.results)["command"] else {
            throw ServiceFault(detail: "no commands")
        }
        let all = commands(in: root, below: [])
        #expect(all.count > 20)
        return all
    }

    private static func commands(in json: JSONValue, below path: [String]) -> [Command] {
        guard json["shouldDisplay"] != .bool(false), case .string(let name) = json["commandName"], name != "help" else {
            return []
        }
        let here = json["superCommands"] == nil ? [] : path + [name]
        var (flags, rest): ([String], [Command]) = ([], [])
        if case .array(let arguments) = json["arguments"] {
            for argument in arguments where argument["shouldDisplay"] != .bool(false) {
                guard case .string("long") = argument["preferredName"]?["kind"],
                    case .string(let flag) = argument["preferredName"]?["name"]
                else { continue }
                flags.append("--" + flag)
            }
        }
        if case .array(let subcommands) = json["subcommands"] {
            rest = subcommands.flatMap { commands(in: $0, below: here) }
        }
        return [Command(path: here, flags: flags)] + rest
    }
}
