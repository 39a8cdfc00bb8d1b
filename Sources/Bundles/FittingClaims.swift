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
    /// Where they are too long, grants are left out first as `Grant.listed` does it, never the last of a feature, then
    /// licenses, which give nothing by themselves, and then the grants that end first.
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
        var claims = all
        func keepMost(of count: Int, _ keeping: (Int) -> LicenseBundle.Claims) {
            var (fits, exceeds) = (0, count + 1)
            while fits + 1 < exceeds {
                let middle = (fits + exceeds) / 2
                if keeping(middle).payload().count <= most { fits = middle } else { exceeds = middle }
            }
            claims = keeping(fits)
        }
        keepMost(of: all.grants.count) { count in LicenseBundle.Claims(facts, at: now, most: count) }
        let needed = claims
        keepMost(of: needed.licenses.count) { count in
            var claims = needed
            claims.licenses = Array(needed.licenses.prefix(count))
            return claims
        }
        let rest = claims
        let lastFirst = rest.grants.indices.sorted { left, right in
            let (leftEnd, rightEnd) = (rest.grants[left].ends ?? .latest, rest.grants[right].ends ?? .latest)
            return leftEnd == rightEnd ? left < right : leftEnd > rightEnd
        }
        keepMost(of: rest.grants.count) { count in
            var claims = rest
            claims.grants = lastFirst.prefix(count).sorted().map { rest.grants[$0] }
            if let latest = claims.grants.map(\.until).max() { claims.expiresAt = latest }
            return claims
        }
        self.payload = claims.payload()
        featuresLeftOut = Set(all.grants.map(\.feature)).subtracting(claims.grants.map(\.feature)).count
    }
}
