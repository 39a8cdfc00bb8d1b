import Administration
import Diagnostics
import HTTPServer
import Licensing
import LicensingServices
import Storage

/// `countersign serve`.
enum ServeCommand {
    private static let listen = Parameter<String>.option(
        "listen",
        "ADDRESS:PORT",
        "where to listen; may be given several times; port 0 takes a free one",
        isRepeatable: true
    ) { (text) throws(ValueFault) in text }

    private static let loops = Parameter<String>.option("loops", "N", "threads that answer; 0: one for each core") {
        (text) throws(ValueFault) in text
    }

    private static let demo = Parameter<Bool>.flag(
        "demo",
        "make a vendor, a product and a license to try, and print calls that work"
    )

    private static let printConfig = Parameter.flag("print-config", "print every setting as it counts, and end")

    private static let acceptClock = Parameter.flag(
        "accept-clock",
        "trust the system's clock although it is far from the last commit"
    )

    static let command = Command(
        "serve",
        .reads,
        "answers the apps, until SIGTERM or SIGINT",
        [
            listen.specification, loops.specification, demo.specification, printConfig.specification,
            acceptClock.specification,
        ],
        example: "serve --data ./data --listen 127.0.0.1:8080"
    ) { invocation, context in
        var flags: [Configuration.Flag] = []
        let addresses = try invocation.values(listen)
        if !addresses.isEmpty { flags.append(Configuration.Flag("listen", addresses)) }
        if let loops = try invocation.value(loops) { flags.append(Configuration.Flag("loops", [loops])) }
        let surroundings = context.surroundings
        func load(isAnew: Bool = false) throws -> LoadedConfiguration {
            try ConfiguredCommand.load(surroundings.environment, context.options, flags: flags, isAnew: isAnew)
        }
        let loaded = try load()
        if invocation.isSet(printConfig) {
            let text =
                context.options.isJSON
                ? ConfigurationText.json(loaded.configuration) + "\n" : ConfigurationText.printed(loaded)
            try surroundings.output.standard(Array(text.utf8))
            return .printed(exitCode: 0)
        }
        do {
            var process = try ServerProcess.start(
                loaded.configuration,
                context: context,
                isDemo: invocation.isSet(demo),
                acceptsClock: invocation.isSet(acceptClock)
            )
            process.run(reloading: { try load(isAnew: true).configuration })
        } catch let error as StorageError where error.isLockHeld && ProcessSignals.isStopPending {
            // It was told to end while it waited for somebody else.
        }
        return .printed(exitCode: 0)
    }
}
