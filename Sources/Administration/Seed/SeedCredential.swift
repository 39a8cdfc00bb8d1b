internal import CountersignWire
internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// A credential of a seed document, recognized by kind, mode and name.
struct SeedCredential: SeedNode {
    let pointer: JSONPointer
    let name: String?
    let kind: CredentialKind?
    let mode: Mode

    static let identifyingMember = "name"
    var identity: String? {
        guard let name, let kind else { return nil }
        return "\(kind.rawValue) \(mode.rawValue) \(name)"
    }

    init(_ reader: inout MemberReader, at pointer: JSONPointer) {
        self.pointer = pointer
        name = reader.read("name", isRequired: true) { (text) throws(ValueFault) in
            try CatalogLimits.checkedName(text)
        }
        kind = reader.word("kind", isRequired: true)
        mode = reader.word("mode") ?? .live
        reader.refuseUnknown(except: ["name", "kind", "mode"])
    }

    /// Whether this is the credential that is meant, and it still opens something.
    func isMet(by record: CredentialRecord, of product: Product.ID?, at now: Timestamp) -> Bool {
        // By bytes, as two of one document are told apart.
        guard let name, record.name.utf8.elementsEqual(name.utf8) else { return false }
        return record.kind == kind && record.mode == mode && record.product == product && record.isValid(at: now)
    }
}
