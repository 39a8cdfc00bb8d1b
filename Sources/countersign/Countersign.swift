import Administration
import Cryptography
import SystemPrimitives

/// The program: everything it needs of the world is read here, once.
@main
enum Countersign {
    static func main() {
        // Before any file is opened.
        StandardStreams.fill()
        // Before any secret is read: what a crash writes must not hold one.
        CoreDumps.forbid()
        // Before OpenSSL allocates: a lack of memory must never read as a bad signature.
        OpenSSLMemory.watch()
        let arguments = ProcessArguments.take(showing: "serve")
        let environment = ProcessEnvironment.all()
        let surroundings = Surroundings.process(environment: environment) { environment, options in
            try ConfiguredCommand.settings(environment, options)
        }
        let tool = CommandLineTool(adding: [ServeCommand.command])
        let status = tool.run(arguments, in: surroundings)
        ProcessEnd.exit(status)
    }
}
