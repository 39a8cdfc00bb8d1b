import FuzzSupport

@testable import CountersignAPI
@testable import HTTPServer

/// What stands in a target and in fields is read one way: queries, addresses, forwarded addresses and media types.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(start, count)
    query(bytes)
    mediaType(bytes)
    let text = String(decoding: bytes, as: UTF8.self)
    address(text)
    forwarded(text)
    return 0
}

// MARK: Queries

private func parameters(_ query: [UInt8]) -> [QueryParameter]? {
    let request = Array("GET /a?".utf8) + query + Array(" HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
    return try? HTTPRequest.parsing(request) { try $0.queryParameters() }
}

/// What was read, written with every byte percent-encoded, reads the same.
private func query(_ bytes: [UInt8]) {
    guard let read = parameters(bytes) else { return }
    let written = read.map { encoded($0.name) + [UInt8(ascii: "=")] + encoded($0.value) }
    let text = Array(written.joined(separator: [UInt8(ascii: "&")]))
    guard text.count < 8192 else { return }
    expect(parameters(text) == read, "a query reads differently once written")
    for parameter in read { expect(!parameter.name.isEmpty, "a parameter has no name") }
}

private func encoded(_ text: String) -> [UInt8] {
    let digits = Array("0123456789abcdef".utf8)
    return text.utf8.flatMap { [UInt8(ascii: "%"), digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
}

// MARK: Media types

/// What is said of a type does not depend on blanks around it, on its letters' case or on parameters that mean nothing, as
/// long as all of it is no longer than a type may be.
private func mediaType(_ bytes: [UInt8]) {
    guard MediaType.isJSON(bytes) else { return }
    let upper = bytes.map { (0x61...0x7A).contains($0) ? $0 - 0x20 : $0 }
    expect(MediaType.isJSON(upper), "a type in upper case is another")
    expect(bytes.count <= MediaType.longest, "a type of any length is taken")
    for more in ["; a=b", ";A=\"b;c\"", " ", ";", "; charset=utf-8", ";charset=\"UTF-8\""] {
        let isShort = bytes.count + more.utf8.count <= MediaType.longest
        expect(MediaType.isJSON(bytes + Array(more.utf8)) == isShort, "a type with more is another")
    }
    for more in ["; charset=latin1", "; charset=", ",", "; x", "\"", "; a=\"b"] {
        expect(!MediaType.isJSON(bytes + Array(more.utf8)), "a type with something wrong behind it is taken")
    }
}

// MARK: Addresses

/// What is read as an address is written as it reads.
private func address(_ text: String) {
    if let address = PeerAddress(parsing: text) {
        expect(PeerAddress(parsing: address.description) == address, "an address reads differently once written")
        expect(
            text.utf8.allSatisfy { "0123456789abcdefABCDEF:.[]".utf8.contains($0) },
            "what is no address is taken for one"
        )
    }
    if let prefix = NetworkPrefix(parsing: text) {
        expect(NetworkPrefix(parsing: prefix.description) == prefix, "a block reads differently once written")
        expect(
            text.utf8.allSatisfy { "0123456789abcdefABCDEF:.[]/".utf8.contains($0) },
            "what is no block is taken for one"
        )
    }
    if let listen = ListenAddress(parsing: text) {
        expect(ListenAddress(parsing: listen.description) == listen, "a place to listen reads differently once written")
    }
}

private let proxies = ["10.0.0.0/8", "2001:db8::/32", "192.0.2.7"].compactMap { NetworkPrefix(parsing: $0) }
private let proxy = PeerAddress(parsing: "10.1.2.3") ?? .loopback
private let stranger = PeerAddress(parsing: "203.0.113.9") ?? .loopback

/// Nobody but a trusted proxy names the client, and it names whom it heard from: the text to the left of that is the
/// client's own.
private func forwarded(_ text: String) {
    expect(
        ClientAddress(peer: stranger, trusting: proxies) { [text] } == .known(stranger),
        "a stranger names another client"
    )
    expect(
        ClientAddress(peer: stranger, trusting: []) { [text] } == .known(stranger),
        "a stranger names another client where nobody is trusted"
    )
    for (lines, place) in [
        ([text, "203.0.113.9"], "in a line of its own"), (["\(text),203.0.113.9"], "behind a comma"),
        (["\(text) , 203.0.113.9:4711 ,,"], "with a port"), (["\(text),203.0.113.9, 10.9.9.9"], "before a proxy"),
        ([text, "203.0.113.9", "2001:db8::1, [2001:db8::2]:80", "192.0.2.7"], "before proxies"),
    ] {
        expect(
            ClientAddress(peer: proxy, trusting: proxies) { lines } == .known(stranger),
            "the client's own text hides its address \(place)"
        )
    }
    if case .known(let address) = ClientAddress(peer: proxy, trusting: proxies, forwardedFor: { [text] }) {
        expect(address == proxy || !text.isEmpty, "an address came from nowhere")
    }
}
