package surfaces

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// server is the built program as a server, in a process of its own.
type server struct {
	t    testing.TB
	data string
	cmd  *exec.Cmd
	at   struct {
		Listen, Socket string
		Token          string `json:"token_file"`
	}
	errs bytes.Buffer
}

// program is the built program, which make test-surfaces makes before.
func program(t testing.TB) string {
	t.Helper()
	path := os.Getenv("REFLECTORY_PROGRAM")
	if path == "" {
		path = "../../bin/reflectory"
	}
	path, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("make build first: %v", err)
	}
	return path
}

// start serves a data folder. listen is an address; "" is a free one.
func start(t testing.TB, data, listen string) *server {
	t.Helper()
	s, err := tryStart(t, data, listen)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tryStart is start, with the reason why it can't be.
func tryStart(t testing.TB, data, listen string) (*server, error) {
	t.Helper()
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	s := &server{t: t, data: data}
	s.cmd = exec.Command(program(t), "serve", "--json", "--listen", listen, "--log-level", "error")
	s.cmd.Env = environment(data)
	s.cmd.Stderr = &s.errs
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
	said := bufio.NewReader(out)
	line, err := said.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &s.at) != nil || s.at.Listen == "" {
		rest, _ := io.ReadAll(said) // an error, up to the program's end
		_ = s.cmd.Wait()
		return nil, fmt.Errorf("it doesn't serve: %s%s%s", line, rest, s.errs.String())
	}
	return s, nil
}

func environment(data string) []string {
	return []string{"HOME=" + data, "REFLECTORY_DATA_DIR=" + data, "PATH=" + os.Getenv("PATH")}
}

// stop asks the server to end, and checks that it does.
func (s *server) stop() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("it ends with %v: %s", err, s.errs.String())
	}
}

// kill ends it at once, whatever it is at.
func (s *server) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	_ = s.cmd.Wait() // it was killed
}

// client is a caller with a token.
type client struct {
	base, token string
	http        *http.Client
}

// operator is the caller who has the operator's token.
func (s *server) operator() *client {
	s.t.Helper()
	token, err := os.ReadFile(s.at.Token)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.client(strings.TrimSpace(string(token)))
}

func (s *server) client(token string) *client {
	return &client{"http://" + s.at.Listen, token, &http.Client{Timeout: 30 * time.Second}}
}

// answer is how a request was answered.
type answer struct {
	Status int
	Body   []byte
	Header http.Header
}

// code is a problem's; "" is none.
func (a answer) code() string {
	var p struct{ Code string }
	if a.Status < 400 || json.Unmarshal(a.Body, &p) != nil {
		return ""
	}
	return p.Code
}

// do makes a request; a body that isn't nil is sent as JSON, which it may be already. An error is
// of the connection.
func (c *client) do(method, path string, body any) (answer, error) {
	var in io.Reader
	if text, is := body.(json.RawMessage); is {
		in = bytes.NewReader(text)
	} else if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		in = bytes.NewReader(text)
	}
	r, err := http.NewRequest(method, c.base+path, in)
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }() // all of it is read
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, text, resp.Header}, err
}

// must is do for what has to succeed.
func (c *client) must(t testing.TB, method, path string, body any) answer {
	t.Helper()
	a, err := c.do(method, path, body)
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("%s %s: %d %s %v", method, path, a.Status, a.Body, err)
	}
	return a
}

// command runs a command on a data folder.
func command(t testing.TB, data string, args ...string) (string, error) {
	t.Helper()
	c := exec.Command(program(t), args...)
	c.Env = environment(data)
	out, err := c.CombinedOutput()
	return string(out), err
}

// freePort is a port that nothing listens on.
func freePort(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}
