#!/usr/bin/python3
"""observability.py SOURCE-FOLDER: names in the rules of Prometheus and the dashboards of Grafana must exist.

Would catch: a metric or a label that was renamed in the sources, so that its rule is silent for ever; a panel with an
expression that Prometheus cannot read; a dashboard that was changed by hand; a metric on no panel. promtool (Debian's package
prometheus) parses the expressions.
"""

import importlib.machinery
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

SOURCE = pathlib.Path(sys.argv[1])
FOLDER = SOURCE / "deploy" / "observability"
DASHBOARDS = FOLDER / "grafana" / "dashboards"
GIVEN = {"job", "instance", "part", "le", "queue", "alertname", "severity"}  # by Prometheus, its configuration or RabbitMQ


def texts_of_sources():
    for folder in ("services", "common"):
        for path in sorted((SOURCE / folder).rglob("*.c")):
            yield path.read_text(encoding="utf-8")


def expressions():
    """(where, expression, the texts that show its labels) of every rule and panel."""
    for group in yaml.safe_load((FOLDER / "alerts.yml").read_text(encoding="utf-8"))["groups"]:
        for rule in group["rules"]:
            shown = " ".join(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
            yield f"alerts.yml: {rule['alert']}", rule["expr"], set(shown.split())
    for path in sorted(DASHBOARDS.glob("*.json")):
        for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]:
            for target in panel.get("targets", ()):
                shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
                yield f"{path.name}: {panel['title']}", target["expr"], shown


def generator():
    """make-dashboards as a module; it has no .py in its name."""
    loader = importlib.machinery.SourceFileLoader("make_dashboards", str(FOLDER / "grafana" / "make-dashboards"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_dashboards", loader))
    sys.dont_write_bytecode = True  # the sources may be read-only, and are no place for a cache
    loader.exec_module(module)
    return module


def stale_dashboards(folder):
    """The files equal the generator's output."""
    generator().main([str(folder)])
    written = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    there = {path.name: path.read_text(encoding="utf-8") for path in DASHBOARDS.glob("*.json")}
    return [f"{name} is not what make-dashboards writes: run it" for name in sorted(written.keys() | there.keys())
            if written.get(name) != there.get(name)]


def unreadable_panels(folder):
    """Each panel's expression as a recording rule, for promtool to read."""
    panels = [(where, expression) for where, expression, _ in expressions() if not where.startswith("alerts.yml")]
    rules = folder / "panels.yml"
    findings = []
    for number, (_, expression) in enumerate(panels):
        assert "'" not in expression, expression
    text = "".join(f"      - record: panel:p{number}\n        expr: '{expression}'\n" for number, (_, expression) in enumerate(panels))
    rules.write_text(f"groups:\n  - name: panels\n    rules:\n{text}", encoding="utf-8")
    done = subprocess.run(["promtool", "check", "rules", rules], capture_output=True, text=True, check=False)
    for line in (done.stdout + done.stderr).splitlines():
        found = re.search(r"panel:p(\d+)", line)
        if done.returncode != 0 and found:
            findings.append(f"{panels[int(found.group(1))][0]}: {line.strip()}")
    if done.returncode != 0 and not findings:
        findings.append(f"promtool: {done.stdout}{done.stderr}")
    return findings


def unseen_metrics(metrics):
    """Each exported metric is on a panel or has a reason in LEFT_OUT, never both; LEFT_OUT names exported metrics only."""
    left_out = generator().LEFT_OUT
    on_panels = {re.sub(r"_(bucket|sum|count)$", "", name) if name not in metrics else name
                 for where, expression, _ in expressions() if not where.startswith("alerts.yml")
                 for name in re.findall(r"\b(?:makegood|process)_\w+", expression)}
    return ([f"no panel shows {name}, and LEFT_OUT of make-dashboards does not say why" for name in sorted(metrics - on_panels - set(left_out))]
            + [f"LEFT_OUT: a panel shows {name}" for name in sorted(on_panels & set(left_out))]
            + [f"LEFT_OUT: no program has the metric {name}" for name in sorted(set(left_out) - metrics)])


def labels_of(expression):
    found = set()
    for words in re.findall(r"\bby \(([^)]*)\)", expression):
        found |= {word.strip() for word in words.split(",")}
    for selector in re.findall(r"\{([^}]*)\}", expression):
        found |= set(re.findall(r'(\w+)\s*[=!]~?"', selector))
    return found


def main():
    sources = "\n".join(texts_of_sources())
    metrics = set(re.findall(r'"((?:makegood|process)_[a-z_]+)"', sources))
    labels = GIVEN | set(re.findall(r'\b([a-z_]+)=\\"', sources)) | set(re.findall(r'MG_COUNTER, "makegood_\w+", "(\w+)"', sources))
    findings, seen = [], 0
    for where, expression, shown in expressions():
        for name in re.findall(r"\b(?:makegood|process)_\w+", expression):
            seen += 1
            if name not in metrics and re.sub(r"_(bucket|sum|count)$", "", name) not in metrics:
                findings.append(f"{where}: no program has the metric {name}")
        findings += [f"{where}: no metric has the label {label}" for label in sorted((labels_of(expression) | shown) - labels)]
    with tempfile.TemporaryDirectory() as folder:
        findings += stale_dashboards(pathlib.Path(folder)) + unreadable_panels(pathlib.Path(folder))
    findings += unseen_metrics(metrics)
    if seen == 0:
        findings.append("no rule and no panel names a metric of ours")
    for part in ("scheduler", "supervisor", "agents", "gateway", "console"):
        for name in ("docker-compose.yml", "deploy/observability/prometheus.yml"):
            if not re.search(rf"\b{part}\b", (SOURCE / name).read_text(encoding="utf-8")):
                findings.append(f"{name}: does not name {part}")
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
