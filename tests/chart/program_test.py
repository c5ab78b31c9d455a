"""The real program with the arguments that the chart gives it."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml

import chart
import processes
from control_plane import binaries

CASES = yaml.safe_load((chart.ROOT / "tests/chart/cases.yaml").read_text())
# A CA, and a certificate for servers and clients.
CERTIFICATES = """
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt \
  -days 1 -subj /CN=ca
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key -out tls.csr \
  -subj /CN=keda-gpu-scaler
openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 1 -out tls.crt \
  -extfile extensions
"""


def setUpModule():
    binaries.build_kube()


def on_loopback(arguments, mounts, agents_port=None):
    """Returns a container's `arguments` for this machine: free ports, and folders for mounts."""
    changed = []
    for argument in arguments:
        argument = re.sub(r"^(--(?:port|(?:metrics|probe|telemetry)-port))=[1-9]\d*$", r"\1=any",
                          argument)
        argument = re.sub(r"^(--agents=dns:///[^:]+):\d+$", rf"\1:{agents_port}", argument)
        for mounted, folder in mounts.items():
            argument = argument.replace(f"={mounted}/", f"={folder}/")
        changed.append(argument)
    return [*changed, "--bind-address=127.0.0.1"]


def serving(container, mounts, agents_port=None):
    command = [processes.BINARY, *on_loopback(container["args"], mounts, agents_port)]
    return processes.running(command, processes.SERVING)


def question(objects, mounts):
    """Returns the arguments of `helm test` without the address."""
    job = chart.find(objects, "Job")[0]
    arguments = job["spec"]["template"]["spec"]["containers"][0]["args"]
    return on_loopback(arguments[2:], mounts)[:-1]


class Program(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))

    def start(self, container, mounts, agents_port=None):
        """Runs it until the test ends; returns its ports by name."""
        return self.stack.enter_context(serving(container, mounts, agents_port))

    def make_certificates(self, *names):
        (self.folder / "extensions").write_text(f"subjectAltName={','.join(names)}")
        subprocess.run(["bash", "-ec", CERTIFICATES], cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def test_it_knows_every_option_that_a_case_gives(self):
        known = {}
        for command in ("serve", "query"):
            page = subprocess.run([processes.BINARY, command, "--help"], check=True, text=True,
                                  stdout=subprocess.PIPE).stdout
            known[command] = set(re.findall(r"--[a-z-]+", page))
        for case in CASES:
            if "error" in case:
                continue
            objects = chart.render_case(case)
            for container in containers(objects):
                given = {word.partition("=")[0] for word in container["args"]
                         if word.startswith("--")}
                self.assertEqual(given - known[container["args"][0]], set(), case["it"])

    def test_it_starts_and_answers_as_installed(self):
        objects = chart.render({"mode": "standalone", "attribution": {"mode": "none"},
                                "scaler": {"gpuSource": "none"}})
        ports = self.start(chart.scaler_container(objects), {})
        # There is no GPU here, so the answer is an error about that.
        done = subprocess.run([processes.BINARY, "query", f"127.0.0.1:{ports['grpc']}",
                               *question(objects, {})], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("UNAVAILABLE", done.stdout)

    def test_its_aggregator_finds_its_agent_by_the_name_of_the_service(self):
        self.answers_for_the_agent({}, {})

    def test_its_roles_know_each_other_by_certificates(self):
        objects = chart.render({"tls": {"certManager": {"enabled": True}}})
        names = chart.find(objects, "Certificate/keda-gpu-scaler-agents-tls")[0]["spec"]["dnsNames"]
        # The aggregator is verified by its address, the agent only by its name.
        self.make_certificates(*(f"DNS:{name}" for name in names), "IP:127.0.0.1")
        self.answers_for_the_agent(
            {"tls": {"certManager": {"enabled": True}}},
            {mounted: self.folder for mounted in ("/etc/tls", "/etc/client-tls")})

    def answers_for_the_agent(self, values, mounts):
        """Starts an agent and an aggregator as the chart does, connected through DNS."""
        gpus = {"driver_version": "550", "gpus": [{"name": "Simulated", "utilization_percent": 66}]}
        (self.folder / "gpus.json").write_text(json.dumps(gpus))
        objects = chart.render({**values, "attribution": {"mode": "none"},
                                "scaler": {"gpuSource": f"file:{self.folder}/gpus.json"},
                                "test": {"metadata": ["scope=fleet", "window=0s"]}})
        agent = self.start(chart.agent_container(objects), mounts)
        hosts = pathlib.Path(os.environ["E2E_HOSTS"]) / "agents"
        hosts.write_text("127.0.0.1 keda-gpu-scaler-agents.gpu-scaler.svc.cluster.local\n")
        self.addCleanup(hosts.unlink)
        aggregator = self.start(chart.scaler_container(objects), mounts, agent["grpc"])
        self.comes_to("value   66", aggregator, question(objects, mounts))

    def comes_to(self, text, ports, arguments):
        """Queries until the answer has `text`: a new process may have no readings yet."""
        asked = [processes.BINARY, "query", f"127.0.0.1:{ports['grpc']}", *arguments]

        def answer():
            return subprocess.run(asked, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT).stdout

        self.assertTrue(processes.eventually(lambda: text in answer(), seconds=20), answer())

    def test_it_reads_the_simulated_gpus(self):
        objects = chart.render({"simulate": {"enabled": True}})
        text = chart.find(objects, "ConfigMap/simulated-gpus")[0]["data"]["gpus.json"]
        (self.folder / "gpus.json").write_text(text)
        mounts = {"file:/etc/simulated-gpus": f"file:{self.folder}"}
        ports = self.start(chart.scaler_container(objects), mounts)
        self.comes_to("value   0", ports, question(objects, mounts))

    def test_it_reads_the_profiles(self):
        objects = chart.render({"mode": "standalone", "scaler": {"gpuSource": "none"},
                                "profiles": {"ours": {"extends": "training", "targetValue": 42}}})
        text = chart.find(objects, "ConfigMap/keda-gpu-scaler-profiles")[0]["data"]["profiles.yaml"]
        (self.folder / "profiles.yaml").write_text(text)
        ports = self.start(chart.scaler_container(objects), {"/etc/keda-gpu-scaler": self.folder})
        output = subprocess.run([processes.BINARY, "query", f"127.0.0.1:{ports['grpc']}",
                                 "profile=ours"], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT).stdout
        self.assertIn("target 42", output)

    def test_it_speaks_tls_both_ways(self):
        self.make_certificates("IP:127.0.0.1")
        objects = chart.render({
            "mode": "standalone", "attribution": {"mode": "none"}, "scaler": {"gpuSource": "none"},
            "tls": {"secretName": "a", "clientAuth": True, "testClientSecretName": "b"},
            "metrics": {"tls": {"secretName": "c", "clientAuth": True}}})
        mounts = {mounted: self.folder
                  for mounted in ("/etc/tls", "/etc/metrics-tls", "/etc/client-tls")}
        ports = self.start(chart.scaler_container(objects), mounts)
        asked = [processes.BINARY, "query", f"127.0.0.1:{ports['grpc']}"]
        done = subprocess.run([*asked, *question(objects, mounts)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 1, done.stdout)  # the call was answered: no GPUs here
        self.assertIn("UNAVAILABLE", done.stdout)
        done = subprocess.run(asked, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 4, done.stdout)  # refused


def containers(objects):
    return [container for each in objects
            for container in each.get("spec", {}).get("template", {}).get("spec", {})
            .get("containers", [])]


if __name__ == "__main__":
    unittest.main()
