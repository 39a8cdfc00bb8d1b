extension Command {
    /// Every command but those of the executable itself, in the order in which help lists them.
    static var all: [Command] {
        let administration = [
            VendorCommands.all, ProductCommands.all, FeatureCommands.all, PlanCommands.all, MeterCommands.all,
            LicenseCommands.all,
            CustomerCommands.all, InstallCommands.all, CredentialCommands.all, KeyCommands.all, MasterKeyCommands.all,
            StoreCommands.all,
            AuditCommands.all,
            TrialCommands.all, OfferCommands.all,
            GiftCommands.all, TierCommands.all,
        ]
        let operation = [
            OfflineCommands.all, SeedCommand.all, BackupCommands.all, DoctorCommand.all, BundleCommands.all,
            HealthCommand.all,
            VersionCommand.all,
        ]
        return (administration + operation).flatMap { $0 }
    }
}
