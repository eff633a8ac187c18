package coretest_test

import (
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/coretest"
)

func TestMain(m *testing.M) { os.Exit(coretest.WithPlain(m).Run()) }

func TestPlain_HasNoRaceDetector(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	if raced() {
		t.Error("it runs with the race detector")
	}
}

// brokenEnv makes TestPlain_FailsHereIfItFailsThere fail in the program that it starts.
const brokenEnv = "REFLECTORY_TEST_BROKEN"

func TestPlain_FailsHereIfItFailsThere(t *testing.T) {
	if os.Getenv(brokenEnv) != "" {
		if !coretest.Plain(t) {
			t.Error("broken")
		}
		return
	}
	broken := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	dir := t.TempDir()
	broken.Env = append(os.Environ(), brokenEnv+"=1", "TMPDIR="+dir)
	if out, err := broken.CombinedOutput(); err == nil || !strings.Contains(string(out), "broken") {
		t.Errorf("%v: %s", err, out)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind: %v", left, err)
	}
}

// TestRest_RunsTheOthers gives [coretest.Rest] one test that passes, one that fails, and none.
func TestRest_RunsTheOthers(t *testing.T) {
	coretest.Long(t)
	if concurrent := os.Getenv(brokenEnv); concurrent != "" {
		coretest.Rest(t, concurrent)
		return
	}
	if !raced() {
		t.Skip("without the race detector it has nothing to do")
	}
	for concurrent, says := range map[string]string{
		"^Test([^C]|Clock[^S])":   "PASS", // all but TestClockStandsUntilMoved
		"^Test([^P]|Plain_Has)":   "without the race detector: exit status 1",
		"^(Test|Benchmark|Fuzz).": "no tests to run",
	} {
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		command.Env = append(os.Environ(), brokenEnv+"="+concurrent)
		out, err := command.CombinedOutput()
		if (err == nil) != (says == "PASS") || !strings.Contains(string(out), says) {
			t.Errorf("%s: %v: %s", concurrent, err, out)
		}
	}
}

// raced is whether this program has the race detector.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func TestClockStandsUntilMoved(t *testing.T) {
	var clock coretest.Clock
	if got := clock.Now(); !got.Equal(coretest.Epoch()) {
		t.Errorf("a new clock shows %v", got)
	}
	clock.Advance(time.Minute)
	clock.Advance(time.Second)
	if got, want := clock.Now(), coretest.Epoch().Add(61*time.Second); !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestIDsCountAndSort(t *testing.T) {
	var ids coretest.IDs
	first, second := ids.NewID(), ids.NewID()
	if first != "00000000-0000-7000-8000-000000000001" || second <= first {
		t.Errorf("got %s, then %s", first, second)
	}
}
