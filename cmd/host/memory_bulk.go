package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// maxLineBytes bounds a line of JSON Lines: content and metadata of 64 KiB each,
// escaped at worst sixfold.
const maxLineBytes = 1 << 20

// observeFile stores a memory for each line of a file, a batch in a transaction.
// What was stored before an error stays, and the error says how far it came.
func (a *App) observeFile(ctx context.Context, path string, f memoryFlags) error {
	return a.withMemory(ctx, func(m *memoryHost) error {
		var stored int
		var batch []*core.ObserveRequest
		flush := func() error {
			if _, err := m.ObserveAll(ctx, batch); err != nil {
				return sdk.Wrap(fmt.Sprintf("lines %d to %d of %s (the %d before are stored)", stored+1, stored+len(batch), path, stored), err)
			}
			stored, batch = stored+len(batch), batch[:0]
			a.term.Status("%d memories", stored)
			return nil
		}
		for line, err := range a.jsonLines(path) {
			if err != nil {
				return err
			}
			r := &core.ObserveRequest{Namespace: f.namespace, AgentID: a.config.Agent.Value, Tags: f.tags}
			if err := decodeLine(line, r); err != nil {
				return sdk.Wrap(fmt.Sprintf("%s: line %d", path, stored+len(batch)+1), err)
			}
			if batch = append(batch, r); len(batch) == memory.MaxBatch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		if err := flush(); err != nil {
			return err
		}
		if a.flags.json {
			return printJSON(a.Stdout, map[string]any{"observed": stored})
		}
		a.term.Line("%d memories stored", stored)
		return nil
	})
}

// recallFile recalls for each line of a file, and prints a line for each.
func (a *App) recallFile(ctx context.Context, path string, common *core.RecallRequest) error {
	return a.withMemory(ctx, func(m *memoryHost) error {
		out := bufio.NewWriter(a.Stdout)
		results := []*core.RecallResult{}
		n := 0
		for line, err := range a.jsonLines(path) {
			if err != nil {
				return err
			}
			n++
			r := *common
			if err := decodeLine(line, &r); err != nil {
				return sdk.Wrap(fmt.Sprintf("%s: line %d", path, n), err)
			}
			result, err := m.Recall(ctx, &r)
			if err != nil {
				return sdk.Wrap(fmt.Sprintf("%s: line %d", path, n), err)
			}
			a.term.Status("%d queries", n)
			if a.flags.json {
				results = append(results, result)
				continue
			}
			if _, err := out.Write(append(term.JSON(core.MustJSON(result)), '\n')); err != nil {
				return err
			}
		}
		if a.flags.json {
			return printJSON(a.Stdout, map[string]any{"results": results})
		}
		return out.Flush()
	})
}

// jsonLines yields the lines of a file, or of standard input for "-", that aren't
// blank, and at most one error, last.
func (a *App) jsonLines(path string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := a.Stdin
		if path != "-" {
			f, err := os.Open(path)
			if err != nil {
				yield(nil, sdk.Errorf(sdk.NotFound, "file_unreadable", "%w", err))
				return
			}
			defer f.Close()
			in = f
		}
		lines := bufio.NewScanner(in)
		lines.Buffer(make([]byte, 64<<10), maxLineBytes)
		for lines.Scan() {
			if len(bytes.TrimSpace(lines.Bytes())) > 0 && !yield(lines.Bytes(), nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, sdk.Errorf(sdk.Invalid, "file_unreadable", "%s: %w", path, err).
				WithHint("a line of JSON Lines may have %d bytes", maxLineBytes))
		}
	}
}

// decodeLine decodes one object and nothing else.
func decodeLine(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return sdk.Errorf(sdk.Invalid, "line_invalid", "it can't be read: %w", err).WithHint("write one JSON object a line; see --help")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return sdk.Errorf(sdk.Invalid, "line_invalid", "there is more on it than one JSON object").WithHint("write one JSON object a line")
	}
	return nil
}

func (a *App) memoryReembedCommand() *cobra.Command {
	return &cobra.Command{
		Use: "reembed NAMESPACE", Short: "Make the vectors of a namespace anew, with the model that is set",
		Example: "  reflectory memory reembed team/mail",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withMemory(c.Context(), func(m *memoryHost) error {
				result, err := m.Reembed(c.Context(), args[0], func(p memory.ReembedProgress) { a.term.Status("%d of %d memories", p.Looked, p.Total) })
				if err != nil {
					return err
				}
				if a.flags.json {
					return printJSON(a.Stdout, result)
				}
				a.term.Line("%d of %d memories got vectors of %s", result.Changed, result.Looked, result.Model)
				return nil
			})
		},
	}
}
