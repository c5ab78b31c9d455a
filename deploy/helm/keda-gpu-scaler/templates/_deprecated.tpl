{{/* Values of the Go scaler's chart of the same name that this one lacks. They have no effect, and the
     schema marks each as deprecated, the only mark that editors show. Returns a line for each that is set: its name, and what to set here. */}}
{{- define "scaler.deprecatedValues" -}}
{{- range list
    (list "imagePullSecrets" "image.pullSecrets")
    (list "nameOverride" "nothing: objects are always named keda-gpu-scaler")
    (list "fullnameOverride" "nothing: objects are always named keda-gpu-scaler")
    (list "service.type" "nothing: the Service is headless, so KEDA reaches every pod")
    (list "grpc.port" "service.port, of the Service and the container")
    (list "logLevel" "scaler.logLevel")
    (list "probes.enabled" "probes.liveness and probes.readiness; probes are always on")
    (list "probes.type" "probes.port; probes are always HTTP")
    (list "healthCheckInterval" "scaler.hangAfter, until /healthz fails; every reading checks the driver")
    (list "runtimeClassName" "gpu.runtimeClassName")
    (list "nvmlHostMounts.nvidiactl" "nvmlHostMounts.devices, the folder of the device files")
    (list "nvmlHostMounts.nvidiaUvm" "nvmlHostMounts.devices, the folder of the device files")
    (list "nvmlHostMounts.nvmlLib" "nvmlHostMounts.library") }}
{{- $value := $.Values }}
{{- $isSet := true }}
{{- range splitList "." (first .) }}
{{- $isSet = and $isSet (kindIs "map" $value) (hasKey $value .) }}
{{- if $isSet }}{{ $value = get $value . }}{{ end }}
{{- end }}
{{- if $isSet }}
  {{ printf "%-24s  %s" (first .) (last .) }}
{{- end }}
{{- end }}
{{- end }}
