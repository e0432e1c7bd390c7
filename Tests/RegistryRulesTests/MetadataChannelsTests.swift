import RegistryCore
import RegistryRules
import Testing

struct MetadataChannelsTests {
    @Test(
        arguments: [
            (["osVersion": "18"], true), (["osVersion": "18.0"], true), (["osVersion": "18.2.1"], true),
            (["osVersion": "26.0"], true), (["osVersion": "17.6"], false), (["osVersion": "9"], false),
            (["osVersion": ""], false), (["osVersion": "iOS 18"], false), (["osVersion": " 18"], false),
            (["osVersion": "-18"], false), (["osVersion": "99999999999999999999"], false), ([:], false),
            (["osVersion": 18], false), (["osVersion": ["18"]], false), (["OSVersion": "18"], false),
        ] as [(JSONValue, Bool)]
    )
    func `Phones known to have iOS 18 or later follow channels`(_ metadata: JSONValue, _ isSupported: Bool) throws {
        #expect(try Metadata(metadata).supportsChannels == isSupported)
    }
}
