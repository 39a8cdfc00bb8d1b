import CSystem

/// The variables of the process, read once by the executable and handed on.
enum ProcessEnvironment {
    /// All variables by name; of a name that is there twice the first value, as `getenv` has it.
    static func all() -> [String: String] {
        var variables: [String: String] = [:]
        guard var next = cs_environment() else { return variables }
        while let entry = next.pointee {
            let text = String(cString: entry)
            if let equals = text.firstIndex(of: "="), variables[String(text[..<equals])] == nil {
                variables[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            next += 1
        }
        return variables
    }
}
