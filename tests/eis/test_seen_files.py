"""Files that are left on a server are remembered by the EIS: for every host, and through the loss of a disk."""

from __future__ import annotations

from energycomm.eis import migrations
from energycomm.eis.database import opened
from energycomm.eis.seen_files import SeenFiles


def test_what_one_host_has_seen_every_other_knows(database_url: str) -> None:
    with opened(database_url) as engine, opened(database_url) as elsewhere:
        migrations.upgrade(engine)
        first, other = SeenFiles(engine), SeenFiles(elsewhere)
        assert not first.seen("a", "/out/x|1|2")
        assert not other.seen("a", "/out/x|1|2")
        first.mark("a", "/out/x|1|2")
        other.mark("a", "/out/x|1|2")
        assert first.seen("a", "/out/x|1|2")
        assert other.seen("a", "/out/x|1|2")
        assert SeenFiles(engine).seen("a", "/out/x|1|2")


def test_each_channel_and_each_state_of_a_file_is_remembered_for_itself(database_url: str) -> None:
    with opened(database_url) as engine:
        migrations.upgrade(engine)
        memory = SeenFiles(engine)
        memory.mark("a", "/out/x|1|2")
        assert not memory.seen("b", "/out/x|1|2")
        assert not memory.seen("a", "/out/x|1|3")
