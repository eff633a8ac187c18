package host

import (
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/host/config"
)

// Embeddings go through the environment's proxy, to a name that only the proxy knows, whose
// certificate an own authority signed.
func TestEmbedder_ThroughTheHostsNetwork(t *testing.T) {
	endpoint := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[3,4]}]}`)
	}))
	t.Cleanup(endpoint.Close)
	asked := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host
		out, err := net.Dial("tcp", endpoint.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer out.Close()
		w.WriteHeader(http.StatusOK)
		in, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer in.Close()
		go func() { _, _ = io.Copy(out, buffered); _ = out.Close() }()
		_, _ = io.Copy(in, out)
	}))
	t.Cleanup(proxy.Close)
	dir := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: endpoint.Certificate().Raw})
	for name, text := range map[string]string{
		"ca.pem":          string(ca),
		"reflectory.yaml": "settings: {llm: {ca: ca.pem}, embeddings: {model: m, base_url: \"https://example.com/v1\"}}\n", // whose name the certificate has
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"HTTPS_PROXY": strings.Replace(proxy.URL, "http://", "http://me:s3cret@", 1)}
	settings, err := config.Load(config.Sources{Folder: dir, Getenv: func(name string) string { return env[name] }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(settings.Network().Transport().CloseIdleConnections)
	c := &Config{Settings: settings, Getenv: func(string) string { return "" }, Notices: func(n Notice) { t.Errorf("%+v", n) }}
	e, err := c.embedder()
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := e.Embed(t.Context(), []string{"a"})
	if err != nil || len(vectors) != 1 || len(vectors[0]) != 2 {
		t.Fatalf("%v, %v", vectors, err)
	}
	if got := <-asked; got != "CONNECT example.com:443" {
		t.Errorf("the proxy was asked %s", got)
	}
}
