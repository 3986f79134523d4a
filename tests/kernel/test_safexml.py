"""XML that others wrote is read safely: nothing is expanded, nothing is fetched, memory stays flat."""

from __future__ import annotations

import io
import resource
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from energycomm.kernel import prescan as prescan_module
from energycomm.kernel.safexml import Sniffed, Unreadable, iterate, parse_bytes, prescan
from energycomm.kernel.verdicts import Refusal

WHOLE = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!-- c --><r xmlns="urn:x" xmlns:p="urn:p">'
    "<p:a b=\"1&lt;2\" c='é'>t &amp; é<b/><![CDATA[ </p:a> ]]><?pi x?><!-- y --></p:a>\n</r>"
).encode()
BOMB = b'<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><r n="&b;">&b;</r>'


class Endless(io.RawIOBase):
    """A stream of a given size that is made while it is read, and cannot be rewound."""

    def __init__(self, head: bytes, body: bytes, tail: bytes, size: int) -> None:
        self._pieces = self._make(head, body * max(1, (1 << 16) // len(body)), tail, size)
        self._rest = b""

    @staticmethod
    def _make(head: bytes, body: bytes, tail: bytes, size: int) -> Iterator[bytes]:
        yield head
        for _ in range(size // len(body)):
            yield body
        yield tail

    def read(self, size: int = -1) -> bytes:
        while len(self._rest) < size and (piece := next(self._pieces, b"")):
            self._rest += piece
        given, self._rest = self._rest[:size], self._rest[size:]
        return given


def peak_growth(work: Callable[[], object]) -> int:
    """Bytes by which the process's peak memory grew."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024


@pytest.mark.parametrize(
    ("content", "code", "value"),
    [
        (b"", "XML_EMPTY", None),
        (b" \r\n\t", "XML_EMPTY", None),
        (b"hello", "XML_SYNTAX", "line 1, column 1: Start tag expected"),
        (b"\x00\x01\x02", "XML_SYNTAX", "line 1"),
        (b"PK\x03\x04" + b"x" * 50, "XML_SYNTAX", "line 1"),
        (b'{"a": 1}', "XML_SYNTAX", "line 1"),
        (b"<a>\n<b></a>", "XML_SYNTAX", "line 2, column 8: Opening and ending tag mismatch"),
        (b"<a/><b/>", "XML_SYNTAX", "Extra content"),
        (b"<a/>junk", "XML_SYNTAX", "Extra content"),
        (b"<a>&nbsp;</a>", "XML_SYNTAX", "Entity 'nbsp' not defined"),
        (b"<a>& </a>", "XML_SYNTAX", "no name"),
        (b"<a>\x01</a>", "XML_SYNTAX", "Char value 1"),
        (b'<a b="1" b="2"/>', "XML_SYNTAX", "redefined"),
        (b'<a xmlns:p="u"><q:b/></a>', "XML_SYNTAX", "Namespace prefix q"),
        ("<a xmlns='\x80u'/>".encode(), "XML_SYNTAX", "is not a valid URI"),
        (b"<a>\xe9</a>", "XML_ENCODING", "Invalid bytes"),
        (b'<?xml version="1.0" encoding="UTF-8"?><a>\xe9 \n</a>', "XML_ENCODING", "Invalid bytes"),
        (b'<?xml version="1.0" encoding="foo-8"?><a>x</a>', "XML_ENCODING", "foo-8"),
        (BOMB, "XML_DOCTYPE", "<!DOCTYPE"),
        (b"<!-- c -->\n" + BOMB, "XML_DOCTYPE", "<!DOCTYPE"),
        (b'<?xml version="1.0"?><!DOCTYPE r SYSTEM "http://127.0.0.1/x.dtd"><r/>', "XML_DOCTYPE", "<!DOCTYPE"),
        (BOMB.decode().encode("utf-16"), "XML_DOCTYPE", "<!DOCTYPE"),
        (b"<!DOCTYPE r [" + b" " * 3000 + BOMB[13:], "XML_DOCTYPE", "<!DOCTYPE"),
    ],
)
def test_what_is_not_safe_well_formed_xml_is_refused_with_its_line(
    content: bytes, code: str, value: str | None
) -> None:
    for refused in (prescan(io.BytesIO(content)), parse_bytes(content)):
        assert isinstance(refused, Refusal)
        assert refused.code == code
        assert refused.value is None if value is None else value in str(refused.value)
        assert refused.expected


@pytest.mark.parametrize("size", range(1, len(WHOLE)))
def test_a_document_cut_anywhere_is_called_truncated(size: int) -> None:
    refused = prescan(io.BytesIO(WHOLE[:size]))
    assert isinstance(refused, Refusal)
    assert refused.code == "XML_TRUNCATED"


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252", "shift_jis", "iso-2022-jp"]
)
def test_root_and_namespace_are_seen_in_every_encoding(encoding: str) -> None:
    letter = "は" if encoding in ("shift_jis", "iso-2022-jp") else "é"
    name = encoding.removesuffix("-sig")
    text = (
        f'<?xml version="1.0" encoding="{name}"?>\n<!-- {letter} --><p:Root xmlns:p="urn:x"><a>{letter}</a></p:Root>\n'
    )
    assert prescan(io.BytesIO(text.encode(encoding))) == Sniffed("Root", "urn:x")
    root = parse_bytes(text.encode(encoding))
    assert isinstance(root, etree._Element)
    assert root.findtext("a") == letter


@pytest.mark.parametrize(
    "tag",
    [
        "r", "r a='1'", "r xmlns='urn:y'", "r\n xmlns = 'urn:y' xmlns:p='urn:z'", "p:r xmlns='urn:y' xmlns:p='urn:z'",
        "r a=\" xmlns='urn:z'\" xmlns='urn:y'", "r xmlns=''", "r xmlns='urn:&amp;'", "é xmlns='urn:y'", "r q='>' ",
    ],
)  # fmt: skip
def test_root_and_namespace_are_those_that_a_parser_finds(tag: str) -> None:
    for before in ("", "<?xml version='1.0'?>", '\ufeff<?xml version="1.0" encoding="UTF-8" ?>\n\n'):
        content = f"{before}<{tag}/>".encode()
        name = etree.QName(etree.fromstring(content))
        assert prescan(io.BytesIO(content)) == Sniffed(name.localname, name.namespace)


def test_a_root_behind_a_long_comment_is_found() -> None:
    assert prescan(io.BytesIO(b"<!--" + b" x" * 5000 + b"--><Root/>")) == Sniffed("Root", None)


def test_a_stream_that_gives_a_byte_at_a_time_is_read_to_its_end() -> None:
    class Drip(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(1, size or 1))

    assert prescan(Drip(WHOLE)) == Sniffed("r", "urn:x")
    refused = prescan(Drip(WHOLE[:-3]))
    assert isinstance(refused, Refusal)
    assert refused.code == "XML_TRUNCATED"


DEEP = 300_000


@pytest.mark.parametrize(
    "content",
    [
        b"<a>" * DEEP,
        b"<a>" * DEEP + b"</a>" * DEEP,
        b"<a>/>" * DEEP,
        b"<a b='/>'>" * DEEP,
        b"<r>" + b"<!-- </a> --><a>" * DEEP,
        b"<r>" + b"<![CDATA[</a>]]><a>" * DEEP,
        b"<r><?p " + b"</a>" * DEEP + b"?>" + b"<a>" * DEEP,
        ("<?xml version='1.0' encoding='UTF-16'?>" + "<a>" * 300 + "</a>" * 300).encode("utf-16"),
        b"<?xml version='1.0' encoding='ISO-2022-JP'?>" + b"<a>" * 300 + b"</a>" * 300,
        b"<a " + b" ".join(b'a%d="1"' % number for number in range(200_000)) + b"/>",
    ],
)
def test_depth_and_attributes_are_bounded_however_they_are_hidden(content: bytes) -> None:
    refused = prescan(io.BytesIO(content))
    assert isinstance(refused, Refusal)
    assert refused.code == "XML_LIMIT"


@pytest.mark.parametrize(
    "body",
    [
        b'<a x="1"/>',
        b'<a x="a/>b>c" y=\'"\'/>',
        b"<a>x > y /> z</a>",
        b"<a><!-- </a></a> /> --><b/><![CDATA[ <a><a> ]]><?p <a> ?></a>",
        b"<a>" + b"long text " * 20_000 + b"</a>",
    ],
)
def test_a_large_flat_document_is_not_mistaken_for_a_deep_one(body: bytes) -> None:
    content = b"<r>" + body * max(1, 4_000_000 // len(body)) + b"</r>"
    assert prescan(io.BytesIO(content)) == Sniffed("r", None)


TREES = st.recursive(
    st.sampled_from(
        ["x", "x > y", "/>", "<!-- </a> -->", "<![CDATA[</a>/><a>]]>", "<?p </a>?>", "<a/>", "<a b='/>'/>"]
    ),
    lambda inner: st.lists(inner, max_size=4).map(lambda parts: '<a b="c>d">' + "".join(parts) + "</a>"),
    max_leaves=25,
)


@settings(max_examples=200, deadline=None)
@given(TREES, st.integers(1, 40))
def test_elements_open_are_counted_exactly_wherever_the_bytes_are_cut(tree: str, step: int) -> None:
    content = f"<r>{tree}</r>".encode()
    counter = prescan_module._Nesting()
    before = counter._open = prescan_module.MAX_OPEN // 2 + 1  # from here on self-closing tags are counted too
    for at in range(0, len(content), step):
        assert counter.see(content[at : at + step]) is None
    assert counter.see(b"<") is None  # the last tag, which waited for what comes after it
    assert counter._open == before


def test_memory_of_the_prescan_stays_flat() -> None:
    def work() -> None:
        stream = Endless(b"<r>", b"<a><b>12345</b><c d='1'/></a>\n", b"</r>", 60 << 20)
        assert prescan(stream) == Sniffed("r", None)  # type: ignore[arg-type]

    assert peak_growth(work) < 24 << 20


@pytest.mark.thorough
def test_memory_of_iterating_stays_flat_even_in_groups() -> None:
    def work() -> None:
        stream = Endless(b"<r>", b"<g><h>1</h><a><b>12345</b><c d='1'/></a></g>\n", b"</r>", 20 << 20)
        assert len([True for _ in iterate(stream, "a")]) > 200_000

    assert peak_growth(work) < 24 << 20


def test_each_element_is_whole_when_it_is_given_and_the_header_can_be_asked_for() -> None:
    content = b'<r xmlns="u"><h v="1"/><x/>' + b"<p><i>1</i><i>2</i></p>" * 3 + b"</r>"
    seen = [
        (etree.QName(one).localname, [str(inner.text) for inner in one])
        for one in iterate(io.BytesIO(content), ("{u}h", "{u}p"))
    ]
    assert seen == [("h", []), *[("p", ["1", "2"])] * 3]


@pytest.mark.parametrize(
    ("content", "code", "good"),
    [
        (b"<r><a/><a/>", "XML_SYNTAX", 2),
        (b"<r><a/><a/></s>", "XML_SYNTAX", 2),
        (BOMB.replace(b"</r>", b"<a/></r>"), "XML_DOCTYPE", 0),
        (b"<r>" + b"<b>" * 300 + b"</b>" * 300 + b"<a/></r>", "XML_LIMIT", 0),
        (b"", "XML_EMPTY", 0),
    ],
)
def test_a_broken_stream_raises_what_to_report(content: bytes, code: str, good: int) -> None:
    seen = 0
    with pytest.raises(Unreadable) as raised:  # noqa: PT012
        for _ in iterate(io.BytesIO(content), "a"):
            seen += 1
    assert raised.value.refusal.code == code
    assert seen == good


def test_iterating_gives_up_where_no_wanted_element_comes() -> None:
    stream = Endless(b"<r>", b"<b>12345</b>", b"<a/></r>", 8 << 20)
    with pytest.raises(Unreadable, match="XML_LIMIT"):
        list(iterate(stream, "a", max_piece=1 << 20))


def test_a_doctype_that_is_only_a_word_in_a_text_is_no_doctype() -> None:
    root = parse_bytes(b"<a><![CDATA[<!DOCTYPE a>]]></a>")
    assert isinstance(root, etree._Element)
    assert root.text == "<!DOCTYPE a>"


@pytest.mark.parametrize("whole", [WHOLE, WHOLE.replace(b"<!-- c -->", b"").replace(b"<r ", b"<p:r ", 1)])
@settings(max_examples=200, deadline=None)
@given(
    st.one_of(st.binary(max_size=12), st.sampled_from([b" xmlns='urn:y'", b" q='xmlns=1'", b":", b"\n", b"p:"])),
    st.integers(0, len(WHOLE)),
    st.integers(0, 30),
)
def test_what_the_prescan_lets_pass_can_be_parsed_and_what_it_refuses_cannot(
    whole: bytes, piece: bytes, at: int, cut: int
) -> None:
    content = whole[:at] + piece + whole[at + cut :]
    seen = prescan(io.BytesIO(content))
    try:
        tree = etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        assert isinstance(seen, Refusal)
    else:
        if tree.getroottree().docinfo.internalDTD is None:
            assert isinstance(seen, Sniffed)
            assert seen == Sniffed(etree.QName(tree).localname, etree.QName(tree).namespace)


def test_a_document_that_was_looked_at_may_be_read_again_and_again() -> None:
    """A small one is parsed once for the look and the first reading, which takes its elements apart."""
    content = b"<a><b><c>1</c><b>2</b></b><b>3</b></a>"
    assert prescan(io.BytesIO(content)) == Sniffed("a", None)
    for _ in range(2):
        told = [[element.text, [child.tag for child in element]] for element in iterate(io.BytesIO(content), "b")]
        assert told == [["2", []], [None, ["b"]], ["3", []]], "by their ends; the inner one stands empty in the outer"
    assert prescan(io.BytesIO(content)) == Sniffed("a", None)
    other = content.replace(b"3", b"4")
    assert [element.text for element in iterate(io.BytesIO(other), "b")] == ["2", None, "4"]


@pytest.mark.parametrize("filling", [0, 1 << 17])
def test_small_and_large_documents_are_taken_apart_alike(filling: int) -> None:
    content = b"<r><h>1</h>" + b"<x/>" * (filling // 4) + b"<g><i>2</i><i>3<i>4</i></i></g><h>5</h></r>"
    seen = []
    for element in iterate(io.BytesIO(content), ("i", "h", "g", "r")):
        seen.append((element.tag, element.text, len(element)))
    assert seen == [
        ("h", "1", 0), ("i", "2", 0), ("i", "4", 0), ("i", "3", 1), ("g", None, 1), ("h", "5", 0), ("r", None, 1),
    ]  # fmt: skip
