package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/coretest"
)

const archive = "reflectory-1.2.3-linux-" + runtime.GOARCH + ".tar.gz"

// stage writes what a release is packed from. Its program is a script, but for one test.
func stage(t *testing.T, modified time.Time, mode os.FileMode) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, runtime.GOARCH)
	for name, text := range map[string]string{
		"reflectory": "#!/bin/sh\necho reflectory 1.2.3 \"$@\"\n", "plugins/reflectory.lock": "{}\n",
		"plugins/reflectory/lua-eval/lua-eval": "#!/bin/sh\n", "plugins/reflectory/lua-eval/plugin.yaml": "name: x\n",
		"completions/reflectory.bash": "b\n", "completions/_reflectory": "z\n", "completions/reflectory.fish": "f\n",
		"man/reflectory.1": "m\n", "man/reflectory-run.1": "m\n",
		"LICENSE": "l\n", "README.md": "r\n", "reflectory.service": "s\n", "reflectory.sysusers": "u\n", "reflectory.yaml": "y\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		perm := mode &^ 0o111
		if strings.HasPrefix(text, "#!") {
			perm = mode | 0o100
		}
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600), os.Chmod(file, perm),
			os.Chtimes(file, modified, modified))
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// pack packs a stage, and returns the folder of the release.
func pack(t *testing.T, stage string, more ...string) string {
	t.Helper()
	out := t.TempDir()
	args := append([]string{
		"-stage", stage, "-out", out, "-version", "1.2.3", "-time", "1700000000", "-arch", runtime.GOARCH,
		"-deploy", "../../deploy", "-url", "http://127.0.0.1:1/release",
	}, more...)
	if err := run(args); err != nil {
		t.Fatal(err)
	}
	return out
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		all[name[len(dir)+1:]] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRelease_HasTheSameBytesEachTime(t *testing.T) {
	one := contents(t, pack(t, stage(t, time.Unix(1, 0), 0o600)))
	two := contents(t, pack(t, stage(t, time.Unix(2_000_000_000, 0), 0o666)))
	if len(one) != 12 || len(two) != len(one) {
		t.Errorf("%d and %d files", len(one), len(two))
	}
	for name, text := range one {
		if two[name] != text {
			t.Errorf("%s differs", name)
		}
	}
}

func listing(t *testing.T, data io.Reader) string {
	t.Helper()
	var b strings.Builder
	for r := tar.NewReader(data); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %d:%d %d %s%s\n", fs.FileMode(h.Mode), h.Uid, h.Gid, h.ModTime.Unix(), h.Name, map[bool]string{true: " -> " + h.Linkname}[h.Linkname != ""])
	}
}

// The bundle has the program that its manifest starts, with the plugins next to it.
func TestBundle_StartsItsProgram(t *testing.T) {
	out := contents(t, pack(t, stage(t, time.Unix(1, 0), 0o600)))
	data := out[strings.Replace(archive, ".tar.gz", ".mcpb", 1)]
	r, err := zip.NewReader(strings.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range r.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(content)
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, text, f.Mode())); err != nil {
			t.Fatal(err)
		}
	}
	var manifest struct {
		Server struct {
			EntryPoint string `json:"entry_point"`
			Config     struct {
				Command string
				Args    []string
			} `json:"mcp_config"`
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err := errors.Join(err, json.Unmarshal(text, &manifest)); err != nil {
		t.Fatal(err)
	}
	command := strings.Replace(manifest.Server.Config.Command, "${__dirname}", dir, 1)
	said, err := exec.Command(command, manifest.Server.Config.Args...).CombinedOutput()
	if err != nil || string(said) != "reflectory 1.2.3 mcp\n" || command != filepath.Join(dir, manifest.Server.EntryPoint) {
		t.Errorf("%s: %q %v", command, said, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "server/plugins/reflectory/lua-eval/lua-eval")); err != nil {
		t.Error(err)
	}
}

func unzipped(t *testing.T, data []byte) io.Reader {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestArchives_HoldWhatTheyShould(t *testing.T) {
	out := contents(t, pack(t, stage(t, time.Unix(1, 0), 0o600)))
	var b strings.Builder
	for _, name := range []string{archive, strings.Replace(archive, ".tar.gz", "-without-plugins.tar.gz", 1)} {
		fmt.Fprintf(&b, "== %s\n%s", name, listing(t, unzipped(t, []byte(out[name]))))
	}
	deb := out["reflectory_1.2.3_"+runtime.GOARCH+".deb"]
	for at := len("!<arch>\n"); at < len(deb); {
		var size int
		if _, err := fmt.Sscan(deb[at+48:at+58], &size); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSpace(deb[at : at+16])
		fmt.Fprintf(&b, "== .deb: %s\n", name)
		if member := deb[at+60 : at+60+size]; strings.HasSuffix(name, ".gz") {
			b.WriteString(listing(t, unzipped(t, []byte(member))))
		}
		at += 60 + size + size%2
	}
	coretest.Golden(t, "content.golden", strings.ReplaceAll(b.String(), "linux-"+runtime.GOARCH, "linux-ARCH"))
}

// Each part of the image is found by its digest, from the index to the files.
func TestImage_IsWhole(t *testing.T) {
	out := contents(t, pack(t, stage(t, time.Unix(1, 0), 0o600)))
	blobs := map[string][]byte{}
	r := tar.NewReader(strings.NewReader(out[strings.Replace(archive, ".tar.gz", ".oci.tar", 1)]))
	for h, err := r.Next(); err == nil; h, err = r.Next() {
		if blobs[strings.TrimPrefix(h.Name, "blobs/sha256/")], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	read := func(d descriptor, into any) []byte {
		t.Helper()
		data := blobs[strings.TrimPrefix(d.Digest, "sha256:")]
		if "sha256:"+digest(data) != d.Digest || len(data) != d.Size {
			t.Fatalf("%s: %d bytes", d.Digest, len(data))
		}
		if into != nil {
			if err := json.Unmarshal(data, into); err != nil {
				t.Fatal(err)
			}
		}
		return data
	}
	var index, image manifest
	var config imageConfig
	if err := json.Unmarshal(blobs["index.json"], &index); err != nil || len(index.Manifests) != 1 {
		t.Fatal(err, index)
	}
	read(index.Manifests[0], &image)
	read(*image.Config, &config)
	plain, err := io.ReadAll(unzipped(t, read(image.Layers[0], nil)))
	if err != nil || config.RootFS.DiffIDs[0] != "sha256:"+digest(plain) || config.Config.User != "65532:65532" || config.OS != "linux" {
		t.Errorf("%v, %+v", err, config)
	}
	for _, want := range []string{"65532:65532 1700000000 var/lib/reflectory/", "usr/bin/reflectory -> ../lib/reflectory/reflectory", " tmp/"} {
		if list := listing(t, bytes.NewReader(plain)); !strings.Contains(list, want) {
			t.Errorf("no %q in\n%s", want, list)
		}
	}
}

func TestChecksums_AreSigned(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	known := base64.StdEncoding.EncodeToString(encoded)
	dir := pack(t, stage(t, time.Unix(1, 0), 0o600), "-key", key, "-public", known)
	out := contents(t, dir)
	if !ed25519.Verify(public, []byte(out["SHA256SUMS"]), []byte(out["SHA256SUMS.sig"])) {
		t.Error("the signature isn't the key's")
	}
	check := exec.Command("sha256sum", "-c", "--strict", "--quiet", "SHA256SUMS")
	check.Dir = dir
	if text, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, text)
	}
	if _, err := readKey(key, "AAAA"); err == nil || !strings.Contains(err.Error(), "another key") {
		t.Errorf("signed with a key that the program doesn't know: %v", err)
	}
	if err := os.WriteFile(key, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readKey(key, known); err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

// What is inside is read from a real program: this test's.
func TestSBOM_NamesTheModulesOfEachProgram(t *testing.T) {
	dir := stage(t, time.Unix(1, 0), 0o600)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, runtime.GOARCH, "reflectory"), text, 0o700); err != nil {
		t.Fatal(err)
	}
	var list spdx
	if err := json.Unmarshal([]byte(contents(t, pack(t, dir))[strings.Replace(archive, ".tar.gz", ".spdx.json", 1)]), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Packages) < 2 || list.Packages[0].Checksums[0].Value != digest(text) || "go"+list.Packages[1].Version != runtime.Version() {
		t.Errorf("%+v", list.Packages)
	}
	deps := []*debug.Module{{Path: "example.org/a", Version: "v1"}, {Path: "github.com/reflectory/reflectory/sdk", Version: "(devel)"}}
	if found := modules([]program{{info: &debug.BuildInfo{Deps: deps}}}); len(found) != 1 || found[0] != deps[0] {
		t.Errorf("%+v", found)
	}
	broken := file{name: "x", data: []byte("\x7fELF")}
	if _, err := programsOf([]file{broken}); err == nil {
		t.Error("a program that doesn't say what is inside is packed")
	}
}

// installer is a way to install or run the release from a server.
type installer struct {
	command func(release, home string) *exec.Cmd
	// program is what must not exist where the bytes are wrong, below the home.
	program string
}

func installers() map[string]installer {
	return map[string]installer{
		"install.sh": {func(release, _ string) *exec.Cmd { return exec.Command("sh", filepath.Join(release, "install.sh")) }, ".local/bin/reflectory"},
		"python": {func(release, _ string) *exec.Cmd {
			return exec.Command("python3", filepath.Join(release, "reflectory.py"), "--version")
		}, ".cache/reflectory/*/reflectory"},
		"npm": {func(release, _ string) *exec.Cmd {
			return exec.Command("node", filepath.Join(release, "npm/reflectory.js"), "--version")
		}, ".cache/reflectory/*/reflectory"},
	}
}

func TestInstallers_TakeOnlyTheReleasedBytes(t *testing.T) {
	release := pack(t, stage(t, time.Unix(1, 0), 0o600))
	right, err := os.ReadFile(filepath.Join(release, archive))
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(right)
	changed[len(changed)/2] ^= 1
	// A plugin in place of another: an archive that is whole, but not the released one.
	other, err := os.ReadFile(filepath.Join(pack(t, stage(t, time.Unix(1, 0), 0o600), "-time", "1700000001"), archive))
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]struct {
		data  []byte
		works bool
		says  string
	}{
		"the released":    {right, true, "reflectory 1.2.3 --version\n"},
		"a changed byte":  {changed, false, "isn't the released file"},
		"another archive": {other, false, "isn't the released file"},
		"cut":             {right[:len(right)-1], false, "isn't the released file"},
		"longer":          {append(bytes.Clone(right), 0), false, "isn't the released file"},
		"empty":           {[]byte{}, false, "isn't the released file"},
		"a page":          {[]byte("<html>log in</html>"), false, "isn't the released file"},
		"none":            {nil, false, archive},
	}
	for how, in := range installers() {
		for what, answer := range coretest.Some(7, answers) {
			t.Run(how+"/"+what, func(t *testing.T) {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if answer.data == nil || r.URL.Path != "/"+archive {
						http.NotFound(w, r)
						return
					}
					_, _ = w.Write(answer.data)
				}))
				defer server.Close()
				home := t.TempDir()
				c := in.command(release, home)
				c.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "REFLECTORY_URL=" + server.URL}
				text, err := c.CombinedOutput()
				installed, _ := filepath.Glob(filepath.Join(home, in.program))
				left, _ := filepath.Glob(filepath.Join(home, ".local/lib/.reflectory*"))
				if (err == nil) != answer.works || (len(installed) == 1) != answer.works || len(left) != 0 || !strings.Contains(string(text), answer.says) {
					t.Errorf("%v, installed %v, left %v: %s", err, installed, left, text)
				}
			})
		}
	}
}

// TestInstallers_OfTwoArchitectures have the checksums of both, and say so if theirs isn't in the release.
func TestInstallers_OfTwoArchitectures(t *testing.T) {
	one := stage(t, time.Unix(1, 0), 0o600)
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	if err := os.CopyFS(filepath.Join(one, other), os.DirFS(filepath.Join(one, runtime.GOARCH))); err != nil {
		t.Fatal(err)
	}
	both, foreign := pack(t, one, "-arch", "amd64 arm64"), pack(t, one, "-arch", other)
	for how, in := range installers() {
		for release, says := range map[string]string{both: "reflectory 1.2.3 --version\n", foreign: "this release isn't for "} {
			home := t.TempDir()
			server := httptest.NewServer(http.FileServer(http.Dir(release)))
			defer server.Close()
			c := in.command(release, home)
			c.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "REFLECTORY_URL=" + server.URL}
			if text, _ := c.CombinedOutput(); !strings.Contains(string(text), says) {
				t.Errorf("%s: %s, want %q", how, text, says)
			}
		}
	}
}

// What was installed before stays whole until the new one has been checked, and is replaced then.
func TestInstall_ReplacesOnlyWithAWholeOne(t *testing.T) {
	release, home := pack(t, stage(t, time.Unix(1, 0), 0o600)), t.TempDir()
	install := func(dir string) error {
		c := exec.Command("sh", filepath.Join(release, "install.sh"))
		c.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "REFLECTORY_URL=file://" + dir}
		return c.Run()
	}
	old := filepath.Join(home, ".local/lib/reflectory/old")
	if err := errors.Join(os.MkdirAll(filepath.Dir(old), 0o755), os.WriteFile(old, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := install(t.TempDir()); err == nil {
		t.Error("installed from an empty folder")
	}
	if _, err := os.Stat(old); err != nil {
		t.Error(err)
	}
	if err := errors.Join(install(release), install(release)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("what was installed before is still there")
	}
	if _, err := os.Stat(filepath.Join(home, ".local/lib/reflectory/plugins/reflectory.lock")); err != nil {
		t.Error(err)
	}
}
