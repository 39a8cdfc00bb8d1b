/// Finds routes by path; knows nothing of handlers.
///
/// Paths without parameters are found by one hash of their bytes; the few with parameters are compared one by one among
/// those with as many segments.
struct PathTable: Sendable {
    /// The methods of one path, as indexes into the router's routes.
    struct Entry: Sendable {
        let segments: [Segment]
        /// Indexed by the place of the method in `HTTPMethod.allCases`; -1 for none.
        var routes: [Int]
        /// For the `Allow` field; HEAD where there is GET.
        var allow: String
    }

    enum Segment: Sendable, Equatable {
        case literal([UInt8])
        case parameter(String)
    }

    enum Match {
        case route(Int, PathParameters)
        case methodNotAllowed(allow: String)
        case notFound
    }

    private var entries: [Entry] = []
    /// Open addressing; a power of two at least twice the number of entries.
    private var buckets: [Int32] = []
    /// Entries with parameters.
    private var patterns: [Int] = []
    /// The most segments one of them has.
    private var mostSegments = 0
    private var paths: [[UInt8]] = []
    /// Every method of every route.
    private(set) var allMethods = ""

    init(_ routes: [(method: HTTPMethod, pattern: String)]) {
        var byPattern: [String: Int] = [:]
        for (index, route) in routes.enumerated() {
            let entry =
                byPattern[route.pattern]
                ?? {
                    entries.append(
                        Entry(
                            segments: PathTable.segments(of: route.pattern),
                            routes: Array(repeating: -1, count: HTTPMethod.allCases.count),
                            allow: ""
                        )
                    )
                    paths.append(Array(route.pattern.utf8))
                    return entries.count - 1
                }()
            byPattern[route.pattern] = entry
            let place = route.method.place
            precondition(entries[entry].routes[place] < 0, "two routes for \(route.method.rawValue) \(route.pattern)")
            entries[entry].routes[place] = index
            if route.method == .get { entries[entry].routes[HTTPMethod.head.place] = index }
        }
        for index in entries.indices {
            entries[index].allow = PathTable.list { entries[index].routes[$0.place] >= 0 }
        }
        allMethods = PathTable.list { method in entries.contains { $0.routes[method.place] >= 0 } }
        patterns = entries.indices.filter {
            entries[$0].segments.contains { if case .parameter = $0 { true } else { false } }
        }
        mostSegments = patterns.map { entries[$0].segments.count }.max() ?? 0
        var size = 8
        while size < entries.count * 2 { size *= 2 }
        buckets = Array(repeating: -1, count: size)
        for index in entries.indices where !patterns.contains(index) {
            var bucket = paths[index].withUnsafeBytes { PathTable.hash($0) } & (size - 1)
            while buckets[bucket] >= 0 { bucket = (bucket + 1) & (size - 1) }
            buckets[bucket] = Int32(index)
        }
    }

    private static func list(_ isIncluded: (HTTPMethod) -> Bool) -> String {
        HTTPMethod.allCases.filter(isIncluded).map(\.rawValue).joined(separator: ", ")
    }

    private static func segments(of pattern: String) -> [Segment] {
        precondition(pattern.hasPrefix("/"), "a route's path starts with a slash: \(pattern)")
        return pattern.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
            part in
            guard part.first == UInt8(ascii: "{"), part.last == UInt8(ascii: "}") else { return .literal(Array(part)) }
            return .parameter(String(decoding: part.dropFirst().dropLast(), as: UTF8.self))
        }
    }

    /// Only percent-encoded unreserved characters are decoded; any other `%` matches no route.
    func match(_ method: HTTPMethod, _ path: UnsafeRawBufferPointer) -> Match {
        if path.firstOffset(of: UInt8(ascii: "%")) == nil { return matchDecoded(method, path) }
        let decoded = PathTable.decoded(path)
        if decoded.contains(UInt8(ascii: "%")) { return .notFound }
        return decoded.withUnsafeBytes { matchDecoded(method, $0) }
    }

    private func matchDecoded(_ method: HTTPMethod, _ path: UnsafeRawBufferPointer) -> Match {
        var bucket = PathTable.hash(path) & (buckets.count - 1)
        while buckets[bucket] >= 0 {
            let index = Int(buckets[bucket])
            let isEqual = paths[index].withUnsafeBytes { $0.count == path.count && $0.elementsEqual(path) }
            if isEqual { return match(method, entries[index], PathParameters()) }
            bucket = (bucket + 1) & (buckets.count - 1)
        }
        // Counted first: a path of slashes alone would be as many parts.
        guard !path.isEmpty, path.count(where: { $0 == UInt8(ascii: "/") }) <= mostSegments else { return .notFound }
        let parts = path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for index in patterns {
            if let parameters = parameters(of: entries[index], parts) {
                return match(method, entries[index], parameters)
            }
        }
        return .notFound
    }

    private func match(_ method: HTTPMethod, _ entry: Entry, _ parameters: PathParameters) -> Match {
        let route = entry.routes[method.place]
        return route >= 0 ? .route(route, parameters) : .methodNotAllowed(allow: entry.allow)
    }

    private func parameters(of entry: Entry, _ parts: [Slice<UnsafeRawBufferPointer>]) -> PathParameters? {
        guard entry.segments.count == parts.count else { return nil }
        var parameters = PathParameters()
        for (segment, part) in zip(entry.segments, parts) {
            switch segment {
            case .literal(let bytes):
                guard part.elementsEqual(bytes) else { return nil }
            case .parameter(let name):
                guard !part.isEmpty, !part.elementsEqual(".".utf8), !part.elementsEqual("..".utf8) else { return nil }
                parameters.values.append((name, String(decoding: part, as: UTF8.self)))
            }
        }
        return parameters
    }

    /// FNV-1a; the table is built from our own routes, so nobody can fill it with collisions.
    private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
        var hash: UInt32 = 0x811C_9DC5
        for byte in bytes { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
        return Int(hash)
    }

    /// The path with its percent-encoded unreserved characters decoded, everything else as it is.
    static func decoded(_ path: UnsafeRawBufferPointer) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(path.count)
        var index = 0
        while index < path.count {
            if path[index] == UInt8(ascii: "%"), index + 2 < path.count, let high = hexadecimal(path[index + 1]),
                let low = hexadecimal(path[index + 2]), isUnreserved(high << 4 | low)
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(path[index])
                index += 1
            }
        }
        return decoded
    }
}

extension HTTPMethod {
    /// Its place in `allCases`.
    var place: Int {
        switch self {
        case .get: 0
        case .head: 1
        case .post: 2
        case .put: 3
        case .delete: 4
        case .patch: 5
        case .options: 6
        case .unknown: 7
        }
    }
}
