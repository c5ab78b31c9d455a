package contract

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// authority issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         string
}

type pair struct{ certificate, key string } // PEM

func newAuthority() *authority {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := certificate("an authority")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der := must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	return &authority{must(x509.ParseCertificate(der)), key, toPem("CERTIFICATE", der)}
}

// issue returns a certificate for servers and clients, valid for these addresses and names.
func (a *authority) issue(hosts ...string) pair {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := certificate("a peer")
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der := must(x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key))
	return pair{toPem("CERTIFICATE", der),
		toPem("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key)))}
}

func certificate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: must(rand.Int(rand.Reader, big.NewInt(1<<62))),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
	}
}

func toPem(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// tlsFiles are the files that a scaler's flags name.
type tlsFiles struct {
	t      *testing.T
	folder string
}

func newTlsFiles(t *testing.T, own pair) tlsFiles {
	t.Helper()
	files := tlsFiles{t, t.TempDir()}
	files.replace(own)
	return files
}

func (f tlsFiles) replace(own pair) {
	f.t.Helper()
	replaceFile(f.t, f.folder+"/key.pem", own.key)
	replaceFile(f.t, f.folder+"/cert.pem", own.certificate)
}

func (f tlsFiles) flags() []string {
	return []string{"--tls-cert=" + f.folder + "/cert.pem", "--tls-key=" + f.folder + "/key.pem"}
}

// mutualFlags require a certificate of this authority from clients.
func (f tlsFiles) mutualFlags(of *authority) []string {
	f.t.Helper()
	replaceFile(f.t, f.folder+"/ca.pem", of.pem)
	return append(f.flags(), "--tls-client-ca="+f.folder+"/ca.pem")
}
