"""The chart without a cluster: lint, every value, presets, and the generated manifests."""
import concurrent.futures
import copy
import json
import os
import re
import subprocess
import tempfile
import unittest

import yaml

import chart
from control_plane import binaries

CASES = yaml.safe_load((chart.ROOT / "tests/chart/cases.yaml").read_text())
VALUES = yaml.safe_load((chart.CHART / "values.yaml").read_text())
RIGHTS = {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "Secret"}


# The values of the Go scaler's chart that this one lacks, and what the notes name in place of each.
DEPRECATED = {
    "imagePullSecrets": ([{"name": "login"}], "image.pullSecrets"),
    "nameOverride": ("gpu", "nothing"),
    "fullnameOverride": ("gpu", "nothing"),
    "service.type": ("NodePort", "nothing"),
    "grpc.port": (6007, "service.port"),
    "logLevel": ("debug", "scaler.logLevel"),
    "probes.enabled": (False, "probes.liveness and probes.readiness"),
    "probes.type": ("grpc", "probes.port"),
    "healthCheckInterval": ("1m", "scaler.hangAfter"),
    "runtimeClassName": ("nvidia-cdi", "gpu.runtimeClassName"),
    "nvmlHostMounts.nvidiactl": ("/dev/ctl", "nvmlHostMounts.devices"),
    "nvmlHostMounts.nvidiaUvm": ("/dev/uvm", "nvmlHostMounts.devices"),
    "nvmlHostMounts.nvmlLib": ("/lib/nvml", "nvmlHostMounts.library"),
}
DEPRECATED_WARNING = "WARNING: these values are of the Go scaler's chart"

# Values, and the texts that the notes must or must not have for them.
RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"
PRIVILEGED = "pod-security.kubernetes.io/enforce=privileged"
OPEN_WEB = {"bindAddress": "::", "tls": {"secretName": "web-tls"}, "tokenSecretName": "web-token"}
NOTES = [
    ({}, {PRIVILEGED: True, RESTRICTED: False, "run as root, without capabilities": True,
          "enableTLS": False, "One GPU node": False, DEPRECATED_WARNING: False,
          "only pods of namespace keda reach port 6000": True,
          "deployment/keda-gpu-scaler": True, "daemonset/keda-gpu-scaler-agent": True,
          "with pods that hold them": True, "no RuntimeClass was found": True,
          "found on nodes with the kubelet's Pods API": True, "agent.discoverEngines=auto": True,
          "--set agent.discoverEngines=true finds engines there too": True,
          "They also see the processes": False, "read where a trigger names them": False,
          "keda-gpu-scaler.gpu-scaler.svc.cluster.local:6000": True}),
    ({"agent": {"namespace": "gpu-agents"}},
     {PRIVILEGED: True, RESTRICTED: True, "as gpu-agents, made for them, does": True,
      "-n gpu-agents rollout status daemonset/keda-gpu-scaler-agent": True}),
    ({"agent": {"namespace": "gpu-agents", "createNamespace": False}},
     {PRIVILEGED: True, RESTRICTED: True, "made for them": False}),
    ({"agent": {"enabled": False, "namespace": "gpu-agents"}},
     {"-n gpu-agents rollout status daemonset/keda-gpu-scaler-agent": True, PRIVILEGED: False,
      "An agent runs on nodes": False, "GPUs count for": False, "Inference engines": False}),
    ({"mode": "standalone"},
     {"One GPU node": True, "WARNING": False, "status daemonset/keda-gpu-scaler\n": True}),
    ({"attribution": {"mode": "none"}},
     {RESTRICTED: True, PRIVILEGED: False, "attribution.mode is none": True, "hostPID": False,
      "To find them needs attribution.mode=kubelet": True}),
    ({"agent": {"discoverEngines": False}},
     {"read where a trigger names them": True, "With agent.discoverEngines=auto or true": True,
      "hostPID": False}),
    ({"agent": {"discoverEngines": True}},
     {"found in the pods that hold GPUs": True, "(agent.discoverEngines=true)": True,
      "read GPUs see the processes of their node (hostPID)": True,
      "read where a trigger names them": False}),
    ({"mode": "standalone", "agent": {"discoverEngines": True}},
     {"found in the pods that hold GPUs": True}),
    ({"attribution": {"sharedGpus": True}},
     {"They also see the processes of their\nnode (hostPID), for attribution.sharedGpus": True}),
    ({"gpu": {"runtimeClassName": ""}}, {"no RuntimeClass was asked for": True}),
    ({"gpu": {"runtimeClassName": "nvidia-cdi"}}, {"RuntimeClass nvidia-cdi": True}),
    ({"nvmlHostMounts": {"enabled": True}},
     {PRIVILEGED: True, RESTRICTED: False, "are privileged": True, "Container runtime": False}),
    ({"gpu": {"migMonitoring": True}},
     {PRIVILEGED: True, RESTRICTED: False, "root with CAP_SYS_ADMIN": True}),
    ({"mode": "standalone", "tls": {"secretName": "a"}},
     {'enableTLS: "true"': True, "caCert": True, "tlsClientCert": False, "not yet": False}),
    ({"tls": {"secretName": "a", "clientAuth": True, "agentSecretName": "c"}},
     {"caCert, tlsClientCert, tlsClientKey": True, "name one in tls.testClientSecretName": True}),
    ({"tls": {"secretName": "a", "clientAuth": True, "agentSecretName": "c",
              "testClientSecretName": "b"}},
     {"tlsClientCert": True, "not yet": False}),
    ({"tls": {"certManager": {"enabled": True}}}, {"tlsClientCert": True, "not yet": False}),
    ({"networkPolicy": {"enabled": False}}, {"NetworkPolicy": False}),
    ({}, {"http://localhost:8082/:": True,
          "-n gpu-scaler port-forward deployment/keda-gpu-scaler 8082": True,
          "no client reaches the Service": False}),
    ({"mode": "standalone", "web": {"port": 8443}},
     {"http://localhost:8443/:": True, "port-forward daemonset/keda-gpu-scaler 8443": True}),
    ({"web": {"enabled": False}}, {"port-forward": False}),
    ({"web": OPEN_WEB}, {"https://localhost:8082/:": True, "no client reaches the Service": True}),
    ({"web": OPEN_WEB, "networkPolicy": {"webFrom": [{"podSelector": {}}]}},
     {"no client reaches the Service": False}),
    ({"web": OPEN_WEB, "networkPolicy": {"enabled": False}},
     {"no client reaches the Service": False}),
    ({"networkPolicy": {"kedaNamespace": "kube-system"}},
     {"only pods of namespace kube-system reach port 6000": True}),
    ({"nodeSelector": {"pool": "gpu"}}, {"\n  pool=gpu\n": True}),
    ({"simulate": {"enabled": True}},
     {"120 s a round": True, "One GPU node": False, "Pod security": False,
      "NetworkPolicy": False, "Inference engines": False}),
]


def take_out(values, path):
    """Removes the value; returns whether it existed."""
    if path[0] not in values:
        return False
    if len(path) > 1:
        inner = values[path[0]]
        return isinstance(inner, dict) and take_out(inner, path[1:])
    del values[path[0]]
    return True


def nested(path, value):
    """Returns {"a": {"b": value}} for "a.b"."""
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


def merge(values, more):
    """Adds the leaves of `more` to `values`."""
    for key, value in more.items():
        if isinstance(value, dict):
            merge(values.setdefault(key, {}), value)
        else:
            values[key] = value


def is_value(path):
    """Returns whether values.yaml has "a.b"."""
    value = VALUES
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True


def deprecated_in(part, schema, path=()):
    """Returns the paths of the deprecated leaves of a part of the schema."""
    part = schema["$defs"].get(part.get("$ref", "").rpartition("/")[2], part)
    if "properties" not in part:
        return {".".join(path)} if part.get("deprecated") else set()
    return set().union(*(deprecated_in(each, schema, (*path, key))
                         for key, each in part["properties"].items()))


def in_namespace(name):
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


def pods_of(app):
    return {"podSelector": {"matchLabels": {"app": app}}}


def ports_of(container):
    return {each["name"]: each["containerPort"] for each in container["ports"]}.items()


def ingress_of(policy):
    """Returns the policy's pod selector, and all its ingress rules."""
    assert "Ingress" in policy["policyTypes"]
    return {"podSelector": policy["podSelector"]}, policy["ingress"]


def setUpModule():
    binaries.build_kube()


class Chart(unittest.TestCase):
    def test_lints(self):
        for preset in [None, *chart.PRESETS]:
            with self.subTest(preset=preset and preset.stem):
                files = [f"--values={preset}"] if preset else []
                output = chart.helm("lint", chart.CHART, "--strict", *files,
                                    "--set=image.repository=keda-gpu-scaler")
                self.assertIn("1 chart(s) linted, 0 chart(s) failed", output)
                self.assertNotIn("[WARNING]", output)

    def test_each_value_does_what_its_case_says(self):
        for case in CASES:
            with self.subTest(case["it"]):
                self.check(case)

    def check(self, case):
        if "error" in case:
            with self.assertRaises(chart.HelmError) as caught:
                chart.render_case(case)
            self.assertIn(case["error"], str(caught.exception))
            return
        objects = chart.render_case(case)
        for given, container in (("args", chart.scaler_container),
                                 ("agent_args", chart.agent_container)):
            for wanted in case.get(given, []):
                self.assertIn(wanted, container(objects)["args"])
            for unwanted in case.get(f"no_{given}", []):
                self.assertFalse([word for word in container(objects)["args"]
                                  if word.startswith(unwanted)], unwanted)
        for which, wanted in case.get("has", {}).items():
            found = chart.find(objects, which)
            self.assertEqual(len(found), 1, which)
            self.assertTrue(chart.contains(found[0], wanted),
                            f"want\n{yaml.dump(wanted)}\nin\n{yaml.dump(found[0])}")
        for which, unwanted in case.get("hasnt", {}).items():
            found = chart.find(objects, which)
            self.assertEqual(len(found), 1, which)
            self.assertFalse(chart.contains(found[0], unwanted), yaml.dump(found[0]))
        for which in case.get("lacks", []):
            self.assertEqual(chart.find(objects, which), [])

    def test_no_value_is_without_a_case_that_fails_without_it(self):
        def is_missed(path):
            for case in CASES:
                values = copy.deepcopy(case["values"])
                if not take_out(values, path):
                    continue
                try:
                    self.check({**case, "values": values})
                except (AssertionError, chart.HelmError):
                    return True
            return False

        paths = sorted(chart.leaves(VALUES))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
            missed = list(threads.map(is_missed, paths))
        self.assertEqual([".".join(path) for path, is_it in zip(paths, missed) if not is_it], [])

    def test_its_policies_let_in_whom_they_name_and_nobody_else(self):
        keda = {"from": [in_namespace("keda"), pods_of("keda-gpu-scaler-test")],
                "ports": [{"protocol": "TCP", "port": "grpc"}]}
        prometheus = {"from": [in_namespace("monitoring")],
                      "ports": [{"protocol": "TCP", "port": "metrics"}]}
        ours, apart = pods_of("keda-gpu-scaler"), in_namespace(chart.NAMESPACE)
        for values, aggregators in (
                ({}, ours),
                ({"agent": {"namespace": "gpu-agents", "discoverEngines": True}}, ours | apart),
                ({"mode": "standalone"}, None)):
            with self.subTest(values):
                objects = chart.render(values)
                wanted = {"keda-gpu-scaler": (ours, [keda, prometheus])}
                ports = {"grpc": 6000, "metrics": 9090}
                self.assertLessEqual(ports.items(), ports_of(chart.scaler_container(objects)))
                if aggregators:
                    from_aggregators = {"from": [aggregators],
                                        "ports": [{"protocol": "TCP", "port": "telemetry"}]}
                    wanted["keda-gpu-scaler-agents"] = (pods_of("keda-gpu-scaler-agent"),
                                                        [from_aggregators, prometheus])
                    ports = {"telemetry": 6001, "metrics": 9090}
                    self.assertLessEqual(ports.items(), ports_of(chart.agent_container(objects)))
                self.assertEqual({each["metadata"]["name"]: ingress_of(each["spec"])
                                  for each in chart.find(objects, "NetworkPolicy")}, wanted)

    def test_its_notes_say_what_the_values_ask_of_the_user(self):
        for values, lines in NOTES:
            with self.subTest(values):
                output = chart.notes(values)
                for line, there in lines.items():
                    self.assertEqual(line in output, there, f"{line}\nin\n{output}")

    def test_deprecated_values_change_nothing_but_the_notes(self):
        for mode in ("fleet", "standalone"):
            for values in ({}, {"simulate": {"enabled": True}}, {"nvmlHostMounts": {"enabled": True}}):
                values = {"mode": mode, **values}
                every = copy.deepcopy(values)
                for path, (value, _) in DEPRECATED.items():
                    merge(every, nested(path, value))
                with self.subTest(values):
                    self.assertEqual(chart.render(every), chart.render(values))
                    notes, _, warning = chart.notes(every).partition(f"\n{DEPRECATED_WARNING}")
                    self.assertEqual(notes.strip(), chart.notes(values).strip())
                    self.assertEqual(len(re.findall(r"^  \S", warning, re.M)), len(DEPRECATED))

    def test_each_deprecated_value_is_warned_of_alone(self):
        for path, (value, ours) in DEPRECATED.items():
            with self.subTest(path):
                warning = chart.notes(nested(path, value)).partition(DEPRECATED_WARNING)[2]
                lines = re.findall(r"^  (\S+) +(.*)$", warning, re.M)
                self.assertEqual([name for name, _ in lines], [path])
                self.assertTrue(lines[0][1].startswith(ours), lines)
                if ours != "nothing":
                    self.assertTrue(all(is_value(each) for each in re.findall(r"\w+(?:\.\w+)+", ours)))

    def test_the_schema_marks_exactly_the_deprecated_values(self):
        schema = json.loads((chart.CHART / "values.schema.json").read_text())
        self.assertEqual(deprecated_in(schema, schema), set(DEPRECATED))

    def test_the_schema_knows_exactly_the_values(self):
        schema = json.loads((chart.CHART / "values.schema.json").read_text())

        def resolved(part):
            return schema["$defs"].get(part.get("$ref", "").rpartition("/")[2], part)

        def compare(values, part, path):
            part = resolved(part)
            if "properties" not in part or not isinstance(values, dict) or not values:
                return
            self.assertFalse(part["additionalProperties"], path)
            known = {key for key, each in part["properties"].items()
                     if not resolved(each).get("deprecated")} - {"global", "claims"}
            self.assertEqual(known, set(values), path)
            for key in known:
                compare(values[key], part["properties"][key], f"{path}.{key}")

        compare(VALUES, schema, "values")

    def test_it_is_of_the_programs_version(self):
        text = (chart.ROOT / "CMakeLists.txt").read_text()
        version = re.search(r"project\(keda-gpu-scaler VERSION (\S+)", text).group(1)
        about = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())
        self.assertEqual((about["version"], about["appVersion"]), (version, version))

    def test_manifests_are_made_from_it(self):
        done = subprocess.run([chart.ROOT / "tools/manifests", "--check"], text=True,
                              stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_it_needs_no_rights(self):
        kinds = {each["kind"] for each in chart.render({})}
        self.assertEqual(kinds, {"DaemonSet", "Deployment", "Job", "NetworkPolicy",
                                 "PodDisruptionBudget", "Service", "ServiceAccount"})
        every = [case for case in CASES if "error" not in case]
        every += [{"it": "preset", "values": {}, "preset": preset.stem} for preset in chart.PRESETS]
        for case in every:
            with self.subTest(case):
                kinds = {each["kind"] for each in chart.render_case(case)}
                self.assertEqual(kinds & RIGHTS, set())

    def test_it_packages(self):
        with tempfile.TemporaryDirectory() as folder:
            output = chart.helm("package", chart.CHART, f"--destination={folder}")
            archive = output.strip().rpartition(" ")[2]
            names = subprocess.run(["tar", "-tzf", archive], check=True, text=True,
                                   stdout=subprocess.PIPE).stdout
        self.assertIn("keda-gpu-scaler/presets/gke.yaml", names)
        self.assertIn("keda-gpu-scaler/values.schema.json", names)


if __name__ == "__main__":
    unittest.main()
