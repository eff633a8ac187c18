package install_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// serve serves over TLS, which the world's additions trust, until the test's end.
func (w *world) serve(h http.HandlerFunc) (url string) {
	w.t.Helper()
	s := httptest.NewTLSServer(h)
	w.t.Cleanup(s.Close)
	w.options.Transport = s.Client().Transport
	return s.URL
}

func TestAdd_ByHTTPS(t *testing.T) {
	for name, sign := range map[string]bool{"signed": true, "unsigned": false} {
		t.Run(name, func(t *testing.T) {
			w := judge(t)
			if sign {
				file, _ := key(t, 1)
				if _, err := install.Sign(t.Context(), w.source, file); err != nil {
					t.Fatal(err)
				}
			}
			data, err := os.ReadFile(packed(w))
			if err != nil {
				t.Fatal(err)
			}
			url := w.serve(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/moved" {
					http.Redirect(rw, r, "/judge.tar.gz?x=1", http.StatusFound)
					return
				}
				if r.Header.Get("Accept-Encoding") != "identity" {
					t.Errorf("it accepts %q", r.Header.Get("Accept-Encoding"))
				}
				_, _ = rw.Write(data)
			})
			w.options.SHA256 = digestOf(data)
			for _, from := range []string{"/judge.tar.gz", "/moved"} {
				p, err := install.Add(t.Context(), url+from, w.options)
				if err != nil {
					t.Fatal(err)
				}
				if (p.Locked.UntrustedSigner != "") != sign || p.Locked.Source != url+from || p.Locked.Archive != w.options.SHA256 {
					t.Errorf("%+v", p.Locked)
				}
			}
			if err := start(t, w.open(), &driver{}); err != nil {
				t.Error(err)
			}

			// What is wrong with the copy is fixed from there.
			if err := os.RemoveAll(w.place.Dir); err != nil {
				t.Fatal(err)
			}
			err = start(t, w.open(), &driver{})
			wantError(t, err, sdk.NotFound, "package_not_installed", `"sha256":"`+w.options.SHA256+`"`, `"path":"`+url+`/moved"`)

			// One wrong byte anywhere is another archive.
			good := data
			for _, at := range []int{0, 4, 9, len(good) / 3, len(good) / 2, len(good) - 9, len(good) - 5, len(good) - 1} {
				data = bytes.Clone(good)
				data[at] ^= 0x40
				_, err := install.Add(t.Context(), url+"/judge.tar.gz", w.options)
				wantError(t, err, sdk.Denied, "checksum_mismatch", "wanted SHA-256 "+w.options.SHA256+", got "+digestOf(data))
			}
		})
	}
}

// A server that is named, or that is redirected to, can't make the program do more than get an
// archive by https.
func TestAdd_RefusesHostileServers(t *testing.T) {
	data := archive(t)
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("this machine was asked over http") }))
	defer inside.Close()
	for name, tt := range map[string]struct {
		serve  http.HandlerFunc
		reason string
		want   string
	}{
		"to http":            {redirect(inside.URL), "redirect_refused", "http://127.0.0.1"},
		"to http elsewhere":  {redirect("http://192.0.2.1/x"), "redirect_refused", "http://192.0.2.1"},
		"to a file":          {redirect("file:///etc/passwd"), "redirect_refused", "file://"},
		"to ftp":             {redirect("ftp://192.0.2.1/x"), "redirect_refused", "ftp://192.0.2.1"},
		"to a registry":      {redirect("oci://192.0.2.1/x:1"), "redirect_refused", "oci://"},
		"with a password":    {redirect("https://a:secret@192.0.2.1/x"), "redirect_refused", "https://192.0.2.1"},
		"to itself for ever": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "archive_unreachable", "redirects more than 5 times"},
		"not found":          {http.NotFound, "archive_unreachable", "404 Not Found"},
		"an error":           {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "archive_unreachable", "500"},
		"a part": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(data)
		}, "archive_unreachable", "206"},
		"nothing": {func(http.ResponseWriter, *http.Request) {}, "checksum_mismatch", "got e3b0c442"},
		"a page":  {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>log in</html>") }, "checksum_mismatch", "wanted SHA-256"},
		"less than it says": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9999")
			_, _ = w.Write(data)
		}, "archive_unreachable", "unexpected EOF"},
		"more than is read": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "9999999999") }, "package_too_large", "has more than"},
		"an encoding": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zipped(t, data))
		}, "checksum_mismatch", "wanted SHA-256"},
		"another archive":     {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive(t, entry{name: "evil"})) }, "checksum_mismatch", "wanted SHA-256"},
		"it hangs up at once": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "archive_unreachable", "can't get the plugin from"},
	} {
		t.Run(name, func(t *testing.T) {
			w := judge(t)
			url := w.serve(tt.serve)
			w.options.SHA256 = digestOf(data)
			_, err := install.Add(t.Context(), url+"/judge.tar.gz", w.options)
			if sdk.ReasonOf(err) != tt.reason || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
				t.Fatalf("%v (%s)", err, sdk.ReasonOf(err))
			}
			w.nothingLeft()
		})
	}
}

func TestAdd_RefusesSourcesThatCantBePinned(t *testing.T) {
	none := digestOf(nil)
	for source, tt := range map[string]struct{ sha256, reason, want string }{
		"https://192.0.2.1/x.tar.gz":          {"", "sha256_required", "add --sha256 DIGEST"},
		"https://192.0.2.1/y.tar.gz":          {"abc", "sha256_invalid", "64 digits"},
		"https://192.0.2.1/z.tar.gz":          {strings.ToUpper(none), "sha256_invalid", "64 digits"},
		"https://a:secret@192.0.2.1/x.tar.gz": {none, "source_invalid", "a user or a password"},
		"https://192.0.2.1/x.tar.gz#y":        {none, "source_invalid", "fragment"},
		"https:///x.tar.gz":                   {none, "source_invalid", "names no host"},
		"http://192.0.2.1/x.tar.gz":           {none, "source_invalid", "http is only for this machine"},
		"http://localhost.example.org/x":      {none, "source_invalid", "http is only for this machine"},
		"http://127.0.0.1.example.org/x":      {none, "source_invalid", "http is only for this machine"},
		"ftp://192.0.2.1/x.tar.gz":            {none, "source_invalid", "neither a path nor"},
		"file:///x.tar.gz":                    {none, "source_invalid", "neither a path nor"},
		"git+https://192.0.2.1/x":             {none, "source_invalid", "neither a path nor"},
		"https://192.0.2.1/%zz":               {none, "source_invalid", "no address"},
		"oci://192.0.2.1":                     {"", "source_invalid", "missing registry or repository"},
		"oci://192.0.2.1/acme/judge":          {"", "source_invalid", "names no version"},
		"oci://192.0.2.1/acme/judge:":         {"", "source_invalid", "REGISTRY/NAME:VERSION"},
		"oci://192.0.2.1/Acme/judge:1":        {"", "source_invalid", "invalid repository"},
		"oci://192.0.2.1/../judge:1":          {"", "source_invalid", "invalid repository"},
		"oci://192.0.2.1/judge@sha256:abc":    {"", "source_invalid", "invalid"},
		"oci://a:secret@192.0.2.1/judge:1":    {"", "source_invalid", "a user or a password"},
	} {
		t.Run(source, func(t *testing.T) {
			w := judge(t)
			w.options.SHA256 = tt.sha256
			w.options.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
				t.Errorf("it asked %s", r.URL)
				return nil, http.ErrNotSupported
			})
			_, err := install.Add(t.Context(), source, w.options)
			wantError(t, err, sdk.Invalid, tt.reason, tt.want)
			if strings.Contains(err.Error(), "secret") {
				t.Error(err)
			}
		})
	}
	w := judge(t)
	w.options.SHA256 = none
	_, err := install.Add(t.Context(), w.source, w.options)
	wantError(t, err, sdk.Invalid, "sha256_needless", "leave out --sha256")
	w.options = install.AddOptions{Place: w.place, InPlace: true}
	_, err = install.Add(t.Context(), packed(w), w.options)
	wantError(t, err, sdk.Invalid, "not_below_lock", "leave out --in-place")
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAdd_ByHTTPOnThisMachine(t *testing.T) {
	w, data := judge(t), archive(t)
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(data) }))
	defer s.Close()
	w.options.SHA256 = "sha256:" + digestOf(data)
	if p, err := install.Add(t.Context(), s.URL+"/x", w.options); err != nil || p.Locked.Source != s.URL+"/x" {
		t.Errorf("%v: %v", p, err)
	}
}

// oci is a registry with one artifact, acme/judge:1.2.3, on this machine.
type oci struct {
	manifest, blob []byte
	// answer answers in place of the registry, if it returns true.
	answer func(http.ResponseWriter, *http.Request) bool
	host   string
	// asked are the requests that it got.
	asked []string
}

func newRegistry(t *testing.T, blob []byte) *oci {
	t.Helper()
	r := &oci{blob: blob, manifest: manifestOf(digestOf(blob), len(blob))}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	r.host = strings.TrimPrefix(s.URL, "http://")
	return r
}

// manifestOf is the manifest of an artifact as oras push writes it.
func manifestOf(digest string, size int) []byte {
	text, _ := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": "application/vnd.unknown.artifact.v1",
		"config": map[string]any{"mediaType": "application/vnd.oci.empty.v1+json", "digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", "size": 2},
		"layers": []any{map[string]any{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": "sha256:" + digest, "size": size}},
	})
	return text
}

func (r *oci) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.asked = append(r.asked, req.URL.Path)
	if r.answer != nil && r.answer(w, req) {
		return
	}
	switch req.URL.Path {
	case "/v2/acme/judge/manifests/1.2.3", "/v2/acme/judge/manifests/sha256:" + digestOf(r.manifest):
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		w.Header().Set("Docker-Content-Digest", "sha256:"+digestOf(r.manifest))
		w.Header().Set("Content-Length", fmt.Sprint(len(r.manifest)))
		_, _ = w.Write(r.manifest)
	case "/v2/acme/judge/blobs/sha256:" + digestOf(r.blob):
		_, _ = w.Write(r.blob)
	default:
		http.NotFound(w, req)
	}
}

func TestAdd_FromARegistry(t *testing.T) {
	w := judge(t)
	file, _ := key(t, 1)
	if _, err := install.Sign(t.Context(), w.source, file); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(packed(w))
	if err != nil {
		t.Fatal(err)
	}
	r := newRegistry(t, data)
	// Most registries give a token to everybody who asks for one.
	r.answer = func(rw http.ResponseWriter, req *http.Request) bool {
		switch {
		case req.URL.Path == "/token":
			fmt.Fprint(rw, `{"token": "t"}`)
		case req.Header.Get("Authorization") != "Bearer t":
			rw.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token",service="s",scope="repository:acme/judge:pull"`, r.host))
			rw.WriteHeader(http.StatusUnauthorized)
		default:
			return false
		}
		return true
	}
	pinned := "oci://" + r.host + "/acme/judge:1.2.3@sha256:" + digestOf(r.manifest)
	for _, source := range []string{"oci://" + r.host + "/acme/judge:1.2.3", "oci://" + r.host + "/acme/judge@sha256:" + digestOf(r.manifest), pinned} {
		p, err := install.Add(t.Context(), source, w.options)
		if err != nil {
			t.Fatal(err)
		}
		if p.Locked.UntrustedSigner == "" || !strings.HasSuffix(p.Locked.Source, "@sha256:"+digestOf(r.manifest)) {
			t.Errorf("%+v", p.Locked)
		}
	}
	w.options.SHA256 = digestOf(data)
	if _, err := install.Add(t.Context(), pinned, w.options); err != nil {
		t.Error(err)
	}
	w.options.SHA256 = digestOf(nil)
	_, err = install.Add(t.Context(), pinned, w.options)
	wantError(t, err, sdk.Denied, "checksum_mismatch", "wanted SHA-256 "+digestOf(nil))
	if err := start(t, w.open(), &driver{}); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(w.place.Dir); err != nil {
		t.Fatal(err)
	}
	wantError(t, start(t, w.open(), &driver{}), sdk.NotFound, "package_not_installed", `"path":"`+pinned+`"`)
}

func TestAdd_RefusesHostileRegistries(t *testing.T) {
	good := archive(t)
	at := func(path string, do func(http.ResponseWriter)) func(*oci) {
		return func(r *oci) {
			r.answer = func(w http.ResponseWriter, req *http.Request) bool {
				if !strings.Contains(req.URL.Path, path) {
					return false
				}
				do(w)
				return true
			}
		}
	}
	challenge := func(realm string) func(*oci) {
		return at("/manifests/", func(w http.ResponseWriter) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+realm+`",service="s"`)
			w.WriteHeader(http.StatusUnauthorized)
		})
	}
	changed := func(text string) func(*oci) { return func(r *oci) { r.manifest = []byte(text) } }
	other := bytes.Clone(good)
	other[len(other)/2] ^= 1
	for name, tt := range map[string]struct {
		change func(*oci)
		reason string
		want   string
	}{
		"another blob":       {at("/blobs/", func(w http.ResponseWriter) { _, _ = w.Write(other) }), "checksum_mismatch", "wanted SHA-256 " + digestOf(good)},
		"a longer blob":      {at("/blobs/", func(w http.ResponseWriter) { _, _ = w.Write(append(bytes.Clone(good), 'x')) }), "archive_unreachable", "mismatch Content-Length"},
		"a blob without end": {at("/blobs/", func(w http.ResponseWriter) { w.(http.Flusher).Flush(); _, _ = w.Write(append(bytes.Clone(good), 'x')) }), "checksum_mismatch", "wanted SHA-256"},
		"no blob":            {at("/blobs/", func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }), "archive_not_found", "has no acme/judge"},
		"a blob elsewhere": {at("/blobs/", func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://192.0.2.1/x")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}), "redirect_refused", "http://192.0.2.1"},
		"a blob of a file": {at("/blobs/", func(w http.ResponseWriter) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		}), "redirect_refused", "file://"},
		"another manifest": {at("/manifests/", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			w.Header().Set("Docker-Content-Digest", "sha256:"+digestOf(good))
			_, _ = w.Write(manifestOf(digestOf(good), len(good)))
		}), "checksum_mismatch", "something else than it names"},
		"no manifest": {at("/manifests/", func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }), "archive_not_found", "acme/judge:1.2.3"},
		"a login": {at("/manifests/", func(w http.ResponseWriter) {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}), "registry_denied", "without a login"},
		"forbidden":                 {at("/manifests/", func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) }), "registry_denied", "without a login"},
		"a token service of http":   {challenge("http://192.0.2.1/token"), "redirect_refused", "http://192.0.2.1"},
		"a token service of a file": {challenge("file:///etc/passwd"), "archive_unreachable", "unsupported scheme"},
		"a refused token":           {func(r *oci) { challenge("http://" + r.host + "/manifests/token")(r) }, "registry_denied", "without a login"},
		"an error":                  {at("/manifests/", func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }), "archive_unreachable", "502"},
		"a manifest without end":    {changed(strings.Repeat(" ", 1<<20)), "archive_invalid", "its manifest is too large"},
		"no JSON":                   {changed("x"), "archive_invalid", "is no artifact with a plugin"},
		"no layer":                  {changed(`{"layers": []}`), "archive_invalid", "one layer"},
		"two layers":                {changed(`{"layers": [{}, {}]}`), "archive_invalid", "one layer"},
		"an index":                  {changed(`{"manifests": [{}]}`), "archive_invalid", "one layer"},
		"a layer without a digest":  {changed(`{"layers": [{"size": 3}]}`), "archive_invalid", "no SHA-256"},
		"a digest of another kind":  {changed(`{"layers": [{"size": 3, "digest": "sha512:` + strings.Repeat("a", 128) + `"}]}`), "archive_invalid", "no SHA-256"},
		"a digest that climbs":      {changed(`{"layers": [{"size": 3, "digest": "sha256:../../x"}]}`), "archive_invalid", "no SHA-256"},
		"a large layer":             {changed(string(manifestOf(digestOf(good), 1<<40))), "package_too_large", "has more than"},
		"a layer that is no plugin": {func(r *oci) { r.blob = []byte("x"); r.manifest = manifestOf(digestOf(r.blob), 1) }, "archive_invalid", "no whole .tar.gz"},
	} {
		t.Run(name, func(t *testing.T) {
			w := judge(t)
			r := newRegistry(t, good)
			tt.change(r)
			_, err := install.Add(t.Context(), "oci://"+r.host+"/acme/judge:1.2.3", w.options)
			if sdk.ReasonOf(err) != tt.reason || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v (%s), asked %v", err, sdk.ReasonOf(err), r.asked)
			}
			w.nothingLeft()
		})
	}
}
