//go:build unix

package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/sdk"
)

// stranger is a user who is neither root nor the user of the tests.
const stranger = 54321

// land is a project of the tests' user, in a folder in which others may have something too.
type land struct {
	t    *testing.T
	root string
	env  map[string]string
}

// databases is a file of stores.
const databases = `"*": "postgres://host/all"`

// newLand has top/project with a configuration, a lock, policies and a plugin, and top/data.
func newLand(t *testing.T) *land {
	l := &land{t, t.TempDir(), map[string]string{}}
	for name, text := range map[string]string{
		"top/project/reflectory.yaml": "data_dir: ../data\npolicy_dir: policies\ntrust_file: trust.yaml\nplugins: [{path: plugin, dev: true}]\n",
		"top/project/reflectory.lock": "{}", "top/project/trust.yaml": "publishers: {}\n", "top/project/policies/gate/one.yaml": "rule: {}\n",
		"top/project/plugin/plugin.yaml": "name: a/b\n", "top/project/plugin/bin/run": "#!/bin/sh\n", "top/project/sub/workflow.yaml": "name: x\n",
		"top/data/plugins/a/plugin.yaml": "", "elsewhere/reflectory.yaml": "sandbox: off\n",
	} {
		path := l.path(name)
		l.must(os.MkdirAll(filepath.Dir(path), 0o755))
		l.must(os.WriteFile(path, []byte(text), 0o644))
	}
	return l
}

func (l *land) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *land) path(name string) string { return filepath.Join(l.root, filepath.FromSlash(name)) }

// mode changes a file's mode, whose 0o1000 is that a folder is sticky.
func (l *land) mode(name string, mode os.FileMode) {
	l.t.Helper()
	if mode&0o1000 != 0 {
		mode = mode&0o777 | os.ModeSticky
	}
	l.must(os.Chmod(l.path(name), mode))
}

// open lets a variable name a file that everybody may write.
func (l *land) open(variable string) {
	l.t.Helper()
	l.env[variable] = l.path("elsewhere/reflectory.yaml")
	l.mode("elsewhere/reflectory.yaml", 0o666)
}

func (l *land) load() error {
	_, err := config.Load(config.Sources{Getenv: func(name string) string { return l.env[name] }, Folder: l.path("top/project/sub")})
	return err
}

// expect loads the settings, which must be refused because of a path, "" if they must not.
func (l *land) expect(untrusted string) {
	l.t.Helper()
	err := l.load()
	switch {
	case untrusted == "":
		if err != nil {
			l.t.Errorf("%v", err)
		}
	case err == nil:
		l.t.Errorf("%s is used", untrusted)
	case sdk.CodeOf(err) != sdk.Denied || sdk.ReasonOf(err) != "path_untrusted" || !strings.Contains(err.Error(), l.path(untrusted)+" ") ||
		!strings.Contains(err.Error()+sdk.AsError(err).Hint, "REFLECTORY_SAFE_DIRS="):
		l.t.Errorf("%v (%s), want it to be refused for %s", err, sdk.AsError(err).Hint, untrusted)
	}
}

// TestLoad_TrustsNothingThatOthersMayWrite, in whatever way they may.
func TestLoad_TrustsNothingThatOthersMayWrite(t *testing.T) {
	for name, c := range map[string]struct {
		change func(l *land)
		want   string
	}{
		"a project of one's own":                  {func(*land) {}, ""},
		"that others may read":                    {func(l *land) { l.mode("top", 0o711) }, ""},
		"in a sticky folder":                      {func(l *land) { l.mode("top", 0o1777) }, ""},
		"below a folder that is open, further up": {func(l *land) { l.mode("", 0o777) }, ""},
		"the configuration":                       {func(l *land) { l.mode("top/project/reflectory.yaml", 0o666) }, "top/project/reflectory.yaml"},
		"the configuration, for others only":      {func(l *land) { l.mode("top/project/reflectory.yaml", 0o642) }, "top/project/reflectory.yaml"},
		"its folder":                              {func(l *land) { l.mode("top/project", 0o777) }, "top/project"},
		"the folder above a sticky one":           {func(l *land) { l.mode("top/project", 0o1777); l.mode("top", 0o777) }, "top"},
		"the lock":                                {func(l *land) { l.mode("top/project/reflectory.lock", 0o606) }, "top/project/reflectory.lock"},
		"the trust file":                          {func(l *land) { l.mode("top/project/trust.yaml", 0o646) }, "top/project/trust.yaml"},
		"the policies":                            {func(l *land) { l.mode("top/project/policies", 0o707) }, "top/project/policies"},
		"the sticky policies":                     {func(l *land) { l.mode("top/project/policies", 0o1777) }, "top/project/policies"},
		"a policy":                                {func(l *land) { l.mode("top/project/policies/gate/one.yaml", 0o666) }, "top/project/policies/gate/one.yaml"},
		"a point's policies":                      {func(l *land) { l.mode("top/project/policies/gate", 0o777) }, "top/project/policies/gate"},
		"a plugin's program":                      {func(l *land) { l.mode("top/project/plugin/bin/run", 0o777) }, "top/project/plugin/bin/run"},
		"a plugin's folder":                       {func(l *land) { l.mode("top/project/plugin/bin", 0o777) }, "top/project/plugin/bin"},
		"the data folder":                         {func(l *land) { l.mode("top/data", 0o777) }, "top/data"},
		"the sticky data folder":                  {func(l *land) { l.mode("top/data", 0o1777) }, "top/data"},
		"the plugin folder":                       {func(l *land) { l.mode("top/data/plugins", 0o777) }, "top/data/plugins"},
		"a data folder to be made": {func(l *land) {
			l.must(os.RemoveAll(l.path("top/data")))
			l.mode("top", 0o777)
			l.mode("top/project", 0o755)
		}, "top"},
		"a data folder to be made in a sticky one": {func(l *land) { l.must(os.RemoveAll(l.path("top/data"))); l.mode("top", 0o1777) }, ""},
		"a configuration above": {func(l *land) {
			l.must(os.Rename(l.path("top/project/reflectory.yaml"), l.path("top/reflectory.yaml")))
			l.mode("top/reflectory.yaml", 0o666)
		}, "top/reflectory.yaml"},
		"a link to a configuration": {func(l *land) {
			l.must(os.Remove(l.path("top/project/reflectory.yaml")))
			l.must(os.Symlink(l.path("elsewhere/reflectory.yaml"), l.path("top/project/reflectory.yaml")))
		}, ""},
		"a link to one in an open folder": {func(l *land) {
			l.must(os.Remove(l.path("top/project/reflectory.yaml")))
			l.must(os.Symlink(l.path("elsewhere/reflectory.yaml"), l.path("top/project/reflectory.yaml")))
			l.mode("elsewhere", 0o777)
		}, "elsewhere"},
		"a link in an open folder": {func(l *land) {
			l.must(os.Remove(l.path("top/project/reflectory.yaml")))
			l.must(os.Symlink(l.path("elsewhere/reflectory.yaml"), l.path("top/project/reflectory.yaml")))
			l.mode("top/project", 0o777)
		}, "top/project"},
		"a lock that is named": {func(l *land) {
			l.env["REFLECTORY_LOCK"] = l.path("elsewhere/reflectory.yaml")
			l.mode("elsewhere/reflectory.yaml", 0o666)
		}, "elsewhere/reflectory.yaml"},
		"a script": {func(l *land) {
			l.env["REFLECTORY_REFLECTION_SCRIPT"] = l.path("elsewhere/reflectory.yaml")
			l.mode("elsewhere", 0o777)
		}, "elsewhere"},
		"a CA of the server": {func(l *land) { l.open("REFLECTORY_SERVER_CA") }, "elsewhere/reflectory.yaml"},
		"a CA of models":     {func(l *land) { l.open("REFLECTORY_LLM_CA") }, "elsewhere/reflectory.yaml"},
		"the authorities":    {func(l *land) { l.open("SSL_CERT_FILE") }, "elsewhere/reflectory.yaml"},
		"the stores": {func(l *land) {
			l.open("REFLECTORY_STORES")
			l.must(os.WriteFile(l.path("elsewhere/reflectory.yaml"), []byte(databases), 0o644))
		}, "elsewhere/reflectory.yaml"},
		"a trust file":          {func(l *land) { l.open("REFLECTORY_TRUST_FILE") }, "elsewhere/reflectory.yaml"},
		"a folder of certs":     {func(l *land) { l.env["SSL_CERT_DIR"] = "/nowhere:" + l.path("elsewhere"); l.mode("elsewhere", 0o777) }, "elsewhere"},
		"a certificate in it":   {func(l *land) { l.open("SSL_CERT_DIR"); l.env["SSL_CERT_DIR"] = l.path("elsewhere") }, "elsewhere/reflectory.yaml"},
		"the folder of backups": {func(l *land) { l.env["REFLECTORY_BACKUP_DIR"] = l.path("elsewhere"); l.mode("elsewhere", 0o777) }, "elsewhere"},
		"a CA in the file": {func(l *land) {
			l.must(os.WriteFile(l.path("top/project/reflectory.yaml"), []byte("settings: {llm: {ca: trust.yaml}}\n"), 0o644))
			l.mode("top/project/trust.yaml", 0o666)
		}, "top/project/trust.yaml"},
		"a CA that is vouched for": {func(l *land) { l.open("REFLECTORY_LLM_CA"); l.env["REFLECTORY_SAFE_DIRS"] = l.path("elsewhere") }, ""},
		"vouched for":              {func(l *land) { l.mode("top/data", 0o777); l.env["REFLECTORY_SAFE_DIRS"] = l.path("top/data") }, ""},
		"vouched for from above": {func(l *land) {
			l.mode("top/project", 0o777)
			l.env["REFLECTORY_SAFE_DIRS"] = "/nowhere:" + l.path("top") + "/"
		}, ""},
		"another vouched for": {func(l *land) {
			l.mode("top/data", 0o777)
			l.env["REFLECTORY_SAFE_DIRS"] = l.path("top/dat") + ":top/data:."
		}, "top/data"},
		"vouched for by itself": {func(l *land) {
			l.must(os.WriteFile(l.path("top/project/reflectory.yaml"), []byte("data_dir: ../data\n"), 0o644))
			l.mode("top/project/reflectory.yaml", 0o666)
			l.env["REFLECTORY_SAFE_DIRS"] = l.path("top/data")
		}, "top/project/reflectory.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLand(t)
			c.change(l)
			l.expect(c.want)
		})
	}
}

// TestDefinitions_PathsAreChecked: a setting whose name or description says that it is a file or a
// folder is refused if others may write it. The exceptions say why they needn't be.
func TestDefinitions_PathsAreChecked(t *testing.T) {
	exceptions := map[string]string{
		"llm_model": "it is the name of a model",

		"commands_allow": "programs are looked up in the system's folders, or by a path that the operator wrote, and run in a sandbox",
		"commands_read":  "its files are read by programs in a sandbox, not by the host",
		"safe_dirs":      "it is what the caller vouches for",
		"store":          "the file of passwords is libpq's, which checks its mode",

		"serve_tls_cert":       "the program that renews it may be another user's, which has the key anyway",
		"serve_tls_key":        "as for serve_tls_cert; certs refuses a key that others may write",
		"serve_acme_directory": "it is a URL",
	}
	words := regexp.MustCompile(`(?i)(^|[^a-z])(files?|folders?|dirs?|paths?|pem|scripts?|ca|certs?|directory)([^a-z]|$)`)
	n := 0
	for _, d := range config.Definitions() {
		if !words.MatchString(d.Name+" "+d.Doc) || exceptions[d.Name] != "" {
			continue
		}
		n++
		t.Run(d.Name, func(t *testing.T) {
			l := newLand(t)
			l.must(os.WriteFile(l.path("elsewhere/open"), []byte(databases), 0o666))
			l.mode("elsewhere/open", 0o666)
			switch {
			case d.Variable != "":
				l.env[d.Variable] = l.path("elsewhere/open")
			case d.Key == "plugins":
				l.must(os.WriteFile(l.path("top/project/reflectory.yaml"), []byte("plugins: [{path: ../../elsewhere/open, dev: true}]\n"), 0o644))
			default:
				t.Fatalf("no variable sets it: write here how it is set")
			}
			l.expect("elsewhere/open")
		})
	}
	if n < 12 {
		t.Errorf("%d settings name a file or a folder", n)
	}
}

// TestLoad_TrustsNothingOfAnotherUser, unless that user called sudo. Only root can give files
// away, so another user of these tests looks at what is root's, which counts.
func TestLoad_TrustsNothingOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		if _, err := config.Load(config.Sources{Folder: "/", Getenv: func(name string) string {
			return map[string]string{"REFLECTORY_DATA_DIR": filepath.Join(t.TempDir(), "data"), "REFLECTORY_LOCK": "/etc/passwd"}[name]
		}}); err != nil {
			t.Errorf("%v", err)
		}
		return
	}
	for _, name := range []string{
		"top/project/reflectory.yaml", "top/project", "top/project/reflectory.lock", "top/project/trust.yaml", "top/project/policies",
		"top/project/policies/gate/one.yaml", "top/project/plugin", "top/project/plugin/bin/run", "top/data", "top/data/plugins",
	} {
		t.Run(name, func(t *testing.T) {
			l := newLand(t)
			l.must(os.Chown(l.path(name), stranger, stranger))
			l.expect(name)
			l.env["SUDO_UID"] = "54322"
			l.expect(name)
			l.env["SUDO_UID"] = "54321"
			l.expect("")
			l.env = map[string]string{"REFLECTORY_SAFE_DIRS": l.path("top")}
			l.expect("")
		})
	}
	t.Run("planted above", func(t *testing.T) {
		l := newLand(t)
		l.must(os.Remove(l.path("top/project/reflectory.yaml")))
		l.mode("top", 0o1777)
		l.must(os.WriteFile(l.path("top/reflectory.yaml"), []byte("sandbox: off\n"), 0o644))
		l.must(os.Chown(l.path("top/reflectory.yaml"), stranger, stranger))
		l.expect("top/reflectory.yaml")
		l.must(os.Remove(l.path("top/reflectory.yaml")))
		l.must(os.Symlink(l.path("elsewhere/reflectory.yaml"), l.path("top/reflectory.yaml")))
		l.must(os.Lchown(l.path("top/reflectory.yaml"), stranger, stranger))
		l.expect("top/reflectory.yaml")
	})
	t.Run("a folder above that another user's folder is in", func(t *testing.T) {
		l := newLand(t)
		l.must(os.Chown(l.path("top"), stranger, stranger))
		l.expect("top")
	})
	t.Run("a data folder that another user made first", func(t *testing.T) {
		l := newLand(t)
		l.must(os.RemoveAll(l.path("top/data")))
		l.mode("top", 0o1777)
		c, err := config.Load(config.Sources{Getenv: func(string) string { return "" }, Folder: l.path("top/project")})
		l.must(err)
		l.must(os.Mkdir(l.path("top/data"), 0o755))
		l.must(os.Chown(l.path("top/data"), stranger, stranger))
		if err := c.MakeDataDir(); sdk.ReasonOf(err) != "path_untrusted" {
			t.Errorf("%v", err)
		}
	})
}

// TestLoad_AGroupOfOneIsNobodyElse: many systems give each user a group, and have the group write
// the user's files.
func TestLoad_AGroupOfOneIsNobodyElse(t *testing.T) {
	for name, c := range map[string]struct {
		passwd, group string
		want          bool
	}{
		"its user's own group":      {"me:x:1000:1000::/:\n", "me:x:1000:\n", true},
		"which names its user":      {"me:x:1000:1000::/:\n", "me:x:1000:me\n", true},
		"root's":                    {"me:x:1000:100::/:\nroot:x:0:1000::/:\n", "wheel:x:1000:root,me\n", true},
		"another member":            {"me:x:1000:1000::/:\nyou:x:1001:1001::/:\n", "me:x:1000:you\n", false},
		"a member nobody knows":     {"me:x:1000:1000::/:\n", "me:x:1000:ghost\n", false},
		"another user's main group": {"me:x:1000:1000::/:\nyou:x:1001:1000::/:\n", "me:x:1000:\n", false},
		"a group without a name":    {"", "", true},
		"a group of others":         {"me:x:1000:100::/:\n", "users:x:100:me\n", true},
		"no user and a member":      {"", "me:x:1000:me\n", false},
		"broken lines":              {"\n:::\nme\n", "x\n::1000\n\nme:x:1000\n", true},
	} {
		l := newLand(t)
		l.must(os.WriteFile(l.path("passwd"), []byte(c.passwd), 0o600))
		l.must(os.WriteFile(l.path("group"), []byte(c.group), 0o600))
		if got := config.OwnGroup(1000, 1000, l.path("passwd"), l.path("group")); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
