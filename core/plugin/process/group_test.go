//go:build linux

package process_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// childOf is the id of the child that works in a folder. A plugin of several
// processes may count from 1 and doesn't know its own.
func childOf(t *testing.T, parent int, dir string) int {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if at, err := os.Readlink(path); err != nil || !strings.HasPrefix(at, dir) {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		stat, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 2 && fields[1] == strconv.Itoa(parent) {
			return pid
		}
	}
	t.Fatalf("no process works in %s", dir)
	return 0
}

// group lists the processes of a process group that haven't ended.
func group(t *testing.T, pgid int) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it ended meanwhile
		}
		// pid (name) state ppid pgrp …, and the name may hold anything.
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if len(fields) > 2 && fields[0] != "Z" && fields[2] == strconv.Itoa(pgid) {
			found = append(found, e.Name())
		}
	}
	return found
}

// wantNoGroup waits until a killed group is out of the process table.
func wantNoGroup(t *testing.T, pgid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		left := group(t, pgid)
		if len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("processes left of group %d: %v", pgid, left)
		}
	}
}
