package peers

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A call of a plugin step: 1 KB goes in, 200 B come out.
const (
	askBytes    = 1024
	answerBytes = 200
)

// echoEnv holds the socket that this binary, started as the other process,
// answers on.
const echoEnv = "REFLECTORY_PEERS_SOCKET"

func TestMain(m *testing.M) {
	if path := os.Getenv(echoEnv); path != "" {
		if err := answer(path); err != nil {
			fmt.Fprintln(os.Stderr, "socket echo:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// answer is the other process: it answers each frame until the peer hangs up.
func answer(path string) error {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	defer conn.Close()
	in, frame, reply := bufio.NewReader(conn), make([]byte, askBytes), newFrame(answerBytes)
	for {
		if err := readFrame(in, frame); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		reply[4] = frame[0]
		if _, err := conn.Write(reply); err != nil {
			return err
		}
	}
}

// socket calls the other process over a bare unix socket with length-prefixed
// frames: no plugin step can be faster than this.
type socket struct {
	conn       net.Conn
	in         *bufio.Reader
	ask, reply []byte
}

func newSocket(t *testing.T) *socket {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	other := exec.Command(os.Args[0])
	other.Env, other.Stderr = append(os.Environ(), echoEnv+"="+path), os.Stderr
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Wait(); err != nil {
			t.Errorf("the other process: %v", err)
		}
	})
	// The process only has to start: 10 s is a hang.
	if err := listener.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	conn, err := listener.Accept()
	if err != nil {
		_ = other.Process.Kill()
		t.Fatalf("the other process didn't call: %v", err)
	}
	t.Cleanup(func() { conn.Close() })
	return &socket{conn: conn, in: bufio.NewReader(conn), ask: newFrame(askBytes), reply: make([]byte, answerBytes)}
}

// calls is a turn of n calls.
func (s *socket) calls(_ context.Context, n int) (time.Duration, error) {
	began := time.Now()
	for range n {
		if err := s.call(); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// call makes one call and checks that its answer is the one to it.
func (s *socket) call() error {
	s.ask[4]++
	if _, err := s.conn.Write(s.ask); err != nil {
		return err
	}
	if err := readFrame(s.in, s.reply); err != nil {
		return err
	}
	if s.reply[0] != s.ask[4] {
		return fmt.Errorf("answer %d to call %d", s.reply[0], s.ask[4])
	}
	return nil
}

func newFrame(size int) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(size)), make([]byte, size)...)
}

// readFrame fills body with the next frame, whose size must be body's.
func readFrame(in io.Reader, body []byte) error {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return err
	}
	if size := binary.BigEndian.Uint32(head[:]); int(size) != len(body) {
		return fmt.Errorf("a frame of %d bytes, want %d", size, len(body))
	}
	_, err := io.ReadFull(in, body)
	return err
}
