"""Envoy in front of a server, as the sidecar of a mesh."""
import contextlib
import json
import pathlib

import servers

PROGRAM = servers.PACKAGES / "envoy/_bin/envoy"
TYPES = "type.googleapis.com/envoy.extensions"


class Sidecar:
    """Forwards HTTP/2 to a loopback port. A restart keeps its own port."""

    def __init__(self, folder, name, upstream_port, **settings):
        self._folder = pathlib.Path(folder)
        self._name = name
        admin_port = servers.free_port()
        self._admin = f"http://127.0.0.1:{admin_port}"
        self.port = servers.free_port()
        config = _config(self.port, admin_port, upstream_port, **settings)
        self._file = self._folder / f"{name}.json"
        self._file.write_text(json.dumps(config))

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @contextlib.contextmanager
    def running(self):
        command = [PROGRAM, "--config-path", self._file, "--concurrency", "1",
                   "--disable-hot-restart", "--log-level", "info"]
        with servers.running(self._folder, self._name, command,
                             lambda log: "starting main dispatch loop" in log):
            yield self

    def count(self, statistic):
        """Returns a counter or a gauge, "http.inbound..." for clients or "cluster.server..."."""
        page = servers.get(f"{self._admin}/stats")
        return int(dict(line.split(": ") for line in page.splitlines())[statistic])


def _address(port):
    return {"address": {"socket_address": {"address": "127.0.0.1", "port_value": port}}}


def _config(port, admin_port, upstream_port, clients=None, connections=None, cluster=None):
    """`clients` and `connections` are the common HttpProtocolOptions of either side; `cluster` has
    further fields of the Cluster."""
    manager = {
        "@type": f"{TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "inbound",
        "codec_type": "HTTP2",
        "drain_timeout": "0.1s",
        "common_http_protocol_options": clients or {},
        "route_config": {"virtual_hosts": [{
            "name": "all", "domains": ["*"],
            "routes": [{"match": {"prefix": "/"},
                        "route": {"cluster": "server", "timeout": "0s"}}]}]},
        "http_filters": [{"name": "router",
                          "typed_config": {"@type": f"{TYPES}.filters.http.router.v3.Router"}}]}
    server = {
        "name": "server",
        "connect_timeout": "1s",
        "load_assignment": {"cluster_name": "server", "endpoints": [
            {"lb_endpoints": [{"endpoint": _address(upstream_port)}]}]},
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": f"{TYPES}.upstreams.http.v3.HttpProtocolOptions",
                "common_http_protocol_options": connections or {},
                "explicit_http_config": {"http2_protocol_options": {}}}},
        **(cluster or {})}
    return {
        "admin": _address(admin_port),
        "static_resources": {
            "listeners": [{"name": "inbound", **_address(port), "filter_chains": [
                {"filters": [{"name": "http", "typed_config": manager}]}]}],
            "clusters": [server]}}
