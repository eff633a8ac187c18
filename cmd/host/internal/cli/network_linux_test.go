//go:build linux

package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

// withoutProxy is the variable that leaves out HTTPS_PROXY.
const withoutProxy = "REFLECTORY_TEST_WITHOUT_PROXY"

// corner is a program that runs another one in a network that has nothing but a proxy, behind which is an
// endpoint with an authority of its own: corner PEM-FILE PROGRAM ARGS… It writes the authority to the file, and
// gives the program HTTPS_PROXY.
var corners = map[string]func(){"corner": func() {
	code, err := inCorner(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "corner:", err)
		code = 99
	}
	os.Exit(code)
}}

func inCorner(authority string, args []string) (code int, err error) {
	if err := loopbackUp(); err != nil {
		return 0, err
	}
	endpoint := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		kind, body := llmtest.Text("from behind the proxy").Written(llmtest.PathChat, "m", false)
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	}))
	endpoint.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	endpoint.Config.ErrorLog = log.New(io.Discard, "", 0) // a handshake fails where the authority isn't trusted
	endpoint.StartTLS()
	defer endpoint.Close()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: endpoint.Certificate().Raw})
	if err := os.WriteFile(authority, certificate, 0o600); err != nil {
		return 0, err
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != "example.com:443" { // the name that the certificate has
			w.WriteHeader(http.StatusForbidden)
			return
		}
		join(w, endpoint.Listener.Addr().String())
	}))
	defer proxy.Close()
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	if os.Getenv(withoutProxy) == "" {
		cmd.Env = append(cmd.Env, "HTTPS_PROXY="+proxy.URL)
	}
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

// join connects a client of the proxy with an address.
func join(w http.ResponseWriter, address string) {
	out, err := net.Dial("tcp", address)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer out.Close()
	w.WriteHeader(http.StatusOK)
	in, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer in.Close()
	go func() { _, _ = io.Copy(out, buffered); _ = out.Close() }()
	_, _ = io.Copy(in, out)
}

// loopbackUp turns on the loopback of a network that was just made.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// inCorner runs the program in a network of its own.
func (w *killWorld) inCorner(env []string, args ...string) (code int, out, errs string) {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(w.t.Context(), filepath.Join(programs, "corner"), append([]string{filepath.Join(w.dir, "authority.pem"), w.self}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = append(w.env, env...), w.dir, &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if id := os.Geteuid(); id != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	if err := cmd.Run(); errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) {
		w.t.Skipf("this system lets this user make no network namespace: %v", err)
	}
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == 99 {
		w.t.Fatalf("no corner: %s", &stderr)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// TestNetwork_BehindAProxyWithAnOwnAuthority: in a network that has nothing but a proxy, a model behind it answers if
// the environment names the proxy and the authority. Without one of them, one line says what is missing.
func TestNetwork_BehindAProxyWithAnOwnAuthority(t *testing.T) {
	w := newKillWorld(t)
	authority := "SSL_CERT_FILE=" + filepath.Join(w.dir, "authority.pem")
	w.env = append(w.env, "REFLECTORY_LLM_ENDPOINTS=example.com:443", "MODEL_KEY=sk-of-the-corner-0123456789")
	w.workflow("settings: {llm: {provider: openai, api_key_env: MODEL_KEY, model: m, base_url: \"https://example.com/v1\"}}\nnodes: [{name: n, action: llm.call, with: {prompt: p}}]\n")
	for name, c := range map[string]struct {
		env  []string
		code int
		says []string
	}{
		"with both": {[]string{authority}, exitPassed, []string{"from behind the proxy"}},
		"without the proxy": {[]string{authority, withoutProxy + "=1"}, exitFailure, []string{
			"error: node n: generate with reflectory/llm-eval: https://example.com/v1 gave no reply after 1 try: example.com:443 could not be reached: ", "HTTPS_PROXY",
		}},
		"without the authority": {nil, exitFailure, []string{
			"error: node n: generate with reflectory/llm-eval: https://example.com/v1: tls: failed to verify certificate: x509: certificate signed by unknown authority\n", "SSL_CERT_FILE",
		}},
	} {
		code, out, errs := w.inCorner(c.env, "run", "workflow.yaml")
		if code != c.code || strings.Count(errs, "error: ") != code/exitFailure {
			t.Errorf("%s: exit %d", name, code)
		}
		wantIn(t, out+errs, c.says...)
	}
}
