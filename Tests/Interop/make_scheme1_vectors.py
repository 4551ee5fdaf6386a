"""Makes Tests/Vectors/themis/bear_chain_scheme1.json with Python's standard library and the package
cryptography alone: an implementation that shares no code with the one under test."""

import hashlib
import hmac
import json
import struct
import sys

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY, IV = b"Themis secure cell message key", b"Themis secure cell message iv"


def kdf(key, label, *parts):
    return hmac.new(key, b"\0\0\0\1" + label + b"\0" + b"".join(parts), hashlib.sha256).digest()


def imprint(key, context, data):
    aes_key = kdf(key, KEY, struct.pack("<I", len(data)))
    encryptor = Cipher(algorithms.AES(aes_key), modes.CTR(kdf(aes_key, IV, context)[:16])).encryptor()
    return encryptor.update(data) + encryptor.finalize()


def seal(key, context, plaintext, iv):
    aes_key = kdf(key, KEY, struct.pack("<I", len(plaintext)), context)
    sealed = AESGCM(aes_key).encrypt(iv, plaintext, context)
    header = struct.pack("<IIII", 0x40010100, 12, 16, len(plaintext))
    return header + iv + sealed[-16:] + sealed[:-16]


def case(number, passphrase, part, context, note_id, text):
    app_data = (passphrase + part + context).encode()
    app_key = imprint(passphrase.encode(), context.encode(), app_data)
    note_data = app_key + (part + context).encode()
    note_key = imprint(app_key, note_id.encode(), note_data)
    iv = hashlib.sha256(b"scheme 1 iv %d" % number).digest()[:12]
    return {
        "id": "scheme1-%03d" % number,
        "user_passphrase_utf8": passphrase,
        "generated_passphrase_password_utf8": part,
        "generated_app_context_utf8": context,
        "app_long_data_hex": app_data.hex(),
        "app_encryption_key_hex": app_key.hex(),
        "note_encryption_id_utf8": note_id,
        "note_long_data_hex": note_data.hex(),
        "note_encryption_key_hex": note_key.hex(),
        "note_text_utf8": text,
        "iv_hex": iv.hex(),
        "encrypted_note_hex": seal(note_key, note_id.encode(), text.encode(), iv).hex(),
    }


# The context that the article's code prints: "%.3f%s%.5f%s" of 1.21 / 62.3.
ratio = 1.21 / 62.3
article = "%.3f%s%.5f%s" % (ratio, "i37fd29=", ratio, "|d45#jD")
assert article == "0.019i37fd29=0.01942|d45#jD"
own = ("coffret/scheme-1/passphrase", "coffret/scheme-1/context")
cases = [
    case(1, "honey and salmon", "", article, "5C1B2A7E-0A57-4A3C-9B0E-6D0F7C3D1E11", "Bear with us"),
    case(2, "hunter2", "static-password-part/Qx81", article, "A3E7D9F0-72B1-4C8E-8F11-0B5C2D4E6F70", "Grandma's recipe"),
    case(3, "correct horse battery staple", *own, "0F8FAD5B-D9CB-469F-A165-70867728950E", "A note of Coffret's own"),
    case(4, "n\u0303 and \u00f1 differ", *own, "7C9E6679-7425-40DE-944B-E07FC1F90AE7", "Zażółć gęślą jaźń"),
    case(5, "x" * 100, *own, "6BA7B810-9DAD-11D1-80B4-00C04FD430C8", "."),
]
json.dump({"format": "bear-note-chain", "cases": cases}, sys.stdout, indent=1, ensure_ascii=True)
print()
