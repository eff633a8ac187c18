package main

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
)

// maxEmbedLines is how long a program may be that embeds a host: if it takes more,
// embedding isn't easy.
const maxEmbedLines = 40

// examples/embed is a module of its own, as the programs of others are: it sees only what they
// see. go.work gives it this tree's modules, and what they depend on, so that no network is needed.
func TestExamples_EmbedIsAModuleOfItsOwn(t *testing.T) {
	coretest.Long(t)
	const dir = "../../examples/embed"
	text, err := os.ReadFile(dir + "/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(text, []byte("\n")); lines > maxEmbedLines {
		t.Errorf("the program has %d lines (limit %d)", lines, maxEmbedLines)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-tags", "pebblegozstd", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
