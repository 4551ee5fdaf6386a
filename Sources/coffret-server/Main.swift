// The server's executable: `main` and nothing else.

import CoffretServer

@main
enum Main {
    static func main() { ServerProgram.run() }
}
