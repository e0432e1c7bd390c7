import RegistryCore
import RegistryRules
import Testing

struct MetadataChannelsTests {
    @Test(arguments: [
        ("18", true), ("18.0", true), ("18.2.1", true), ("26.0", true), ("17.6", false), ("9", false), ("", false),
        ("iOS 18", false), (" 18", false), ("-18", false), ("99999999999999999999", false),
    ])
    func `Phones with iOS 18 or later follow channels`(_ version: String, _ isSupported: Bool) throws {
        #expect(try Metadata(["osVersion": .string(version)]).supportsChannels == isSupported)
    }

    @Test func `A phone with an unknown iOS version follows no channels`() throws {
        for metadata: JSONValue in [[:], ["osVersion": 18], ["osVersion": ["18"]], ["OSVersion": "18"]] {
            #expect(try !Metadata(metadata).supportsChannels)
        }
    }
}
