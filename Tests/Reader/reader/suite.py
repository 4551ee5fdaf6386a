"""The cipher suite (Spec/suite.md), over libsodium, Python's BLAKE2b, and AES of the package `cryptography`."""

import ctypes
import ctypes.util
import functools
import hashlib
import hmac

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from .failure import need

SEALED = 'reader.seal.does-not-open'


class Missing(Exception):
    """A library of this machine that is not installed."""


def _sodium():
    path = ctypes.util.find_library('sodium')
    if path is None:
        raise Missing('libsodium')
    library = ctypes.CDLL(path)
    if library.sodium_init() < 0:
        raise Missing('a libsodium that starts')
    return library


sodium = _sodium()


def lp(data):
    """The length in four bytes, then the bytes."""
    return len(data).to_bytes(4, 'big') + data


def u32(number):
    return number.to_bytes(4, 'big')


def u64(number):
    return number.to_bytes(8, 'big')


def hashed(data, size=32, key=b''):
    """BLAKE2b of `size` bytes."""
    return hashlib.blake2b(data, digest_size=size, key=key).digest()


def code(key, purpose, data, salt=bytes(16)):
    """The code of a file of the journal: BLAKE2b-128 with salt and personalisation."""
    return hashlib.blake2b(data, digest_size=16, key=key, salt=salt, person=purpose.ljust(16, b'\0')).digest()


def kdf(key, label, *context):
    """KDF(K, label, ctx...)."""
    return hashed(b'coffret/1/' + label + b'\0' + b''.join(map(lp, context)), key=key)


def padme(n):
    """The size class of n bytes above 448."""
    if n < 2:
        return n
    e = n.bit_length() - 1
    step = 1 << e - e.bit_length()
    return -(-n // step) * step


def padded(n):
    """pad(n): the bytes that n bytes with their header are filled up to."""
    return next((size for size in (192, 320, 448) if n <= size), None) or padme(n)


def pad(content, filled=True):
    """pad(m): length, content and zeros."""
    body = lp(content)
    return body + bytes((padded(len(body)) if filled else len(body)) - len(body))


def _envelope_keys(key, context, ad, nonce):
    both = hashed(b'coffret/env/1' + lp(context) + lp(ad) + nonce, 64, key)
    return both[:32], both[32:]


def envelope_open(key, context, ad, sealed, filled=True, failure=SEALED, place=''):
    """The content of ENV(K, context, ad, m), checked as the page has it; all failures are one."""
    need(len(sealed) >= 57 + 16 + 4 and sealed[0] == 1, failure, place, 'no envelope')
    nonce, commitment, rest = sealed[1:25], sealed[25:57], sealed[57:]
    inner, expected = _envelope_keys(key, context, ad, nonce)
    need(hmac.compare_digest(commitment, expected), failure, place, 'another key or context')
    plain = xchacha_open(inner, nonce, b'\1' + commitment, rest)
    need(plain is not None, failure, place, 'an altered envelope')
    length = int.from_bytes(plain[:4], 'big')
    need(length <= len(plain) - 4 and plain == pad(plain[4 : 4 + length], filled), failure, place, 'padding')
    return plain[4 : 4 + length]


def envelope_seal(key, context, ad, content, nonce, filled=True):
    """ENV(K, context, ad, m) with a nonce that is given."""
    inner, commitment = _envelope_keys(key, context, ad, nonce)
    return b'\1' + nonce + commitment + xchacha_seal(inner, nonce, b'\1' + commitment, pad(content, filled))


def xchacha_open(key, nonce, ad, sealed):
    """The plaintext of XChaCha20-Poly1305, or None."""
    if len(sealed) < 16:
        return None
    out = ctypes.create_string_buffer(len(sealed) - 16 or 1)
    size = ctypes.c_ulonglong()
    wrong = sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
        out, ctypes.byref(size), None, sealed, ctypes.c_ulonglong(len(sealed)), ad, ctypes.c_ulonglong(len(ad)), nonce, key
    )
    return None if wrong else out.raw[: size.value]


def xchacha_seal(key, nonce, ad, plain):
    """XChaCha20-Poly1305 with the tag behind."""
    out = ctypes.create_string_buffer(len(plain) + 16)
    size = ctypes.c_ulonglong()
    sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        out, ctypes.byref(size), plain, ctypes.c_ulonglong(len(plain)), ad, ctypes.c_ulonglong(len(ad)), None, nonce, key
    )
    return out.raw[: size.value]


def secretbox_open(key, nonce, sealed):
    """The plaintext of NaCl's secretbox with the tag in front, or None."""
    if len(sealed) < 16:
        return None
    out = ctypes.create_string_buffer(len(sealed) - 16 or 1)
    wrong = sodium.crypto_secretbox_open_easy(out, sealed, ctypes.c_ulonglong(len(sealed)), nonce, key)
    return None if wrong else out.raw[: len(sealed) - 16]


def secretbox_seal(key, nonce, plain):
    """NaCl's secretbox, tag in front."""
    out = ctypes.create_string_buffer(len(plain) + 16)
    sodium.crypto_secretbox_easy(out, plain, ctypes.c_ulonglong(len(plain)), nonce, key)
    return out.raw[: len(plain) + 16]


def address(material, name):
    """The address of a name under 32 bytes of key material."""
    cipher = Cipher(algorithms.AES(material[16:]), modes.CBC(material[:16])).encryptor()
    return cipher.update(name) + cipher.finalize()


def name_of_address(material, place):
    """The name that an address hides."""
    cipher = Cipher(algorithms.AES(material[16:]), modes.CBC(material[:16])).decryptor()
    return cipher.update(place) + cipher.finalize()


def valid_signing_key(public):
    """Whether a signing key is canonical, on the curve, and in the subgroup of prime order."""
    return len(public) == 32 and sodium.crypto_core_ed25519_is_valid_point(public) == 1


def verifies(public, context, scope, message, signature):
    """Whether an Ed25519 signature of Coffret's form verifies."""
    signed = b'coffret/sig/1' + lp(context) + lp(scope) + lp(message)
    if len(signature) != 64 or not valid_signing_key(public):
        return False
    return sodium.crypto_sign_verify_detached(signature, signed, ctypes.c_ulonglong(len(signed)), public) == 0


def signing_pair(seed):
    """Public and secret key of Ed25519, from the seed."""
    public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
    sodium.crypto_sign_seed_keypair(public, secret, seed)
    return public.raw[:32], secret.raw[:64]


def sign(seed, context, scope, message):
    """An Ed25519 signature of Coffret's form."""
    signed = b'coffret/sig/1' + lp(context) + lp(scope) + lp(message)
    out = ctypes.create_string_buffer(64)
    sodium.crypto_sign_detached(out, None, signed, ctypes.c_ulonglong(len(signed)), signing_pair(seed)[1])
    return out.raw[:64]


def box_public(private):
    """The public key of X25519."""
    out = ctypes.create_string_buffer(32)
    sodium.crypto_scalarmult_base(out, private)
    return out.raw[:32]


def agreed(private, public):
    """The shared secret of X25519, or None where it is zero."""
    out = ctypes.create_string_buffer(32)
    wrong = sodium.crypto_scalarmult(out, private, public)
    return None if wrong or out.raw[:32] == bytes(32) else out.raw[:32]


def box_open(private, context, ad, sealed, filled=True, failure=SEALED, place=''):
    """The content of an envelope to a public key."""
    need(len(sealed) > 32, failure, place, 'no envelope to a key')
    ephemeral, rest = sealed[:32], sealed[32:]
    shared = agreed(private, ephemeral)
    need(shared is not None, failure, place, 'a key that agrees on nothing')
    key = kdf(shared, b'box/agreement', ephemeral, box_public(private), context)
    return envelope_open(key, context, ad, rest, filled, failure, place)


def box_seal(ephemeral, public, context, ad, content, nonce, filled=True):
    """An envelope to a public key, with an ephemeral key and a nonce that are given."""
    own = box_public(ephemeral)
    key = kdf(agreed(ephemeral, public), b'box/agreement', own, public, context)
    return own + envelope_seal(key, context, ad, content, nonce, filled)


@functools.lru_cache(maxsize=4)  # tests open hundreds of stores with one passphrase
def argon2id(passphrase, kibibytes, passes, salt):
    """32 bytes of Argon2id; `reader.passphrase.parameters` for what the page does not allow (R13)."""
    allowed = 64 << 10 <= kibibytes <= 1 << 20 and 3 <= passes <= 16 and len(salt) == 16
    need(allowed, 'reader.passphrase.parameters', '', f'{kibibytes} KiB, {passes} passes')
    out = ctypes.create_string_buffer(32)
    wrong = sodium.crypto_pwhash(
        out, ctypes.c_ulonglong(32), passphrase, ctypes.c_ulonglong(len(passphrase)), salt,
        ctypes.c_ulonglong(passes), ctypes.c_size_t(kibibytes << 10), 2,
    )  # fmt: skip
    need(not wrong, 'reader.passphrase.memory', '', f'{kibibytes} KiB are not to be had')
    return out.raw[:32]


def siphash(key, data):
    """SipHash-2-4 as an integer, from its eight bytes read as little-endian."""
    out = ctypes.create_string_buffer(8)
    sodium.crypto_shorthash(out, data, ctypes.c_ulonglong(len(data)), key)
    return int.from_bytes(out.raw[:8], 'little')
