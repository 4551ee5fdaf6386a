// The version of this release. Invariant: every program of a release names the same one.

package enum CoffretVersion {
    package static let text = "0.1.0"
}
