{{/* The scaler's pod, for the DaemonSet and, simulated, for the Deployment. */}}
{{- define "scaler.podTemplate" -}}
metadata:
  labels:
    {{- include "scaler.selector" . | nindent 4 }}
    {{- include "scaler.podLabels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    {{- if .Values.simulate.enabled }}
    checksum/simulated-gpus: {{ include "scaler.simulatedGpus" . | sha256sum }}
    {{- end }}
    kubectl.kubernetes.io/default-container: scaler
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "scaler.serviceAccountName" . }}
  automountServiceAccountToken: false
  # Else a Service named keda-gpu-scaler sets KEDA_GPU_SCALER_PORT, which is an option of ours.
  enableServiceLinks: false
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if include "scaler.usesNvidiaRuntime" . }}
  {{- with include "scaler.runtimeClassName" . }}
  runtimeClassName: {{ . }}
  {{- end }}
  {{- end }}
  {{- if not .Values.simulate.enabled }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  securityContext:
    {{- include "scaler.podSecurityContext" . | nindent 4 }}
  containers:
    - name: scaler
      image: {{ include "scaler.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        {{- include "scaler.args" . | nindent 8 }}
      env:
        {{- include "scaler.env" . | nindent 8 }}
      ports:
        - {name: grpc, containerPort: {{ .Values.service.port }}}
        {{- if .Values.metrics.enabled }}
        - {name: metrics, containerPort: {{ .Values.metrics.port }}}
        {{- end }}
        - {name: probes, containerPort: {{ .Values.probes.port }}}
      livenessProbe:
        httpGet: {path: /healthz, port: probes}
        {{- toYaml .Values.probes.liveness | nindent 8 }}
      readinessProbe:
        httpGet: {path: /readyz, port: probes}
        {{- toYaml .Values.probes.readiness | nindent 8 }}
      {{- with .Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- include "scaler.securityContext" . | nindent 8 }}
      {{- with include "scaler.volumeMounts" . }}
      volumeMounts:
        {{- . | nindent 8 }}
      {{- end }}
  {{- with include "scaler.volumes" . }}
  volumes:
    {{- . | nindent 4 }}
  {{- end }}
{{- end }}

{{- define "scaler.args" -}}
- serve
- --port={{ .Values.service.port }}
- --metrics-port={{ ternary .Values.metrics.port 0 .Values.metrics.enabled }}
- --probe-port={{ .Values.probes.port }}
- --gpu-source={{ ternary "file:/etc/simulated-gpus/gpus.json" .Values.scaler.gpuSource .Values.simulate.enabled }}
- --poll-interval={{ .Values.scaler.pollInterval }}
{{- with .Values.scaler.staleAfter }}
- --stale-after={{ . }}
{{- end }}
{{- with .Values.scaler.hangAfter }}
- --hang-after={{ . }}
{{- end }}
{{- with .Values.scaler.bindAddress }}
- {{ printf "--bind-address=%s" . | quote }}
{{- end }}
{{- with .Values.scaler.maxStreamsPerPeer }}
- --max-streams-per-peer={{ int . }}
{{- end }}
- --log-level={{ .Values.scaler.logLevel }}
- --log-format={{ .Values.scaler.logFormat }}
{{- if not .Values.simulate.enabled }}
- --service={{ include "scaler.host" . }}
{{- end }}
{{- if .Values.profiles }}
- --profiles=/etc/keda-gpu-scaler/profiles.yaml
{{- end }}
{{- if .Values.tls.secretName }}
- --tls-cert=/etc/tls/tls.crt
- --tls-key=/etc/tls/tls.key
{{- if .Values.tls.clientAuth }}
- --tls-client-ca=/etc/tls/ca.crt
{{- end }}
{{- end }}
{{- if and .Values.metrics.enabled .Values.metrics.tls.secretName }}
- --metrics-tls-cert=/etc/metrics-tls/tls.crt
- --metrics-tls-key=/etc/metrics-tls/tls.key
{{- if .Values.metrics.tls.clientAuth }}
- --metrics-client-ca=/etc/metrics-tls/ca.crt
{{- end }}
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The image asks the NVIDIA container runtime for all GPUs, which only what reads them is to have. */}}
{{- define "scaler.seesNoGpu" -}}
- {name: NVIDIA_VISIBLE_DEVICES, value: void}
{{- end }}

{{- define "scaler.env" -}}
- name: NODE_NAME
  valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
{{- if include "scaler.usesNvidiaRuntime" . }}
# Read by the NVIDIA container runtime: all GPUs, and of the driver NVML alone.
- {name: NVIDIA_VISIBLE_DEVICES, value: all}
- {name: NVIDIA_DRIVER_CAPABILITIES, value: utility}
{{- if .Values.gpu.migMonitoring }}
- {name: NVIDIA_MIG_MONITOR_DEVICES, value: all}
{{- end }}
{{- else if .Values.nvmlHostMounts.enabled }}
- {name: LD_LIBRARY_PATH, value: /run/nvml}
{{- else }}
{{ include "scaler.seesNoGpu" . }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Root where NVML's MIG calls ask for it. */}}
{{- define "scaler.podSecurityContext" -}}
{{- if and .Values.gpu.migMonitoring (not .Values.simulate.enabled) -}}
{{ mergeOverwrite (deepCopy .Values.podSecurityContext) (dict "runAsNonRoot" false "runAsUser" 0 "runAsGroup" 0) | toYaml }}
{{- else -}}
{{ toYaml .Values.podSecurityContext }}
{{- end }}
{{- end }}

{{- define "scaler.securityContext" -}}
{{- if and .Values.nvmlHostMounts.enabled (not .Values.simulate.enabled) -}}
privileged: true
readOnlyRootFilesystem: true
{{- else if and .Values.gpu.migMonitoring (not .Values.simulate.enabled) -}}
{{ mergeOverwrite (deepCopy .Values.securityContext) (dict "capabilities" (dict "drop" (list "ALL") "add" (list "SYS_ADMIN"))) | toYaml }}
{{- else -}}
{{ toYaml .Values.securityContext }}
{{- end }}
{{- end }}

{{- define "scaler.volumeMounts" -}}
{{- if .Values.profiles }}
- {name: profiles, mountPath: /etc/keda-gpu-scaler, readOnly: true}
{{- end }}
{{- if .Values.tls.secretName }}
- {name: tls, mountPath: /etc/tls, readOnly: true}
{{- end }}
{{- if and .Values.metrics.enabled .Values.metrics.tls.secretName }}
- {name: metrics-tls, mountPath: /etc/metrics-tls, readOnly: true}
{{- end }}
{{- if .Values.simulate.enabled }}
- {name: simulated-gpus, mountPath: /etc/simulated-gpus, readOnly: true}
{{- else if .Values.nvmlHostMounts.enabled }}
- {name: nvml, mountPath: /run/nvml/libnvidia-ml.so.1, readOnly: true}
- {name: devices, mountPath: /dev}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "scaler.volumes" -}}
{{- if .Values.profiles }}
- {name: profiles, configMap: {name: keda-gpu-scaler-profiles}}
{{- end }}
{{- if .Values.tls.secretName }}
- {name: tls, secret: {secretName: {{ .Values.tls.secretName | quote }}, defaultMode: 0440}}
{{- end }}
{{- if and .Values.metrics.enabled .Values.metrics.tls.secretName }}
- {name: metrics-tls, secret: {secretName: {{ .Values.metrics.tls.secretName | quote }}, defaultMode: 0440}}
{{- end }}
{{- if .Values.simulate.enabled }}
- {name: simulated-gpus, configMap: {name: simulated-gpus}}
{{- else if .Values.nvmlHostMounts.enabled }}
- {name: nvml, hostPath: {path: {{ .Values.nvmlHostMounts.library | quote }}, type: File}}
- {name: devices, hostPath: {path: {{ .Values.nvmlHostMounts.devices | quote }}, type: Directory}}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
