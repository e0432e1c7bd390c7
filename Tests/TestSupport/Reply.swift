import Foundation
import HTTPTypes

/// A response of HTTP.
package struct Reply: Sendable {
    package let status: Int
    package var fields: HTTPFields
    package let body: [UInt8]

    private struct Incomplete: Error, CustomStringConvertible { let description: String }

    package init(status: Int, fields: HTTPFields, body: [UInt8]) {
        (self.status, self.fields, self.body) = (status, fields, body)
    }

    package var text: String { String(decoding: body, as: UTF8.self) }

    /// Sends a request unchanged on its own connection, because the service closes the connection after some refusals.
    ///
    /// - Parameter target: path and query, percent-encoded.
    package static func to(
        _ method: HTTPRequest.Method,
        _ target: String,
        authority: String = "localhost",
        _ fields: HTTPFields = [:],
        _ body: [UInt8]? = nil,
        port: Int
    ) async throws -> Reply {
        var head = "\(method.rawValue) \(target) HTTP/1.1\r\nHost: \(authority)\r\nConnection: close\r\n"
        for field in fields { head += "\(field.name.rawName): \(field.value)\r\n" }
        if let body { head += "Content-Length: \(body.count)\r\n" }
        let request = Array((head + "\r\n").utf8) + (body ?? [])
        let response = try await onOwnThread {
            let connection = try RawConnection(port: port)
            connection.send(request)
            return connection.readAll()
        }
        return try Reply(response[...])
    }

    private init(_ bytes: ArraySlice<UInt8>) throws {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
            throw Incomplete(description: String(decoding: bytes, as: UTF8.self))
        }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let status = Int(lines[0].split(separator: " ").dropFirst().first ?? "") ?? 0
        let rest = bytes[end.upperBound...]
        // An interim response.
        if (100..<200).contains(status) {
            self = try Reply(rest)
            return
        }
        var fields: HTTPFields = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
            guard parts.count == 2, let name = HTTPField.Name(parts[0]) else { continue }
            fields.append(HTTPField(name: name, value: parts[1].trimmingCharacters(in: .whitespaces)))
        }
        let isChunked = fields[.transferEncoding] == "chunked"
        self.init(status: status, fields: fields, body: isChunked ? Self.joined(rest) : Array(rest))
    }

    private static func joined(_ chunks: ArraySlice<UInt8>) -> [UInt8] {
        var (rest, joined) = (chunks, [UInt8]())
        while let end = rest.firstRange(of: [0x0D, 0x0A]),
            let size = Int(String(decoding: rest[..<end.lowerBound], as: UTF8.self), radix: 16), size > 0
        {
            let chunk = rest[end.upperBound...].prefix(size)
            joined += chunk
            rest = rest[chunk.endIndex...].dropFirst(2)
        }
        return joined
    }
}
