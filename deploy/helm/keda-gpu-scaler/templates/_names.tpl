{{/*
Every object is named keda-gpu-scaler, whatever the release: scalerAddress in ScaledObjects of other
namespaces depends on the Service's name. One release a namespace.
*/}}

{{- define "scaler.selector" -}}
app: keda-gpu-scaler
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

{{- define "scaler.labels" -}}
{{ include "scaler.selector" . }}
{{ include "scaler.commonLabels" . }}
{{- end }}

{{/* metadata of an object; call with (list . "name") */}}
{{- define "scaler.metadata" -}}
{{- $top := index . 0 -}}
name: {{ index . 1 }}
namespace: {{ $top.Release.Namespace }}
labels:
  {{- include "scaler.labels" $top | nindent 2 }}
{{- with $top.Values.annotations }}
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

{{- define "scaler.serviceAccountName" -}}
{{- if .Values.serviceAccount.name -}}
{{ .Values.serviceAccount.name }}
{{- else -}}
{{ ternary "keda-gpu-scaler" "default" .Values.serviceAccount.create }}
{{- end }}
{{- end }}

{{- define "scaler.host" -}}
keda-gpu-scaler.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end }}

{{- define "scaler.address" -}}
{{ include "scaler.host" . }}:{{ .Values.service.port }}
{{- end }}

{{/* Whether the pods find the driver through the NVIDIA container runtime. */}}
{{- define "scaler.usesNvidiaRuntime" -}}
{{- if not (or .Values.simulate.enabled .Values.nvmlHostMounts.enabled) }}true{{ end }}
{{- end }}

{{/*
At a first install the number of nodes that nodeSelector chooses; 0 where that cannot be told, or may
not: it is lookups of RuntimeClasses and Nodes that "auto" allows.
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
