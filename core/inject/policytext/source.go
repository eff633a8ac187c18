package policytext

import (
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/sdk"
)

// maxDepth bounds how deep a file's YAML is: nobody writes more by hand.
const maxDepth = 10

// defaultPriority is the priority of a block whose file gives none: the one of the hard
// constraints of roles.
const defaultPriority = 1000

// InvalidReason is the reason for refusing a file.
const InvalidReason = "prompt_policy_invalid"

// Source makes blocks from an operator's policies for prompts, one in each file. It is safe for
// concurrent use.
type Source struct{ Files inject.Files }

var _ inject.Source = Source{}

// Text is a policy for prompts.
type Text struct {
	// Block is the block that a prompt gets: an anchor of the category safety or policy.
	Block inject.Draft
	// Namespaces are patterns of where it holds, such as team/**; nil is everywhere.
	Namespaces []string
}

// Blocks implements [inject.Source]: the blocks that hold in the turn's namespace.
func (s Source) Blocks(ctx context.Context, t *inject.Turn) (drafts []inject.Draft, err error) {
	files, err := s.Files(ctx)
	if err != nil {
		return nil, err
	}
	texts, err := ReadAll(files)
	if err != nil {
		return nil, err
	}
	for i := range texts {
		in := func(pattern string) bool { return core.NamespaceMatches(t.Namespace, pattern) }
		if texts[i].Namespaces == nil || slices.ContainsFunc(texts[i].Namespaces, in) {
			drafts = append(drafts, texts[i].Block)
		}
	}
	return drafts, nil
}

// ReadAll reads files in the order of their names. What is wrong with all of them is reported
// together: sdk.Invalid, reason "prompt_policy_invalid", with the detail "problems".
func ReadAll(files map[string]string) (list []Text, err error) {
	var problems []document.Problem
	for _, name := range slices.Sorted(maps.Keys(files)) {
		t, found := parse(name, files[name])
		problems = append(problems, found...)
		if len(found) == 0 {
			list = append(list, *t)
		}
	}
	return list, document.Invalid(InvalidReason, problems)
}

// Read reads a policy's YAML. Its block is named after the file unless it has a block_id.
func Read(file, text string) (*Text, error) {
	t, problems := parse(file, text)
	return t, document.Invalid(InvalidReason, problems)
}

func parse(file, text string) (*Text, []document.Problem) {
	found := &document.Problems{File: file, Lines: document.Lines(text)}
	root := document.Read(text, document.Limits{Bytes: inject.MaxFileBytes, Depth: maxDepth}, found)
	if root == nil {
		return nil, found.List()
	}
	r := found.Mapping(root, "the policy")
	t := &Text{Block: inject.Draft{
		BlockID: r.Text("block_id"), Category: inject.PolicyText, Priority: new(defaultPriority), Format: inject.Format(r.Text("format")), Anchor: true,
	}}
	if t.Block.BlockID == "" {
		t.Block.BlockID = strings.TrimSuffix(path.Base(file), path.Ext(file))
	}
	t.Block.Source = "operator/" + t.Block.BlockID
	if category := r.Get("category"); category != nil {
		t.Block.Category = inject.Category(category.Text)
		if t.Block.Category != inject.Safety && t.Block.Category != inject.PolicyText {
			r.Add(category.At, "", "category must be %s or %s", inject.Safety, inject.PolicyText)
		}
	}
	if priority := r.Get("priority"); priority != nil && json.Unmarshal(priority.JSON(nil), t.Block.Priority) != nil {
		r.Add(priority.At, "", "priority must be an integer")
	}
	if payload := r.Need("payload"); payload != nil {
		if t.Block.Payload = strings.TrimSpace(payload.Text); payload.Kind != document.Text {
			r.Add(payload.At, "", "payload must be a text")
		}
	}
	for _, n := range r.List("namespaces") {
		if err := core.CheckNamespacePattern(n.Text); n.Kind != document.Text || err != nil {
			r.Add(n.At, "write a namespace, or a pattern such as team/**", "%s is no pattern of namespaces", core.Cut(n.Text))
		}
		t.Namespaces = append(t.Namespaces, n.Text)
	}
	r.Done()
	if found.Len() == 0 { // what a block may be, the block knows
		if _, err := inject.NewBlock(t.Block, inject.FromHost); err != nil {
			r.Add(root.At, sdk.AsError(err).Hint, "%s", sdk.AsError(err).Message)
		}
	}
	return t, found.List()
}
