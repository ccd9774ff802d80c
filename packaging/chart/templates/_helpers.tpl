{{- define "foregate.labels" -}}
app.kubernetes.io/name: foregate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* Pod of a gateway or worker; takes root, command, resources, isGateway. */ -}}
{{- define "foregate.pod" -}}
{{- $values := .root.Values -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
automountServiceAccountToken: false
terminationGracePeriodSeconds: 30
initContainers:
  # A mount below a volume would be made by root, and its folder closed to others.
  - name: folders
    image: {{ include "foregate.image" .root }}
    imagePullPolicy: {{ $values.image.pullPolicy }}
    command: [mkdir, -p, -m, "700", /data/foregate/keys]
    securityContext: &confined
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL]}
    volumeMounts:
      - {name: data, mountPath: /data}
containers:
  - name: foregate
    image: {{ include "foregate.image" .root }}
    imagePullPolicy: {{ $values.image.pullPolicy }}
    args: {{ toJson .command }}
    securityContext: *confined
    env:
      {{- $settings := dict
        "DATABASE_URL_FILE" "/run/secrets/foregate/database_url"
        "FOREGATE_SECRET_KEY_FILE" "/run/secrets/foregate/secret_key"
        "FOREGATE_FIRST_ADMIN_FILE" "/run/secrets/foregate/first_admin"
        "FOREGATE_EXECUTION_BACKEND" "queue"
        "FOREGATE_PUBLIC_URL" (printf "https://%s" $values.host)
        "FOREGATE_ALLOWED_HOSTS" $values.host
        "DJANGO_SETTINGS_MODULE" "gateway_project.settings.production"
        "FOREGATE_HTTPS_PROXY" "true"
        "FOREGATE_TRUSTED_PROXIES" $values.trustedProxies }}
      {{- range $name, $value := mergeOverwrite $settings $values.settings }}
      - {name: {{ $name }}, value: {{ toString $value | quote }}}
      {{- end }}
    {{- if .isGateway }}
    ports:
      - {name: http, containerPort: 8420}
    startupProbe:
      httpGet: {path: /health, port: http}
      periodSeconds: 2
      failureThreshold: 60
    livenessProbe:
      httpGet: {path: /health, port: http}
      timeoutSeconds: 5
    readinessProbe:
      httpGet: {path: /health/ready, port: http}
      periodSeconds: 2
      timeoutSeconds: 5
    {{- end }}
    resources: {{- toYaml .resources | nindent 6 }}
    volumeMounts:
      - {name: data, mountPath: /data}
      - {name: keys, mountPath: /data/foregate/keys}
      - {name: secrets, mountPath: /run/secrets/foregate, readOnly: true}
      - {name: tmp, mountPath: /tmp}
volumes:
  - name: keys
    persistentVolumeClaim:
      claimName: {{ $values.keys.existingClaim | default (printf "%s-keys" .root.Release.Name) }}
  - name: secrets
    secret: {secretName: {{ $values.existingSecret }}, defaultMode: 0440}
  - name: tmp
    emptyDir: {}
  {{- if not .isGateway }}
  - name: data
    emptyDir: {}
  {{- end }}
{{- end }}

{{- define "foregate.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
