import CWebAssets

/// All files for browsers, in UTF-8. They are part of the binary, so that a deployment needs no other files.
package enum WebAssets {
    /// `GET /openapi.json` (OpenAPI 3.1).
    package static let openAPI = files["openapi.json"] ?? []
    package static let consoleFiles = files(in: "Shared").merging(files(in: "Console")) { $1 }.filter(isNoTemplate)
    package static let docsFiles = files(in: "Shared").merging(files(in: "Docs")) { $1 }.filter(isNoTemplate)

    /// By name.
    package static let consoleTemplates = files(in: "Console", ending: ".mustache")
    package static let docsTemplates = files(in: "Docs", ending: ".mustache")

    /// Markdown.
    package static let errorCodes = files["Documentation.docc/ErrorCodes.md"] ?? []

    package static let files: [String: [UInt8]] = {
        let assets = UnsafeBufferPointer(start: web_assets, count: web_asset_count).map { asset in
            (String(cString: asset.path), Array(UnsafeBufferPointer(start: asset.bytes, count: asset.size)))
        }
        return Dictionary(uniqueKeysWithValues: assets)
    }()

    private static func isNoTemplate(_ file: (key: String, value: [UInt8])) -> Bool { !file.key.hasSuffix(".mustache") }

    private static func files(in folder: String, ending: String = "") -> [String: [UInt8]] {
        let found = files.filter { $0.key.hasPrefix(folder + "/") && $0.key.hasSuffix(ending) }
        return Dictionary(
            uniqueKeysWithValues: found.map { path, bytes in
                (String(path.dropFirst(folder.count + 1).dropLast(ending.count)), bytes)
            }
        )
    }
}
