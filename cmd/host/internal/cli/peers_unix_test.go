//go:build unix

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServe_PeersAreTheOperatorsChoice: a user who writes the authority of the hosts makes a host, whose
// word about who asks is believed. So nobody else may write the files of --peer-tls. What isn't
// refused for that is refused because the files hold no certificate.
func TestServe_PeersAreTheOperatorsChoice(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(folder string) error
		refused bool
	}{
		"of the operator alone":         {func(string) error { return nil }, false},
		"an authority for all to write": {func(folder string) error { return os.Chmod(folder+"/ca.crt", 0o646) }, true},
		"a certificate for all":         {func(folder string) error { return os.Chmod(folder+"/tls.crt", 0o666) }, true},
		"a key for all":                 {func(folder string) error { return os.Chmod(folder+"/tls.key", 0o602) }, true},
		"a folder for all":              {func(folder string) error { return os.Chmod(folder, 0o777) }, true},
		"a folder above":                {func(folder string) error { return os.Chmod(filepath.Dir(folder), 0o777) }, false},
		"a folder in which all may add": {func(folder string) error { return os.Chmod(folder, 0o777|os.ModeSticky) }, false},
		"no authority in such a folder": {func(folder string) error {
			return errors.Join(os.Remove(folder+"/ca.crt"), os.Chmod(folder, 0o777))
		}, true},
		"a link to an open file": {func(folder string) error {
			other := filepath.Join(filepath.Dir(folder), "other")
			return errors.Join(os.Remove(folder+"/ca.crt"), os.WriteFile(other, nil, 0o600), os.Chmod(other, 0o666), os.Symlink(other, folder+"/ca.crt"))
		}, true},
		"links as of Kubernetes": {func(folder string) error {
			data := folder + "/..2026"
			err := errors.Join(os.Mkdir(data, 0o755), os.Symlink("..2026", folder+"/..data"), os.Chmod(folder, 0o777|os.ModeSticky))
			for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
				err = errors.Join(err, os.Rename(folder+"/"+name, data+"/"+name), os.Symlink("..data/"+name, folder+"/"+name))
			}
			return err
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPlainWorld(t)
			folder := filepath.Join(w.dir, "above", "peers")
			err := os.MkdirAll(folder, 0o755)
			for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
				err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
			}
			if err := errors.Join(err, c.change(folder)); err != nil {
				t.Fatal(err)
			}
			serve := []string{"serve", "--peer-listen", "127.0.0.1:0", "--peer-tls", folder, "--store", "postgres://nowhere.example/x"}
			code, _, errs := w.run(t.Context(), serve...)
			if refused := strings.Contains(errs, "isn't used, since somebody else may change it"); refused != c.refused || code == exitPassed || !refused && !strings.Contains(errs, "can't be used") {
				t.Errorf("exit %d: %s", code, errs)
			}
			w.env["REFLECTORY_SAFE_DIRS"] = folder
			if _, _, errs := w.run(t.Context(), serve...); strings.Contains(errs, "isn't used") {
				t.Errorf("although it is vouched for: %s", errs)
			}
		})
	}
}
