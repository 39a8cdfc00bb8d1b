internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// `admin trial …`.
enum TrialCommands {
    static let all = [issue, extend, show, list]

    private static let installID = Parameter<InstallID>.option(
        "install-id",
        "ID",
        "the install, by the id that its app sends"
    ) { (text) throws(ValueFault) in try CommonParameters.installID(text) }
    private static let trial = Parameter<TrialID>.option("trial", "ID", "the trial, by its own id") {
        (text) throws(ValueFault) in try CommonParameters.identifier(text)
    }
    private static let until = Parameter<Timestamp>.option(
        "until",
        "T",
        "when it ends; a date ends with that day, UTC"
    ) { (text) throws(ValueFault) in try Timestamp(text, as: .end) }

    private static let issue = Command(
        "admin trial issue",
        .writes,
        "starts a trial of no install, and shows once the token that stands for it",
        [CommonParameters.product.specification, CommonParameters.mode.specification, until.specification],
        example: "admin trial issue --product acme/editor --mode test"
    ) { call, context in
        let name = try call.required(CommonParameters.product)
        let (mode, end) = (try call.value(CommonParameters.mode) ?? .live, try call.value(until))
        let work = try context.open()
        let trials = work.trials
        let product = try work.product(name).product
        let draft = try trials.draft(for: product, mode: mode, until: end, at: work.now)
        try work.write { db in try trials.issue(draft, of: product, by: work.actor, in: db) }
        return work.report("trial", notes: ["the token is shown this once"]) { writer in
            draft.trial.write(to: &writer, under: product.settings, at: work.now, token: draft.token.text)
        }
    }

    private static let extend = Command(
        "admin trial extend",
        .writes,
        "lets the trial of an install's machine end later",
        [
            CommonParameters.product.specification, installID.required.specification, until.required.specification,
            CommonParameters.mode.specification,
        ],
        example: "admin trial extend --product acme/editor --install-id 5f0c…-id-of-the-install --until 2027-01-31"
    ) { call, context in
        let (name, install) = (try call.required(CommonParameters.product), try call.required(installID))
        let (mode, end) = (try call.value(CommonParameters.mode) ?? .live, try call.required(until))
        let work = try context.open()
        let trials = work.trials
        let product = try work.product(name).product
        let digest = work.keys.digest(of: install, product: product.id)
        let extended = try work.write { db in
            let trial = try TrialService.trial(ofInstall: digest, product: product, mode: mode, in: db)
            return try trials.extend(trial, of: product, until: end, by: work.actor, in: db)
        }
        return work.report("trial") { extended.write(to: &$0, under: product.settings, at: work.now) }
    }

    private static let show = Command(
        "admin trial show",
        .reads,
        "shows the trial that counts for an install",
        [
            CommonParameters.product.specification, installID.specification, trial.specification,
            CommonParameters.mode.specification,
        ],
        example: "admin trial show --product acme/editor --install-id 5f0c…-id-of-the-install"
    ) { call, context in
        let name = try call.required(CommonParameters.product)
        let (install, id) = (try call.value(installID), try call.value(trial))
        let mode = try call.value(CommonParameters.mode) ?? .live
        guard (install == nil) != (id == nil) else {
            throw CommandFailure.usage("admin trial show needs --install-id or --trial", option: "--install-id")
        }
        let work = try context.open()
        let product = try work.product(name).product
        let digest = install.map { work.keys.digest(of: $0, product: product.id) }
        let found = try work.read { db in
            if let id { return try TrialService.trial(id, of: product, in: db) }
            guard let digest else { throw Refusal(.trialNotFound, "no install is named", member: "install_id") }
            return try TrialService.trial(ofInstall: digest, product: product, mode: mode, in: db)
        }
        return work.report("trial") { found.write(to: &$0, under: product.settings, at: work.now) }
    }

    private static let list = Command(
        "admin trial list",
        .lists,
        "lists a product's trials by the second they were recorded in, then by id",
        [CommonParameters.product.specification, CommonParameters.mode.specification],
        example: "admin trial list --product acme/editor"
    ) { call, context in
        let name = try call.required(CommonParameters.product)
        let mode = try call.value(CommonParameters.mode) ?? .live
        let (limit, cursor) = (try call.limit(), try call.cursor(of: TrialEntity.self)?.text)
        let work = try context.open()
        let now = work.now
        let (product, trials) = try work.read { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            return (product, try TrialService.list(of: product, mode: mode, after: cursor, limit: limit + 1, in: db))
        }
        return .page("trials", Page(trials, limit: limit) { $0.id.text }) {
            $1.write(to: &$0, under: product.settings, at: now)
        }
    }
}

extension Trial {
    /// Writes the object as the command line shows it: what every route says of it, and whose it is.
    func write(
        to writer: inout JSONWriter,
        under settings: ProductSettings,
        at now: Timestamp,
        token: String? = nil
    ) {
        let status = settings.trialStatus(of: self, at: now)
        writer.object { writer in
            writer.member("id", id.text)
            writer.member("mode", mode.rawValue)
            writer.member("state", status.state.rawValue)
            writer.member("code", status.code.rawValue)
            writer.member("started_at", startedAt.rfc3339)
            writer.member("ends_at", orNull: status.endsAt?.rfc3339)
            writer.member("remaining_seconds", orNull: status.remainingSeconds)
            writer.member("extended_until", orNull: extendedUntil?.rfc3339)
            writer.member("install", orNull: install?.text)
            writer.member("trial_token", ifPresent: token)
        }
    }
}
