#!/usr/bin/python3
"""observability.py SOURCE-FOLDER: what the rules of Prometheus and the dashboards of Grafana name must exist.

It would catch a metric or a label that was renamed in the sources: a rule about it would be silent for ever."""

import json
import pathlib
import re
import sys

import yaml

SOURCE = pathlib.Path(sys.argv[1])
FOLDER = SOURCE / "deploy" / "observability"
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
    for path in sorted((FOLDER / "grafana" / "dashboards").glob("*.json")):
        for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]:
            for target in panel.get("targets", ()):
                shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
                yield f"{path.name}: {panel['title']}", target["expr"], shown


def labels_of(expression):
    found = set()
    for words in re.findall(r"\bby \(([^)]*)\)", expression):
        found |= {word.strip() for word in words.split(",")}
    for selector in re.findall(r"\{([^}]*)\}", expression):
        found |= set(re.findall(r'(\w+)\s*[=!]~?"', selector))
    return found


def main():
    sources = "\n".join(texts_of_sources())
    metrics = set(re.findall(r'"(makegood_[a-z_]+)"', sources))
    labels = GIVEN | set(re.findall(r'\b([a-z_]+)=\\"', sources)) | set(re.findall(r'MG_COUNTER, "makegood_\w+", "(\w+)"', sources))
    findings, seen = [], 0
    for where, expression, shown in expressions():
        for name in re.findall(r"\bmakegood_\w+", expression):
            seen += 1
            if name not in metrics and re.sub(r"_(bucket|sum|count)$", "", name) not in metrics:
                findings.append(f"{where}: no program has the metric {name}")
        findings += [f"{where}: no metric has the label {label}" for label in sorted((labels_of(expression) | shown) - labels)]
    if seen == 0:
        findings.append("no rule and no panel names a metric of ours")
    for part in ("scheduler", "supervisor", "agent-inventory", "agent-payment", "agent-carrier"):
        for name in ("docker-compose.yml", "deploy/observability/prometheus.yml"):
            if not re.search(rf"\b{part}\b", (SOURCE / name).read_text(encoding="utf-8")):
                findings.append(f"{name}: does not name {part}")
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
