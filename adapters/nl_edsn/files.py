"""The file exchange of the portal: what waits for us, and what became of the files that we sent.

One content element is one CH message: an answer with the files that it names, or a refused one with its reasons. The
bytes of a file are fetched apart; here is only its number, name and sort.
"""

from __future__ import annotations

from adapters.common.codes import Unreadable
from adapters.common.outcome import Digested, Digester, Notes
from adapters.common.reading import Fields, leaf, node, nodes
from adapters.nl_edsn.answers import REJECTIONS, refusing
from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.header import Context, answered
from energycomm.kernel.messages import KernelMessage, RequestAnswer
from energycomm.kernel.parts import Attachment

DETAILS = ("GenericFileDetails", "FileListResponse_EDSNFileDetails")
"""What describes a file, in the exchange and in the list of files."""


def refer(fields: Fields, context: Context) -> tuple[str, str | None]:
    """Our reference of the file where one is told, else that of the call."""
    details = next((one for tag in DETAILS for one in nodes(fields, tag)), {})
    told = leaf(details, "ExternalReference") or context.correlation or leaf(details, "FileID")
    return told or context.message_id or "-", None


def digest(fields: Fields, context: Context, notes: Notes) -> Digested:
    """The files that are named, or why none is.

    Raises:
      Unreadable: a rejection gives no reason, or one without a code.
    """
    reference, _ = refer(fields, context)
    head = {**context.head, "reference": reference, "correlation": reference, "effective": context.head["created"]}
    told: list[KernelMessage] = []
    found = [one for tag in DETAILS for one in nodes(fields, tag)]
    taken = [one for one in found if not nodes(one, "Portaal_Rejection")]
    refused = [(one, node(one, "Portaal_Rejection")) for one in found if nodes(one, "Portaal_Rejection")]
    refused += [({}, held) for tag in REJECTIONS for held in nodes(fields, tag)]
    for details, held in refused:
        given = [*nodes(held, "Rejection"), *nodes(held, "Rejections")]
        if not given:
            raise Unreadable(refusal("SYN_MISSING", path="Portaal_Rejection/Rejection", expected="a reason"))
        reasons = refusing(given, "Portaal_Rejection/Rejection")
        told.append(RequestAnswer(**head, **reasons, request=leaf(details, "FileID"), attachments=_files([details])))
    if taken or not refused:
        number = leaf(taken[0], "FileID") if len(taken) == 1 else None
        told.append(RequestAnswer(**head, accepted=True, request=number, attachments=_files(taken)))
    return Digested(reference, None, told)


def _files(details: list[Fields]) -> tuple[Attachment, ...]:
    """The files by name, where one is told, else by number."""
    return tuple(
        Attachment(
            name=name,
            media_type=leaf(one, "FileSort") or leaf(one, "FileType"),
            reference=leaf(one, "FileID"),
            size=int(size) if (size := leaf(one, "FileSize") or "").isdigit() else None,
        )
        for one in details
        if (name := leaf(one, "FileName") or leaf(one, "FileID")) is not None
    )


DIGESTER = Digester(digest, refer, salt=answered)
