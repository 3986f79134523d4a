"""E-mail by SMTP: encrypted unless the settings say otherwise, and never a password in the clear."""

from __future__ import annotations

import smtplib
import ssl
from email.message import EmailMessage
from email.utils import formatdate, make_msgid, parseaddr
from pathlib import Path

from energycomm.alarm_settings import AlarmSettings
from energycomm.logs import Log
from energycomm.transport.credentials import Secret, SecretUnreadableError

TIMEOUT = 30.0

log = Log()

TROUBLES: tuple[tuple[type[BaseException], str], ...] = (
    (smtplib.SMTPAuthenticationError, "the server refuses the login: see smtp_user and the password"),
    (smtplib.SMTPNotSupportedError, "the server offers no STARTTLS, or no login: see smtp_security and smtp_user"),
    (smtplib.SMTPSenderRefused, "the server refuses email_from"),
    (smtplib.SMTPRecipientsRefused, "the server refuses every address of email_to"),
    (
        ssl.SSLCertVerificationError,
        "the server's certificate is not trusted for this name: see smtp_host and smtp_ca_file",
    ),
    (ssl.SSLError, "no encryption could be agreed: see smtp_security and smtp_port"),
    (TimeoutError, "no answer in time: see smtp_host, smtp_port and smtp_security (tls for port 465)"),
    (smtplib.SMTPServerDisconnected, "the server hung up: see smtp_security (tls for port 465)"),
    (OSError, "the server cannot be reached: see smtp_host and smtp_port"),
)
"""What went wrong -> what that means and what to look at; the first that fits. `smtplib`'s errors are OSErrors."""


def send(settings: AlarmSettings, folder: Path, subject: str, text: str) -> str | None:
    """Mail a text to everybody of the settings.

    Args:
      settings: server, login, addresses.
      folder: from which relative paths of the settings start.
      subject: one line.
      text: the body.

    Returns:
      What went wrong, in words; None where the server took it, for one of them at least: whoever it refused is in the
      log. Repeating it would only repeat it for the others.
    """
    message = EmailMessage()
    message["Subject"] = " ".join(subject.split())[:200]
    message["From"], message["To"] = str(settings.email_from), ", ".join(settings.email_to)
    # A domain that there is not counts as spam.
    domain = parseaddr(str(settings.email_from))[1].rpartition("@")[2]
    message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain=domain)
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text)
    try:
        with _connected(settings, folder) as server:
            refused = server.send_message(message)
    except SecretUnreadableError as fault:
        return str(fault)
    except (OSError, smtplib.SMTPException) as fault:
        # A server's own words may repeat what it was told: its code says enough.
        return f"{settings.smtp_host}:{settings.smtp_port}: {_meaning(fault)}"
    for address, (code, _) in refused.items():
        log.error("mail.refused", to=address, code=code)
    return None


def _meaning(fault: BaseException) -> str:
    code = getattr(fault, "smtp_code", None)
    if isinstance(fault, smtplib.SMTPRecipientsRefused):
        code = ", ".join(sorted({str(one) for one, _ in fault.recipients.values()}))
    said = f" ({code})" if code else ""
    for kind, words in TROUBLES:
        # A server's refusal is an OSError, too, and no fault of the network.
        if isinstance(fault, kind) and not (kind is OSError and isinstance(fault, smtplib.SMTPException)):
            return f"{words}{said}"
    return f"the server refuses the mail{said}"


def password_of(settings: AlarmSettings, folder: Path) -> Secret | None:
    """Where the password of the mail server is; None where there is no login."""
    if settings.smtp_user is None:
        return None
    file = folder / settings.smtp_password_file if settings.smtp_password_file else None
    return Secret("password of the mail server", file, settings.smtp_password_env)


def _connected(settings: AlarmSettings, folder: Path) -> smtplib.SMTP:
    ca_file = str(folder / settings.smtp_ca_file) if settings.smtp_ca_file else None
    host, port = settings.smtp_host, settings.smtp_port
    if settings.smtp_security == "tls":
        server: smtplib.SMTP = smtplib.SMTP_SSL(
            host, port, timeout=TIMEOUT, context=ssl.create_default_context(cafile=ca_file)
        )
    else:
        server = smtplib.SMTP(host, port, timeout=TIMEOUT)
    try:
        if settings.smtp_security == "starttls":
            server.starttls(context=ssl.create_default_context(cafile=ca_file))
        secret = password_of(settings, folder)
        if secret is not None:
            server.login(str(settings.smtp_user), secret.read())
    except BaseException:
        server.close()
        raise
    return server
