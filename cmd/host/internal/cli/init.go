package cli

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/scaffold"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/sdk"
)

func initCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "init [DIR]", Short: "Create a project that works offline",
		Long: `Create a project: write a workflow, settings, a plugin and all other files that the
examples in the help use into a new folder DIR, or into the current folder, and a few
runs and memories into its data folder. The examples in the help work there, except a
few that need a server, a shared database, or an id or a file of your own. Existing
files aren't overwritten.`,
		Example: "  reflectory init hello",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return beginProject(c.Context(), a, append(args, "")[0])
		},
	}
}

func beginProject(ctx context.Context, a *App, dir string) error {
	files, err := scaffold.Begin(dir)
	if err != nil {
		return err
	}
	a.out.term.Status("running the examples …")
	skipped := liveSamples(ctx, a, dir)
	if err := ctx.Err(); err != nil {
		return err
	}
	if a.out.json {
		return a.out.printJSON(map[string]any{"dir": filepath.Clean(dir), "files": files, "samples": skipped == nil})
	}
	for _, name := range files {
		fmt.Fprintln(a.out.Stdout, filepath.Join(dir, filepath.FromSlash(name)))
	}
	if skipped != nil {
		a.out.term.Line("no sample run was made: %v", skipped)
	}
	if dir != "" {
		a.out.term.Line("next: cd %s", dir)
	}
	a.out.term.Line("next: reflectory run workflow.yaml")
	return nil
}

// sample is a command line whose results the help's examples name. The ids of the first
// sample begin with 01939f2c, and each next sample's prefix is one higher, so that a
// prefix names exactly one thing.
type sample struct {
	line string
	// cancelled is whether the run is cancelled after its first attempt, so that it can
	// be resumed.
	cancelled bool
	// waits is whether memories that are due for the gate are left waiting for gate run.
	waits bool
}

// samples create the things that the help's examples name.
func samples() []sample {
	return []sample{
		{line: "run workflow.yaml"},
		{line: "run workflow.yaml", cancelled: true},
		{line: "memory observe --namespace team/a --id deploy-notes --title Deploying --content 'A release is deployed from a clean tree, after the tests.'"},
		{line: "memory observe --namespace team/a --id build-notes --title Building --content 'A build begins with a clean tree.'"},
		{line: "memory recall --namespace team/a --session s1 --turn 1 'how is a release built and deployed?'"},
		{line: "governance set team/review require_approval_above_depth=0"},
		{line: "memory observe --namespace team/review --id review-1 --title Reviews --content 'Two people read each change.'"},
		{line: "memory reflect --source review-1 --title 'Four eyes' --content 'What two people read has fewer mistakes.'"},
		{line: "memory reflect --source review-1 --title 'No hurry' --content 'A review takes as long as it takes.'"},
		{line: "memory observe --namespace team/a --id old-notes --title Handover --content 'Ask Ada for the keys.'"},
		{line: "memory recall --namespace team/a --session monday --turn 1 'how is a release deployed?'"},
		{line: "memory feedback --session monday --turn 1 --outcome success --used deploy-notes"},
		{line: "memory recall --namespace team/a --session monday --turn 2 'what comes before a deployment?'"},
		{line: "memory feedback --session monday --turn 2 --outcome success --used deploy-notes"},
		{line: "memory recall --namespace team/a --session tuesday --turn 1 'deploy the release'"},
		{line: "memory feedback --session tuesday --turn 1 --outcome success --used deploy-notes", waits: true},
		{line: "inject build --namespace team/a --session wednesday --turn 1 --query 'how is a release deployed?'"},
		{line: "inject build --namespace team/a --session wednesday --turn 2 --query 'what does a build begin with?'"},
	}
}

// liveSamples runs the samples in a project.
func liveSamples(ctx context.Context, a *App, dir string) error {
	ids := &sampleIDs{}
	for i, s := range samples() {
		ids.begin(i)
		if err := liveSample(ctx, a, dir, s, ids); err != nil {
			return err
		}
	}
	return nil
}

func liveSample(ctx context.Context, a *App, dir string, s sample, ids core.IDs) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var said strings.Builder
	var stderr io.Writer = &said
	if s.cancelled {
		stderr = writerFunc(func(p []byte) (int, error) {
			if strings.Contains(string(p), "1/3") {
				cancel()
			}
			return len(p), nil
		})
	}
	app := &App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: stderr, Getenv: a.Getenv, folder: dir, Base: host.Config{IDs: ids, DeferGate: s.waits}}
	args := sampleArgs(s.line)
	if args[0] == "run" {
		args[1] = filepath.Join(dir, args[1])
	}
	code := app.Run(ctx, append(args, "--data-dir", filepath.Join(dir, "data")))
	if code == exitPassed || s.cancelled && code == exitCancelled {
		return nil
	}
	cause, _, _ := strings.Cut(strings.TrimPrefix(said.String(), "error: "), "\n")
	return sdk.Errorf(sdk.Unavailable, "sample_failed", "%s: %s", s.line, cause)
}

// sampleArgs splits a line at its spaces, except spaces in quotes.
func sampleArgs(line string) (args []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	return args
}

// writerFunc is a function as an [io.Writer].
type writerFunc func([]byte) (int, error)

// Write implements [io.Writer].
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// firstSample is the prefix of the first sample's ids, as a number: 01939f2c in
// hexadecimal, a time in December 2024 in the form of UUIDv7.
const firstSample = 0x01939f2c

// sampleIDs makes the ids of samples: all ids of one sample have the same prefix. It is
// safe for concurrent use.
type sampleIDs struct{ next atomic.Uint64 }

// begin makes the next ids belong to a sample.
func (s *sampleIDs) begin(sample int) { s.next.Store(uint64(firstSample+sample) << 16) }

// NewID implements [core.IDs].
func (s *sampleIDs) NewID() string {
	n := s.next.Add(1)
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", n>>16, n&0xffff, rand.Uint64()>>16)
}
