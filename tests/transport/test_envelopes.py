"""Envelopes are opened by content, member by member, and whatever is wrong with one harms no other."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import io
import os
import tracemalloc
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from energycomm.kernel.verdicts import Refusal
from energycomm.transport.envelopes import BrokenMember, Limits, Member, open_envelope
from energycomm.transport.keys import Key, KeyRing
from tests.zips import Entry, encrypt, make_zip

KEY_128 = Key("old", "aes-128-fixed-iv", bytes(range(16)), b"i" * 16)
KEY_256 = Key("new", "aes-256-iv-in-file", bytes(range(32)))


def described(parts: Iterable[Member | Refusal]) -> list[tuple[str, str]]:
    """(path, content) of each member and (path, code) of each refusal."""
    return [
        (part.path, part.open().read().decode("latin-1")) if isinstance(part, Member) else (part.path, part.code)
        for part in parts
    ]


def opened(
    source: bytes, *, name: str = "x.zip", keys: KeyRing | None = None, limits: Limits | None = None
) -> list[tuple[str, str]]:
    with open_envelope(source, name, keys, limits) as envelope:
        return described(envelope)


def codes(source: bytes, *, keys: KeyRing | None = None, limits: Limits | None = None) -> list[str]:
    with open_envelope(source, "x.zip", keys, limits) as envelope:
        return [part.code if isinstance(part, Refusal) else "member" for part in envelope]


class TestWhatOpens:
    def test_a_plain_xml_file_is_its_own_member(self, tmp_path: Path) -> None:
        path = tmp_path / "flux.zip"
        path.write_bytes(b"\xef\xbb\xbf<?xml version='1.0'?><a/>")
        with open_envelope(path) as envelope:
            (member,) = envelope
            assert isinstance(member, Member)
            assert (member.path, member.name, member.form, member.size) == ("flux.zip", "flux.zip", "xml", 28)

    @pytest.mark.parametrize(
        ("content", "form"),
        [
            (b"<a/>", "xml"),
            ("<é/>".encode(), "xml"),
            ("\ufeff<a/>".encode("utf-16-le"), "xml"),
            ("<a/>".encode("utf-16-be"), "xml"),
            (b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe9</a>", "xml"),
            (b' \n{"header": 1}', "json"),
            (b"[1]", "json"),
            (b"UNA:+.? 'UNB+UNOC:3", "other"),
            (b"a;b;\xe9\n", "other"),
        ],
    )
    def test_the_form_is_seen_from_the_content(self, content: bytes, form: str) -> None:
        with open_envelope(content, "file.bin") as envelope:
            (member,) = envelope
            assert isinstance(member, Member)
            assert member.form == form

    def test_members_of_zips_come_in_the_order_of_the_zip(self) -> None:
        assert opened(make_zip(("b.xml", b"<b/>"), ("a.xml", b"<a/>"))) == [("b.xml", "<b/>"), ("a.xml", "<a/>")]

    def test_zips_nest_and_the_path_says_so(self) -> None:
        inner = make_zip(("b.xml", b"<b/>"))
        assert opened(make_zip(("a.zip", inner), ("c.xml", b"<c/>"))) == [("a.zip/b.xml", "<b/>"), ("c.xml", "<c/>")]

    def test_a_zip_is_known_without_its_extension(self) -> None:
        assert opened(make_zip(("inner.xml", make_zip(("b", b"<b/>"))))) == [("inner.xml/b", "<b/>")]

    @pytest.mark.parametrize("large", [False, True])
    def test_both_schemes_of_encryption_open(self, large: bool) -> None:
        clear = make_zip(("a.xml", b"<a>" + os.urandom(300_000 if large else 3).hex().encode() + b"</a>"))
        ring = KeyRing([KEY_128, KEY_256])
        for data, label in (
            (encrypt(clear, bytes(range(16)), b"i" * 16), "old"),
            (encrypt(clear, bytes(range(32)), os.urandom(16), iv_in_file=True), "new"),
        ):
            with open_envelope(data, "x.zip", ring) as envelope:
                (member,) = envelope
                assert isinstance(member, Member)
                assert member.open().read().startswith(b"<a>")
                assert envelope.key_label == label

    def test_an_encrypted_zip_inside_a_zip_opens(self) -> None:
        secret = encrypt(make_zip(("b.xml", b"<b/>")), bytes(range(16)), b"i" * 16)
        outer = make_zip(("day.zip", secret))
        assert opened(outer, keys=KeyRing([KEY_256, KEY_128])) == [("day.zip/b.xml", "<b/>")]
        assert opened(outer) == [("day.zip", "ENV_NO_KEY")]

    def test_a_stream_and_chunks_open_like_a_file(self, tmp_path: Path) -> None:
        data = make_zip(("a.xml", b"<a/>"), comment=b"made by hand")
        path = tmp_path / "x.zip"
        path.write_bytes(data)
        chunks = [data[at : at + 7] for at in range(0, len(data), 7)]
        for source in (path, str(path), data, io.BytesIO(data), chunks, iter(chunks)):
            with open_envelope(source) as envelope:
                assert described(envelope) == [("a.xml", "<a/>")]
                assert envelope.size == len(data)

    @settings(deadline=None)
    @given(
        st.dictionaries(
            st.text("abc/", min_size=1, max_size=8).filter(lambda name: all(name.split("/"))),
            st.binary(max_size=50).map(lambda data: b"<a>" + data.hex().encode()),
            min_size=1,
            max_size=6,
        ),
        st.integers(0, 3),
        st.booleans(),
    )
    def test_what_was_packed_comes_out(self, files: dict[str, bytes], depth: int, secret: bool) -> None:
        data = make_zip(*files.items())
        expected = list(files)
        for level in range(depth):
            data = make_zip((f"{level}.zip", data))
            expected = [f"{level}.zip/{name}" for name in expected]
        if secret:
            data = encrypt(data, bytes(range(16)), b"i" * 16)
        found = opened(data, keys=KeyRing([KEY_128]), limits=Limits(depth=4))
        assert found == [(name, data.decode()) for name, data in zip(expected, files.values(), strict=True)]


class TestWhatIsRefusedAlone:
    """A bad member has its code and its neighbours are read."""

    @pytest.mark.parametrize(
        ("entry", "code"),
        [
            (Entry("../up.xml"), "ENV_PATH"),
            (Entry("a/../../up.xml"), "ENV_PATH"),
            (Entry("..\\up.xml"), "ENV_PATH"),
            (Entry("/etc/passwd"), "ENV_PATH"),
            (Entry("C:\\a.xml"), "ENV_PATH"),
            (Entry("c:a.xml"), "ENV_PATH"),
            (Entry("\\\\server\\share.xml"), "ENV_PATH"),
            (Entry(b"a.xml\x00.png"), "ENV_PATH"),
            (Entry("a\nb.xml"), "ENV_PATH"),
            (Entry(""), "ENV_PATH"),
            (Entry("a" * 600), "ENV_PATH"),
            (Entry("link.xml", b"/etc/passwd", mode=0o120777), "ENV_PATH"),
            (Entry("pipe.xml", b"", mode=0o010644), "ENV_PATH"),
            (Entry("folder/", b"<a/>"), "ENV_PATH"),
            (Entry("empty.xml", b""), "ENV_EMPTY"),
            (Entry("blank.xml", b" \n"), "ENV_EMPTY"),
            (Entry("noise.xml", b"\x00\x01\x02\x03" * 5), "ENV_UNKNOWN_FORM"),
            (Entry("report.pdf", b"%PDF-1.7\x00"), "ENV_UNKNOWN_FORM"),
            (Entry("locked.xml", flags=1), "ENV_ZIP_PASSWORD"),
            (Entry("strong.xml", flags=0x41), "ENV_ZIP_PASSWORD"),
            (Entry("lzma.xml", says_method=14), "ENV_COMPRESSION"),
            (Entry("deflate64.xml", says_method=9), "ENV_COMPRESSION"),
            (Entry("lie.xml", says_size=2_200_000_000), "ENV_TOO_LARGE"),
            (Entry("lie.xml", says_size=2_000_000_000), "ENV_BOMB"),
            (Entry("zeros.xml", b"<" + bytes(11_000_000)), "ENV_BOMB"),
            (Entry("damaged.xml", packed=b"\xff\xff\xff\xff"), "ENV_ZIP_BROKEN"),
            (Entry("cut.zip", make_zip(("a.xml", b"<a/>"))[:-30]), "ENV_ZIP_BROKEN"),
        ],
    )
    def test_a_bad_member_leaves_its_neighbours(self, entry: Entry, code: str) -> None:
        data = make_zip(Entry("first.xml"), entry, Entry("last.xml"))
        assert codes(data) == ["member", code, "member"]

    def test_members_of_one_name_are_all_refused(self) -> None:
        data = make_zip(("a.xml", b"<a/>"), ("./a.xml", b"<b/>"), ("b.xml", b"<b/>"))
        assert codes(data) == ["ENV_PATH", "ENV_PATH", "member"]

    def test_folders_are_passed_over(self) -> None:
        assert opened(make_zip(("in/", b""), ("in/a.xml", b"<a/>"))) == [("in/a.xml", "<a/>")]

    def test_zips_nested_too_deep_are_refused_where_the_limit_is(self) -> None:
        data = make_zip(("a.xml", b"<a/>"))
        for _ in range(3):
            data = make_zip(("z.zip", data), ("n.xml", b"<n/>"))
        assert opened(data) == [
            ("z.zip/z.zip/z.zip", "ENV_DEPTH"),
            ("z.zip/z.zip/n.xml", "<n/>"),
            ("z.zip/n.xml", "<n/>"),
            ("n.xml", "<n/>"),
        ]


class TestWhatIsRefusedWhole:
    @pytest.mark.parametrize(
        ("data", "code"),
        [
            (b"", "ENV_EMPTY"),
            (b"   \n", "ENV_EMPTY"),
            (make_zip(), "ENV_EMPTY"),
            (make_zip(("only/", b"")), "ENV_EMPTY"),
            (b"\x00" * 4096, "ENV_UNKNOWN_FORM"),
            (b"\x1f\x8b\x08" + bytes(range(256)), "ENV_UNKNOWN_FORM"),
            (bytes(range(256)) * 4 + b"x", "ENV_UNKNOWN_FORM"),
            (b"PK\x03\x04", "ENV_ZIP_BROKEN"),
            (b"PK\x03\x04" + bytes(5000), "ENV_ZIP_BROKEN"),
        ],
    )
    def test_content_that_is_no_envelope_has_its_code(self, data: bytes, code: str) -> None:
        assert codes(data) == [code]

    @pytest.mark.parametrize("cut", [1, 10, 22, 30, 60, 100])
    def test_a_cut_zip_is_broken_and_gives_nothing(self, cut: int) -> None:
        assert codes(make_zip(("a.xml", b"<a/>"), ("b.xml", b"<b/>"))[:-cut]) == ["ENV_ZIP_BROKEN"]

    @settings(deadline=None)
    @given(st.data())
    def test_a_damaged_zip_never_raises_anything_else(self, data: st.DataObject) -> None:
        """Flip, cut and insert bytes anywhere: what comes is members, refusals, or a broken member."""
        good = bytearray(
            make_zip(("a.xml", b"<a>" + b"hello " * 30 + b"</a>"), ("b.zip", make_zip(("c.xml", b"<c/>"))))
        )
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, len(good) - 1))
            good[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
        with open_envelope(bytes(good), limits=Limits(member=1 << 20, envelope=1 << 22)) as envelope:
            for part in envelope:
                if isinstance(part, Member):
                    with contextlib.suppress(BrokenMember):
                        assert len(part.open().read()) == part.size

    def test_too_many_members_are_a_bomb(self) -> None:
        data = make_zip(*(Entry(f"{number}.xml") for number in range(21)))
        assert codes(data, limits=Limits(members=20)) == ["ENV_BOMB"]
        assert codes(data, limits=Limits(members=21)) == ["member"] * 21

    def test_members_are_counted_over_all_inner_zips(self) -> None:
        inner = make_zip(*(Entry(f"{number}.xml") for number in range(9)))
        data = make_zip(("a.zip", inner), ("b.zip", inner))
        assert codes(data, limits=Limits(members=15)) == ["member"] * 9 + ["ENV_BOMB"]

    def test_a_directory_too_large_for_the_limit_is_not_even_loaded(self) -> None:
        data = make_zip(*(Entry("n" * 500 + str(number)) for number in range(40)))
        assert codes(data, limits=Limits(members=10)) == ["ENV_BOMB"]

    def test_the_sum_of_all_members_is_bounded(self) -> None:
        data = make_zip(*(Entry(f"{number}.xml", b"<a>" + os.urandom(400)) for number in range(10)))
        assert codes(data, limits=Limits(envelope=4000)) == ["ENV_TOO_LARGE"]

    def test_a_bomb_whose_levels_are_each_modest_is_found_by_the_whole_ratio(self) -> None:
        level = make_zip(*(Entry(f"{n}.xml", b"<a>" + bytes(400_000), deflated=True) for n in range(8)))
        middle = make_zip(*(Entry(f"{n}.zip", level) for n in range(8)))
        found = codes(middle)
        assert "ENV_BOMB" in found
        assert len(found) < 64

    def test_entries_that_share_bytes_are_a_bomb(self) -> None:
        """The trick of overlapping files: one packed body, claimed by many entries of the directory."""
        data = make_zip(("a.xml", b"<a/>"), ("b.xml", b"<b/>"))
        second = data.rfind(b"PK\x01\x02")
        cheat = bytearray(data)
        cheat[second + 42 : second + 46] = bytes(4)
        assert codes(bytes(cheat)) == ["ENV_BOMB"]

    def test_a_plain_file_above_the_limit_is_refused(self) -> None:
        assert codes(b"<a>" + b" " * 100, limits=Limits(member=100)) == ["ENV_TOO_LARGE"]

    def test_endless_chunks_end_at_the_limit(self) -> None:
        def endless() -> Iterator[bytes]:
            while True:
                yield bytes(65536)

        with open_envelope(endless(), "pipe", limits=Limits(envelope=1 << 20)) as envelope:
            (refusal,) = envelope
            assert isinstance(refusal, Refusal)
            assert refusal.code == "ENV_TOO_LARGE"

    def test_what_is_no_file_is_refused_and_never_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.xml")
        (tmp_path / "folder.xml").mkdir()
        for name, code in (("pipe.xml", "ENV_UNREADABLE"), ("folder.xml", "ENV_UNREADABLE"), ("gone", "ENV_MISSING")):
            with open_envelope(tmp_path / name) as envelope:
                (refusal,) = envelope
                assert isinstance(refusal, Refusal)
                assert (refusal.code, refusal.path) == (code, name)


class TestReading:
    def test_a_member_is_read_as_often_as_wanted_and_digested_once(self) -> None:
        content = b"<a>" + b"x" * 100_000 + b"</a>"
        with open_envelope(make_zip(("a.xml", content))) as envelope:
            (member,) = envelope
            assert isinstance(member, Member)
            before = member.sha256
            assert before is None
            first, second = member.open(), member.open()
            assert first.read(10) == second.read(10) == content[:10]
            assert first.read() + second.read() == content[10:] * 2
            assert member.sha256 == hashlib.sha256(content).digest() == member.read_sha256()
            assert member.open().read() == content

    def test_only_a_member_that_is_all_of_the_envelope_has_the_digest_of_it(self) -> None:
        content = b"<a>" + b"x" * 100_000 + b"</a>"
        zipped = make_zip(("a.xml", content))
        for source in (content, zipped, make_zip(("b.zip", zipped)), encrypt(zipped, bytes(range(16)), b"i" * 16)):
            digest = hashlib.sha256(source).digest()
            with open_envelope(source, keys=KeyRing([KEY_128]), sha256=digest) as envelope:
                (member,) = envelope
                assert isinstance(member, Member)
                assert member.sha256 == (digest if source is content else None)
                assert member.read_sha256() == hashlib.sha256(content).digest()

    @pytest.mark.parametrize("size", [10, 1 << 20])
    def test_members_are_read_in_any_order_and_side_by_side(self, size: int) -> None:
        contents = [b"<a>%d" % number + b"x" * size for number in range(4)]
        inner = make_zip(*((f"{number}.xml", content) for number, content in enumerate(contents)))
        with open_envelope(make_zip(("in.zip", inner), ("last.xml", b"<last/>"))) as envelope:
            members = [part for part in envelope if isinstance(part, Member)]
            streams = [member.open() for member in members]
            found = [b""] * 5
            for _ in range(size // 1000 + 1):
                for place in (3, 0, 4, 1, 2):
                    found[place] += streams[place].read(1100)
            assert found == [*contents, b"<last/>"]

    def test_members_stay_readable_until_the_envelope_is_closed(self) -> None:
        inner = make_zip(("b.xml", b"<b/>"))
        envelope = open_envelope(make_zip(("1.zip", inner), ("2.zip", inner), ("c.xml", b"<c/>")))
        parts = list(envelope)
        assert [part.open().read() for part in parts if isinstance(part, Member)] == [b"<b/>", b"<b/>", b"<c/>"]
        envelope.close()
        for part in parts:
            assert isinstance(part, Member)
            with pytest.raises(ValueError, match="closed"):
                part.open()

    @pytest.mark.thorough
    def test_an_envelope_that_nobody_closes_closes_itself(self, tmp_path: Path) -> None:
        path = tmp_path / "x.zip"
        path.write_bytes(make_zip(("z.zip", make_zip(("b.xml", b"<b/>")))))
        gc.collect()
        before = len(list(Path("/proc/self/fd").iterdir()))
        member = next(open_envelope(path))
        assert isinstance(member, Member)
        gc.collect()
        assert member.open().read() == b"<b/>"
        del member
        gc.collect()
        assert len(list(Path("/proc/self/fd").iterdir())) == before

    @pytest.mark.parametrize(
        ("entry", "code"),
        [
            (Entry("a.xml", b"<a>" + b"x" * size, says_crc=says_crc, says_size=says_size), "ENV_CRC")
            for size, says_crc, says_size in (
                (9000, 1, None),
                (9000, None, 4000),
                (9000, None, 9999),
                (9000, None, 9_999_999),
                (900_000, 1, None),
                (900_000, None, 400_000),
                (900_000, None, 999_999),
                (900_000, None, 4000),
            )
        ]
        + [
            (Entry("a.xml", b"<a>" + b"x" * 9000, says_size=1 << 30), "ENV_BOMB"),
        ],
    )
    def test_damage_found_while_reading_is_one_exception_with_its_refusal(self, entry: Entry, code: str) -> None:
        with open_envelope(make_zip(entry)) as envelope:
            (part,) = envelope
            if isinstance(part, Refusal):
                assert part.code == code
                return
            for _ in range(2):
                with pytest.raises(BrokenMember) as caught:
                    part.open().read()
                assert (caught.value.refusal.code, caught.value.refusal.path) == (code, "a.xml")
            assert part.sha256 is None

    def test_damage_comes_through_an_xml_parser_unchanged(self) -> None:
        with open_envelope(make_zip(Entry("a.xml", b"<a>" + b"<b/>" * 90_000 + b"</a>", says_crc=1))) as envelope:
            (member,) = envelope
            assert isinstance(member, Member)
            with pytest.raises(BrokenMember), member.open() as stream:
                for _ in etree.iterparse(stream):
                    pass

    def test_a_file_cut_while_it_is_read_is_broken(self, tmp_path: Path) -> None:
        path = tmp_path / "a.xml"
        path.write_bytes(b"<a>" + b"x" * 5000)
        with open_envelope(path) as envelope:
            member = next(envelope)
            assert isinstance(member, Member)
            os.truncate(path, 100)
            with pytest.raises(BrokenMember):
                member.open().read()

    def test_memory_does_not_grow_with_the_member(self, tmp_path: Path) -> None:
        """40 MB inside an encrypted zip inside nothing else: two readings cost less than 3 MB."""
        line = os.urandom(2000).hex().encode()
        with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as made, made.open("a.xml", "w") as out:
            out.write(b"<a>")
            for _ in range(10_000):
                out.write(line)
        data = encrypt((tmp_path / "x.zip").read_bytes(), bytes(range(16)), b"i" * 16)
        (tmp_path / "x.enc").write_bytes(data)
        del data
        tracemalloc.start()
        with open_envelope(tmp_path / "x.enc", keys=KeyRing([KEY_128])) as envelope:
            (member,) = envelope
            assert isinstance(member, Member)
            for _ in range(2):
                with member.open() as stream:
                    while stream.read(65536):
                        pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 3_000_000


def test_real_samples_open_from_a_zip_as_they_are(shared: Path, tmp_path: Path) -> None:
    samples = sorted((shared / "markets/fr/samples").iterdir())
    with zipfile.ZipFile(tmp_path / "all.zip", "w", zipfile.ZIP_DEFLATED) as made:
        for sample in samples:
            made.write(sample, sample.name)
    with open_envelope(tmp_path / "all.zip") as envelope:
        for sample, part in zip(samples, envelope, strict=True):
            assert isinstance(part, Member)
            assert part.form == sample.suffix.lower().lstrip(".")
            assert part.open().read() == sample.read_bytes()
