/// `admin license …`.
enum LicenseCommands {
    static let all: [Command] = []
}
