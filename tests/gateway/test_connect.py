"""Import, connect, undo: each client's file has every byte it had, whatever it looked like."""

import json
import stat
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway_project.client_config import (
    clients,
    connect,
    edit_toml,
    edit_yaml,
    own_entry,
    raw_file,
    read_config,
)
from gateway_project.client_config.connect import ClientTarget, ConnectionRecords
from gateway_project.client_config.own_entry import OwnLaunch
from gateway_project.client_config.raw_file import UnreadableConfig

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
LAUNCH = OwnLaunch(
    command=("/opt/foregate/.venv/bin/python", "/opt/foregate/manage.py", "run_gateway")
)
BOM = b"\xef\xbb\xbf"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)


EACH_CLIENT = pytest.mark.parametrize("client", clients.CLIENTS.values(), ids=clients.CLIENTS)


def path_of(client, folder):
    name = "settings" if client.file_format == "json" else "config"
    return folder / f"{name}.{client.file_format}"


def plug(target, folder, *, dry_run=False, **launch):
    fields = {name: getattr(LAUNCH, name) for name in LAUNCH.__dataclass_fields__}
    wanted = own_entry.build_entry(target.client, target.path, OwnLaunch(**(fields | launch)))
    return connect.connect(
        target, wanted, record_store=ConnectionRecords(folder / "b"), at=AT, dry_run=dry_run
    )


def unplug(target, folder, *, dry_run=False):
    return connect.disconnect(
        target, record_store=ConnectionRecords(folder / "b"), at=AT, dry_run=dry_run
    )


def servers(client, path):
    try:
        parsed = read_config.read_config(path, client=client)
    except read_config.NoServerList:
        return {}
    assert parsed.problems == ()
    return {entry.name: entry for entry in parsed.entries}


NAMES = st.text("abcé字-_ .", min_size=1, max_size=6).filter(lambda name: name == name.strip())
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
COMMANDS = TEXTS.filter(lambda text: text.strip() != "" and "$" not in text)


@st.composite
def yaml_texts(draw, client, listed, comment):
    """Draw a YAML file: blocks at several depths, or braces, with comments in odd places."""
    note = draw(st.sampled_from(["", "  # mine", "   #"]))
    if not listed:
        empty = f"{client.servers_key}: {draw(st.sampled_from(['', '{}', '{ }']))}{note}\n"
        return draw(
            st.sampled_from(["", "# nothing\n", "---\n", "MODE: auto\n", "A: |\n  x\n"])
        ) + (draw(st.sampled_from(["", empty, empty + "Z: [1]\n", empty + "  # none\nZ: 1\n"])))
    if draw(st.booleans()):
        servers = f" {json.dumps(listed, ensure_ascii=False)}{note}\n"
    else:
        depth = draw(st.integers(1, 4)) * " "
        lines = edit_yaml.write_block(listed).splitlines()
        servers = f"{note}\n" + "".join(f"{depth}{line}{note}\n" for line in lines)
        servers += draw(
            st.sampled_from(["", "\n", f"{depth}# args: old\n", "# of Z\n", "\n# x\n\n"])
        )
    head = (
        f"# {comment}\n" if comment else draw(st.sampled_from(["", "A: >-\n  b\n\n", "B: 'é'\n"]))
    )
    tail = draw(st.sampled_from(["", "Z: {a: [1, 2]}\n", "Z:\n- a: 1\n  b: 2\n# end"]))
    return f"{head}{client.servers_key}:{servers}{tail}"


@st.composite
def documents(draw, client):
    """Draw a file of a client as people have them: marks, line ends, comments, odd layouts."""
    word = client.own_words.get("command", "command")
    listed = draw(st.dictionaries(NAMES, st.fixed_dictionaries({word: COMMANDS}), max_size=3))
    comment = draw(st.sampled_from(["", 'é { [mcp_servers] } "x"']))
    if client.file_format == "yaml":
        text = draw(yaml_texts(client, listed, comment))
    elif client.file_format == "toml":
        blocks = [
            edit_toml.write_table(client.servers_key, name, entry)
            for name, entry in listed.items()
        ]
        head = f"# {comment}\n" if comment else draw(st.sampled_from(["", 'model = "o"\n']))
        text = head + "\n".join(blocks)
    elif draw(st.booleans()) and not listed:
        text = draw(st.sampled_from(["", " \n", "{}", "{ }\n", "// nothing\n", "{/* x */}"]))
    else:
        before = draw(st.dictionaries(NAMES, st.lists(st.integers(), max_size=2), max_size=2))
        layout = draw(st.sampled_from([{"indent": 2}, {"indent": 4}, {"indent": "\t"}, {}]))
        value = {**before, client.servers_key: listed, "zz": {"é": "ü"}}
        text = json.dumps(value, ensure_ascii=False, **layout)
        text = f"// {comment}\n{text} /* {comment} */" if comment else text
        text = text.replace("}\n}", "},\n}") if draw(st.booleans()) else text
        text += draw(st.sampled_from(["", "\n", "\n\n"]))
    text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    return draw(st.sampled_from([b"", BOM])) + text.encode()


@EACH_CLIENT
@settings(max_examples=30)
@given(st.data())
def test_import_connect_undo_leaves_every_byte(client, tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("client")
    path = path_of(client, folder)
    content = data.draw(documents(client))
    path.write_bytes(content)
    path.chmod(0o640)
    target = ClientTarget(client=client, path=path, name="foregate")
    empty = client.file_format == "json" and b"{" not in content
    before = {} if empty else servers(client, path)
    if "foregate" in before:
        return

    done = plug(target, folder)
    assert done.change == "connected"
    after = servers(client, path)
    assert own_entry.is_own_entry(after.pop("foregate"))
    assert after == before
    rest = iter(path.read_bytes())
    assert all(byte in rest for byte in content), "a byte of the original is gone"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert done.backup.read_bytes() == content
    assert stat.S_IMODE(done.backup.stat().st_mode) == 0o600
    assert plug(target, folder).change == "unchanged"

    assert unplug(target, folder).change == "restored"
    assert path.read_bytes() == content
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert unplug(target, folder).change == "unchanged"


@EACH_CLIENT
@settings(max_examples=30)
@given(st.data())
def test_undo_of_a_changed_file_removes_only_the_entry(client, tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("client")
    path = path_of(client, folder)
    path.write_bytes(data.draw(documents(client)))
    target = ClientTarget(client=client, path=path, name="foregate")
    plug(target, folder)
    end = b"\n// later\n" if client.file_format == "json" else b"\n# later\n"
    path.write_bytes(path.read_bytes() + end)
    expected = servers(client, path)
    del expected["foregate"]
    done = unplug(target, folder)
    assert done.change == "entry removed"
    assert "changed since" in done.note
    assert servers(client, path) == expected
    assert path.read_bytes().endswith(end)


@EACH_CLIENT
def test_a_missing_file_is_made_and_deleted_again_with_its_folders(client, tmp_path):
    path = path_of(client, tmp_path / "new" / "folder")
    target = ClientTarget(client=client, path=path, name="foregate")
    assert plug(target, tmp_path).change == "connected"
    assert own_entry.is_own_entry(servers(client, path)["foregate"])
    assert unplug(target, tmp_path).change == "deleted"
    assert not (tmp_path / "new").exists()


@EACH_CLIENT
def test_a_dry_run_shows_the_change_and_writes_nothing(client, tmp_path):
    path = path_of(client, tmp_path)
    target = ClientTarget(client=client, path=path, name="foregate")
    shown = plug(target, tmp_path, dry_run=True)
    assert "+" in shown.diff
    assert "run_gateway" in shown.diff
    assert list(tmp_path.iterdir()) == []
    plug(target, tmp_path)
    content = path.read_bytes()
    assert unplug(target, tmp_path, dry_run=True).change == "deleted"
    assert path.read_bytes() == content


@EACH_CLIENT
def test_reconnecting_with_another_user_is_undone_to_the_original_file(client, tmp_path):
    path = path_of(client, tmp_path)
    content = {"toml": b"x = 1\n", "yaml": b"x: 1 # mine\n", "json": b'{ "x": 1 }'}[
        client.file_format
    ]
    path.write_bytes(content)
    target = ClientTarget(client=client, path=path, name="foregate")
    plug(target, tmp_path)
    assert plug(target, tmp_path, user="ann").change == "updated"
    assert servers(client, path)["foregate"].args[-2:] == ("--user", "ann")
    assert unplug(target, tmp_path).change == "restored"
    assert path.read_bytes() == content


@EACH_CLIENT
def test_another_server_of_that_name_is_not_touched(client, tmp_path):
    path = path_of(client, tmp_path)
    entry = {"command": "other"}
    content = (
        edit_toml.write_table(client.servers_key, "foregate", entry)
        if client.file_format == "toml"
        else json.dumps({client.servers_key: {"foregate": entry}})
    )
    path.write_text(content)
    target = ClientTarget(client=client, path=path, name="foregate")
    with pytest.raises(UnreadableConfig, match="choose a name with --name"):
        plug(target, tmp_path)
    with pytest.raises(UnreadableConfig, match="is not Foregate"):
        unplug(target, tmp_path)
    assert path.read_text() == content


BROKEN = [
    b'{"KEY": {}, "KEY": {}}',
    b'{"KEY": {"foregate": 1, "foregate": 2}}',
    b'{"KEY": []}',
    b"[]",
    b'{"KEY": {',
    b"\xff\xfe{\x00}\x00",
    b'{"KEY": "\xff"}',
    b"[" * 100_000,
]


@EACH_CLIENT
@pytest.mark.parametrize("content", BROKEN, ids=range(len(BROKEN)))
def test_an_ambiguous_file_is_refused_in_one_line(client, tmp_path, content):
    path = path_of(client, tmp_path)
    content = content.replace(b"KEY", client.servers_key.encode())
    path.write_bytes(content)
    with pytest.raises(UnreadableConfig) as caught:
        plug(ClientTarget(client=client, path=path, name="foregate"), tmp_path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_symlink_is_kept_and_its_target_changed(tmp_path):
    real = tmp_path / "dotfiles.json"
    real.write_bytes(b"{}")
    link = tmp_path / "mcp.json"
    link.symlink_to(real)
    target = ClientTarget(client=clients.CLIENTS["cursor"], path=link, name="foregate")
    plug(target, tmp_path)
    assert link.is_symlink()
    assert b"run_gateway" in real.read_bytes()
    unplug(target, tmp_path)
    assert link.is_symlink()
    assert real.read_bytes() == b"{}"


def test_a_file_that_another_program_writes_meanwhile_is_left_to_it(tmp_path):
    path = tmp_path / "mcp.json"
    path.write_bytes(b"{}")
    read = raw_file.read_raw(path)
    path.write_bytes(b'{"mine": 1}')
    with pytest.raises(raw_file.ConcurrentChange, match="try again"):
        raw_file.replace_content(read, b"other")
    assert path.read_bytes() == b'{"mine": 1}'
    assert [file.name for file in tmp_path.iterdir()] == ["mcp.json"]


def test_without_its_record_only_the_entry_is_removed(tmp_path):
    path = tmp_path / "mcp.json"
    path.write_bytes(b'{"mcpServers": {"a": {"command": "x"}}}')
    target = ClientTarget(client=clients.CLIENTS["cursor"], path=path, name="foregate")
    plug(target, tmp_path)
    for record in (tmp_path / "b").glob("*.json"):
        if record.name != path.name:
            record.unlink()
    assert unplug(target, tmp_path / "elsewhere").change == "entry removed"
    assert json.loads(path.read_bytes()) == {"mcpServers": {"a": {"command": "x"}}}


def test_undoing_a_missing_entry_reports_it(tmp_path):
    target = ClientTarget(
        client=clients.CLIENTS["cursor"], path=tmp_path / "x.json", name="foregate"
    )
    plug(target, tmp_path)
    target.path.unlink()
    assert "no longer exists" in unplug(target, tmp_path).note


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(raw_file.tempfile, "mkstemp", refuse)
    target = ClientTarget(
        client=clients.CLIENTS["cursor"], path=tmp_path / "x.json", name="foregate"
    )
    with pytest.raises(UnreadableConfig, match=r"cannot write .*x\.json: Permission denied"):
        plug(target, tmp_path)
