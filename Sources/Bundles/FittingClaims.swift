import Licensing

/// The claims of a bundle, as many as a client takes: one that is longer is refused with all that it gives.
///
/// The lists of one product and the rules of one plan are bounded so that they fit; many licenses together may not.
struct FittingClaims {
    /// What is signed.
    let payload: [UInt8]
    /// How many features have a live grant and none in the claims.
    let featuresLeftOut: Int

    /// The claims of `facts` at `now`.
    ///
    /// Where they are too long, one grant of each feature, the one that ends last, comes first, then licenses, which give
    /// nothing by themselves, then further grants as `Grant.listed` chooses them. Where not even the first have room, those
    /// that end first are left out.
    ///
    /// - Parameter most: the most bytes of the payload; kept to wherever it has room for meters and settings.
    init(_ facts: LicenseBundle.Facts, at now: Timestamp, payload most: Int) {
        let all = LicenseBundle.Claims(facts, at: now)
        let payload = all.payload()
        guard payload.count > most else {
            self.payload = payload
            featuresLeftOut = 0
            return
        }
        // Each row is measured once, however many there are: this runs on an event loop.
        let sizes = Dictionary(all.grants.map { ($0, $0.byteCount) }, uniquingKeysWith: { one, _ in one })
        func size(_ grants: [LicenseBundle.Grant]) -> Int { grants.reduce(0) { $0 + (sizes[$1] ?? 0) } }
        let rest = payload.count - size(all.grants) - all.licenses.reduce(0) { $0 + $1.byteCount }
        // The last row of a list has no comma behind it: two bytes that are there or not.
        var room = most - rest - 2
        // What all features need at least comes before what licenses say.
        var claims = LicenseBundle.Claims(facts, at: now, most: 0)
        let needed = size(claims.grants)
        if needed <= room {
            let licenses = Self.prefix(of: all.licenses, within: room - needed) { $0.byteCount }
            claims.licenses = licenses.elements
            room -= licenses.bytes
            var (fits, exceeds) = (claims.grants.count, all.grants.count + 1)
            while fits + 1 < exceeds {
                let middle = (fits + exceeds) / 2
                let listed = LicenseBundle.Claims(facts, at: now, most: middle).grants
                if size(listed) <= room { fits = middle } else { exceeds = middle }
            }
            let fuller = LicenseBundle.Claims(facts, at: now, most: fits)
            (claims.grants, claims.expiresAt, claims.refreshAfter) = (
                fuller.grants, fuller.expiresAt, fuller.refreshAfter
            )
        } else {
            claims.licenses = []
            let grants = claims.grants
            let lastFirst = grants.indices.sorted { left, right in
                let (leftEnd, rightEnd) = (grants[left].ends ?? .latest, grants[right].ends ?? .latest)
                return leftEnd == rightEnd ? left < right : leftEnd > rightEnd
            }
            let kept = Self.prefix(of: lastFirst, within: room) { sizes[grants[$0]] ?? 0 }
            claims.grants = kept.elements.sorted().map { grants[$0] }
            if let latest = claims.grants.map(\.until).max() { claims.expiresAt = latest }
        }
        self.payload = claims.payload()
        featuresLeftOut = Set(all.grants.map(\.feature)).subtracting(claims.grants.map(\.feature)).count
    }

    /// As many of the first elements as have room.
    private static func prefix<Element>(
        of elements: [Element],
        within room: Int,
        size: (Element) -> Int
    ) -> (elements: [Element], bytes: Int) {
        var bytes = 0
        let kept = elements.prefix { element in
            let size = size(element)
            guard bytes + size <= room else { return false }
            bytes += size
            return true
        }
        return (Array(kept), bytes)
    }
}
