extension Command {
    /// Every command but those of the executable itself.
    static var all: [Command] {
        LicenseCommands.all
    }
}
