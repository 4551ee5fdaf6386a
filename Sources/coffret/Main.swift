// The executable: hands the command line over and ends with the exit code.

internal import CoffretBase
internal import CoffretCLI
internal import Glibc

@main
struct Main {
    static func main() {
        exit(CommandLineProgram.run(ProgramArguments.words))
    }
}
