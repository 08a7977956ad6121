"""The files of `deploy/` keep the rules that a linter for them would check, and name options that exist."""

import configparser
import re
import shlex
from pathlib import Path

import pytest
import typer.main

from polygraph.cli import app

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def options_of(command):
    found = typer.main.get_command(app).commands[command]
    return {name for each in found.params for name in (*each.opts, *each.secondary_opts)}


def instructions():
    """Return the instructions of the Dockerfile as (name, rest), with continued lines joined."""
    text = (DEPLOY / "Dockerfile").read_text()
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in text.splitlines() if line.strip()]


def test_the_image_is_slim_pinned_to_a_version_and_not_run_by_root():
    found = instructions()
    bases = [rest.split()[0] for name, rest in found if name == "FROM"]
    assert bases
    assert all(re.fullmatch(r"python:3\.\d+-slim", base) for base in bases)
    last_stage = found[max(n for n, (name, _) in enumerate(found) if name == "FROM") :]
    users = [rest for name, rest in last_stage if name == "USER"]
    assert users[-1:] == ["polygraph"]
    names = [name for name, _ in last_stage]
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert ("VOLUME", "/indexes") in last_stage
    assert "HEALTHCHECK" in names


def test_the_image_keeps_no_caches_and_no_secrets():
    text = "\n".join(f"{name} {rest}" for name, rest in instructions())
    assert all("--no-cache-dir" in rest for name, rest in instructions() if "pip install" in rest)
    assert not re.search(r"ADD |curl|wget|latest|sudo|API_KEY|TOKEN=", text)
    # Only what is named comes into the build.
    assert (ROOT / ".dockerignore").read_text().splitlines()[0] == "**"
    for name, rest in instructions():
        if name == "COPY" and not rest.startswith("--from"):
            for path in rest.split()[:-1]:
                assert f"!{path}" in (ROOT / ".dockerignore").read_text().splitlines()
                assert (ROOT / path).exists()


def test_commands_in_exec_form_name_options_that_exist():
    forms = {name: eval(rest) for name, rest in instructions() if name in {"ENTRYPOINT", "CMD"}}
    assert forms["ENTRYPOINT"] == ["polygraph"]
    flags = {each for each in forms["CMD"][1:] if each.startswith("--")}
    assert flags <= options_of(forms["CMD"][0])


def test_compose_gives_the_server_no_rights_and_no_port():
    yaml = pytest.importorskip("yaml")
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    server = services["services"]["polygraph"]
    assert "ports" not in server
    assert server["read_only"]
    assert server["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in server["security_opt"]
    assert {each.partition("=")[0] for each in server["command"][1:]} <= options_of("serve")
    volumes = [each.partition(":")[0] for each in server["volumes"]]
    assert set(volumes) <= set(services["volumes"])
    assert set(server["secrets"]) <= set(services["secrets"])
    assert (DEPLOY / services["services"]["polygraph"]["build"]["context"] / "deploy/Dockerfile").exists()
    host = next(each.partition("=")[2] for each in server["command"] if each.startswith("--allow-host"))
    caddy = (DEPLOY / "Caddyfile").read_text()
    assert caddy.startswith(f"{host} {{")
    assert caddy.count("{") == caddy.count("}")
    assert "polygraph:8321" in caddy


def test_the_unit_of_systemd_is_confined():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string((DEPLOY / "polygraph.service").read_text())
    service = unit["Service"]
    assert service["User"] == "polygraph"
    assert service["NoNewPrivileges"] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""
    command = shlex.split(service["ExecStart"])
    assert command[:2] == ["/opt/polygraph/bin/polygraph", "serve"]
    assert {each for each in command if each.startswith("--")} <= options_of("serve")
