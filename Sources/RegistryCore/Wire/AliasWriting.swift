extension Alias: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("kind", kind)
            json.member("value", value)
        }
    }
}
