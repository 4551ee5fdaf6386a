// QR codes on the terminal, through libqrencode if it is there. Invariant: the library is loaded when a code is to be
// shown, so that no other command pays for it.

internal import Glibc

/// A QR code as a grid of modules.
package struct QRCode: Sendable, Equatable {
    package let width: Int
    /// Row by row; true is dark.
    package let isDark: [Bool]

    /// Light modules around the code, as ISO/IEC 18004 demands.
    private static let quietZone = 4

    /// The layout of QRcode from qrencode.h: version, width, and one byte per module whose lowest bit
    /// says dark.
    @unsafe private struct Handle {
        let version: Int32
        let width: Int32
        let data: UnsafeMutablePointer<UInt8>?
    }

    private typealias Encode = @convention(c) (Int32, UnsafePointer<UInt8>?, Int32, Int32) -> UnsafeMutableRawPointer?
    private typealias Free = @convention(c) (UnsafeMutableRawPointer?) -> Void

    /// Encodes text with error correction level M.
    ///
    /// - Returns: `nil` without the library, or for more text than a code holds.
    package static func encode(_ text: String) -> QRCode? {
        // SAFETY: signatures and the layout of the result are those of qrencode.h, version 4.
        guard let library = unsafe dlopen("libqrencode.so.4", RTLD_NOW | RTLD_LOCAL),
            let encodeSymbol = unsafe dlsym(library, "QRcode_encodeData"),
            let freeSymbol = unsafe dlsym(library, "QRcode_free")
        else { return nil }
        let encode = unsafe unsafeBitCast(encodeSymbol, to: Encode.self)
        let free = unsafe unsafeBitCast(freeSymbol, to: Free.self)
        let bytes = Array(text.utf8)
        let levelM: Int32 = 1
        guard
            let raw = unsafe bytes.withUnsafeBufferPointer({ buffer in
                unsafe encode(Int32(buffer.count), buffer.baseAddress, 0, levelM)
            })
        else { return nil }
        defer { unsafe free(raw) }
        let handle = unsafe raw.load(as: Handle.self)
        let width = Int(unsafe handle.width)
        guard width > 0, let data = unsafe handle.data else { return nil }
        return QRCode(width: width, isDark: (0..<(width * width)).map { index in unsafe data[index] & 1 == 1 })
    }

    /// A text as people are shown it: its code, or a word about why there is none.
    package static func linesToShow(_ text: String, isColored: Bool) -> [String] {
        encode(text)?.lines(isColored: isColored) ?? ["(install libqrencode4 to see it as a QR code as well)"]
    }

    private func isDark(_ row: Int, _ column: Int) -> Bool {
        guard (0..<width).contains(row), (0..<width).contains(column) else { return false }
        return isDark[row * width + column]
    }

    /// Two modules per character, one above the other. With colour the code is black on white whatever
    /// the theme; without, light modules are drawn, as suits a dark terminal.
    package func lines(isColored: Bool) -> [String] {
        let range = -Self.quietZone..<(width + Self.quietZone)
        return stride(from: range.lowerBound, to: range.upperBound, by: 2).map { row in
            var line = isColored ? "\u{1B}[38;5;16;48;5;231m" : ""
            for column in range {
                switch (isDark(row, column) == isColored, isDark(row + 1, column) == isColored) {
                case (true, true): line += "█"
                case (true, false): line += "▀"
                case (false, true): line += "▄"
                case (false, false): line += " "
                }
            }
            return line + (isColored ? "\u{1B}[0m" : "")
        }
    }
    /// The code as a picture: rows of pixels of three bytes, black on white.
    ///
    /// - Parameter moduleSide: pixels of one module.
    package func pixels(moduleSide: Int) -> (pixels: [UInt8], side: Int) {
        let side = (width + 2 * Self.quietZone) * moduleSide
        var pixels = [UInt8](repeating: 255, count: side * side * 3)
        for row in 0..<(width * moduleSide) {
            for column in 0..<(width * moduleSide) where isDark(row / moduleSide, column / moduleSide) {
                let margin = Self.quietZone * moduleSide
                let start = ((row + margin) * side + column + margin) * 3
                for byte in start..<(start + 3) { pixels[byte] = 0 }
            }
        }
        return (pixels, side)
    }
}
