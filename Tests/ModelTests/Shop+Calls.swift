import Bundles
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON

@testable import CountersignAPI

// What apps ask: the calls behind the routes, from the read body to what is rendered, without HTTP and signatures.
extension Shop {
    func read<Body: AppBody, DB: Queries & ~Copyable>(
        _: Body.Type,
        _ json: String,
        in db: borrowing DB
    ) throws -> (Body, Contact) {
        let caller = try caller(in: db)
        var reader = try AppRequestReader(
            try JSONDocument(parsing: Array(json.utf8)).root,
            for: caller,
            keys: services.keys
        )
        let body = try Body(reading: &reader)
        return (
            body,
            Contact(
                caller: caller,
                credential: CredentialID(high: 1, low: 1),
                now: time,
                install: reader.install,
                nonce: nil,
                services: services,
                client: nil,
                limiter: RateLimiter(RateLimits())
            )
        )
    }

    /// As `LoopState.ask`: answered from one snapshot, unless something must be written before.
    private func ask<Question: AppQuestion>(
        _ type: Question.Type,
        _ json: String,
        _ opened: borrowing Opened,
        _ answer: (Question.Facts, Contact) throws -> Told
    ) throws -> Told {
        let (question, contact, row, facts) = try opened.reader.snapshot { db in
            let (question, contact) = try read(type, json, in: db)
            let row = try contact.row(in: db)
            return (question, contact, row, try question.facts(for: contact, install: row, in: db))
        }
        let isNew = contact.mustBeRecorded(row)
        let write = question.write(before: facts, for: contact)
        let told: Told
        if isNew || write != nil {
            try opened.writer.write { db in
                // Nobody is limited here.
                _ = try write?(db, Charges(contact.limiter))
                if isNew { try contact.record(in: db) }
            }
            let (again, facts) = try opened.reader.snapshot { db in
                let contact = try contact.renewed(in: db)
                let row = try contact.row(in: db)
                return (contact, try question.facts(for: contact, install: row, in: db))
            }
            told = try answer(facts, again)
        } else {
            told = try answer(facts, contact)
        }
        if let row, let claim = contact.install {
            let isElsewhere = claim.fingerprint.map { $0 != row.fingerprint } ?? false
            if row.lastSeenAt < time || isElsewhere || row.trial == nil {
                try opened.writer.write { db in try settle(row.id, contact, in: db) }
            }
        }
        return told
    }

    /// What a loop flushes of what it saw, at once.
    func settle(_ install: Install.ID, _ contact: Contact, in db: borrowing WriteTransaction) throws {
        try contact.record(in: db)
        try InstallStore.touch(install, at: time, in: db)
    }

    private func act<Action: AppAction>(
        _ type: Action.Type,
        _ json: String,
        _ install: Int,
        _ opened: borrowing Opened,
        _ answer: (Action.Result) throws -> Told
    ) throws -> Told {
        let result = try opened.writer.write { db in
            let (action, contact) = try read(type, json, in: db)
            let result = try action.perform(for: contact, in: db)
            if let row = try contact.row(in: db) { try settle(row.id, contact, in: db) }
            return result
        }
        var told = try answer(result)
        told.paper = try look(install, opened)
        return told
    }

    /// The bundle of an install as it is.
    func look(_ install: Int, _ opened: borrowing Opened) throws -> Paper {
        let claim = try claim(install)
        return paper(
            try opened.reader.snapshot { db in
                let caller = try caller(in: db)
                return try services.bundles.state(
                    of: try services.installs.find(claim, of: caller, in: db),
                    subject: "",
                    nonce: nil,
                    for: caller,
                    at: time,
                    in: db
                )
            }
        )
    }

    // MARK: Routes

    /// The body of a call.
    func body(_ install: Int?, _ key: KeySpec? = nil, fingerprint: Int? = nil, _ more: String = "") -> String {
        var members: [String] = []
        if let install { members.append(#""install_id":"\#(Self.install(install))""#) }
        if let key { members.append(#""license_key":"\#(self.key(key))""#) }
        if let fingerprint { members.append(#""fingerprint":"machine-\#(fingerprint)""#) }
        if !more.isEmpty { members.append(more) }
        return "{" + members.joined(separator: ",") + "}"
    }

    func activate(
        _ key: KeySpec,
        _ install: Int,
        _ fingerprint: Int?,
        _ replacing: Int?,
        _ opened: borrowing Opened
    ) throws -> Told {
        let more = replacing.map { #""replace":"\#(seat($0).text)""# } ?? ""
        let body = body(install, key, fingerprint: fingerprint, more)
        return try act(Activate.self, body, install, opened) { outcome in
            guard let outcome else { return Told("LICENSE_NOT_FOUND") }
            var told: Told
            switch outcome.decision {
            case .granted(let seat):
                told = Told("OK")
                told.seat = self.told(seat, of: outcome.license)
            case .denied(let denial):
                told = Told(denial.code.rawValue)
                if case .noSeats = denial {
                    let (license, own) = (outcome.license, outcome.install.id)
                    let seats = try opened.reader.snapshot { db in
                        try LicenseFinder.listed(of: license, refusedTo: own, at: time, in: db)
                    }
                    told.rows = seats.map { row in
                        Told.Row(seat: number(of: row.activation.id), isThis: row.isThis)
                    }
                }
            }
            told.license = self.told(outcome.license)
            (told.used, told.limit) = (outcome.seats.used, outcome.seats.limit.count)
            return told
        }
    }

    func validate(_ key: KeySpec, _ install: Int?, _ fingerprint: Int?, _ opened: borrowing Opened) throws -> Told {
        try ask(Validate.self, body(install, key, fingerprint: fingerprint), opened) { facts, contact in
            var told = Told(facts.judgment?.validation.code.rawValue ?? "LICENSE_NOT_FOUND")
            if let judgment = facts.judgment {
                told.license = self.told(judgment.license)
                told.seat = judgment.validation.seat.map { self.told($0, of: judgment.license) }
                told.keyIsReplaced = judgment.validation.keyIsReplaced
                (told.used, told.limit) = (judgment.seats.used, judgment.seats.limit.count)
            }
            told.paper = facts.state.map { paper($0) }
            return told
        }
    }

    func deactivate(_ key: KeySpec, _ install: Int, _ opened: borrowing Opened) throws -> Told {
        try act(Deactivate.self, body(install, key), install, opened) { release in
            guard let release else { return Told("LICENSE_NOT_FOUND") }
            var told = Told("OK")
            told.isReleased = release.isReleased
            (told.used, told.limit) = (release.seats.used, release.seats.limit.count)
            return told
        }
    }

    func heartbeat(_ key: KeySpec, _ install: Int, _ opened: borrowing Opened) throws -> Told {
        try ask(Heartbeat.self, body(install, key), opened) { facts, _ in
            var told: Told
            switch facts.decision {
            case nil: told = Told("LICENSE_NOT_FOUND")
            case .denied(let denial)?: told = Told(denial.code.rawValue)
            case .granted(let renewal)?:
                told = Told("OK")
                told.seat = Told.Seat(
                    number: number(of: renewal.seat.id),
                    leaseEnd: renewal.leaseEnd?.secondsSinceEpoch
                )
            }
            told.paper = paper(facts.state)
            return told
        }
    }

    func listSeats(_ key: KeySpec, _ install: Int, _ opened: borrowing Opened) throws -> Told {
        try ask(ListSeats.self, body(install, key), opened) { facts, contact in
            var told = Told("LICENSE_NOT_FOUND")
            if let license = facts.license, let install = facts.install {
                switch license.seatListDecision(for: install, given: facts.seats, at: contact.now) {
                case .denied(let denial): told = Told(denial.code.rawValue)
                case .granted(let rows):
                    told = Told("OK")
                    told.rows = rows.map { Told.Row(seat: number(of: $0.activation.id), isThis: $0.isThis) }
                    (told.used, told.limit) = (facts.use?.used, facts.use?.limit.count)
                }
            }
            told.paper = paper(facts.state)
            return told
        }
    }

    func sync(_ install: Int, _ fingerprint: Int?, _ opened: borrowing Opened) throws -> Told {
        try ask(Sync.self, body(install, fingerprint: fingerprint), opened) { state, _ in
            var told = Told("OK")
            told.paper = paper(state)
            return told
        }
    }

    func trial(
        _ install: Int,
        _ fingerprint: Int?,
        _ start: Bool,
        _ firstLaunch: Int64?,
        _ opened: borrowing Opened
    ) throws -> Told {
        var more = #""start":\#(start)"#
        if let firstLaunch { more += #","first_launch_at":"\#(time.adding(seconds: -firstLaunch).rfc3339)""# }
        return try ask(AskTrial.self, body(install, fingerprint: fingerprint, more), opened) { facts, _ in
            let status = facts.state.trial.status
            var told = Told(status.code.rawValue)
            told.trial = Told.Trial(
                state: status.state.rawValue,
                starts: status.startedAt?.secondsSinceEpoch,
                ends: status.endsAt?.secondsSinceEpoch
            )
            told.remaining = status.remainingSeconds
            told.paper = paper(facts.state)
            return told
        }
    }

    private func amounts(_ amounts: [AmountSpec]) -> String {
        if amounts.count == 1, let only = amounts.first {
            return #""meter":"m\#(only.meter)","amount":\#(only.amount)"#
        }
        return
            #""meters":[\#(amounts.map { #"{"meter":"m\#($0.meter)","amount":\#($0.amount)}"# }.joined(separator: ","))]"#
    }

    func peek(_ install: Int, _ amounts: [AmountSpec], _ key: KeySpec?, _ opened: borrowing Opened) throws -> Told {
        var told = try ask(PeekMeters.self, body(install, key, self.amounts(amounts)), opened) { facts, _ in
            self.told(facts.outcome)
        }
        told.paper = try look(install, opened)
        return told
    }

    func consume(
        _ install: Int,
        _ amounts: [AmountSpec],
        _ key: KeySpec?,
        _ repeatKey: Int?,
        _ opened: borrowing Opened
    ) throws -> Told {
        var more = self.amounts(amounts)
        if let repeatKey { more += #","idempotency_key":"repeat-\#(repeatKey)""# }
        return try act(ConsumeMeters.self, body(install, key, more), install, opened) { result in
            result.outcome.map { self.told($0) } ?? Told("IDEMPOTENCY_CONFLICT")
        }
    }
}

// MARK: - As it is told

extension Shop {
    func told(_ license: License) -> Told.License? {
        guard let number = licenses.firstIndex(of: license.id), let plan = plans.firstIndex(of: license.plan.id) else {
            return nil
        }
        return Told.License(
            number: number,
            plan: plan,
            status: license.status(at: time).rawValue,
            starts: license.startsAt?.secondsSinceEpoch,
            ends: license.expiresAt?.secondsSinceEpoch
        )
    }

    func told(_ seat: Activation, of license: License) -> Told.Seat {
        Told.Seat(
            number: number(of: seat.id),
            leaseEnd: seat.leaseEnd(leaseSeconds: license.plan.leaseSeconds)?.secondsSinceEpoch
        )
    }

    func told(_ outcome: MeterOutcome) -> Told {
        switch outcome {
        case .answered(let answer):
            var told = Told(answer.isAllowed ? "ALLOWED" : "REFUSED")
            told.meters = answer.reports.map { self.told($0) }
            return told
        case .noSuchMeter: return Told("METER_NOT_FOUND")
        case .licenseNotFound: return Told("LICENSE_NOT_FOUND")
        case .denied(let denial): return Told(denial.code.rawValue)
        case .severalLicenses: return Told("VALIDATION")
        }
    }

    func told(_ report: MeterReport) -> Told.Meter {
        Told.Meter(
            meter: place(ofMeter: report.meter),
            isAllowed: report.isAllowed,
            used: report.used,
            limit: report.limit.count,
            resets: report.resetsAt?.secondsSinceEpoch
        )
    }

    private func place(ofMeter meter: MeterName) -> Int { Int(meter.text.dropFirst()) ?? -1 }

    private func place(ofFeature feature: FeatureCode) -> Int { Self.features.firstIndex(of: feature.text) ?? -1 }

    /// What the bundle of a state says.
    func paper(_ state: InstallState) -> Paper {
        let claims = LicenseBundle.Claims(state.facts, at: time)
        if claims.sequence < sequence { sequence = .max } else { sequence = claims.sequence }
        var paper = Paper(
            issued: claims.issuedAt.secondsSinceEpoch,
            expires: claims.expiresAt.secondsSinceEpoch,
            refresh: claims.refreshAfter.secondsSinceEpoch
        )
        paper.realm = town.realm(of: state)
        paper.grants = claims.grants.map { grant in
            Paper.Grant(
                feature: place(ofFeature: grant.feature),
                source: grant.source.rawValue,
                starts: grant.starts.secondsSinceEpoch,
                ends: grant.ends?.secondsSinceEpoch,
                until: grant.until.secondsSinceEpoch,
                reference: reference(grant.reference)
            )
        }
        paper.licenses = claims.licenses.map { license in
            Paper.License(
                number: licenses.firstIndex(of: license.id) ?? -1,
                plan: Int(license.plan.text.dropFirst(4)) ?? -1,
                status: license.status.rawValue,
                starts: license.starts.secondsSinceEpoch,
                ends: license.ends?.secondsSinceEpoch,
                seat: number(of: license.activation)
            )
        }
        .sorted { $0.number < $1.number }
        paper.trial = claims.trial.map { trial in
            Told.Trial(
                state: trial.state.rawValue,
                starts: trial.starts?.secondsSinceEpoch,
                ends: trial.ends?.secondsSinceEpoch
            )
        }
        paper.meters = claims.meters.map { meter in
            Paper.Meter(
                meter: place(ofMeter: meter.meter),
                used: meter.used,
                limit: meter.limit,
                resets: meter.resets?.secondsSinceEpoch
            )
        }
        .sorted { $0.meter < $1.meter }
        paper.entitlements = state.entitlements.map { entitlement in
            Paper.Entitlement(
                feature: place(ofFeature: entitlement.feature),
                source: entitlement.source.rawValue,
                ends: entitlement.expiresAt?.secondsSinceEpoch
            )
        }
        return paper
    }
}
