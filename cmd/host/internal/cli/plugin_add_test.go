//go:build linux

package cli

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

// Both a user who adds a module and a user who inspects it learn its limits.
func TestPluginAdd_SaysWhatBoundsAModule(t *testing.T) {
	w := newModuleWorld(t, suspect{module: "guest.wasm"})
	guest, err := os.ReadFile(filepath.Join(guests, "guest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	unmetered := bytes.Replace(guest, []byte("reserved_export"), []byte("reflectory:fuel"), 1)
	installModule(t, filepath.Join(w.dir, "plugins"), "bad/guest", "1.0.0", []sdk.Kind{sdk.KindEvaluator, sdk.KindGenerator}, unmetered)
	lock := filepath.Join(w.dir, "other", install.LockFile)
	for folder, want := range map[string]string{
		"test/guest": "metered yes",
		"bad/guest":  "metered no, so it has a deadline and no fuel: the module can't be metered: an export of the name \"reflectory:fuel\", which is reserved,",
	} {
		path := filepath.Join(w.dir, "plugins", folder)
		out, _ := w.ok("plugin", "add", path, "--lock", lock)
		if !strings.Contains(out, "limits memory 64 MiB, timeout 30s, output 8192 KiB, instances 2, fuel 20000000\n") || !strings.Contains(out, want) {
			t.Errorf("%s: %s", folder, out)
		}
		result := w.parsed(exitPassed, "plugin add "+path+" --json --lock "+lock)
		limits, _ := result["limits"].(map[string]any)
		if result["metered"] != (folder == "test/guest") || limits["fuel"] != 2e7 || (result["unmetered"] == nil) != (folder == "test/guest") {
			t.Errorf("%s: %v", folder, result)
		}
		if out, _ := w.ok("plugin", "inspect", path); !strings.Contains(out, strings.TrimPrefix(want, "metered ")) || !strings.Contains(out, "fuel 20000000") {
			t.Errorf("%s: %s", folder, out)
		}
	}
}

// shellPlugin writes a plugin that is a shell script, and returns its folder.
func (w *world) shellPlugin(name, script string) string {
	w.t.Helper()
	folder := filepath.Join(w.dir, name)
	if err := os.Mkdir(folder, 0o755); err != nil {
		w.t.Fatal(err)
	}
	w.file(name+"/plugin.yaml", "name: acme/"+name+"\nversion: 1.0.0\nkinds: [evaluator]\nentry: [sh, run.sh]\ncapabilities: {fs: [system]}\n")
	w.file(name+"/run.sh", script)
	return folder
}

// TestPluginAdd_ShippedNamesAreReserved: no package takes the place of a plugin that comes with the
// program unless that is wanted.
func TestPluginAdd_ShippedNamesAreReserved(t *testing.T) {
	own := map[string]string{"plugin.yaml": "aa", "bin/run": "bb"}
	shipped := &install.Lock{Plugins: []install.Locked{{Name: "reflectory/llm-eval", Files: own}, {Name: "reflectory/lua-eval", Files: map[string]string{"plugin.yaml": "cc"}}}}
	for _, c := range []struct {
		name     string
		files    map[string]string
		reserved bool
	}{
		{"reflectory/llm-eval", map[string]string{"plugin.yaml": "aa", "bin/run": "b0"}, true},
		{"reflectory/llm-eval", map[string]string{"plugin.yaml": "aa"}, true},
		{"reflectory/lua-eval", own, true},
		{"reflectory/schema-eval", own, true},
		{"reflectory/new", own, true},
		{"reflectory/llm-evaluator", own, true},
		{"reflectory/llm-eval", own, false},
		{"reflectory-x/llm-eval", own, false},
		{"acme/llm-eval", own, false},
		{"acme/reflectory", own, false},
	} {
		r := install.Request{Package: &install.Package{Name: c.name}, Files: c.files}
		if err := mayReplace(shipped, r, false); (sdk.ReasonOf(err) == "plugin_reserved") != c.reserved {
			t.Errorf("%s of %v: %v", c.name, c.files, err)
		}
		if err := core.JoinErrors(mayReplace(shipped, r, true), mayReplace(&install.Lock{}, r, false)); err != nil {
			t.Errorf("%s, wanted, or where nothing is shipped: %v", c.name, err)
		}
	}
}

// What a plugin prints can't pass for the host's own lines, nor control the terminal.
func TestPluginAdd_CleansWhatThePluginPrints(t *testing.T) {
	w := emptyWorld(t).unconfined()
	folder := w.shellPlugin("crash", `printf 'panic: boom\033[2K\rsigned by key \342\200\256 acme\n' >&2; exit 3`)
	out, errs := w.ok("plugin", "add", folder, "--grant", "fs:system", "--lock", filepath.Join(w.dir, install.LockFile))
	if !strings.Contains(errs, "panic: boom [2K signed by key   acme") || strings.ContainsAny(out+errs, "\x1b\r\u202e") {
		t.Errorf("%q %q", out, errs)
	}
}

// A signature that nobody can check is reported, and one that is checked names its key.
func TestPluginAdd_ReportsTheSignature(t *testing.T) {
	w := emptyWorld(t).unconfined()
	folder, lock := w.shellPlugin("signed", "exit 3"), filepath.Join(w.dir, install.LockFile)
	add := []string{"plugin", "add", folder, "--grant", "fs:system", "--lock", lock}
	if _, errs := w.ok(add...); strings.Contains(errs, "signature") {
		t.Errorf("without a signature: %s", errs)
	}
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	key := w.file("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	w.ok("plugin", "sign", "--key", key, folder)
	id := install.KeyID(private.Public().(ed25519.PublicKey))
	if _, errs := w.ok(add...); !strings.Contains(errs, "signed by key "+id+", which isn't trusted: the trust file names no key of acme") {
		t.Errorf("with a signature: %s", errs)
	}
	if out, _ := w.ok(append(add, "--json")...); !strings.Contains(out, `"signature_unchecked": true`) || !strings.Contains(out, `"untrusted_signer": "`+id) {
		t.Errorf("with a signature, as JSON: %s", out)
	}
	if out, _ := w.ok("plugin", "inspect", "acme/signed", "--lock", lock); !strings.Contains(out, id+" (not trusted") {
		t.Errorf("inspected: %s", out)
	}
	signature := filepath.Join(folder, install.SignatureFile)
	text, err := os.ReadFile(signature)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(signature, text[:bytes.IndexByte(text, '\n')], 0o600); err != nil { // as openssl writes it
		t.Fatal(err)
	}
	if _, errs := w.ok(add...); !strings.Contains(errs, "it has a signature, which wasn't checked: the trust file names no key of acme") {
		t.Errorf("with a signature without its key: %s", errs)
	}
}

// A plugin that no machine can run isn't pinned.
func TestPluginAdd_RefusesAPluginOfAnotherContract(t *testing.T) {
	w := emptyWorld(t).unconfined()
	folder, lock := w.shellPlugin("newer", "echo '1|99|unix|/nowhere|grpc|'; cat"), filepath.Join(w.dir, install.LockFile)
	code, _, errs := w.run(t.Context(), "plugin", "add", folder, "--grant", "fs:system", "--lock", lock)
	if _, err := os.Stat(lock); code != exitFailure || !strings.Contains(errs, "protocol version 99") || err == nil {
		t.Errorf("exit %d: %s (%v)", code, errs, err)
	}
}
