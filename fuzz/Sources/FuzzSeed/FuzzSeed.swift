import CountersignWire
import FuzzSupport
import Licensing
import Storage
import StrictJSON

@testable import Administration

// libFuzzer calls from one thread.
nonisolated(unsafe) private let office = Office()

/// A seed document is refused with places that are in it, or it is read; read, it is refused with such a place, or it is
/// applied, and then a second run changes nothing.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(start, count)
    let document: SeedDocument
    do {
        document = try SeedDocument(parsing: bytes)
    } catch is JSONSyntaxError {
        return 0
    } catch let invalid as InvalidMembers {
        guard let root = try? JSONDocument(parsing: bytes).root else { preconditionFailure("no JSON has members") }
        for member in invalid.members {
            expect(!member.detail.isEmpty, "a fault has no reason")
            expect(isPlace(member.pointer.description, in: root), "a fault is at no place: \(member.pointer)")
        }
        return 0
    } catch {
        preconditionFailure("reading a document ends otherwise than by a refusal: \(error)")
    }
    apply(document, bytes)
    return 0
}

private func apply(_ document: SeedDocument, _ bytes: [UInt8]) {
    do {
        let first = try office.tried(document)
        expect(first.changed.isEmpty, "something was changed where nothing was")
        // A database of its own takes its time.
        guard InputRandom(bytes).isChosen(oneOf: 8) else { return }
        let fresh = Office()
        defer { fresh.remove() }
        let created = try fresh.applied(document)
        // A license without an order is told by its id.
        let told = { (outcome: SeedRun.Outcome) in outcome.created.filter { !$0.hasPrefix("license ") } }
        expect(told(created) == told(first), "a dry run tells of something else than the run")
        expect(created.created.count == first.created.count, "a dry run tells of more or less than the run")
        let second = try fresh.applied(document)
        expect(second.created.isEmpty && second.changed.isEmpty, "a second run changes something")
        expect(second.secrets.isEmpty, "a second run tells secrets")
        expect(second.licenses.map { $0.id } == created.licenses.map { $0.id }, "a second run finds other licenses")
    } catch let failure as CommandFailure {
        expect(!["INTERNAL", "CONFLICT"].contains(failure.code), "a document is refused by accident: \(failure)")
        guard let place = failure.members.first(where: { $0.name == "pointer" }) else {
            preconditionFailure("a refusal has no place: \(failure)")
        }
        guard let pointer = try? JSONDocument(parsing: place.json).root.string,
            let root = try? JSONDocument(parsing: bytes).root
        else { preconditionFailure("a place is no text") }
        expect(isPlace(pointer, in: root), "a refusal is at no place: \(failure)")
    } catch {
        preconditionFailure("applying a document ends otherwise than by a refusal: \(error)")
    }
}

extension InputRandom {
    /// True for one of so many inputs.
    fileprivate func isChosen(oneOf count: UInt64) -> Bool {
        var copy = self
        return copy.next() % count == 0
    }
}

/// Whether an RFC 6901 pointer leads to a value of the document, or to a member that is missing in one of its objects.
private func isPlace(_ pointer: String, in root: JSONValue) -> Bool {
    if pointer.isEmpty { return true }
    // By bytes: a step may begin with a combining character.
    var steps = pointer.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)[...]
    guard steps.popFirst()?.isEmpty == true, let last = steps.popLast() else { return false }
    var value = root
    for step in steps {
        guard let next = child(step, of: value) else { return false }
        value = next
    }
    return value.kind == .object || child(last, of: value) != nil
}

private func child(_ step: Substring.UTF8View, of value: JSONValue) -> JSONValue? {
    var name = String(decoding: step, as: UTF8.self)
    if let elements = value.elements {
        guard let index = Int(name), index >= 0, index < value.count else { return nil }
        return Array(elements)[index]
    }
    name = String(decoding: unescaped(step), as: UTF8.self)
    return value[name]
}

private func unescaped(_ step: Substring.UTF8View) -> [UInt8] {
    var bytes: [UInt8] = []
    var isEscape = false
    for byte in step {
        switch (isEscape, byte) {
        case (false, UInt8(ascii: "~")):
            isEscape = true
            continue
        case (true, UInt8(ascii: "0")): bytes.append(UInt8(ascii: "~"))
        case (true, UInt8(ascii: "1")): bytes.append(UInt8(ascii: "/"))
        default: bytes.append(byte)
        }
        isEscape = false
    }
    return bytes
}

/// A database of its own.
private final class Office {
    private let folder = ScratchFolder.make()
    private let real: Workspace
    private let dry: Workspace

    init() {
        do {
            real = try Self.context(folder, isDryRun: false).open(makes: true)
            dry = try Self.context(folder, isDryRun: true).open()
        } catch {
            preconditionFailure("the fuzzer has no database: \(error)")
        }
    }

    func remove() { ScratchFolder.remove(folder) }

    /// Applies a document and undoes it.
    func tried(_ document: SeedDocument) throws -> SeedRun.Outcome {
        try SeedRun(document, dry).apply(dry)
    }

    func applied(_ document: SeedDocument) throws -> SeedRun.Outcome {
        try SeedRun(document, real).apply(real)
    }

    private static func context(_ folder: String, isDryRun: Bool) -> CommandContext {
        CommandContext(
            surroundings: Surroundings(
                output: CommandOutput(standard: { _ in }, error: { _ in }),
                environment: [:],
                actor: "command-line:fuzz",
                synchronous: .off
            ),
            options: GlobalOptions(),
            settings: CommandSettings(data: folder),
            isDryRun: isDryRun
        )
    }
}
