"""Who may use the server: the token, the Host and Origin headers, and headers of all responses."""

import asyncio
import base64
import binascii
import hmac
import ipaddress
from collections import Counter
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from cordwood.exceptions import CordwoodError
from cordwood.serve.errors import RequestError

MIN_TOKEN_LENGTH = 16
_MAX_DELAY = 5.0
# Wrong tokens of one address that wait for their reply; others are not compared meanwhile.
_MAX_DELAYED = 4

# For the page: everything from the server itself, nothing inline, no frames.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


def is_loopback(host: str) -> bool:
    """Return whether an address is reached from the same computer only."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_address(host: str, token: str | None, *, no_auth: bool) -> None:
    """Raise an error if others could use the server, and this was not stated."""
    if token is not None and (len(token) < MIN_TOKEN_LENGTH or not token.isascii()):
        raise CordwoodError(f"--token must have at least {MIN_TOKEN_LENGTH} characters, all ASCII")
    if token is not None and no_auth:
        raise CordwoodError("--token and --no-auth are alternatives; omit one of them")
    if not is_loopback(host) and token is None and not no_auth:
        raise CordwoodError(
            f"with --host {host}, other computers can use the server; give --token, or --no-auth "
            "if everyone may"
        )


class Access:
    """Checks requests by their headers."""

    def __init__(self, host: str, token: str | None) -> None:
        self._is_loopback = is_loopback(host)
        self._token = None if token is None else token.encode()
        self._n_failed: Counter[str] = Counter()
        self._n_delayed: Counter[str] = Counter()

    def check_source(self, headers: Headers) -> None:
        """Reject other names of this computer, and pages of other sites.

        A site whose name is made to resolve to 127.0.0.1 sends its own name (DNS rebinding).
        """
        host = headers.get("host", "")
        if self._is_loopback and not _is_local_name(host):
            raise RequestError(403, "the Host header must be localhost or a loopback address")
        origin = headers.get("origin")
        if origin is not None and self._token is None and urlsplit(origin).netloc != host:
            raise RequestError(403, "requests from pages of other sites are rejected")

    async def check_token(self, headers: Headers, client: str) -> None:
        """Reject requests without the token; replies to wrong ones are slow."""
        if self._token is None:
            return
        if self._n_delayed[client] >= _MAX_DELAYED:
            raise RequestError(429, "too many wrong tokens; try again later", retry_after=5)
        given = _read_token(headers.get("authorization", ""))
        if hmac.compare_digest(given, self._token):
            self._n_failed.pop(client, None)
            return
        sentence = "give the token of the server in the header Authorization: Bearer TOKEN"
        if not given:
            raise RequestError(401, sentence)
        if len(self._n_failed) > 10_000:
            self._n_failed.clear()
        self._n_failed[client] += 1
        self._n_delayed[client] += 1
        try:
            await asyncio.sleep(min(0.1 * 2 ** min(self._n_failed[client], 10), _MAX_DELAY))
        finally:
            self._n_delayed[client] -= 1
            if not self._n_delayed[client]:
                del self._n_delayed[client]
        raise RequestError(401, f"the token is wrong; {sentence}")


def _is_local_name(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return is_loopback(name) or name.endswith(".localhost")


def _read_token(value: str) -> bytes:
    """Return the token of a header; that of Basic is the password, as Label Studio sends it."""
    scheme, _, given = value.partition(" ")
    if scheme.lower() == "bearer":
        return given.strip().encode("latin-1", "replace")
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(given, validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            pass
    return b""
