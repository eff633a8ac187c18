package certs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/coretest"
)

// TestOpenPeers_RefusesWhatOthersWould: it refuses a certificate of another authority, or
// for no name.
func TestOpenPeers_RefusesWhatOthersWould(t *testing.T) {
	from, until := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	write := func(authority string, names ...string) string {
		folder := t.TempDir()
		at := func(name string) string { return filepath.Join(folder, name) }
		coretest.WriteCertificate(t, at(peerCert), at(peerKey), from, until, names...)
		if authority == "" {
			return folder
		}
		text, err := os.ReadFile(strings.Replace(authority, "OWN", folder, 1))
		if err == nil {
			err = os.WriteFile(at(peerAuthority), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return folder
	}
	good := write("OWN/"+peerCert, "peers.example.org")
	if _, err := OpenPeers(good, nil); err != nil {
		t.Error(err)
	}
	for says, folder := range map[string]string{
		"ca.crt":                       write("", "peers.example.org"),
		"signed by unknown authority":  write(good+"/"+peerCert, "peers.example.org"),
		"no certificate in PEM":        write("OWN/"+peerKey, "peers.example.org"),
		"there is no file /no/tls.crt": "/no",
	} {
		if _, err := OpenPeers(folder, nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}
