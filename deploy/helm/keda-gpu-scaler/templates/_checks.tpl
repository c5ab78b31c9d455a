{{/* What the schema cannot check: values that contradict each other or the cluster. */}}
{{- define "scaler.checks" -}}
{{- $fleet := include "scaler.isFleet" . }}
{{- if and $fleet (include "scaler.tlsSecret" .) }}
{{- if not (include "scaler.clientAuth" .) }}
{{- fail "\n\ntls.secretName without tls.clientAuth. In a fleet TLS is mutual: aggregators and agents authenticate with certificates of one authority. KEDA then shows one, too. Set tls.clientAuth=true, or mode=standalone.\n" }}
{{- end }}
{{- if and (include "scaler.runsAgents" .) (not (or .Values.tls.agentHostPath (include "scaler.agentTlsSecret" .))) }}
{{- fail (printf "\n\ntls.secretName without tls.agentSecretName: the agents need a certificate for %s, of the same authority.\n" (include "scaler.agentsHost" .)) }}
{{- end }}
{{- end }}
{{- if and $fleet (eq .Values.aggregator.agentIdentity "san") (not (and (include "scaler.tlsSecret" .) .Values.tls.agentHostPath)) }}
{{- fail "\n\naggregator.agentIdentity=san needs TLS and tls.agentHostPath: each node's agent shows a certificate with the name of its node, and one Secret is the same on all nodes.\n" }}
{{- end }}
{{- if and .Values.tls.certManager.enabled $fleet (include "scaler.agentsApart" .) (ne (get .Values.tls.certManager.issuerRef "kind") "ClusterIssuer") }}
{{- fail "\n\ntls.certManager with agent.namespace: certificates of one authority in two namespaces take a ClusterIssuer. Set tls.certManager.issuerRef.kind=ClusterIssuer and its name.\n" }}
{{- end }}
{{- if and .Values.web.enabled (include "scaler.opensWeb" .) }}
{{- if not .Values.web.tls.secretName }}
{{- fail (printf "\n\nweb.bindAddress=%s without web.tls.secretName: other pods reach the web port, which shows all namespaces. Set web.tls.secretName to a Secret with tls.crt and tls.key, or leave web.bindAddress empty and use kubectl port-forward.\n" .Values.web.bindAddress) }}
{{- end }}
{{- if not (or .Values.web.tokenSecretName .Values.web.tls.clientAuth) }}
{{- fail (printf "\n\nweb.bindAddress=%s without credentials: set web.tokenSecretName to a Secret with a token, or web.tls.clientAuth=true.\n" .Values.web.bindAddress) }}
{{- end }}
{{- end }}
{{- if and .Values.web.tls.clientAuth (not .Values.web.tls.secretName) }}
{{- fail "\n\nweb.tls.clientAuth needs web.tls.secretName: a Secret with tls.crt, tls.key and ca.crt.\n" }}
{{- end }}
{{- if and .Values.attribution.sharedGpus (ne .Values.attribution.mode "kubelet") }}
{{- fail "\n\nattribution.sharedGpus needs attribution.mode=kubelet: the kubelet reports which pods share a GPU.\n" }}
{{- end }}
{{- if and (or .Values.attribution.draFolders .Values.attribution.ignorePods .Values.attribution.reservationNamespaces) (ne .Values.attribution.mode "kubelet") }}
{{- fail "\n\nattribution.draFolders, attribution.ignorePods and attribution.reservationNamespaces need attribution.mode=kubelet: they are about the pods that the kubelet lists.\n" }}
{{- end }}
{{- if and (eq (toString .Values.agent.discoverEngines) "true") (ne .Values.attribution.mode "kubelet") }}
{{- fail "\n\nagent.discoverEngines=true needs attribution.mode=kubelet: the kubelet lists the pods that engines run in.\n" }}
{{- end }}
{{- if and (eq .Values.attribution.mode "page") (not (regexMatch "^(dcgm|amd-exporter):" .Values.scaler.gpuSource)) }}
{{- fail "\n\nattribution.mode=page needs scaler.gpuSource=dcgm:URL or amd-exporter:URL: it is the exporter's page that names pods.\n" }}
{{- end }}
{{- if and (eq .Values.attribution.mode "kubelet") (hasPrefix "amd-exporter:" .Values.scaler.gpuSource) (not .Values.simulate.enabled) }}
{{- fail "\n\nscaler.gpuSource=amd-exporter:URL needs attribution.mode=page or none: its page has no id of a GPU that the kubelet has too.\n" }}
{{- end }}
{{- if and .Values.aggregator.namespaces (not $fleet) }}
{{- fail "\n\naggregator.namespaces needs mode=fleet: one scaler on one node has no agents that could send less.\n" }}
{{- end }}
{{- range .Values.aggregator.allowNamespaces }}
{{- if eq .from .to }}
{{- fail (printf "\n\naggregator.allowNamespaces: from %s to %s opens nothing: a namespace sees its own pods.\n" .from .to) }}
{{- end }}
{{- end }}
{{- if and $fleet (not (include "scaler.runsAgents" .)) (not (include "scaler.agentsApart" .)) }}
{{- fail "\n\nagent.enabled=false without agent.namespace: set it to the namespace in which another release runs the agents.\n" }}
{{- end }}
{{- if or (not $fleet) (include "scaler.runsAgents" .) }}
{{- include "scaler.checkPodSecurity" . }}
{{- end }}
{{- end }}

{{/* Other hosts reach the web port. */}}
{{- define "scaler.opensWeb" -}}
{{- $address := .Values.web.bindAddress }}
{{- if not (or (eq $address "") (eq $address "::1") (hasPrefix "127." $address)) }}true{{ end }}
{{- end }}

{{/* Before anything is changed: a namespace that refuses the pods would leave KEDA without an answer. */}}
{{- define "scaler.checkPodSecurity" -}}
{{- $role := ternary "agent" "standalone" (eq (include "scaler.isFleet" .) "true") }}
{{- if and (eq (include "scaler.podSecurityLevel" (list . $role)) "privileged") (not (include "scaler.makesNamespace" .)) }}
{{- $name := ternary (include "scaler.agentNamespace" .) .Release.Namespace (eq $role "agent") }}
{{- $namespace := lookup "v1" "Namespace" "" $name }}
{{- $level := dig "metadata" "labels" "pod-security.kubernetes.io/enforce" "privileged" $namespace }}
{{- if ne $level "privileged" }}
{{- fail (join "\n" (list
    (printf "\n\nNamespace %s enforces pod security \"%s\", which refuses the pods that read GPUs. One of:" $name $level)
    "  --set agent.namespace=keda-gpu-scaler-agents     in a fleet: a namespace of their own, which is made for them"
    (printf "  kubectl label --overwrite namespace %s pod-security.kubernetes.io/enforce=privileged" $name)
    "  --set attribution.mode=none                      GPUs without owners; with neither gpu.migMonitoring nor nvmlHostMounts\n"
  )) }}
{{- end }}
{{- end }}
{{- end }}

{{/* The strictest level of pod security that admits a role's pods; call with (list . "role"). */}}
{{- define "scaler.podSecurityLevel" -}}
{{- $values := (index . 0).Values }}
{{- if and (include "scaler.readsGpus" .) (or (include "scaler.asksKubelet" .) (and (include "scaler.needsDriver" .) (or $values.gpu.migMonitoring $values.nvmlHostMounts.enabled))) -}}
privileged
{{- else -}}
restricted
{{- end }}
{{- end }}

{{- define "scaler.makesNamespace" -}}
{{- if and (include "scaler.runsAgents" .) (include "scaler.agentsApart" .) .Values.agent.createNamespace }}true{{ end }}
{{- end }}
