public import Licensing
public import StrictJSON

// What is kept of a consumption, so that a repeat is told the same.

extension MeterAnswer {
    /// The reports as one JSON text; only of an answer that counted.
    public var facts: [UInt8] {
        var json = JSONWriter()
        json.array { json in
            for report in reports {
                json.object { json in
                    json.member("meter", report.meter.text)
                    json.member("used", report.used)
                    json.member("limit", orNull: report.limit.count)
                    json.member("resets_at", orNull: report.resetsAt?.secondsSinceEpoch)
                }
            }
        }
        return json.finish()
    }

    /// The answer of which these facts were kept; `nil` where they are none.
    public init?(facts: JSONValue) {
        guard let elements = facts.elements else { return nil }
        var reports: [MeterReport] = []
        for element in elements {
            guard let name = element["meter"]?.string, let meter = try? MeterName(name),
                let used = element["used"]?.int64, used >= 0, element["limit"]?.int64 ?? 0 >= 0
            else { return nil }
            reports.append(
                MeterReport(
                    meter: meter,
                    isAllowed: true,
                    used: used,
                    limit: MeterLimit(element["limit"]?.int64),
                    resetsAt: element["resets_at"]?.int64.map { Timestamp(secondsSinceEpoch: $0) }
                )
            )
        }
        self.init(isAllowed: true, reports: reports, writes: [])
    }
}
