package cli

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/coretest"
)

// argumentList is a command line, and the exit code that it must have.
type argumentList struct {
	args []string
	code int
}

// oddLists are what a first-time user or a script types by accident.
func oddLists() []argumentList {
	large := strings.Repeat("x", 1<<20)
	var lists []argumentList
	add := func(code int, all ...[]string) {
		for _, args := range all {
			lists = append(lists, argumentList{args, code})
		}
	}
	add(exitPassed, nil, []string{"help"}, []string{"--help"}, []string{"-h"}, []string{"--"}, []string{"--json"},
		[]string{"--version"}, []string{"-v"}, []string{"help", "help"}, []string{"help", "run"}, []string{"help", "memory", "observe"},
		[]string{"-h", "-v"}, []string{"--help", "--json"}, []string{"help", "flags"}, []string{"completion", "bash"}, []string{"version"},
		[]string{"--data-dir", "x"}, []string{"__complete", ""}, []string{"__complete", "memory", ""})
	add(exitUsage, []string{""}, []string{"-"}, []string{"--", ""}, []string{"--", "run"}, []string{" "}, []string{"\n"}, []string{"\x00"}, []string{"ru\x00n"},
		[]string{"\xff\xfe"}, []string{"run\xff"}, []string{"--\xff"}, []string{"-\xff"}, []string{"\ufeffrun"}, []string{"\u202erun"}, []string{large}, []string{"--" + large},
		[]string{"-" + large}, []string{"---"}, []string{"--="}, []string{"-="}, []string{"="}, []string{"-1"}, []string{"--1"}, []string{"?"}, []string{"/?"}, []string{"-?"},
		[]string{"-help"}, []string{"--hlep"}, []string{"--help=maybe"}, []string{"--json=maybe"}, []string{"RUN"}, []string{"runn"}, []string{"'run'"},
		[]string{"", "--help"}, []string{"-", "--help"}, []string{"--help", ""}, []string{"nosuch"}, []string{"nosuch", "--help"}, []string{"--help", "nosuch"},
		[]string{"-h", "nosuch"}, []string{"nosuch", "nosuch"}, []string{"nosuch", "--nosuch"}, []string{"--nosuch"}, []string{"--nosuch", "--help"}, []string{"help", "nosuch"},
		[]string{"help", ""}, []string{"help", "-"}, []string{"help", "run", "nosuch"}, []string{"help", "memory", ""}, []string{"help", large}, []string{"--json", "nosuch"},
		[]string{"nosuch", "--json"}, []string{"--data-dir"}, []string{"--data-dir", "x", "nosuch"}, []string{"memory", "--data-dir"},
		[]string{"memory", large}, []string{"memory", "list", large}, []string{"memory", "observe", "--priority", large}, []string{"evaluate", ""}, []string{"completion", "tcsh"}, []string{"completion", ""})
	add(exitFailure, []string{"run", ""}, []string{"run", "nosuch.yaml"}, []string{"resume", ""}, []string{"runs", "show", ""}, []string{"memory", "get", ""})
	return lists
}

// commandLists are the lists that each command must answer.
func commandLists(c *cobra.Command) []argumentList {
	path := strings.Fields(c.CommandPath())[1:]
	list := func(code int, more ...string) argumentList {
		return argumentList{append(path[:len(path):len(path)], more...), code}
	}
	lists := []argumentList{list(exitPassed, "--help"), list(exitUsage, "--nosuch")}
	if c.HasSubCommands() {
		lists = append(lists, list(exitPassed), list(exitUsage, ""), list(exitUsage, "nosuch"), list(exitUsage, "nosuch", "--help"),
			list(exitUsage, "--help", "nosuch"), list(exitUsage, "--", "nosuch"))
	} else if needed, _, _ := strings.Cut(c.Use, "["); strings.ContainsFunc(strings.TrimPrefix(needed, c.Name()), func(r rune) bool { return 'A' <= r && r <= 'Z' }) {
		lists = append(lists, list(exitUsage))
	}
	for _, child := range c.Commands() {
		lists = append(lists, commandLists(child)...)
	}
	return lists
}

// Whatever is typed, there is no panic: the exit code is that of a usage error or of what the
// line asks for, and an error has a hint.
func TestArgumentLists(t *testing.T) {
	w := newPlainWorld(t)
	lists := oddLists()
	for _, c := range (&App{Getenv: func(string) string { return "" }}).root().Commands() {
		if c.Runnable() && c.Name() != "hook" { // which never fails: nothing of it may reach a conversation
			lists = append(lists, commandLists(c)...)
		}
	}
	if len(lists) < 300 {
		t.Errorf("only %d lists are tried", len(lists))
	}
	for _, l := range lists {
		code, stdout, stderr := w.fed(t.Context(), "", l.args...)
		said := stdout + stderr
		if code != l.code || code == 0 && stdout == "" || code != 0 && !strings.Contains(said, "hint") {
			t.Errorf("%.200q: exit %d, want %d\n%.500s", l.args, code, l.code, said)
		}
		if len(stderr) > 4<<10 {
			t.Errorf("%.200q: the error has %d bytes", l.args, len(stderr))
		}
	}
}

// The same of the program itself, as a process: what its arguments can hold on this system.
func TestArgumentLists_Program(t *testing.T) {
	coretest.Long(t)
	w := newPlainWorld(t)
	for _, l := range oddLists() {
		if long := strings.Join(l.args, " "); strings.Contains(long, "\x00") || len(long) > 100_000 {
			continue // no process can be started with it
		}
		c := exec.CommandContext(t.Context(), filepath.Join(programs, "reflectory"), l.args...)
		c.Dir, c.Env = w.dir, []string{"HOME=" + w.dir, "REFLECTORY_DATA_DIR=" + w.env["REFLECTORY_DATA_DIR"]}
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		err := c.Run()
		if code := c.ProcessState.ExitCode(); code != l.code || strings.Contains(out.String(), "goroutine ") {
			t.Errorf("%.200q: exit %d, want %d (%v)\n%.500s", l.args, code, l.code, err, out.String())
		}
	}
}
