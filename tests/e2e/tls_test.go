package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority signs certificates for a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority() *authority {
	a := &authority{key: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key))
	a.certificate = must(x509.ParseCertificate(der))
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// sign returns a certificate for the name, for servers and clients, and its key.
func (a *authority) sign(name string) (certificate, key []byte) {
	own := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der := must(x509.CreateCertificate(rand.Reader, template, a.certificate, &own.PublicKey, a.key))
	ownDER := must(x509.MarshalPKCS8PrivateKey(own))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: ownDER})
}

// secured returns a workload with a TLS scaler. If mutual, the scaler requires certificates of the
// authority.
func secured(t *testing.T, name string, mutual bool) (*workload, *authority) {
	t.Helper()
	trusted := newAuthority()
	certificate, key := trusted.sign("keda-gpu-scaler." + name)
	folder := t.TempDir()
	files := map[string][]byte{"tls.crt": certificate, "tls.key": key, "ca.crt": trusted.pem}
	for file, content := range files {
		must(0, os.WriteFile(filepath.Join(folder, file), content, 0o600))
	}
	flags := []string{"--tls-cert=" + folder + "/tls.crt", "--tls-key=" + folder + "/tls.key"}
	if mutual {
		flags = append(flags, "--tls-client-ca="+folder+"/ca.crt")
	}
	return newWorkload(t, name, start{signals: 2, replicas: 1, flags: flags}), trusted
}

// authenticate creates the TriggerAuthentication "scaler" with KEDA's certificate and CA.
func (w *workload) authenticate(parameters map[string][]byte) {
	w.t.Helper()
	var data, references bytes.Buffer
	for key, value := range parameters {
		fmt.Fprintf(&data, "  %s: %s\n", key, base64.StdEncoding.EncodeToString(value))
		fmt.Fprintf(&references, "  - {parameter: %[1]s, name: scaler, key: %[1]s}\n", key)
	}
	create(w.t, w.namespace, "apiVersion: v1\nkind: Secret\nmetadata: {name: scaler}\ndata:\n"+data.String())
	create(w.t, w.namespace, "apiVersion: keda.sh/v1alpha1\nkind: TriggerAuthentication\n"+
		"metadata: {name: scaler}\nspec:\n  secretTargetRef:\n"+references.String())
}

func authenticated(trigger map[string]any) map[string]any {
	trigger["authenticationRef"] = map[string]any{"name": "scaler"}
	return trigger
}

// scalesOverTLS expects three replicas for a value of 60 and a target of 20.
func (w *workload) scalesOverTLS() {
	w.t.Helper()
	up := w.signals(60)
	w.scale(scaledObject{min: 1, max: 8, triggers: []any{
		authenticated(w.signal(0, target(20), useTLS))}})
	w.line.reaches(3, timeout)
	w.holds(3 * time.Second)
	w.line.risesOnly(up)
	w.line.neverAbove(3)
}

var useTLS = map[string]string{"enableTLS": "true"}

func TestTLSWithTheAuthorityFromATriggerAuthentication(t *testing.T) {
	t.Parallel()
	w, trusted := secured(t, "tls", false)
	w.authenticate(map[string][]byte{"caCert": trusted.pem})
	w.scalesOverTLS()
}

func TestMutualTLSTakesTheClientsCertificate(t *testing.T) {
	t.Parallel()
	w, trusted := secured(t, "mutual", true)
	certificate, key := trusted.sign("keda")
	w.authenticate(map[string][]byte{
		"caCert": trusted.pem, "tlsClientCert": certificate, "tlsClientKey": key})
	w.scalesOverTLS()
}

func TestMutualTLSRefusesAClientWithoutCertificate(t *testing.T) {
	t.Parallel()
	w, trusted := secured(t, "refused", true)
	w.authenticate(map[string][]byte{"caCert": trusted.pem})
	w.signals(60)
	w.make(scaledObject{min: 1, max: 8, triggers: []any{
		authenticated(w.signal(0, target(20), useTLS))}})
	eventually(t, timeout, "KEDA reports that the trigger fails", func() bool {
		return conditionOf(t, w.namespace, "llm", "Ready") == "False"
	})
	w.line.stays(5 * time.Second)
	if asked := w.scaler.answers("GetMetrics"); asked != 0 {
		t.Errorf("%g calls were answered", asked)
	}
}
