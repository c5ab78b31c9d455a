{{/*
Every object is named keda-gpu-scaler, or begins so, whatever the release: scalerAddress in ScaledObjects
of other namespaces depends on the Service's name. One release a namespace.

A role is "agent", "aggregator" or "standalone"; the last two answer KEDA, and are called alike.
*/}}

{{/* The role of what answers KEDA. A simulation is one process. */}}
{{- define "scaler.answeringRole" -}}
{{- if not .Values.mode }}
{{- fail "\n\nThese are the values of an older chart, by --reuse-values: use --reset-then-reuse-values, which adds the new ones.\n" }}
{{- end -}}
{{ ternary "standalone" "aggregator" (or .Values.simulate.enabled (eq .Values.mode "standalone")) }}
{{- end }}

{{- define "scaler.isFleet" -}}
{{- if eq (include "scaler.answeringRole" .) "aggregator" }}true{{ end }}
{{- end }}

{{/* Whether this release runs agents. Values of an older chart (--reuse-values) lack agent.enabled. */}}
{{- define "scaler.runsAgents" -}}
{{- if and (include "scaler.isFleet" .) (ne (toString .Values.agent.enabled) "false") }}true{{ end }}
{{- end }}

{{/* Selects the pods of a role; call with the role. */}}
{{- define "scaler.selector" -}}
app: {{ ternary "keda-gpu-scaler-agent" "keda-gpu-scaler" (eq . "agent") }}
{{- end }}

{{/* Of pods: nothing that changes without them, or they would be replaced for it. */}}
{{- define "scaler.podLabels" -}}
app.kubernetes.io/name: keda-gpu-scaler
app.kubernetes.io/instance: {{ .Release.Name }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Of objects that are not the scaler's own. */}}
{{- define "scaler.commonLabels" -}}
{{ include "scaler.podLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "scaler.agentNamespace" -}}
{{ .Values.agent.namespace | default .Release.Namespace }}
{{- end }}

{{/* Whether the agents have a namespace that is not the release's. */}}
{{- define "scaler.agentsApart" -}}
{{- if ne (include "scaler.agentNamespace" .) .Release.Namespace }}true{{ end }}
{{- end }}

{{/* metadata of an object; call with (list . "name" "role"), or with a map of annotations besides. */}}
{{- define "scaler.metadata" -}}
{{- $top := index . 0 -}}
{{- $role := index . 2 -}}
{{- $annotations := dict }}
{{- if gt (len .) 3 }}{{ $annotations = index . 3 }}{{ end -}}
name: {{ index . 1 }}
namespace: {{ if eq $role "agent" }}{{ include "scaler.agentNamespace" $top }}{{ else }}{{ $top.Release.Namespace }}{{ end }}
labels:
  {{- include "scaler.selector" $role | nindent 2 }}
  {{- include "scaler.commonLabels" $top | nindent 2 }}
{{- with merge (dict) $annotations $top.Values.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "scaler.image" -}}
{{- if not .Values.image.repository }}
{{- fail (join "\n" (list
    "\n\nimage.repository is required: there is no image to be had without building one."
    "  Build:     deploy/image/build"
    (printf "  For kind:  kind load image-archive build/image/keda-gpu-scaler-%s-amd64.oci.tar" .Chart.AppVersion)
    "             --set image.repository=localhost/keda-gpu-scaler"
    "  Else:      push it to a registry that your nodes pull from (skopeo copy oci-archive:... docker://...)"
    "             --set image.repository=<its name there, without the tag>\n"
  )) }}
{{- end }}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{/* Call with (list . "role"). */}}
{{- define "scaler.serviceAccountName" -}}
{{- $role := index . 1 }}
{{- with index . 0 }}
{{- $given := ternary .Values.agent.serviceAccountName .Values.serviceAccount.name (eq $role "agent") }}
{{- $ours := ternary "keda-gpu-scaler-agent" "keda-gpu-scaler" (eq $role "agent") }}
{{- $given | default (ternary $ours "default" .Values.serviceAccount.create) }}
{{- end }}
{{- end }}

{{- define "scaler.host" -}}
keda-gpu-scaler.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end }}

{{- define "scaler.address" -}}
{{ include "scaler.host" . }}:{{ .Values.service.port }}
{{- end }}

{{- define "scaler.agentsHost" -}}
keda-gpu-scaler-agents.{{ include "scaler.agentNamespace" . }}.svc.{{ .Values.clusterDomain }}
{{- end }}

{{- define "scaler.aggregatorsHost" -}}
keda-gpu-scaler-aggregators.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end }}

{{/* Secrets of certificates; empty: plain text. */}}
{{- define "scaler.tlsSecret" -}}
{{ .Values.tls.secretName | default (ternary "keda-gpu-scaler-tls" "" .Values.tls.certManager.enabled) }}
{{- end }}

{{- define "scaler.agentTlsSecret" -}}
{{ .Values.tls.agentSecretName | default (ternary "keda-gpu-scaler-agents-tls" "" .Values.tls.certManager.enabled) }}
{{- end }}

{{- define "scaler.clientTlsSecret" -}}
{{ .Values.tls.testClientSecretName | default (ternary "keda-gpu-scaler-client" "" .Values.tls.certManager.enabled) }}
{{- end }}

{{- define "scaler.clientAuth" -}}
{{- if and (include "scaler.tlsSecret" .) (or .Values.tls.clientAuth .Values.tls.certManager.enabled) }}true{{ end }}
{{- end }}

{{/* Whether a role's pods read GPUs; call with (list . "role"). */}}
{{- define "scaler.readsGpus" -}}
{{- if and (ne (index . 1) "aggregator") (not (index . 0).Values.simulate.enabled) }}true{{ end }}
{{- end }}

{{/* Whether readings come from an exporter. */}}
{{- define "scaler.readsExporter" -}}
{{- if and (regexMatch "^(dcgm|amd-exporter):" .Values.scaler.gpuSource) (not .Values.simulate.enabled) }}true{{ end }}
{{- end }}

{{/* Whether a role's pods need NVIDIA's driver; call with (list . "role"). */}}
{{- define "scaler.needsDriver" -}}
{{- if and (include "scaler.readsGpus" .) (not (include "scaler.readsExporter" (index . 0))) (ne (index . 0).Values.scaler.gpuSource "amd") }}true{{ end }}
{{- end }}

{{- define "scaler.asksKubelet" -}}
{{- if and (include "scaler.readsGpus" .) (eq (index . 0).Values.attribution.mode "kubelet") }}true{{ end }}
{{- end }}

{{/* Whether the pods see the processes of their node; call with (list . "role"). */}}
{{- define "scaler.seesProcesses" -}}
{{- $values := (index . 0).Values }}
{{- if and (include "scaler.asksKubelet" .) (or $values.attribution.sharedGpus (eq (toString $values.agent.discoverEngines) "true")) }}true{{ end }}
{{- end }}

{{/* Whether they look for engines in the pods of their node; call with (list . "role"). */}}
{{- define "scaler.findsEngines" -}}
{{- if and (include "scaler.asksKubelet" .) (ne (toString (index . 0).Values.agent.discoverEngines) "false") }}true{{ end }}
{{- end }}

{{/* Whether the pods have library and devices from the node; call with (list . "role"). */}}
{{- define "scaler.mountsDevices" -}}
{{- if and (include "scaler.needsDriver" .) (index . 0).Values.nvmlHostMounts.enabled }}true{{ end }}
{{- end }}

{{/* Whether the pods find the driver through the NVIDIA container runtime; call with (list . "role"). */}}
{{- define "scaler.usesNvidiaRuntime" -}}
{{- if and (include "scaler.needsDriver" .) (not (index . 0).Values.nvmlHostMounts.enabled) }}true{{ end }}
{{- end }}

{{/*
The number of nodes that nodeSelector chooses, at a first install. 0 if Nodes cannot be looked up, or must
not be: only gpu.runtimeClassName "auto" allows lookups of RuntimeClasses and Nodes.
*/}}
{{- define "scaler.nodesToRunOn" -}}
{{- $count := 0 }}
{{- if and (eq .Values.gpu.runtimeClassName "auto") (not .Values.affinity) }}
{{- range (lookup "v1" "Node" "" "").items }}
{{- $labels := .metadata.labels | default dict }}
{{- $chosen := true }}
{{- range $key, $value := $.Values.nodeSelector }}
{{- if ne (get $labels $key) $value }}{{ $chosen = false }}{{ end }}
{{- end }}
{{- if $chosen }}{{ $count = add1 $count }}{{ end }}
{{- end }}
{{- end }}
{{- $count }}
{{- end }}

{{- define "scaler.runtimeClassName" -}}
{{- if ne .Values.gpu.runtimeClassName "auto" -}}
{{ .Values.gpu.runtimeClassName }}
{{- else if lookup "node.k8s.io/v1" "RuntimeClass" "" "nvidia" -}}
nvidia
{{- end }}
{{- end }}
