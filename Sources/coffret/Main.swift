// Placeholder: replaced when CoffretCLI lands.
@main
struct Main {
    static func main() {
        print("coffret")
    }
}
