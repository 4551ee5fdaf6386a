// The arguments that a program was started with. Invariant: nothing in the environment takes a word away.

internal import CPlatform

package enum ProgramArguments {
    /// The words after the program's name. Bytes that are no UTF-8 become U+FFFD.
    package static var words: [String] {
        (1..<max(1, Int(coffret_argument_count()))).map { index in
            guard let word = unsafe coffret_argument(CInt(index)) else { return "" }
            return unsafe String(cString: word)
        }
    }
}
