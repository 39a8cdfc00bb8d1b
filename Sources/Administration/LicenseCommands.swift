/// `admin license …`.
enum LicenseCommands {
    static let all: [Command] = [
        issue, show, explain, list, edit, suspend, reinstate, revoke, renew, reissue, releaseSeat, importFile, export,
    ]
}
