"""The programs of a control plane: their command lines, in starting order."""
import random
import socket

from . import binaries

# Below the ephemeral ports, so that no outgoing connection takes one between our choice and the
# program's bind, and below the node ports.
PORTS = range(20000, 30000)
PORT_NAMES = ["etcd", "etcd_peer", "apiserver", "controller_manager", "scheduler", "kwok",
              "operator", "operator_metrics", "operator_probe", "adapter", "adapter_metrics",
              "scaler", "scaler_metrics", "scaler_probe"]

CONTROLLERS = ["deployment", "replicaset", "daemonset", "statefulset", "job",
               "horizontal-pod-autoscaler", "endpointslice", "namespace", "garbage-collector"]

NAMESPACE = "keda"


def free_ports():
    """Returns {name: port}, each free on loopback now."""
    found = {}
    candidates = iter(random.sample(PORTS, len(PORTS)))
    for name in PORT_NAMES:
        found[name] = next(port for port in candidates if is_free(port))
    return found


def is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def kubernetes(folder, ports):
    """Returns the programs without which no object can be stored."""
    pki = folder / "pki"
    etcd, peer = (f"http://127.0.0.1:{ports[name]}" for name in ("etcd", "etcd_peer"))
    return {
        "etcd": [
            binaries.KUBE, "etcd", "--name=control-plane", f"--data-dir={folder}/etcd",
            "--unsafe-no-fsync", "--log-level=warn", f"--listen-client-urls={etcd}",
            f"--advertise-client-urls={etcd}", f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=control-plane={peer}"],
        "kube-apiserver": [
            binaries.KUBE, "kube-apiserver", f"--etcd-servers={etcd}", "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1", f"--secure-port={ports['apiserver']}",
            f"--tls-cert-file={pki}/apiserver.crt", f"--tls-private-key-file={pki}/apiserver.key",
            f"--cert-dir={pki}", f"--client-ca-file={pki}/ca.crt", "--authorization-mode=RBAC",
            "--anonymous-auth=true", "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none", "--allow-privileged=true",
            "--service-account-issuer=https://control-plane.invalid",
            f"--service-account-key-file={pki}/sa.pub",
            f"--service-account-signing-key-file={pki}/sa.key",
            # Only the node lifecycle controller, which we do not run, would remove the taint that
            # the second plugin puts on a new node.
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
            f"--requestheader-client-ca-file={pki}/ca.crt",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={pki}/front-proxy.crt",
            f"--proxy-client-key-file={pki}/front-proxy.key"],
    }


def controllers(folder, ports):
    """Returns the programs that create pods of Deployments, place them, and mark them ready."""
    common = [*login(folder), "--leader-elect=false", "--bind-address=127.0.0.1",
              f"--cert-dir={folder}/pki", "--kube-api-qps=200", "--kube-api-burst=400"]
    enabled = ",".join(f"{name}-controller" for name in CONTROLLERS)
    return {
        "kube-controller-manager": [
            binaries.KUBE, "kube-controller-manager", *common,
            f"--secure-port={ports['controller_manager']}", f"--controllers={enabled}",
            "--horizontal-pod-autoscaler-sync-period=1s",
            # Longer than a Deployment's status lags behind its spec: within its tolerance the HPA
            # asks for the replicas of the status. The default is 5 minutes.
            "--horizontal-pod-autoscaler-downscale-stabilization=10s"],
        "kube-scheduler": [
            binaries.KUBE, "kube-scheduler", *common, f"--secure-port={ports['scheduler']}"],
        "kwok": [
            binaries.KUBE, "kwok", f"--kubeconfig={folder}/kubeconfig",
            f"--config={binaries.STAGES}",
            # The real kubelets of tests/e2e have the label.
            "--manage-nodes-with-label-selector=!real-kubelet",
            f"--server-address=127.0.0.1:{ports['kwok']}", "--node-ip=127.0.0.1",
            # The default overlaps the range of the Services.
            "--cidr=10.64.0.0/16"],
    }


def keda(folder, ports):
    pki = folder / "pki/keda"
    return {
        "keda-operator": [
            binaries.KEDA, "operator", "--leader-elect=false", "--enable-cert-rotation=false",
            f"--cert-dir={pki}", f"--metrics-bind-address=127.0.0.1:{ports['operator_metrics']}",
            f"--health-probe-bind-address=127.0.0.1:{ports['operator_probe']}",
            f"--metrics-service-bind-address=127.0.0.1:{ports['operator']}",
            "--zap-encoder=console"],
        "keda-adapter": [
            binaries.KEDA, "adapter", f"--secure-port={ports['adapter']}",
            "--bind-address=127.0.0.1", f"--port={ports['adapter_metrics']}",
            f"--metrics-service-address=localhost:{ports['operator']}", f"--cert-dir={pki}",
            f"--tls-cert-file={pki}/tls.crt", f"--tls-private-key-file={pki}/tls.key",
            f"--client-ca-file={pki}/ca.crt", *login(folder),
            f"--lister-kubeconfig={folder}/kubeconfig"],
    }


def login(folder):
    kubeconfig = folder / "kubeconfig"
    return [f"--{kind}kubeconfig={kubeconfig}" for kind in ("", "authentication-",
                                                            "authorization-")]


def environment(folder):
    return {"KUBECONFIG": str(folder / "kubeconfig"), "WATCH_NAMESPACE": "",
            "KEDA_CLUSTER_OBJECT_NAMESPACE": NAMESPACE, "POD_NAMESPACE": NAMESPACE}
