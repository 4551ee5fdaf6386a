// Asking a person to show that they are there, through PAM: a fingerprint, a password, whatever the machine is set up
// for. Invariant: PAM says yes or no and releases no key, so presence only ever stands before a key that a TPM or a
// keyring holds.

internal import CPAM
internal import CoffretBase
package import CoffretKeys
internal import Dispatch
internal import Glibc

/// User presence by a service of PAM named `coffret`.
///
/// Each question runs on a thread of its own: one that waits for a finger holds up nobody else, and the caller is let
/// go when its time is up. A module that cannot be interrupted then ends by its own limit, and its answer is dropped.
/// Source: Linux-PAM 1.5, pam(3).
package struct PAMPresence: UserPresence {
    /// The file of this name in /etc/pam.d says how people show that they are there.
    package static let service = "coffret"
    static let systemDirectories = ["/etc/pam.d", "/usr/lib/pam.d"]

    private let user: String?
    private let conversation: (any PresenceConversation)?
    private let limit: Duration
    private let directory: String?
    private let queue = BlockingQueue(name: "coffret.presence", isConcurrent: true)

    /// - Parameter user: nil for the person whose process this is.
    /// - Parameter conversation: nil where nobody can be asked; modules that need no words, such as a
    ///   fingerprint reader, still work.
    /// - Parameter directory: in the place of /etc/pam.d; for tests alone. It comes from the caller's code and
    ///   never from the environment.
    package init(
        user: String? = nil, conversation: (any PresenceConversation)?, limit: Duration = .seconds(60),
        directory: String? = nil
    ) {
        self.user = user
        self.conversation = conversation
        self.limit = limit
        self.directory = directory
    }

    /// The name of the person whose process this is; nil for a user id without a name. Reads the users of the system.
    private static var currentUser: String? {
        guard let entry = unsafe getpwuid(getuid()), let name = unsafe entry.pointee.pw_name else { return nil }
        return unsafe String(cString: name)
    }

    /// Whether the service is set up. PAM answers for one that is missing with a refusal after two seconds.
    package var isSetUp: Bool {
        (directory.map { [$0] } ?? Self.systemDirectories).contains {
            unsafe access("\($0)/\(Self.service)", R_OK) == 0
        }
    }

    package func confirm(reason: String) async throws(KeyError) {
        guard isSetUp else { throw KeyError(.keyStoreFailed, cause: KeyStoreError(.presenceNotSetUp)) }
        guard let user = user ?? Self.currentUser else { throw KeyError(.presenceRequired) }
        let (conversation, directory) = (conversation, directory)
        try await queue.run(limit: limit) { () -> Result<Void, KeyError> in
            conversation?.show("Show that you are there, to \(reason).")
            do throws(KeyStoreError) {
                return .success(try PAMTransaction.authenticate(user, conversation, directory))
            } catch {
                return .failure(KeyError(.keyStoreFailed, cause: error))
            }
        }
    }
}

/// One conversation with PAM from start to end.
private enum PAMTransaction {
    /// The object behind the pointer of PAM's callback.
    private final class Partner {
        let conversation: (any PresenceConversation)?
        init(_ conversation: (any PresenceConversation)?) { self.conversation = conversation }
    }

    static func authenticate(
        _ user: String, _ conversation: (any PresenceConversation)?, _ directory: String?
    ) throws(KeyStoreError) {
        let partner = Partner(conversation)
        try withExtendedLifetime(partner) { () throws(KeyStoreError) in
            var callback = unsafe pam_conv(
                conv: unsafe converse, appdata_ptr: Unmanaged.passUnretained(partner).toOpaque())
            var handle: OpaquePointer?
            let started =
                if let directory {
                    unsafe pam_start_confdir(PAMPresence.service, user, &callback, directory, &handle)
                } else {
                    unsafe pam_start(PAMPresence.service, user, &callback, &handle)
                }
            guard started == PAM_SUCCESS, let handle = unsafe handle else {
                throw KeyStoreError(.unavailable, place: "pam \(started)")
            }
            let isInteractive = conversation != nil
            let flags =
                Int32(bitPattern: PAM_DISALLOW_NULL_AUTHTOK) | (isInteractive ? 0 : Int32(bitPattern: PAM_SILENT))
            var result = unsafe pam_authenticate(handle, flags)
            // An account that expired or is barred at this hour is nobody who is there.
            if result == PAM_SUCCESS { result = unsafe pam_acct_mgmt(handle, flags) }
            unsafe pam_end(handle, result)
            try check(result)
        }
    }

    private static func check(_ result: Int32) throws(KeyStoreError) {
        switch result {
        case PAM_SUCCESS: return
        case PAM_AUTHINFO_UNAVAIL, PAM_CONV_ERR, PAM_MODULE_UNKNOWN, PAM_OPEN_ERR:
            throw KeyStoreError(.presenceUnavailable, place: "pam \(result)")
        default: throw KeyStoreError(.presenceDenied, place: "pam \(result)")
        }
    }

    private static let converse:
        @convention(c) (
            Int32, UnsafeMutablePointer<UnsafePointer<pam_message>?>?,
            UnsafeMutablePointer<UnsafeMutablePointer<pam_response>?>?, UnsafeMutableRawPointer?
        ) -> Int32 = { count, messages, responses, data in
            guard count > 0, count <= PAM_MAX_NUM_MSG, let messages = unsafe messages, let responses = unsafe responses,
                let data = unsafe data,
                let answers = unsafe calloc(Int(count), MemoryLayout<pam_response>.stride)?
                    .assumingMemoryBound(to: pam_response.self)
            else { return PAM_CONV_ERR }
            let partner = unsafe Unmanaged<Partner>.fromOpaque(data).takeUnretainedValue()
            for index in 0..<Int(count) {
                guard let message = unsafe messages[index],
                    unsafe reply(to: message.pointee, in: &answers[index], partner)
                else {
                    unsafe discard(answers, count: Int(count))
                    return PAM_CONV_ERR
                }
            }
            unsafe responses.pointee = unsafe answers
            return PAM_SUCCESS
        }

    private static func reply(to message: pam_message, in answer: inout pam_response, _ partner: Partner) -> Bool {
        let text = unsafe message.msg.map { unsafe String(cString: $0) } ?? ""
        switch unsafe message.msg_style {
        case PAM_PROMPT_ECHO_OFF, PAM_PROMPT_ECHO_ON:
            let isHidden = unsafe message.msg_style == PAM_PROMPT_ECHO_OFF
            guard let secret = partner.conversation?.answer(text, isHidden: isHidden) else { return false }
            guard let copy = unsafe calloc(secret.byteCount + 1, 1) else { return false }
            // EXPOSE: into memory that PAM overwrites and frees.
            unsafe secret.withUnsafeBytes { bytes in
                if let base = bytes.baseAddress { unsafe copy.copyMemory(from: base, byteCount: bytes.count) }
            }
            unsafe answer.resp = unsafe copy.assumingMemoryBound(to: CChar.self)
        case PAM_ERROR_MSG, PAM_TEXT_INFO: partner.conversation?.show(text)
        default: return false
        }
        return true
    }

    /// PAM frees answers only of a conversation that went well.
    private static func discard(_ answers: UnsafeMutablePointer<pam_response>, count: Int) {
        for index in 0..<count {
            guard let text = unsafe answers[index].resp else { continue }
            unsafe explicit_bzero(text, strlen(text))
            unsafe free(text)
        }
        unsafe free(answers)
    }
}
