package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAgent_LearnsOverSessions has the agent work with the built program: its second session
// is better than its first, the program explains by which memory, and the prefix that a
// provider would cache stays in nearly all turns.
func TestAgent_LearnsOverSessions(t *testing.T) {
	program, url, token := served(t)
	secret, err := os.ReadFile(token)
	if err != nil {
		t.Fatal(err)
	}
	a := agent{url: url, token: strings.TrimSpace(string(secret)), namespace: "examples/parcels"}
	var out bytes.Buffer
	if err := a.work(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	var solved, reused [2]int
	var snapshots [2]string
	for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		_, rest, _ := strings.Cut(line, ": ")
		if _, err := fmt.Sscanf(rest, "%d of 25 parcels right, prefix reused in %d turns, last snapshot %s", &solved[i], &reused[i], &snapshots[i]); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	if solved[0] != turnsOfSession-len(shelves) || solved[1] != turnsOfSession {
		t.Errorf("the sessions had %v parcels right", solved)
	}
	if reused[0]+reused[1] < 45 {
		t.Errorf("the prefix was reused in %v turns", reused)
	}
	shown, err := program("inject", "show", snapshots[1], "--json")
	if err != nil || !strings.Contains(shown, "For seedlings, say greenhouse.") || !strings.Contains(shown, "memory_id") {
		t.Errorf("inject show says, %v:\n%s", err, shown)
	}
}

// served builds the program and starts a server. The function runs another command on its
// data folder.
func served(t *testing.T) (program func(args ...string) (string, error), url, token string) {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "reflectory")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/host").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data := filepath.Join(dir, "data")
	server := exec.CommandContext(t.Context(), binary, "serve", "--json", "--listen", "127.0.0.1:0", "--data-dir", data)
	server.Cancel = func() error { return server.Process.Signal(os.Interrupt) }
	server.Stderr = os.Stderr
	lines, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Wait() }) // the test's context has ended by then
	line, err := bufio.NewReader(lines).ReadBytes('\n')
	var at struct {
		URL   string `json:"url"`
		Token string `json:"token_file"`
	}
	if err != nil || json.Unmarshal(line, &at) != nil {
		t.Fatalf("the server says %q, %v", line, err)
	}
	return func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), binary, append(args, "--data-dir", data)...).CombinedOutput()
		return string(out), err
	}, at.URL, at.Token
}
