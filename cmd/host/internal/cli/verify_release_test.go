package cli

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

func TestVerifyRelease(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	put := func(dir, name, text string) {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	sign := func(dir string, lines ...string) {
		list := strings.Join(lines, "\n") + "\n"
		put(dir, "SHA256SUMS", list)
		put(dir, "SHA256SUMS.sig", string(ed25519.Sign(private, []byte(list))))
	}
	line := func(name, text string) string {
		return strings.TrimPrefix(core.Digest([]byte(text)), "sha256:") + "  " + name
	}
	pemOf := func(dir string, key any) string {
		der, err := x509.MarshalPKIXPublicKey(key)
		if err != nil {
			t.Fatal(err)
		}
		put(dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
		return filepath.Join(dir, "key.pem")
	}
	for name, tt := range map[string]struct {
		change func(dir string)
		key    any
		want   string // the states, or the error's reason
	}{
		"as released":    {func(string) {}, public, "true a:ok npm/b:ok"},
		"one file alone": {func(dir string) { _ = os.Remove(filepath.Join(dir, "a")) }, public, "true a:missing npm/b:ok"},
		"a changed file": {func(dir string) { put(dir, "a", "B") }, public, "false a:changed npm/b:ok"},
		"a longer file":  {func(dir string) { put(dir, "npm/b", "B\n") }, public, "false a:ok npm/b:changed"},
		"an empty file":  {func(dir string) { put(dir, "a", "") }, public, "false a:changed npm/b:ok"},
		"another file":   {func(dir string) { put(dir, "npm/evil", "x") }, public, "false a:ok npm/b:ok npm/evil:unknown"},
		"a link to it": {func(dir string) {
			_ = os.Remove(filepath.Join(dir, "a"))
			_ = os.Symlink("npm/b", filepath.Join(dir, "a"))
		}, public, "false a:changed npm/b:ok"},
		"another key":           {func(string) {}, other, "signature_invalid"},
		"a changed list":        {func(dir string) { put(dir, "SHA256SUMS", line("a", "A")+"\n") }, public, "signature_invalid"},
		"a changed signature":   {func(dir string) { put(dir, "SHA256SUMS.sig", strings.Repeat("x", 64)) }, public, "signature_invalid"},
		"a short signature":     {func(dir string) { put(dir, "SHA256SUMS.sig", "x") }, public, "signature_invalid"},
		"no signature":          {func(dir string) { _ = os.Remove(filepath.Join(dir, "SHA256SUMS.sig")) }, public, "file_not_found"},
		"no list":               {func(dir string) { _ = os.Remove(filepath.Join(dir, "SHA256SUMS")) }, public, "file_not_found"},
		"a list that climbs":    {func(dir string) { sign(dir, line("../a", "A")) }, public, "release_invalid"},
		"a list that isn't one": {func(dir string) { sign(dir, "hello") }, public, "release_invalid"},
		"a file twice":          {func(dir string) { sign(dir, line("a", "A"), line("a", "B")) }, public, "release_invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(dir, "a", "A")
			put(dir, "npm/b", "B")
			sign(dir, line("a", "A"), line("npm/b", "B"))
			tt.change(dir)
			v, err := verifyRelease(dir, pemOf(t.TempDir(), tt.key))
			got := sdk.ReasonOf(err)
			if err == nil {
				got = fmt.Sprint(v.OK)
				for _, f := range v.Files {
					got += " " + f.Name + ":" + f.State
				}
			}
			if got != tt.want {
				t.Errorf("%s, want %s (%v)", got, tt.want, err)
			}
		})
	}
	if _, err := verifyRelease(t.TempDir(), ""); sdk.ReasonOf(err) != "key_missing" {
		t.Error(err)
	}
}
