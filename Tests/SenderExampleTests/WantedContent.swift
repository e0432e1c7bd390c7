struct WantedContent: Sendable {
    let alias: String
    let users: [String]
    let number: Int
    let isEnd: Bool
    var state: String { #"{"number":\#(number)}"# }

    var line: String {
        let to = users.map { #"{"kind":"userId","value":"\#($0)"}"# }.joined(separator: ",")
        return """
            {"alias":{"kind":"liveactivityId","value":"\(alias)"},"to":[\(to)],"event":"\(isEnd ? "end" : "update")",\
            "contentState":\(state),"attributesType":"DeliveryAttributes","attributes":{"alias":"\(alias)"}}
            """
    }
}
