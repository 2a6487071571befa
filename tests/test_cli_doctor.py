"""`pdb doctor` as its users meet it."""

from tests.command_line import pdb


def test_doctor_finds_this_installation_well() -> None:
    result = pdb("doctor")
    assert result.returncode == 0
    assert "self-test         passed" in result.stdout
