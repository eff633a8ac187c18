package cli

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
)

// brokenDatabase listens as a database server that answers each connection with the bytes of
// answer, and returns its address. nil closes it at once.
func brokenDatabase(t *testing.T, answer func(c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if answer != nil {
				answer(c)
			}
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// startup reads a client's first message.
func startup(c net.Conn) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err == nil {
		_, _ = io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head[:]))-4)
	}
}

// refusing answers a login with an error of PostgreSQL's protocol.
func refusing(state, message string) func(net.Conn) {
	return func(c net.Conn) {
		startup(c)
		fields := "SFATAL\x00VFATAL\x00C" + state + "\x00M" + message + "\x00\x00"
		_, _ = c.Write(append(binary.BigEndian.AppendUint32([]byte{'E'}, uint32(len(fields)+4)), fields...))
	}
}

// A database that can't be used is a fault of the database, whatever the command: no policy
// refused anything, and the exit code isn't the one of a refusal.
func TestDatabaseFaults_AreNoRefusals(t *testing.T) {
	closed := brokenDatabase(t, nil)
	for name, c := range map[string]struct{ at, options, want string }{
		"down":              {"127.0.0.1:1", "", "can't be reached"},
		"no TLS":            {brokenDatabase(t, func(c net.Conn) { startup(c); _, _ = c.Write([]byte{'N'}) }), "?sslmode=require", "no TLS connection"},
		"garbage as TLS":    {brokenDatabase(t, func(c net.Conn) { startup(c); _, _ = c.Write([]byte("Shello, this is no handshake")) }), "?sslmode=require", "no TLS connection"},
		"password":          {brokenDatabase(t, refusing("28P01", `password authentication failed for user "ada"`)), "?sslmode=disable", "refuses the login"},
		"no entry of it":    {brokenDatabase(t, refusing("28000", `no pg_hba.conf entry for host`)), "?sslmode=disable", "refuses the login"},
		"missing":           {brokenDatabase(t, refusing("3D000", `database "x" does not exist`)), "?sslmode=disable", "doesn't exist"},
		"too many":          {brokenDatabase(t, refusing("53300", "sorry, too many clients already")), "?sslmode=disable", "too many clients"},
		"starting":          {brokenDatabase(t, refusing("57P03", "the database system is starting up")), "?sslmode=disable", "starting up"},
		"closes at once":    {closed, "?sslmode=disable", "can't be reached"},
		"another server":    {brokenDatabase(t, func(c net.Conn) { startup(c); _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }), "?sslmode=disable", "the database"},
		"lacks a privilege": {brokenDatabase(t, refusing("42501", "permission denied for database x")), "?sslmode=disable", "lacks a permission"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPlainWorld(t)
			for _, line := range []string{"status", "memory list", "memory observe --content x", "runs list", "governance get team", "decisions list", "jobs list"} {
				args := append(strings.Fields(line), "--store", "postgres://ada@"+c.at+"/x"+c.options, "--store-wait", "1ms")
				code, stdout, stderr := w.fed(t.Context(), "", args...)
				if code != exitFailure || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "hint: ") || strings.Contains(stderr, "policy") {
					t.Errorf("%s: exit %d, want 1 and %q\n%s%s", line, code, c.want, stdout, stderr)
				}
			}
		})
	}
}
