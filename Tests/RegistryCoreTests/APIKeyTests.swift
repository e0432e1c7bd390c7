import RegistryCore
import Testing

@Suite struct APIKeyTests {
    @Test(arguments: Role.allCases) func `A key survives a round trip through its text`(_ role: Role) throws {
        let key = APIKey(random: role)
        #expect(key.text.revealed.wholeMatch(of: /pr[csuar]_[0-9A-Za-z]{12}_[0-9A-Za-z]{30}/) != nil)
        #expect(key.text.revealed.hasPrefix(role.keyPrefix))
        let read = try #require(APIKey(key.text))
        #expect(read.id == key.id)
        #expect(read.secret == key.secret)
        #expect(read.id.role == role)
        #expect(try APIKeyID(key.id.rawValue) == key.id)
    }

    /// Existing keys must stay valid. The checksum was computed by another program.
    @Test func `The checksum follows the documentation`() {
        let body = "prc_0aB1cD2eF3gH_0123456789abcdefghijklmn"
        #expect(APIKey(Secret(body + "1AiRPQ"))?.id.rawValue == "prc_0aB1cD2eF3gH")
    }

    @Test func `No two keys are equal`() {
        #expect(Set((0..<1000).map { _ in APIKey(random: .client).text.revealed }).count == 1000)
    }

    @Test func `Typing errors in a key are detected`() {
        let text = Array(APIKey(random: .sender).text.revealed)
        for index in text.indices {
            for digit in ["0", "A", "z", "_", "é", " "] as [Character] where digit != text[index] {
                var wrong = text
                wrong[index] = digit
                #expect(APIKey(Secret(String(wrong))) == nil)
            }
            var short = text
            short.remove(at: index)
            #expect(APIKey(Secret(String(short))) == nil)
            guard index > 0, text[index] != text[index - 1] else { continue }
            var swapped = text
            swapped.swapAt(index, index - 1)
            #expect(APIKey(Secret(String(swapped))) == nil)
        }
        #expect(APIKey(Secret(String(text) + "0")) == nil)
    }

    @Test(arguments: [
        "", "prc_", "prx_0aB1cD2eF3gH", "prc_0aB1cD2eF3g", "prc_0aB1cD2eF3gHi", "prc_0aB1cD2eF3g-", "PRC_0aB1cD2eF3gH",
        "prc_0aB1cD2eF3gé", "prc-0aB1cD2eF3gH",
    ])
    func `A malformed key id is rejected`(_ text: String) {
        #expect(throws: JSONFaultReason.self) { try APIKeyID(text) }
    }
}

@Suite struct SecretTests {
    @Test func `A key does not print its secret`() {
        let secret = Secret("hunter2")
        var dumped = ""
        dump([secret], to: &dumped)
        let key = APIKey(random: .root)
        dump(key, to: &dumped)
        let shown = ["\(secret)", String(reflecting: secret), String(describing: [secret]), "\(key)", dumped]
        for text in shown {
            #expect(!text.contains("hunter2") && !text.contains(key.secret.revealed))
            #expect(text.contains("…"))
        }
    }

    @Test func `Secrets are compared as a whole`() {
        #expect(Secret("abc") == Secret("abc"))
        #expect(Secret("abc") != Secret("abd"))
        #expect(Secret("abc") != Secret("xbc"))
        #expect(Secret("abc") != Secret("ab"))
        #expect(ConstantTime.areEqual([], []) && !ConstantTime.areEqual([1], [2]))
    }
}
