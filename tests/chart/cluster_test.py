"""The chart and the examples on a real API server: installed, upgraded, rolled back, uninstalled.

Pods are simulated (KWOK): they become ready without a container, and nothing enforces a
NetworkPolicy, so only its schema is checked. The program of a pod is checked with the real binary.
"""
import concurrent.futures
import json
import shutil
import subprocess
import time
import unittest

import yaml

import chart
import processes
from control_plane import cluster, objects

CASES = yaml.safe_load((chart.ROOT / "tests/chart/cases.yaml").read_text())
EXAMPLES = sorted((chart.ROOT / "deploy/examples").rglob("*.yaml"))
# The chart's and the examples'.
NAMESPACES = ["gpu-scaler", "gpu-scaler-agents", "gpu-agents", "monitoring", "cert-manager", "team-a",
              "team-b"]
VERSION = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())["appVersion"]
AGENTS = "agents-of-a-release"  # a namespace that the chart creates
GPU_NODES = "nvidia.com/gpu.present=true"


def setUpModule():
    global folder, simulation
    folder = chart.ROOT / "build/cluster/chart"
    cluster.down(folder)  # left by a killed run
    shutil.rmtree(folder / "log", ignore_errors=True)  # the last run's
    unittest.addModuleCleanup(cluster.down, folder)
    cluster.up(folder)
    files = subprocess.run([chart.ROOT / "tests/chart/crds/files"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.split()
    each_file = [f"--filename={path}" for path in files]
    kubectl("apply", "--server-side", *each_file)
    kubectl("wait", "--for=condition=Established", "--timeout=30s", *each_file)
    for namespace in NAMESPACES:
        kubectl("create", "namespace", namespace)
    # A second node without GPUs, so that aggregators can be on different nodes.
    kubectl("apply", "--server-side", "--filename=-", text=json.dumps(
        objects.node("cpu-1", {"cpu": "32", "memory": "256Gi", "pods": "250"})))
    # It takes two minutes, in parallel with the other tests.
    beside = concurrent.futures.ThreadPoolExecutor()
    unittest.addModuleCleanup(beside.shutdown)
    simulation = beside.submit(simulate)


def kubectl(*command, text=None):
    """Returns standard output."""
    return cluster.kubectl(folder, *command, text=text)


def get(*what):
    return json.loads(kubectl("get", *what, "--output=json"))


def helm(*command):
    """Returns standard output. Runs as an administrator of `folder`'s cluster."""
    return chart.helm(*command, environment={"PATH": "/usr/bin:/bin", "HOME": str(folder),
                                             "KUBECONFIG": str(folder / "kubeconfig")})


def nodes_of_pods(namespace, app):
    pods = get("pods", f"--namespace={namespace}", f"--selector=app={app}")["items"]
    return sorted(pod["spec"]["nodeName"] for pod in pods
                  if "deletionTimestamp" not in pod["metadata"] and
                  any(each["type"] == "Ready" and each["status"] == "True"
                      for each in pod.get("status", {}).get("conditions", [])))


def gpu_nodes():
    found = get("nodes", f"--selector={GPU_NODES}")["items"]
    return sorted(node["metadata"]["name"] for node in found)


class Accepted(unittest.TestCase):
    """The API server accepts objects in a dry run: schema, defaults, validation, admission."""

    def accept(self, text):
        kubectl("apply", "--dry-run=server", "--filename=-", text=text)

    def accept_each(self, texts):
        """Checks all at once, which takes seconds; if that fails, one by one."""
        try:
            self.accept("\n---\n".join(texts.values()))
        except cluster.NotReady:
            for name, text in texts.items():
                with self.subTest(name):
                    self.accept(text)

    def test_what_each_case_renders(self):
        self.accept_each({
            case["it"]: yaml.safe_dump_all(chart.render_case(case))
            for case in CASES if "error" not in case})

    def test_the_manifests(self):
        self.accept((chart.ROOT / "deploy/manifests.yaml").read_text())

    def test_each_example(self):
        self.assertGreater(len(EXAMPLES), 15)
        self.accept_each({example.name: example.read_text() for example in EXAMPLES})

    def test_not_just_anything(self):
        text = (chart.ROOT / "deploy/examples/scale-down.yaml").read_text()
        with self.assertRaises(cluster.NotReady) as caught:
            self.accept(text.replace("maxReplicaCount: 16", "maxReplicaCount: many"))
        self.assertIn("spec.maxReplicaCount", str(caught.exception))

    def test_examples_lint(self):
        for example in EXAMPLES:
            with self.subTest(example.name):
                done = subprocess.run([processes.BINARY, "lint", example], text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.assertEqual(done.returncode, 0, done.stdout)


class PodSecurity(unittest.TestCase):
    """Which levels of pod security admit the pods of each role."""

    @classmethod
    def setUpClass(cls):
        for level in ("restricted", "baseline", "privileged"):
            kubectl("create", "namespace", level)
            kubectl("label", "namespace", level, f"pod-security.kubernetes.io/enforce={level}")

    def admitting(self, role, values):
        """Returns the levels that admit the pod, in a dry run."""
        rendered = chart.render(values)
        name = "keda-gpu-scaler" + ("-agent" if role == "agent" else "")
        template = chart.workload_of(rendered, name)["spec"]["template"]
        spec = {**template["spec"], "serviceAccountName": "default"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": spec}
        levels = []
        for level in ("restricted", "baseline", "privileged"):
            try:
                kubectl("create", "--dry-run=server", f"--namespace={level}", "--filename=-",
                        text=json.dumps(pod))
                levels.append(level)
            except cluster.NotReady as refused:
                self.assertIn("violates PodSecurity", str(refused))
        return levels

    def test_of_aggregators_is_the_strictest(self):
        every = {"nvmlHostMounts": {"enabled": True}, "gpu": {"migMonitoring": True},
                 "attribution": {"sharedGpus": True}, "tls": {"certManager": {"enabled": True}}}
        for values in ({}, every):
            with self.subTest(values):
                self.assertEqual(self.admitting("aggregator", values),
                                 ["restricted", "baseline", "privileged"])

    def test_of_agents_follows_what_they_read(self):
        for values, levels in (
                ({}, ["privileged"]),
                ({"attribution": {"sharedGpus": True}}, ["privileged"]),
                ({"nvmlHostMounts": {"enabled": True}}, ["privileged"]),
                ({"attribution": {"mode": "none"}}, ["restricted", "baseline", "privileged"]),
                ({"attribution": {"mode": "none"}, "gpu": {"migMonitoring": True}},
                 ["privileged"])):
            with self.subTest(values):
                self.assertEqual(self.admitting("agent", values), levels)

    def test_a_namespace_that_would_refuse_them_is_named_before_anything_changes(self):
        install = ["install", chart.RELEASE, chart.CHART, "--namespace=baseline",
                   "--dry-run=server", "--set=image.repository=keda-gpu-scaler"]
        with self.assertRaises(chart.HelmError) as caught:
            helm(*install)
        self.assertIn('Namespace baseline enforces pod security "baseline"', str(caught.exception))
        self.assertIn("agent.namespace", str(caught.exception))
        helm(*install, "--set=agent.namespace=somewhere-else")
        helm(*install, "--set=attribution.mode=none")
        with self.assertRaises(chart.HelmError):
            helm(*install, "--set=mode=standalone")


class InstalledByAUserOfOneNamespace(unittest.TestCase):
    """Dry runs of an install with the rights to one namespace."""

    @classmethod
    def setUpClass(cls):
        everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
        kubectl("apply", "--filename=-", text=json.dumps(
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": [everything],
             "metadata": {"name": "tenant", "namespace": "team-a"}}))
        kubectl("create", "rolebinding", "tenant", "--role=tenant", "--user=tenant",
                "--namespace=team-a")

    def install(self, *options):
        return helm("install", chart.RELEASE, chart.CHART, "--namespace=team-a",
                    "--kube-as-user=tenant", "--dry-run=server",
                    "--set=image.repository=keda-gpu-scaler", *options)

    def test_takes_no_right_to_the_cluster_where_the_class_is_named(self):
        self.assertIn("keda-gpu-scaler.team-a.svc", self.install("--set=gpu.runtimeClassName=nvidia"))

    def test_takes_the_right_to_read_classes_to_find_one(self):
        with self.assertRaises(chart.HelmError) as caught:
            self.install()
        self.assertRegex(str(caught.exception), 'cannot get resource "runtimeclasses"')


class Installed(unittest.TestCase):
    """The life of a release, from install to uninstall."""

    def test_from_install_to_uninstall(self):
        namespace = chart.NAMESPACE
        # The strictest level of pod security: it must admit the aggregators.
        kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
        given = ["--set=image.repository=keda-gpu-scaler", f"--set=agent.namespace={AGENTS}",
                 # Above 0 Kubernetes' DaemonSet controller can wait forever for pods that became
                 # ready more than a second apart (docs/kubernetes.md, Upgrades).
                 "--set=minReadySeconds=0", "--set=aggregator.minReadySeconds=1",
                 "--set=updateStrategy.rollingUpdate.maxSurge=100%"]
        self.assertNotIn("runtimeClassName: ", self.install("install", *given, "--dry-run=server"))
        kubectl("apply", "--filename=-", text=json.dumps(
            {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "nvidia",
             "metadata": {"name": "nvidia"}}))

        notes = self.install("install", *given)
        self.assertIn("keda-gpu-scaler.gpu-scaler.svc.cluster.local:6000", notes)
        self.assertIn("pod-security.kubernetes.io/enforce=restricted", notes)
        self.assertIn("RuntimeClass nvidia", notes)
        self.assertEqual(nodes_of_pods(AGENTS, "keda-gpu-scaler-agent"), gpu_nodes())
        self.assertEqual(len(set(nodes_of_pods(namespace, "keda-gpu-scaler"))), 2)
        self.assertEqual(self.template("daemonset")["runtimeClassName"], "nvidia")
        self.assertNotIn("runtimeClassName", self.template("deployment"))
        self.assertEqual(self.images(), {f"keda-gpu-scaler:{VERSION}"})

        self.follows_the_label()
        self.assertIn("Phase:          Succeeded",
                      helm("test", chart.RELEASE, f"--namespace={namespace}"))

        self.install("upgrade", "--reset-then-reuse-values", "--set=image.tag=next")
        self.wait_for_rollout()
        self.assertEqual(self.images(), {"keda-gpu-scaler:next"})

        helm("rollback", chart.RELEASE, "1", f"--namespace={namespace}", "--wait")
        self.wait_for_rollout()
        self.assertEqual(self.images(), {f"keda-gpu-scaler:{VERSION}"})

        self.changes_its_mode()
        helm("uninstall", chart.RELEASE, f"--namespace={namespace}", "--wait")
        left = [f"{each['kind']}/{each['metadata']['name']}"
                for each in get("daemonsets,deployments,services,serviceaccounts,configmaps,"
                                "networkpolicies,resourcequotas,secrets,poddisruptionbudgets",
                                f"--namespace={namespace}")["items"]]
        self.assertEqual(left, [])
        # Removed by an upgrade; helm does not wait for that.
        self.assertTrue(processes.eventually(
            lambda: not self.is_there(f"namespace/{AGENTS}"), seconds=60))

    def install(self, verb, *options):
        return helm(verb, chart.RELEASE, chart.CHART, f"--namespace={chart.NAMESPACE}", "--wait",
                    "--timeout=180s", *options)

    WORKLOADS = {"daemonset": ["daemonset/keda-gpu-scaler-agent", f"--namespace={AGENTS}"],
                 "deployment": ["deployment/keda-gpu-scaler", f"--namespace={chart.NAMESPACE}"]}

    def template(self, kind):
        return get(*self.WORKLOADS[kind])["spec"]["template"]["spec"]

    def images(self):
        return {self.template(kind)["containers"][0]["image"] for kind in self.WORKLOADS}

    def wait_for_rollout(self):
        for workload in self.WORKLOADS.values():
            kubectl("rollout", "status", *workload, "--timeout=180s")

    def is_there(self, what):
        return bool(kubectl("get", what, "--ignore-not-found", "--output=name",
                            f"--namespace={chart.NAMESPACE}").strip())

    def changes_its_mode(self):
        """Changes to mode standalone, as before there was a fleet, and back."""
        kubectl("label", "--overwrite", "namespace", chart.NAMESPACE,
                "pod-security.kubernetes.io/enforce=privileged")
        self.install("upgrade", "--reset-then-reuse-values", "--set=mode=standalone",
                     "--set=agent.namespace=")
        self.assertTrue(self.is_there("daemonset/keda-gpu-scaler"))
        self.assertFalse(self.is_there("deployment/keda-gpu-scaler"))
        notes = self.install("upgrade", "--reset-then-reuse-values", "--set=mode=standalone")
        self.assertIn(f"WARNING, the scaler runs on {len(gpu_nodes())}", notes)
        self.install("upgrade", "--reset-then-reuse-values", "--set=mode=fleet")
        self.assertFalse(self.is_there("daemonset/keda-gpu-scaler"))
        self.assertTrue(self.is_there("deployment/keda-gpu-scaler"))
        self.assertTrue(self.is_there("daemonset/keda-gpu-scaler-agent"))

    def follows_the_label(self):
        before = gpu_nodes()
        other = next(node["metadata"]["name"] for node in get("nodes")["items"]
                     if node["metadata"]["name"] not in before)

        def runs_on(nodes):
            return processes.eventually(
                lambda: nodes_of_pods(AGENTS, "keda-gpu-scaler-agent") == sorted(nodes), seconds=20)

        kubectl("label", "node", other, GPU_NODES)
        self.assertTrue(runs_on([*before, other]))
        kubectl("label", "node", other, GPU_NODES.split("=")[0] + "-")
        self.assertTrue(runs_on(before))


class Simulated(unittest.TestCase):
    def test_it_goes_from_zero_to_four_and_back_within_two_minutes(self):
        notes, timeline = simulation.result()
        self.assertIn("120 s a round", notes)
        counts = [count for _, count in timeline]
        # A Deployment without a number of replicas starts with one.
        if counts[0] == 1:
            counts = counts[1:]
        self.assertIn(4, counts, timeline)
        peak = counts.index(4)
        self.assertEqual((counts[0], counts[-1]), (0, 0), timeline)
        self.assertEqual(counts[:peak + 1], sorted(counts[:peak + 1]), timeline)
        self.assertEqual(counts[peak:], sorted(counts[peak:], reverse=True), timeline)


def simulate():
    """Runs simulate.enabled with the real binary on loopback instead of the scaler's pod.

    Returns helm's output, and [(seconds since the start, replicas)] at each change.
    """
    namespace = "--namespace=simulated"
    notes = helm("install", chart.RELEASE, chart.CHART, namespace, "--create-namespace",
                 "--set=image.repository=keda-gpu-scaler", "--set=simulate.enabled=true")
    gpu_file = folder / "simulated-gpus.json"
    gpu_file.write_text(get("configmap/simulated-gpus", namespace)["data"]["gpus.json"])
    with processes.scaler(gpu_file) as ports:
        # No cluster DNS resolves its Service.
        patch = [{"op": "replace", "path": "/spec/triggers/0/metadata/scalerAddress",
                  "value": f"127.0.0.1:{ports['grpc']}"}]
        kubectl("patch", "scaledobject/simulated-workload", namespace, "--type=json",
                f"--patch={json.dumps(patch)}")
        timeline = replicas_over_time(namespace, seconds=120)
    helm("uninstall", chart.RELEASE, namespace)
    return notes, timeline


def replicas_over_time(namespace, seconds):
    """Records replicas until they went to four and back to zero, or the time is over."""
    seen = []
    began = time.monotonic()
    while (now := time.monotonic() - began) < seconds:
        count = get("deployment/simulated-workload", namespace)["spec"]["replicas"]
        if not seen or seen[-1][1] != count:
            seen.append((round(now, 1), count))
        if count == 0 and any(earlier == 4 for _, earlier in seen):
            break
        time.sleep(0.5)
    return seen


if __name__ == "__main__":
    unittest.main()
