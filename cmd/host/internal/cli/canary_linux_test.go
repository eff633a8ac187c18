package cli

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// canary is a token whose secret must be nowhere.
type canary struct {
	t      *testing.T
	token  string
	secret string // its digits
}

func newCanary(t *testing.T, token string) *canary {
	t.Helper()
	parts := strings.Split(token, "_")
	if len(parts) != 3 || len(parts[2]) != 64 {
		t.Fatal("that is no token")
	}
	return &canary{t, token, parts[2]}
}

// absent fails if a text has the secret, as hexadecimal digits or as bytes. A part of the
// secret is enough, because compression may have cut it into pieces.
func (c *canary) absent(where string, text []byte) {
	c.t.Helper()
	raw, err := hex.DecodeString(c.secret)
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i+16 <= len(c.secret); i += 8 {
		if bytes.Contains(bytes.ToLower(text), []byte(c.secret[i:i+16])) {
			c.t.Errorf("%s has the secret", where)
			return
		}
	}
	for i := 0; i+8 <= len(raw); i += 4 {
		if bytes.Contains(text, raw[i:i+8]) {
			c.t.Errorf("%s has the secret's bytes", where)
			return
		}
	}
}

// TestToken_ItsSecretIsNowhere: whatever a client does with the token, its secret is neither in a
// log of the lowest level nor in an answer, the journal, a file of the data folder or the list of
// processes. Only the store has its SHA-256.
func TestToken_ItsSecretIsNowhere(t *testing.T) {
	w := newKillWorld(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	server := exec.Command(w.self, "serve", "--json", "--listen", "127.0.0.1:0", "--log-level", "trace")
	server.Env, server.Dir, server.Stderr, server.SysProcAttr = w.env, w.dir, log, &syscall.SysProcAttr{Setsid: true}
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	var at served
	if line, err := bufio.NewReader(out).ReadBytes('\n'); err != nil || json.Unmarshal(line, &at) != nil {
		t.Fatalf("%q: %v", line, err)
	}
	var made struct{ ID, Token string }
	if code := w.json(&made, "token", "new", "ci", "--scope", "memory:read", "--scope", "memory:write", "--scope", "operate", "--namespace", "team/**"); code != exitPassed {
		t.Fatalf("exit %d", code)
	}
	c := newCanary(t, made.Token)
	misuse(t, c, at)
	w.env = append(w.env, "REFLECTORY_TOKEN="+c.token)
	for _, line := range []string{"memory list --namespace team/a", "memory list --namespace elsewhere", "memory list --namespace team/a --page-token x", "token list"} {
		cmd := exec.Command(w.self, append(strings.Fields(line), "--server", at.URL, "--log-level", "trace")...)
		cmd.Env, cmd.Dir = w.env, w.dir
		text, _ := cmd.CombinedOutput()
		c.absent(line, text)
	}
	for _, pid := range session(t, server.Process.Pid) {
		if line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")); err == nil {
			c.absent("the command line of a process", line)
		}
	}
	for _, line := range []string{"audit show access", "token list", "decisions list", "store export -"} {
		cmd, text := w.start(strings.Fields(line)...)
		_ = cmd.Wait()
		c.absent(line, text.Bytes())
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("stopped: %v", err)
	}
	text, err := os.ReadFile(log.Name())
	if err != nil || !bytes.Contains(text, []byte("subject=ci")) {
		t.Errorf("the log has nothing of the requests: %v", err)
	}
	c.absent("the log", text)
	c.absentInFolder(filepath.Join(w.dir, "data"))
}

// misuse sends the token where it belongs and where it doesn't, and looks at the answers.
func misuse(t *testing.T, c *canary, at served) {
	t.Helper()
	ask := func(method, path, body string, headers ...string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, at.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		own := &http.Transport{DisableKeepAlives: true}
		a, err := own.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = a.Body.Close() }()
		text, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		if a.Header.Del("Set-Cookie"); a.StatusCode >= 500 {
			t.Errorf("%s %s: %d", method, path, a.StatusCode)
		}
		c.absent(method+" "+strings.ReplaceAll(path, c.token, "TOKEN")+" "+strings.ReplaceAll(body, c.token, "TOKEN")+": the answer", text)
		for _, values := range a.Header {
			c.absent("a header of an answer", []byte(strings.Join(values, "\n")))
		}
	}
	bearer, as := "Bearer "+c.token, "Authorization"
	form := url.Values{"token": {c.token}}.Encode()
	ask("GET", "/v1/memories?namespace=team/a", "", as, bearer)
	ask("GET", "/v1/memories?namespace=elsewhere", "", as, bearer)
	ask("GET", "/v1/memories?namespace="+c.token, "", as, bearer)
	ask("GET", "/v1/memories?namespace=team/a&page_token="+c.token, "", as, bearer)
	ask("GET", "/v1/memories/"+c.token, "", as, bearer)
	ask("GET", "/v1/"+c.token, "", as, bearer)
	ask("GET", "/v1/memories?namespace=team/a&"+c.token+"=1", "", as, bearer)
	ask("GET", "/v1/memories", "", as, bearer+"x")
	ask("GET", "/v1/memories", "", as, c.token)
	ask("GET", "/v1/memories?token="+c.token, "")
	ask("GET", "/login?link="+c.token, "")
	ask("POST", "/login", form, "Content-Type", "application/x-www-form-urlencoded")
	ask("POST", "/login", form, "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "cross-site")
	ask("GET", "/", "", "Cookie", "reflectory="+c.token)
	ask("POST", "/v1/tokens/"+c.token+"/revoke", "", as, bearer)
	ask("POST", "/v1/tokens", `{"subject": 7, "`+c.token+`": 1}`, as, bearer, "Content-Type", "application/json")
	ask("POST", "/v1/memories", `{"namespace": "team/a", "kind": "`+c.token+`", "content": 7}`, as, bearer, "Content-Type", "application/json")
	ask("GET", "/v1/events?namespace=team/a", "", as, bearer, "Last-Event-ID", c.token)
	ask("GET", "/v1/memories?namespace=team/a", "", as, bearer, "Host", c.token, "If-None-Match", c.token, "Traceparent", c.token)
}

// absentInFolder looks for the secret in all files, and for its digest in one of them.
func (c *canary) absentInFolder(folder string) {
	c.t.Helper()
	raw, err := hex.DecodeString(c.secret)
	if err != nil {
		c.t.Fatal(err)
	}
	sum := sha256.Sum256(raw)
	digest, found := []byte(hex.EncodeToString(sum[:])), false
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		c.absent(path, text)
		found = found || bytes.Contains(text, digest)
		return nil
	})
	if err != nil || !found {
		c.t.Errorf("the store has not even the digest: %v", err)
	}
}
