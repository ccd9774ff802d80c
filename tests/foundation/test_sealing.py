import pytest
from cryptography.fernet import Fernet
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway_project.foundation import canonical, sealing
from gateway_project.foundation.config import ConfigurationError
from gateway_project.foundation.sealing import Sealer, UnsealingFailed

OLD, NEW, FOREIGN = (Fernet.generate_key() for _ in range(3))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(max_examples=60)
@given(JSON)
def test_a_sealed_value_opens_to_the_same_value(value):
    sealer = Sealer([OLD])
    assert sealer.unseal(sealer.seal(value)) == value


def test_a_sealed_value_does_not_reveal_its_content():
    assert "hunter2" not in Sealer([OLD]).seal({"PASSWORD": "hunter2"})


@settings(max_examples=60)
@given(st.binary(max_size=100))
def test_bytes_open_to_the_same_bytes_and_are_little_longer(content):
    sealer = Sealer([NEW, OLD])
    sealed = sealer.seal_bytes(content)
    assert sealer.unseal_bytes(sealed) == content
    assert sealer.unseal_bytes(Sealer([OLD]).seal_bytes(content)) == content
    assert len(sealed) <= len(content) + 73


@pytest.mark.parametrize(
    "sealed",
    [b"", b"torn", Sealer([FOREIGN]).seal_bytes(b"x")],
    ids=["nothing", "torn", "of another key"],
)
def test_bytes_that_no_key_opens_are_an_error(sealed):
    with pytest.raises(UnsealingFailed, match=r"keys/sealing\.keys"):
        Sealer([OLD]).unseal_bytes(sealed)


def test_the_same_value_is_sealed_differently_each_time():
    sealer = Sealer([OLD])
    assert sealer.seal("x") != sealer.seal("x")


@pytest.mark.parametrize(
    "token",
    ["", "rubbish", "gAAAAA==", "é", pytest.param(Sealer([FOREIGN]).seal("x"), id="foreign")],
)
def test_an_unopenable_value_is_an_error_that_names_the_key_file(token):
    with pytest.raises(UnsealingFailed, match=r"keys/sealing\.keys"):
        Sealer([OLD]).unseal(token)


def test_a_tampered_value_does_not_open():
    sealer = Sealer([OLD])
    token = sealer.seal("x")
    turned = token[:-6] + ("A" if token[-6] != "A" else "B") + token[-5:]
    with pytest.raises(UnsealingFailed):
        sealer.unseal(turned)


def test_after_a_rotation_old_values_open_and_new_ones_need_the_new_key():
    before, both = Sealer([OLD]), Sealer([NEW, OLD])
    token = before.seal("x")
    assert both.unseal(token) == "x"
    rotated = both.reseal(token)
    assert Sealer([NEW]).unseal(rotated) == "x"
    with pytest.raises(UnsealingFailed):
        before.unseal(rotated)


def test_an_unopenable_value_cannot_be_rotated():
    with pytest.raises(UnsealingFailed):
        Sealer([NEW]).reseal(Sealer([FOREIGN]).seal("x"))


@settings(max_examples=60)
@given(JSON, JSON)
def test_equal_values_have_equal_digests(one, other):
    sealer = Sealer([OLD])
    assert (sealer.digest(one) == sealer.digest(other)) == (
        canonical.dumps(one) == canonical.dumps(other)
    )


def test_a_digest_depends_on_the_boundaries_of_its_parts():
    sealer = Sealer([OLD])
    assert sealer.digest("ab", "c") != sealer.digest("a", "bc")


def test_digests_are_of_one_installation_and_outlast_a_rotation():
    before = Sealer([OLD]).digest("Rome")
    assert Sealer([FOREIGN]).digest("Rome") != before
    assert Sealer([NEW, OLD]).digest("Rome") == before
    assert "Rome" not in before


def test_the_installations_keys_are_made_once_and_kept_private(tmp_path):
    token = sealing.load_or_create_sealer(tmp_path).seal("x")
    assert sealing.load_or_create_sealer(tmp_path).unseal(token) == "x"
    assert (tmp_path / "keys" / "sealing.keys").stat().st_mode & 0o777 == 0o600


def test_a_key_file_of_several_lines_opens_what_any_of_them_sealed(tmp_path):
    (tmp_path / "keys").mkdir()
    path = tmp_path / "keys" / "sealing.keys"
    path.write_bytes(NEW + b"\n" + OLD + b"\n")
    path.chmod(0o600)
    sealer = sealing.load_or_create_sealer(tmp_path)
    assert sealer.unseal(Sealer([OLD]).seal("x")) == "x"
    assert Sealer([NEW]).unseal(sealer.seal("y")) == "y"


@pytest.mark.parametrize("content", [b"", b"not a key\n"])
def test_a_broken_key_file_is_one_line_that_names_it(tmp_path, content):
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "sealing.keys").write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"sealing\.keys"):
        sealing.load_or_create_sealer(tmp_path)


def test_run_payloads_have_their_own_keys(tmp_path):
    secrets, payloads = (
        sealing.load_or_create_sealer(tmp_path),
        sealing.load_or_create_sealer(tmp_path, name="payloads"),
    )
    with pytest.raises(UnsealingFailed, match=r"keys/payloads\.keys"):
        payloads.unseal(secrets.seal("x"))
    assert (tmp_path / "keys" / "payloads.keys").stat().st_mode & 0o777 == 0o600
    assert (
        sealing.load_or_create_sealer(tmp_path, name="payloads").unseal(payloads.seal("x")) == "x"
    )


def test_the_lines_of_an_older_key_file_can_be_appended(tmp_path):
    old, new = (sealing.load_or_create_sealer(tmp_path / name) for name in ("old", "new"))
    path = tmp_path / "new" / "keys" / "sealing.keys"
    with path.open("ab") as file:
        file.write((tmp_path / "old" / "keys" / "sealing.keys").read_bytes())
    assert new.unseal(old.seal("kept")) == "kept"
