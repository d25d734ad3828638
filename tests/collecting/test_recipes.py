"""The recipes of `examples/service`, checked by their programs if these are installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from assay.cli.app import app

RECIPES = Path(__file__).parents[2] / "examples" / "service"


def read_by(program: str, *words: str | Path, **more: str) -> str:
    """The output of a program that checks a recipe; it must succeed."""
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60, check=False, env=more or None)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said


def test_caddy_reads_its_recipe(tmp_path: Path) -> None:
    about = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    said = read_by("caddy", "validate", "--adapter", "caddyfile", "--config", RECIPES / "Caddyfile", **about)
    assert "Valid configuration" in said


@pytest.mark.slow
def test_nginx_reads_its_recipe(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    names = {one: tmp_path / one for one in ("fullchain.pem", "privkey.pem")}
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=label.example.org"]
    make += ["-out", str(names["fullchain.pem"]), "-keyout", str(names["privkey.pem"])]
    subprocess.run(make, check=True, capture_output=True, timeout=60)
    recipe = (RECIPES / "nginx.conf").read_text()
    recipe = recipe.replace("/etc/letsencrypt/live/label.example.org", str(tmp_path))
    recipe = recipe.replace("listen 443 ssl", "listen 127.0.0.1:58443 ssl").replace(
        "listen 80", "listen 127.0.0.1:58080"
    )
    whole = tmp_path / "nginx.conf"
    whole.write_text(f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{recipe}\n}}\n")
    assert "syntax is ok" in read_by("nginx", "-t", "-p", tmp_path, "-c", whole)


def test_systemd_reads_its_recipe(tmp_path: Path) -> None:
    unit = tmp_path / "assay.service"
    program = re.compile(r"^ExecStart=\S+", re.MULTILINE)
    unit.write_text(program.sub("ExecStart=/bin/true", (RECIPES / "assay.service").read_text()))
    said = read_by("systemd-analyze", "verify", "--man=no", unit)
    assert "assay.service" not in said, said


def test_compose_recipe_is_complete() -> None:
    services = yaml.safe_load((RECIPES / "compose.yaml").read_text())["services"]
    assert set(services) == {"page", "database"}
    assert (
        services["page"]["build"]["dockerfile"] == (RECIPES / "Dockerfile").relative_to(RECIPES.parents[1]).as_posix()
    )
    store = "postgresql://assay@database/assay"
    assert f"--store {store}" in services["page"]["command"]
    assert services["database"]["environment"]["POSTGRES_USER"] == "assay"
    secrets = [value for one in services.values() for name, value in one["environment"].items() if "PASSWORD" in name]
    assert all(value.startswith("${") for value in secrets), "the file contains no secret"


@pytest.mark.parametrize("name", ["assay.service", "compose.yaml", "Caddyfile", "nginx.conf"])
def test_recipe_commands_exist(name: str) -> None:
    text = (
        (RECIPES / name).read_text().replace("\\\n#", " ").replace(">-\n      ", "assay ").replace("\n      --", " --")
    )
    found = re.findall(r"\bassay ((?:serve|links|backup)\b[^\n;]*)", text)
    assert found
    for command in found:
        app.parse_args(command.split(), exit_on_error=False, print_error=False)
