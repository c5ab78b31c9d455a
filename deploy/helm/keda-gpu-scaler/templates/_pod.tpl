{{/* The pod of a role; call with (list . "role"). */}}
{{- define "scaler.podTemplate" -}}
{{- $of := . }}
{{- $role := index . 1 }}
{{- with index . 0 }}
{{- $own := ternary .Values.aggregator .Values (eq $role "aggregator") -}}
metadata:
  labels:
    {{- include "scaler.selector" $role | nindent 4 }}
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
  serviceAccountName: {{ include "scaler.serviceAccountName" $of }}
  automountServiceAccountToken: false
  # Otherwise a Service named keda-gpu-scaler sets KEDA_GPU_SCALER_PORT, an option of the program.
  enableServiceLinks: false
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if include "scaler.usesNvidiaRuntime" $of }}
  {{- with include "scaler.runtimeClassName" . }}
  runtimeClassName: {{ . }}
  {{- end }}
  {{- end }}
  {{- if include "scaler.seesProcesses" $of }}
  # The driver lists the node's processes.
  hostPID: true
  {{- end }}
  {{- if not .Values.simulate.enabled }}
  {{- with $own.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $own.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $own.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  {{- with $own.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if eq $role "aggregator" }}
  {{- with .Values.aggregator.spreadOver }}
  topologySpreadConstraints:
    {{- range . }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "scaler.selector" $role | nindent 10 }}
      # Pods of the former version do not count: they stop.
      matchLabelKeys: [pod-template-hash]
    {{- end }}
  {{- end }}
  {{- end }}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  securityContext:
    {{- include "scaler.podSecurityContext" $of | nindent 4 }}
  containers:
    - name: scaler
      image: {{ include "scaler.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        {{- include "scaler.args" $of | nindent 8 }}
      env:
        {{- include "scaler.env" $of | nindent 8 }}
      ports:
        {{- if eq $role "agent" }}
        - {name: telemetry, containerPort: {{ .Values.agent.port }}}
        {{- else }}
        - {name: grpc, containerPort: {{ .Values.service.port }}}
        {{- end }}
        {{- if .Values.metrics.enabled }}
        - {name: metrics, containerPort: {{ .Values.metrics.port }}}
        {{- end }}
        - {name: probes, containerPort: {{ .Values.probes.port }}}
        {{- if and (ne $role "agent") .Values.web.enabled (include "scaler.opensWeb" .) }}
        - {name: web, containerPort: {{ .Values.web.port }}}
        {{- end }}
      livenessProbe:
        httpGet: {path: /healthz, port: probes}
        {{- toYaml .Values.probes.liveness | nindent 8 }}
      readinessProbe:
        httpGet: {path: /readyz, port: probes}
        {{- toYaml .Values.probes.readiness | nindent 8 }}
      {{- with $own.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if include "scaler.mountsDevices" $of }}
      # The default mount point is in /dev, where a runtime could not create it.
      terminationMessagePath: /run/termination-log
      {{- end }}
      securityContext:
        {{- include "scaler.securityContext" $of | nindent 8 }}
      {{- with include "scaler.volumeMounts" $of }}
      volumeMounts:
        {{- . | trim | nindent 8 }}
      {{- end }}
  {{- with include "scaler.volumes" $of }}
  volumes:
    {{- . | trim | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "scaler.args" -}}
{{- $of := . }}
{{- $role := index . 1 }}
{{- with index . 0 -}}
- serve
{{- if ne $role "standalone" }}
- --role={{ $role }}
{{- end }}
{{- if eq $role "agent" }}
- --telemetry-port={{ .Values.agent.port }}
- --aggregators=dns:///{{ include "scaler.aggregatorsHost" . }}.:{{ .Values.service.port }}
{{- else }}
- --port={{ .Values.service.port }}
{{- end }}
- --metrics-port={{ ternary .Values.metrics.port 0 .Values.metrics.enabled }}
- --probe-port={{ .Values.probes.port }}
{{- if eq $role "aggregator" }}
{{- /* The final dot skips the search domains of resolv.conf: if one of them failed, the agents' name would. */}}
- --agents=dns:///{{ include "scaler.agentsHost" . }}.:{{ .Values.agent.port }}
- --node-name=$(POD_NAME)
{{- with .Values.aggregator.grace }}
- --grace={{ . }}
{{- end }}
{{- with .Values.aggregator.forgetAfter }}
- --forget-after={{ . }}
{{- end }}
{{- with .Values.aggregator.emptyAfter }}
- --empty-after={{ . }}
{{- end }}
{{- if eq .Values.aggregator.agentIdentity "san" }}
- --agent-identity=san
{{- end }}
{{- with .Values.aggregator.namespaces }}
- --namespaces={{ join "," . }}
{{- end }}
{{- else }}
- --gpu-source={{ ternary "file:/etc/simulated-gpus/gpus.json" .Values.scaler.gpuSource .Values.simulate.enabled }}
- --attribution={{ ternary "none" .Values.attribution.mode .Values.simulate.enabled }}
{{- if include "scaler.asksKubelet" $of }}
- --discover-engines={{ .Values.agent.discoverEngines }}
{{- with .Values.attribution.ignorePods }}
- --ignore-pods={{ join "," . }}
{{- end }}
{{- with .Values.attribution.reservationNamespaces }}
- --reservation-namespaces={{ join "," . }}
{{- end }}
{{- end }}
{{- end }}
- --poll-interval={{ .Values.scaler.pollInterval }}
{{- with .Values.scaler.staleAfter }}
- --stale-after={{ . }}
{{- else }}
{{- if and (eq $role "aggregator") (include "scaler.readsExporter" .) }}
# The agents' default for the exporter's usual interval.
- --stale-after={{ ternary "40s" "75s" (hasPrefix "amd-exporter:" .Values.scaler.gpuSource) }}
{{- end }}
{{- end }}
{{- with .Values.scaler.hangAfter }}
- --hang-after={{ . }}
{{- end }}
{{- with .Values.cost.idleAfter }}
- --idle-after={{ . }}
{{- end }}
{{- with .Values.scaler.bindAddress }}
- {{ printf "--bind-address=%s" . | quote }}
{{- end }}
- --log-level={{ .Values.scaler.logLevel }}
- --log-format={{ .Values.scaler.logFormat }}
{{- if or (ne $role "agent") (include "scaler.findsEngines" $of) }}
{{- with .Values.demand.engineInterval }}
- --engine-interval={{ . }}
{{- end }}
{{- end }}
{{- if ne $role "agent" }}
{{- with .Values.aggregator.allowNamespaces }}
{{- $pairs := list }}
{{- range . }}
{{- $pairs = append $pairs (printf "%s:%s" .from .to) }}
{{- end }}
- {{ printf "--allow-namespaces=%s" (join "," $pairs) | quote }}
{{- end }}
{{- with .Values.aggregator.history }}
- --history={{ . }}
{{- end }}
- --web-port={{ ternary .Values.web.port 0 .Values.web.enabled }}
{{- if .Values.web.enabled }}
{{- with .Values.web.bindAddress }}
- {{ printf "--web-bind-address=%s" . | quote }}
{{- end }}
{{- $hosts := .Values.web.hosts }}
{{- if include "scaler.opensWeb" . }}
{{- $service := printf "keda-gpu-scaler-web.%s" .Release.Namespace }}
{{- $hosts = concat (list $service (printf "%s.svc" $service) (printf "%s.svc.%s" $service .Values.clusterDomain)) $hosts }}
{{- end }}
{{- with $hosts }}
- {{ printf "--web-hosts=%s" (join "," .) | quote }}
{{- end }}
{{- if .Values.web.tls.secretName }}
- --web-tls-cert=/etc/web-tls/tls.crt
- --web-tls-key=/etc/web-tls/tls.key
{{- if .Values.web.tls.clientAuth }}
- --web-tls-client-ca=/etc/web-tls/ca.crt
{{- end }}
{{- end }}
{{- if .Values.web.tokenSecretName }}
- --web-token-file=/etc/web-token/token
{{- end }}
{{- end }}
{{- with .Values.demand.queueInterval }}
- --queue-interval={{ . }}
{{- end }}
{{- with .Values.demand.allowEndpoints }}
- {{ printf "--allow-endpoints=%s" (join "," .) | quote }}
{{- end }}
- --cluster-domain={{ .Values.clusterDomain }}
{{- if .Values.demand.credentials }}
- --endpoint-credentials=/etc/endpoint-credentials
{{- end }}
{{- with .Values.scaler.maxStreamsPerPeer }}
- --max-streams-per-peer={{ int . }}
{{- end }}
{{- if .Values.profiles }}
- --profiles=/etc/keda-gpu-scaler/profiles.yaml
{{- end }}
{{- if .Values.cost.prices }}
- --prices=/etc/gpu-prices/prices.csv
{{- end }}
{{- with .Values.cost.currency }}
- --currency={{ . }}
{{- end }}
{{- end }}
{{- if and (eq $role "standalone") (not .Values.simulate.enabled) }}
- --service={{ include "scaler.host" . }}
{{- end }}
{{- if include "scaler.tlsSecret" . }}
- --tls-cert=/etc/tls/tls.crt
- --tls-key=/etc/tls/tls.key
{{- if include "scaler.clientAuth" . }}
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
{{- if ne $role "standalone" }}
{{- with (index .Values $role).extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The image requests all GPUs of the NVIDIA container runtime. Only pods that read GPUs may have them. */}}
{{- define "scaler.seesNoGpu" -}}
- {name: NVIDIA_VISIBLE_DEVICES, value: void}
{{- end }}

{{- define "scaler.env" -}}
{{- $of := . }}
{{- $role := index . 1 }}
{{- with index . 0 -}}
{{- if eq $role "aggregator" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
{{- else -}}
- name: NODE_NAME
  valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
{{- if include "scaler.asksKubelet" $of }}
# A kubelet that does not list this pod has just started, and does not have its pods yet.
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
{{- end }}
{{- if include "scaler.readsExporter" . }}
- name: HOST_IP
  valueFrom: {fieldRef: {fieldPath: status.hostIP}}
{{- end }}
{{- end }}
{{- if include "scaler.usesNvidiaRuntime" $of }}
# The NVIDIA container runtime reads these: all GPUs, and only NVML of the driver.
- {name: NVIDIA_VISIBLE_DEVICES, value: all}
- {name: NVIDIA_DRIVER_CAPABILITIES, value: utility}
{{- if .Values.gpu.migMonitoring }}
- {name: NVIDIA_MIG_MONITOR_DEVICES, value: all}
{{- end }}
{{- else if include "scaler.needsDriver" $of }}
- {name: LD_LIBRARY_PATH, value: /run/nvml}
{{- else }}
{{ include "scaler.seesNoGpu" . }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}

{{/* Root where NVML's MIG calls ask for it, and where the kubelet's sockets do. */}}
{{- define "scaler.podSecurityContext" -}}
{{- $values := (index . 0).Values }}
{{- if or (include "scaler.asksKubelet" .) (and (include "scaler.needsDriver" .) $values.gpu.migMonitoring) -}}
{{- if include "scaler.asksKubelet" . -}}
# Only root may use the kubelet's sockets. The container has no capability.
{{ end -}}
{{ mergeOverwrite (deepCopy $values.podSecurityContext) (dict "runAsNonRoot" false "runAsUser" 0 "runAsGroup" 0) | toYaml }}
{{- else -}}
{{ toYaml $values.podSecurityContext }}
{{- end }}
{{- end }}

{{- define "scaler.securityContext" -}}
{{- $values := (index . 0).Values }}
{{- $reads := include "scaler.needsDriver" . }}
{{- if include "scaler.mountsDevices" . -}}
privileged: true
readOnlyRootFilesystem: true
{{- else -}}
{{- $context := deepCopy $values.securityContext }}
{{- if and $reads $values.gpu.migMonitoring }}
{{- $_ := set $context "capabilities" (dict "drop" (list "ALL") "add" (list "SYS_ADMIN")) }}
{{- end }}
{{- if include "scaler.asksKubelet" . }}
{{- with $values.attribution.seLinuxOptions }}
{{- $_ := set $context "seLinuxOptions" . }}
{{- end }}
{{- end }}
{{- toYaml $context }}
{{- end }}
{{- end }}

{{- define "scaler.volumeMounts" -}}
{{- $of := . }}
{{- $role := index . 1 }}
{{- with index . 0 }}
{{- if and .Values.profiles (ne $role "agent") }}
- {name: profiles, mountPath: /etc/keda-gpu-scaler, readOnly: true}
{{- end }}
{{- if and .Values.cost.prices (ne $role "agent") }}
- {name: prices, mountPath: /etc/gpu-prices, readOnly: true}
{{- end }}
{{- if ne $role "agent" }}
{{- range $alias, $secret := .Values.demand.credentials }}
- {name: credentials-{{ $alias }}, mountPath: /etc/endpoint-credentials/{{ $alias }}, readOnly: true}
{{- end }}
{{- end }}
{{- if include "scaler.tlsSecret" . }}
- {name: tls, mountPath: /etc/tls, readOnly: true}
{{- end }}
{{- if and .Values.metrics.enabled .Values.metrics.tls.secretName }}
- {name: metrics-tls, mountPath: /etc/metrics-tls, readOnly: true}
{{- end }}
{{- if and .Values.web.enabled (ne $role "agent") }}
{{- if .Values.web.tls.secretName }}
- {name: web-tls, mountPath: /etc/web-tls, readOnly: true}
{{- end }}
{{- if .Values.web.tokenSecretName }}
- {name: web-token, mountPath: /etc/web-token, readOnly: true}
{{- end }}
{{- end }}
{{- if .Values.simulate.enabled }}
- {name: simulated-gpus, mountPath: /etc/simulated-gpus, readOnly: true}
{{- end }}
{{- if include "scaler.asksKubelet" $of }}
- {name: pod-resources, mountPath: /var/lib/kubelet/pod-resources, readOnly: true}
- {name: pods-api, mountPath: /var/lib/kubelet/pods-api, readOnly: true}
{{- if include "scaler.seesProcesses" $of }}
- {name: pod-logs, mountPath: /var/log/pods, readOnly: true}
{{- end }}
{{- if .Values.attribution.draFolders }}
- {name: cdi, mountPath: /var/run/cdi, readOnly: true}
- {name: dra-plugin, mountPath: /var/lib/kubelet/plugins/gpu.nvidia.com, readOnly: true}
{{- end }}
{{- end }}
{{- if include "scaler.mountsDevices" $of }}
- {name: nvml, mountPath: /run/nvml/libnvidia-ml.so.1, readOnly: true}
# Devices are still open for reading and writing; none is created or removed.
- {name: devices, mountPath: /dev, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "scaler.volumes" -}}
{{- $of := . }}
{{- $role := index . 1 }}
{{- with index . 0 }}
{{- if and .Values.profiles (ne $role "agent") }}
- {name: profiles, configMap: {name: keda-gpu-scaler-profiles}}
{{- end }}
{{- if and .Values.cost.prices (ne $role "agent") }}
- {name: prices, configMap: {name: keda-gpu-scaler-prices}}
{{- end }}
{{- if ne $role "agent" }}
{{- range $alias, $secret := .Values.demand.credentials }}
- {name: credentials-{{ $alias }}, secret: {secretName: {{ $secret | quote }}, defaultMode: 0440}}
{{- end }}
{{- end }}
{{- if and (include "scaler.tlsSecret" .) (eq $role "agent") .Values.tls.agentHostPath }}
- {name: tls, hostPath: {path: {{ .Values.tls.agentHostPath | quote }}, type: Directory}}
{{- else if include "scaler.tlsSecret" . }}
- {name: tls, secret: {secretName: {{ include (ternary "scaler.agentTlsSecret" "scaler.tlsSecret" (eq $role "agent")) . | quote }}, defaultMode: 0440}}
{{- end }}
{{- if and .Values.metrics.enabled .Values.metrics.tls.secretName }}
- {name: metrics-tls, secret: {secretName: {{ .Values.metrics.tls.secretName | quote }}, defaultMode: 0440}}
{{- end }}
{{- if and .Values.web.enabled (ne $role "agent") }}
{{- with .Values.web.tls.secretName }}
- {name: web-tls, secret: {secretName: {{ . | quote }}, defaultMode: 0440}}
{{- end }}
{{- with .Values.web.tokenSecretName }}
- {name: web-token, secret: {secretName: {{ . | quote }}, defaultMode: 0440}}
{{- end }}
{{- end }}
{{- if .Values.simulate.enabled }}
- {name: simulated-gpus, configMap: {name: simulated-gpus}}
{{- end }}
{{- if include "scaler.asksKubelet" $of }}
# The folders, not the sockets: a kubelet creates new sockets when it restarts.
- {name: pod-resources, hostPath: {path: {{ .Values.attribution.kubeletDir }}/pod-resources, type: Directory}}
# Empty before Kubernetes 1.37.
- {name: pods-api, hostPath: {path: {{ .Values.attribution.kubeletDir }}/pods-api, type: DirectoryOrCreate}}
{{- if include "scaler.seesProcesses" $of }}
# Its folders have the names of the pods, and their UIDs, which the processes' cgroups have.
- {name: pod-logs, hostPath: {path: /var/log/pods, type: Directory}}
{{- end }}
{{- if .Values.attribution.draFolders }}
# They stay empty on nodes without the driver, so that the agent also runs there.
- {name: cdi, hostPath: {path: /var/run/cdi, type: DirectoryOrCreate}}
- {name: dra-plugin, hostPath: {path: {{ .Values.attribution.kubeletDir }}/plugins/gpu.nvidia.com, type: DirectoryOrCreate}}
{{- end }}
{{- end }}
{{- if include "scaler.mountsDevices" $of }}
- {name: nvml, hostPath: {path: {{ .Values.nvmlHostMounts.library | quote }}, type: File}}
- {name: devices, hostPath: {path: {{ .Values.nvmlHostMounts.devices | quote }}, type: Directory}}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}
