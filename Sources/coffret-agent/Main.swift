// The agent's executable: finds its place, detaches, serves.

internal import CoffretAgent
internal import Glibc

@main
struct Main {
    static func main() {
        exit(AgentProgram.run(Array(CommandLine.arguments.dropFirst())))
    }
}
