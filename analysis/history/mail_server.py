"""Mail servers: their names on the command line, and sending a message through one."""

from __future__ import annotations

import os
import smtplib
import ssl
from dataclasses import dataclass
from email.message import EmailMessage

from hindmost.errors import MissingError, UsageError
from hindmost.text import choose

TIMEOUT_S = 30.0
PASSWORD = "HINDMOST_SMTP_PASSWORD"  # the name of the variable, and no password
"""Variable of the environment that holds the password."""


def open_plain(host: str, port: int) -> smtplib.SMTP:
    """Connect without encryption, as to a local server."""
    return smtplib.SMTP(host, port, timeout=TIMEOUT_S)


def open_tls(host: str, port: int) -> smtplib.SMTP:
    """Connect with TLS from the start (RFC 8314, section 3)."""
    context = ssl.create_default_context()
    return smtplib.SMTP_SSL(host, port, timeout=TIMEOUT_S, context=context)


def open_starttls(host: str, port: int) -> smtplib.SMTP:
    """Connect, and switch to TLS before anything else (RFC 3207)."""
    connection = open_plain(host, port)
    try:
        connection.starttls(context=ssl.create_default_context())
    except BaseException:
        connection.close()
        raise
    return connection


PLAIN = "smtp"
WAYS = {PLAIN: (25, open_plain), "smtp+starttls": (587, open_starttls), "smtps": (465, open_tls)}
"""Default port, and what connects to host and port, by the word before ``://``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """A mail server.

    Attributes
    ----------
    host : str
    port : int
    way : str
        Of `WAYS`.
    user : str
        Login name; empty for a server without a login.
    """

    host: str
    port: int
    way: str
    user: str = ""

    def __str__(self) -> str:
        """Name it for a person."""
        return f"{self.host}, port {self.port}"


def mail_server(words: str) -> MailServer:
    """Return the server of a name; write an IPv6 address in brackets.

    Parameters
    ----------
    words : str
        ``host``, ``host:port``, or ``smtps://user@host:port`` with one of `WAYS`.

    Raises
    ------
    UsageError
        It is none of these, contains a password, or would send one without encryption.
    """
    scheme, separator, rest = words.rpartition("://")
    way = scheme if separator else PLAIN
    if way not in WAYS:
        raise UsageError(f"--smtp {way}://...: {choose(f'{each}://' for each in WAYS)}.")
    user, at, place = rest.rpartition("@")
    if ":" in user:
        raise UsageError(
            "--smtp contains a password, which others on this machine can read in the list of "
            f"processes: omit it, and set {PASSWORD}."
        )
    host, colon, number = place.rpartition(":")
    if not colon or place.endswith("]"):
        host, number = place, str(WAYS[way][0])
    if not host or (at and not user) or not number.isdecimal() or not 0 < int(number) < 65536:
        raise UsageError(
            f"--smtp {words}: give HOST or HOST:PORT, as mail.example.org:25, or "
            "smtps://USER@HOST:PORT."
        )
    if user and way == PLAIN:
        raise UsageError(
            f"--smtp {words} would send the password of {user} as plain text: use smtps:// or "
            "smtp+starttls://."
        )
    return MailServer(host=host.strip("[]"), port=int(number), way=way, user=user)


def password_for(server: MailServer) -> str:
    """Return the password of the login, from the environment; empty for a server without a login.

    Raises
    ------
    UsageError
        There is no password.
    """
    if server.user and not os.environ.get(PASSWORD):
        raise UsageError(f"There is no password for {server.user}: set {PASSWORD}.")
    return os.environ[PASSWORD] if server.user else ""


def send(message: EmailMessage, server: MailServer, password: str = "") -> None:
    """Send a message through a mail server.

    Parameters
    ----------
    message : EmailMessage
    server : MailServer
    password : str
        Of the server's user.

    Raises
    ------
    MissingError
        The server cannot be reached or trusted, or refuses the login or the message.
    """
    try:
        with WAYS[server.way][1](server.host, server.port) as connection:
            if server.user:
                connection.login(server.user, password)
            refused = connection.send_message(message)
    except ssl.SSLCertVerificationError as error:
        raise MissingError(
            f"The certificate of the mail server {server} cannot be trusted "
            f"({error.verify_message}): use the host name in the certificate; if a local authority "
            "signed it, name its file in SSL_CERT_FILE."
        ) from error
    except smtplib.SMTPAuthenticationError as error:
        raise MissingError(
            f"The mail server {server} refused the login of {server.user} ({error.smtp_code}): "
            f"check the name in --smtp and the password in {PASSWORD}."
        ) from error
    except UnicodeError:  # its message would show the password
        raise MissingError(
            f"The login of {server.user} at {server} has characters outside of ASCII, which mail "
            "servers do not accept."
        ) from None
    except (OSError, smtplib.SMTPException) as error:
        raise MissingError(
            f"The mail server {server} did not accept the mail ({error}): check --smtp, "
            "--to and --from, or write it with --mail for 'sendmail -t'."
        ) from error
    if refused:
        raise MissingError(
            f"The mail server {server.host} refused {', '.join(refused)}; the others get the mail."
        )
