package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/scaffold"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/sdk"
)

func initCommand(a *App) *cobra.Command {
	var samples bool
	c := &cobra.Command{
		Use: "init [DIR]", Short: "Create a project that works offline",
		Long: `Create a project: write a workflow and settings into a new folder DIR, or into the
current folder. Existing files aren't overwritten.

With --examples, also write a plugin, policies and all other files that the examples in
the help use, a private key, and runs, memories, knowledge, a job and plans of dream
passes into the project's data folder. The examples in the help work there, in the order
of the help, except a few that need a server, a shared database, an embedding model, or
the id of a token.`,
		Example: "  reflectory init hello\n  reflectory init --examples tour",
		RunE: func(c *cobra.Command, args []string) error {
			dir := append(args, "")[0]
			if samples {
				return beginSamples(c.Context(), a, dir)
			}
			files, err := scaffold.Begin(dir)
			if err != nil {
				return err
			}
			return begun(a, dir, files, false)
		},
	}
	c.Flags().BoolVar(&samples, "examples", false, "add what the examples in the help use")
	return c
}

// beginSamples makes a project with what the examples in the help use.
func beginSamples(ctx context.Context, a *App, dir string) error {
	files, err := scaffold.BeginWithSamples(dir, sampleFiles())
	if err != nil {
		return err
	}
	a.out.term.Status("running the examples …")
	skipped := liveSamples(ctx, a, dir)
	if err := ctx.Err(); err != nil {
		return err
	}
	if skipped == nil {
		files = append(files, sampleFiles()...)
		slices.Sort(files)
	} else {
		a.out.term.Line("no sample run was made: %v", skipped)
	}
	return begun(a, dir, files, skipped == nil)
}

// begun prints a new project's files, and what to do next. samples is whether it has runs.
func begun(a *App, dir string, files []string, samples bool) error {
	if a.out.json {
		return a.out.printJSON(map[string]any{"dir": filepath.Clean(dir), "files": files, "samples": samples})
	}
	for _, name := range files {
		fmt.Fprintln(a.out.Stdout, filepath.Join(dir, filepath.FromSlash(name)))
	}
	if dir != "" {
		if strings.HasPrefix(dir, "-") {
			dir = "./" + dir // for cd it would be a flag, or the folder before
		}
		a.out.term.Line("next: cd %s", shellWord(dir))
	}
	a.out.term.Line("next: %s run workflow.yaml", shellWord(programName()))
	return nil
}

// programName is what starts this program on the command line: its name if PATH has it, else
// its path.
func programName() string {
	self, err := os.Executable()
	if err != nil {
		return "reflectory"
	}
	if found, err := exec.LookPath("reflectory"); err == nil && sameFile(found, self) {
		return "reflectory"
	}
	return self
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// sample is a command line whose results the help's examples name. A word that begins
// with ./ is a file of the project. The ids of the first sample begin with 01939f2c, and
// each next sample's prefix is one higher, so that a prefix names exactly one thing.
type sample struct {
	line string
	// stdin is what the command reads.
	stdin string
	// to is the file for what the command prints; "" is none.
	to string
	// exit is how the command may end, in addition to passing. With exitCancelled, the run
	// is cancelled after its first attempt, so that it can be resumed.
	exit int
}

// samples create the things that the help's examples name.
func samples() []sample {
	used := "memory feedback --outcome success --used release-1 --used release-2 --session "
	return []sample{
		{line: "run ./workflow.yaml"},
		{line: "run ./workflow.yaml", exit: exitCancelled},
		{line: "memory observe --file -", stdin: sampleNotes},
		{line: "dream run team/desk --mode always"},
		{line: "memory recall --namespace team/a --session s1 --turn 1 'how is a release built and deployed?'"},
		{line: "governance set team/review require_approval_above_depth=0"},
		{line: "dream run team/standup --mode always"},
		{line: "memory reflect --source review-1 --title 'Four eyes' --content 'What two people read has fewer mistakes.'"},
		{line: "memory reflect --source review-1 --title 'No hurry' --content 'A review takes as long as it takes.'"},
		{line: "dream plan team/mail --to ./plan.json"},
		{line: "memory recall --namespace team/a --queries -", stdin: eachTurn(`{"query": "how is a release deployed?", "session": %q, "turn": %d, "limit": 3}`)},
		{line: used + "monday --turn 1 --used deploy-notes"},
		{line: used + "monday --turn 2 --used deploy-notes"},
		{line: used + "monday --turn 3"},
		{line: used + "monday --turn 4"},
		{line: used + "tuesday --turn 1 --used deploy-notes"},
		{line: "inject build --namespace team/a --session wednesday --turn 1 --query 'how is a release deployed?'"},
		{line: "inject build --namespace team/a --session wednesday --turn 2 --query 'what does a build begin with?'"},
		{line: used + "tuesday --turn 2"},
		{line: used + "tuesday --turn 3"},
		{line: used + "tuesday --turn 4"},
		{line: "evidence tool --file -", stdin: eachTurn(`{"memory_id": "release-1", "session": %q, "turn": %d, "tool": "deploy", "ok": true}`) +
			eachTurn(`{"memory_id": "release-2", "session": %q, "turn": %d, "tool": "deploy", "ok": true}`)},
		{line: "evidence dag --file -", stdin: `{"workflow": "release", "entry": ["ship"], "exits": ["ship"], "edges": [], "memories": {"release-1": ["ship"], "release-2": ["ship"]}}`},
		{line: "gate run release-1 --upstream-status 1 --codebase-verification 1 --runtime-utility-trend 1"},
		{line: "gate run release-2 --upstream-status 1 --codebase-verification 1 --runtime-utility-trend 1"},
		{line: "reflect --namespace team/desk --force"},
		{line: "evaluate --json --evaluator ./examples/extract-contact/evaluator.yaml ./draft.json", to: "verdict.json", exit: exitNotValid},
		{line: "store export ./everything.jsonl"},
		{line: "audit head", to: "head.txt"},
	}
}

// sampleFiles are the files that samples write.
func sampleFiles() []string {
	return []string{"everything.jsonl", "head.txt", "plan.json", "verdict.json"}
}

// sampleNotes are the memories of the samples. Passes merge those that say the same, and put
// a date where one says "yesterday" or "tomorrow".
const sampleNotes = `
{"namespace": "team/a", "id": "deploy-notes", "title": "Deploying", "content": "A release is deployed from a clean tree, after the tests."}
{"namespace": "team/a", "id": "build-notes", "title": "Building", "content": "A build begins with a clean tree."}
{"namespace": "team/a", "id": "old-notes", "title": "Handover", "content": "Ask Ada for the keys."}
{"namespace": "team/a", "id": "release-1", "title": "Release day", "content": "A release is deployed on a Monday."}
{"namespace": "team/a", "id": "release-2", "title": "Release days", "content": "A release is deployed on any day but Friday."}
{"namespace": "team/review", "id": "review-1", "title": "Reviews", "content": "Two people read each change."}
{"namespace": "team/desk", "id": "keys-1", "title": "Keys", "content": "the keys are with Ada"}
{"namespace": "team/desk", "id": "keys-2", "title": "Keys", "content": "The keys are with Ada."}
{"namespace": "team/standup", "id": "standup-1", "title": "Freeze", "content": "The branch was frozen yesterday."}
{"namespace": "team/standup", "id": "standup-2", "title": "Demo", "content": "The demo is tomorrow."}
{"namespace": "team/standup", "id": "standup-3", "title": "Report", "content": "Ada sent the report today."}
{"namespace": "team/mail", "id": "mail-1", "title": "Answer", "content": "Ada wrote that she answers tomorrow."}
`

// eachTurn is a line for each of the eight turns with feedback: the gate promotes what was
// useful in so many.
func eachTurn(format string) string {
	var lines strings.Builder
	for _, session := range []string{"monday", "tuesday"} {
		for turn := 1; turn <= 4; turn++ {
			fmt.Fprintf(&lines, format+"\n", session, turn)
		}
	}
	return lines.String()
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
	var printed bytes.Buffer
	var said strings.Builder
	var stderr io.Writer = &said
	if s.exit == exitCancelled {
		stderr = writerFunc(func(p []byte) (int, error) {
			if strings.Contains(string(p), "1/3") {
				cancel()
			}
			return len(p), nil
		})
	}
	// What is due for the gate waits, so that there is something for gate run to decide.
	app := &App{Stdin: strings.NewReader(s.stdin), Stdout: &printed, Stderr: stderr, Getenv: a.Getenv, folder: dir, Base: host.Config{IDs: ids, DeferGate: true}}
	args := sampleArgs(s.line)
	for i, arg := range args {
		if file, ok := strings.CutPrefix(arg, "./"); ok {
			args[i] = filepath.Join(dir, filepath.FromSlash(file))
		}
	}
	if code := app.Run(ctx, append(args, "--data-dir", filepath.Join(dir, "data"))); code != s.exit && code != exitPassed {
		cause, _, _ := strings.Cut(strings.TrimPrefix(said.String(), "error: "), "\n")
		return sdk.Errorf(sdk.Unavailable, "sample_failed", "%s: %s", s.line, cause)
	}
	if s.to == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, s.to), printed.Bytes(), 0o600)
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
