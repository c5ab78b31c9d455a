{{/* The file of --gpu-source file:PATH: each phase a frame, played in turn for ever. */}}
{{- define "scaler.simulatedGpus" -}}
{{- $gpus := 1 }}
{{- range .Values.simulate.phases }}{{ $gpus = max $gpus .busyGpus }}{{ end -}}
{"driver_version": "simulated", "frames": [
{{- range $p, $phase := .Values.simulate.phases }}
{{- if $p }},{{ end }}
  {"seconds": {{ $phase.seconds }}, "gpus": [
  {{- range $i := until (int $gpus) }}
  {{- $busy := lt $i (int $phase.busyGpus) }}
  {{- if $i }},{{ end }}
    {"name": "Simulated", "utilization_percent": {{ ternary 75 0 $busy }}, "memory_used_bytes": {{ ternary "20000000000" "0" $busy }}, "memory_total_bytes": 80000000000, "temperature_celsius": {{ ternary 61 34 $busy }}, "power_watts": {{ ternary 310 62 $busy }}, "power_limit_watts": 400}
  {{- end }}
  ]}
{{- end }}
]}
{{- end }}
