package policytext

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/sdk"
)

// The bounds of a file: nobody writes more by hand, and all of it goes into a prompt.
const (
	maxFileBytes = 64 << 10
	maxDepth     = 10
)

// defaultPriority is the priority of a block whose file gives none: the one of the hard
// constraints of roles.
const defaultPriority = 1000

// InvalidReason is the reason for refusing a file.
const InvalidReason = "prompt_policy_invalid"

// Folder is an operator's folder of policies for prompts, one in each *.yaml file; a folder
// that doesn't exist has none. It is safe for concurrent use.
type Folder struct{ Dir string }

var _ inject.Source = Folder{}

// Text is a policy for prompts.
type Text struct {
	// Block is the block that a prompt gets: an anchor of the category safety or policy.
	Block inject.Draft
	// Namespaces are patterns of where it holds, such as team/**; nil is everywhere.
	Namespaces []string
}

// Blocks implements [inject.Source]: the blocks that hold in the turn's namespace.
func (f Folder) Blocks(_ context.Context, t *inject.Turn) (drafts []inject.Draft, err error) {
	texts, err := f.Texts()
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

// Texts reads the folder, in the order of the files' names. What is wrong with all files is
// reported together: sdk.Invalid, reason "prompt_policy_invalid", with the detail "problems".
func (f Folder) Texts() (list []Text, err error) {
	entries, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, sdk.Errorf(sdk.Unavailable, "prompt_policy_unreadable", "read the policies for prompts: %w", err).
			WithHint("let the host read the folder").WithDetail("folder", f.Dir)
	}
	var problems []error
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".yaml" {
			continue
		}
		path := filepath.Join(f.Dir, e.Name())
		data, err := core.ReadFile(path, maxFileBytes)
		if err != nil {
			return nil, err
		}
		t, err := Read(path, string(data))
		if err != nil {
			problems = append(problems, err)
			continue
		}
		list = append(list, *t)
	}
	return list, core.JoinErrors(problems...)
}

// Read reads a policy's YAML. Its block is named after the file unless it has a block_id.
func Read(file, text string) (*Text, error) {
	found := &document.Problems{File: file, Lines: document.Lines(text)}
	root := document.Read(text, document.Limits{Bytes: maxFileBytes, Depth: maxDepth}, found)
	if root == nil {
		return nil, found.Err(InvalidReason)
	}
	r := found.Mapping(root, "the policy")
	t := &Text{Block: inject.Draft{
		BlockID: r.Text("block_id"), Category: inject.PolicyText, Priority: new(defaultPriority), Format: inject.Format(r.Text("format")), Anchor: true,
	}}
	if t.Block.BlockID == "" {
		t.Block.BlockID = strings.TrimSuffix(filepath.Base(file), ".yaml")
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
	if err := found.Err(InvalidReason); err != nil {
		return nil, err
	}
	return t, nil
}
