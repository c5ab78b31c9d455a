package contract

import (
	"strings"
	"testing"
)

// The cases of one server: the parameters of a TriggerAuthentication (auth) and the trigger's
// metadata, and KEDA's result: the value, or an error with these words.
type tlsCase struct {
	name     string
	auth     map[string]string
	metadata map[string]string
	refused  string
}

func checkTls(t *testing.T, s *scaler, cases []tlsCase) {
	t.Helper()
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			config := trigger(s, test.metadata)
			config.AuthParams = test.auth
			c := external(t, config)
			if test.refused == "" {
				c.comesTo(answer{90, true})
				c.spec()
				return
			}
			got, err := c.ask()
			if err == nil || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%+v, %v; want an error with %q", got, err, test.refused)
			}
			if specs := c.specs(); len(specs) != 0 {
				t.Errorf("specs over a connection that was refused: %v", specs)
			}
		})
	}
}

func TestTls(t *testing.T) {
	t.Parallel()
	const name, alias = "tls.gpu-scaler.svc.cluster.local", "tls-alias.gpu-scaler.svc.cluster.local"
	ours, another := newAuthority(), newAuthority()
	s := newScaler(t, newGpuFile(t, busyAt(90)))
	s.flags = append(s.flags, newTlsFiles(t, ours.issue(s.ip, name)).flags()...)
	s.start()
	nameServer.set(name, s.ip)
	nameServer.set(alias, s.ip)
	elsewhere := newScaler(t, newGpuFile(t, busyAt(90)))
	elsewhere.flags = append(elsewhere.flags, newTlsFiles(t, ours.issue(s.ip)).flags()...)
	elsewhere.start()

	trusted := map[string]string{"caCert": ours.pem}
	unsafe := map[string]string{"unsafeSsl": "true"}
	checkTls(t, s, []tlsCase{
		{"of the authority that KEDA was given", trusted, nil, ""},
		{"for the Service's name", trusted, byName(name, s, nil), ""},
		{"for another name", trusted, byName(alias, s, nil), "certificate is valid for " + name},
		{"of another authority", map[string]string{"caCert": another.pem}, nil,
			"certificate signed by unknown authority"},
		{"of none that the system knows", nil, map[string]string{"enableTLS": "true"},
			"certificate signed by unknown authority"},
		{"for another address", trusted,
			map[string]string{"scalerAddress": elsewhere.address()}, "certificate is valid for " + s.ip},
		{"unsafeSsl takes any certificate", map[string]string{"caCert": another.pem}, unsafe, ""},
		{"unsafeSsl with enableTLS", nil, map[string]string{"unsafeSsl": "true", "enableTLS": "true"}, ""},
		{"unsafeSsl alone is no TLS", nil, unsafe, "Unavailable"},
		{"plain text", nil, nil, "Unavailable"},
	})
}

func TestMutualTls(t *testing.T) {
	t.Parallel()
	ours, another := newAuthority(), newAuthority()
	s := newScaler(t, newGpuFile(t, busyAt(90)))
	s.flags = append(s.flags, newTlsFiles(t, ours.issue(s.ip)).mutualFlags(ours)...)
	s.start()
	keda, stranger := ours.issue("keda"), another.issue("keda")
	auth := func(client pair) map[string]string {
		return map[string]string{"caCert": ours.pem, "tlsClientCert": client.certificate,
			"tlsClientKey": client.key}
	}
	withoutCa := auth(keda)
	delete(withoutCa, "caCert")
	checkTls(t, s, []tlsCase{
		{"with a certificate of the authority", auth(keda), nil, ""},
		{"the same with unsafeSsl in place of a CA", withoutCa, map[string]string{"unsafeSsl": "true"}, ""},
		{"without a certificate", map[string]string{"caCert": ours.pem}, nil, "Unavailable"},
		{"with one of another authority", auth(stranger), nil, "Unavailable"},
		{"in plain text", nil, nil, "Unavailable"},
	})
	t.Run("push", func(t *testing.T) {
		config := trigger(s, nil)
		config.AuthParams = auth(keda)
		push(t, config).waitForTrue()
	})
}

// As when cert-manager renews a Secret: the file is read again, and no connection is lost.
func TestRenewedCertificateIsServed(t *testing.T) {
	t.Parallel()
	before, after := newAuthority(), newAuthority()
	s := newScaler(t, newGpuFile(t, busyAt(90)))
	files := newTlsFiles(t, before.issue(s.ip))
	s.flags = append(s.flags, files.flags()...)
	s.start()
	old := external(t, trigger(s, map[string]string{"unsafeSsl": "true", "enableTLS": "true"}))
	old.comesTo(answer{90, true})

	files.replace(after.issue(s.ip))
	eventually(t, "the renewed certificate is served", func() bool {
		config := trigger(s, nil)
		config.AuthParams["caCert"] = after.pem
		c := external(t, config)
		defer c.Close(t.Context()) // a failed channel would wait before it retries
		_, err := c.ask()
		return err == nil
	})
	if _, err := old.ask(); err != nil {
		t.Errorf("the connection from before: %v", err)
	}
}
