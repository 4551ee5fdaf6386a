// Points in a vault's history. Times are for people; what was when is decided by the order of commits alone.

package import CoffretBase

/// A point in the past, as a person or a script names it. Words such as "yesterday" are the surface's business.
package enum Moment: Equatable, Sendable {
    /// The newest commit that is not later than this, by the clock of the device that wrote it.
    case time(Milliseconds)
    /// The commit whose name begins with these hex digits, at least four.
    case commit(String)
}
