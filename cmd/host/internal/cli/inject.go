package cli

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/sdk"
)

func injectCommand(a *App) *cobra.Command {
	return noun("inject", "Build the prompt context of a turn, and inspect it", `Build the prompt context of a turn from blocks, under one policy, and look at it
later. A turn has one snapshot, which never changes: a second build returns it.`,
		injectBuildCommand(a), injectListCommand(a), injectShowCommand(a), injectDiffCommand(a), injectReplayCommand(a),
	)
}

func injectBuildCommand(a *App) *cobra.Command {
	var file string
	in := &inject.BuildRequest{}
	c := verb[inject.Built]{
		Use: "build", Short: "Build the snapshot of a turn, and print the prompt",
		Long: `Build the snapshot of a turn, and print the prompt. --file has a JSON object {session,
turn, query?, policy?, blocks?}, with blocks of {block_id, category, priority, payload,
…}; flags override its fields. With a query, blocks are also collected from recall,
knowledge and the session, and without a turn, the session's next turn begins. The
policy point injection decides whatever the field policy doesn't set.`,
		Example:   "  reflectory inject build --namespace team/a --session thursday --query \"how is a release deployed?\"",
		Operation: "snapshot_build", In: in,
		Prepare: func(*cobra.Command, []string) error { return a.input.injectRequest(file, in) },
		Print: func(out *output, built *inject.Built) error {
			out.term.Line("snapshot %s: %s", built.SnapshotID, snapshotLine(built.Snapshot))
			return out.say("%s", term.Lines(built.Prompt))
		},
	}.command(a)
	c.Flags().StringVar(&file, "file", "", "JSON `file` with the request, or - for standard input")
	c.Flags().StringVar(&in.Session, "session", "", "the session")
	c.Flags().Int64Var(&in.Turn, "turn", 0, "the session's turn (default: with a query, the next)")
	c.Flags().StringVar(&in.Query, "query", "", "what to recall for the turn")
	namespaceFlag(c, &in.Namespace)
	return c
}

// injectRequest reads the request in a file into r, except the fields that flags have set.
func (in inputs) injectRequest(file string, r *inject.BuildRequest) error {
	if file == "" {
		return nil
	}
	data, err := in.read(file, inject.MaxRequestBytes)
	if err != nil {
		return err
	}
	read, err := inject.ReadRequest(httpapi.PlainIntegers(data, reflect.TypeFor[inject.BuildRequest]()))
	if err != nil {
		return sdk.Wrap(file, err)
	}
	read.Session, read.Query = cmp.Or(r.Session, read.Session), cmp.Or(r.Query, read.Query)
	read.Namespace, read.Turn = cmp.Or(r.Namespace, read.Namespace), cmp.Or(r.Turn, read.Turn)
	*r = *read
	return nil
}

// snapshotLine describes the content of a snapshot in a line.
func snapshotLine(s *inject.Snapshot) string {
	return fmt.Sprintf("%s, %s, %d dropped, %d cut", plural(len(s.BlocksUsed), "block", "blocks"), plural(s.CharsInjected, "character", "characters"), len(s.DroppedBlocks), len(s.TruncatedBlocks))
}

func injectListCommand(a *App) *cobra.Command {
	in := &operation.SnapshotList{}
	c := verb[operation.Page[*inject.Snapshot]]{
		Use: "list", Short: "List snapshots of a namespace, or of a session's turns",
		Example:   "  reflectory inject list --namespace team/a --session wednesday",
		Operation: "snapshot_list", In: in, Paging: &in.Paging,
		Print: table("", []string{"ID", "SESSION", "TURN", "MODE", "BLOCKS", "DROPPED", "CHARS"}, func(s *inject.Snapshot) []string {
			return []string{
				s.SnapshotID, cell(s.SessionID), strconv.FormatInt(s.TurnID, 10), string(s.PolicyApplied.Mode),
				strconv.Itoa(len(s.BlocksUsed)), strconv.Itoa(len(s.DroppedBlocks)), strconv.Itoa(s.CharsInjected),
			}
		}),
	}.command(a)
	namespaceFlag(c, &in.Namespace)
	c.Flags().StringVar(&in.Session, "session", "", "only snapshots of this session, in the order of its turns")
	sinceFlag(c, &in.Since, "snapshots")
	return c
}

func injectShowCommand(a *App) *cobra.Command {
	in := &operation.SnapshotGet{}
	return verb[inject.Snapshot]{
		Use: "show ID", Short: "Show a snapshot: its blocks, and what was dropped or cut",
		Long: `Show a snapshot: its blocks in the order of the prompt, and what was dropped or
cut, and why. A payload whose memory was purged is shown as [purged].`,
		Example:   "  reflectory inject show 01939f3c",
		Operation: "snapshot_get", In: in, Args: []*string{&in.ID},
		Print: printSnapshot,
	}.command(a)
}

func printSnapshot(out *output, s *inject.Snapshot) error {
	p := &s.PolicyApplied
	fmt.Fprintf(out.Stdout, "snapshot   %s\nsession    %s, turn %d, in %s\npolicy     %s, %s, by %s\nholds      %s\n",
		s.SnapshotID, oneLine(s.SessionID), s.TurnID, oneLine(s.Namespace), p.Mode, p.Ordering, oneLine(p.File), snapshotLine(s))
	if s.Prefix.Chars > 0 {
		fmt.Fprintf(out.Stdout, "prefix     %d characters, reused: %t\n", s.Prefix.Chars, s.Prefix.Reused)
	}
	fmt.Fprintf(out.Stdout, "digest     %s\n\n", s.Digest)
	cut := map[string]inject.Truncated{}
	for _, t := range s.TruncatedBlocks {
		cut[t.BlockID] = t
	}
	var rows [][]string
	for _, u := range s.BlocksUsed {
		state := "whole"
		if t, is := cut[u.BlockID]; is {
			state = fmt.Sprintf("cut from %d", t.From)
		}
		if u.Payload == inject.PurgedPayload {
			state = inject.PurgedPayload
		}
		rows = append(rows, []string{cell(u.BlockID), string(u.Category), strconv.Itoa(u.Priority), strconv.Itoa(u.Chars), state})
	}
	for _, d := range s.DroppedBlocks {
		rows = append(rows, []string{cell(d.BlockID), string(d.Category), "", "", cell("dropped: " + string(d.Reason))})
	}
	return out.table([]string{"BLOCK", "CATEGORY", "PRIORITY", "CHARS", "STATE"}, rows)
}

func injectDiffCommand(a *App) *cobra.Command {
	in := &operation.SnapshotDiff{}
	c := verb[inject.Diff]{
		Use: "diff ID", Short: "Compare a snapshot with the previous one, and say what broke the prefix",
		Long: `Compare a snapshot with another, by default the previous one of its session: the blocks
that were added, removed, changed or moved, and the first block that differs in the
prefix that a model's provider caches.`,
		Example:   "  reflectory inject diff 01939f3d",
		Operation: "snapshot_diff", In: in, Args: []*string{&in.ID},
		Print: printSnapshotDiff,
	}.command(a)
	c.Flags().StringVar(&in.With, "with", "", "the `id` of the snapshot to compare with (default: the previous one of the session)")
	return c
}

func printSnapshotDiff(out *output, d *inject.Diff) error {
	switch {
	case d.Prefix.Reused:
		fmt.Fprintf(out.Stdout, "prefix     reused, %d characters\n", d.Prefix.SharedChars)
	case d.Prefix.BrokenBy != "":
		fmt.Fprintf(out.Stdout, "prefix     broken by %s (%s) after %d characters\n", oneLine(d.Prefix.BrokenBy), d.Prefix.How, d.Prefix.SharedChars)
	}
	fmt.Fprintf(out.Stdout, "characters %d, then %d\npolicy     changed: %t\n\n", d.CharsFrom, d.CharsTo, d.PolicyChanged)
	var rows [][]string
	for _, part := range []struct {
		word string
		list []inject.BlockChange
	}{{"added", d.Added}, {"removed", d.Removed}, {"changed", d.Changed}} {
		for _, c := range part.list {
			rows = append(rows, []string{part.word, cell(c.BlockID), string(c.Category), cell(c.What), strconv.Itoa(c.CharsFrom), strconv.Itoa(c.CharsTo)})
		}
	}
	return out.table([]string{"CHANGE", "BLOCK", "CATEGORY", "WHAT", "BEFORE", "AFTER"}, rows)
}

func injectReplayCommand(a *App) *cobra.Command {
	in := &operation.SnapshotReplay{}
	return verb[inject.Replay]{
		Use: "replay ID", Short: "Rebuild a snapshot, and say whether the result is the same",
		Long: `Rebuild a snapshot from the blocks and the policy that it was made from. Even after a
purge the result is the same, since digests stand in for what was purged.`,
		Example:   "  reflectory inject replay 01939f3c",
		Operation: "snapshot_replay", In: in, Args: []*string{&in.ID},
		Print: func(out *output, r *inject.Replay) error {
			return out.say("same: %t, verified: %t, purged blocks: %d", r.Same, r.Verified, len(r.Purged))
		},
	}.command(a)
}
