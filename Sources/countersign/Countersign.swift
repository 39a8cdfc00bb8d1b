import Administration

/// The program: everything it needs of the world is read here, once.
@main
enum Countersign {
    static func main() {
        let environment = ProcessEnvironment.all()
        let surroundings = Surroundings.process(environment: environment) { environment, options in
            try ConfiguredCommand.settings(environment, options)
        }
        let tool = CommandLineTool(adding: [ServeCommand.command])
        let status = tool.run(Array(CommandLine.arguments.dropFirst()), in: surroundings)
        ProcessEnd.exit(status)
    }
}
