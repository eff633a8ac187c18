package dream

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
)

// A pass makes a plan before it writes, so that people can check what it will do, and so
// that it does exactly that: a step is carried out only if its memories haven't changed
// since the plan read them. A plan has no content of memories, only digests that are keyed
// with their salts, so a purge needn't find it.

// Input is what a plan is made from. The same input gives the same plan, byte for byte.
type Input struct {
	Namespace string
	// Agent restricts the pass to one agent's memories; "" is all.
	Agent string
	// At is the time of the snapshot, from which ages are counted.
	At time.Time
	// Since is when the last pass began: only what was written or rewritten since then is
	// compared with the others. Zero compares all.
	Since time.Time
	// Turned is whether the namespace ever had a turn. If it had none, recalls count no
	// accesses, and nothing is stale.
	Turned bool
	// ArchivedLately is how many memories passes archived as stale since the time at which the
	// last one would be too soon. They count towards the limit of this pass.
	ArchivedLately int
	// Queries are what was asked for in the namespace lately, the newest first: at most [MaxQueries]
	// count. Language is the language of its words; "" is [core.DefaultLanguage].
	Queries  []string
	Language string
	// Items are all memories of the namespace and agent that are in use, in any order.
	Items   []Item
	Options Options
	// Near are the cosines from which vectors count as near, by the names of calibrated
	// models: see [CandidateOptions].
	Near map[string]float64
	// Judge may overrule soft differences; nil for none.
	Judge Judge
	// Title derives a title from a content, as for memories without one.
	Title func(content string) string
}

// Plan is what a pass would do, in order.
type Plan struct {
	Namespace string    `json:"namespace"`
	Agent     string    `json:"agent,omitempty"`
	At        time.Time `json:"at"`
	// Since is when the last pass began; older memories were compared then.
	Since   time.Time `json:"since,omitzero"`
	Options Options   `json:"options"`
	// GuardVersion names the rules that compared texts.
	GuardVersion int `json:"guard_version"`
	// Scanned counts the memories that were read.
	Scanned int `json:"scanned"`
	// Steps, Refusals and Conflicts are never null.
	Steps []Step `json:"steps"`
	// Refusals are the pairs that look the same and weren't merged.
	Refusals []Refusal `json:"refusals"`
	// Conflicts are the pairs that say different things about one subject and are left to
	// people.
	Conflicts []Conflict `json:"conflicts"`
}

// StepKind is the kind of a step.
type StepKind string

// The kinds of steps, in the order of the phases.
const (
	StepReport   StepKind = "report"   // notes an organization report that a memory has
	StepDates    StepKind = "dates"    // rewrites the relative dates of a memory
	StepMerge    StepKind = "merge"    // merges a memory into another
	StepConflict StepKind = "conflict" // archives the loser of a contradiction
	StepArchive  StepKind = "archive"  // archives a stale memory, or an old notification
)

// Step is one commit of a pass.
type Step struct {
	// N counts the plan's steps from 1.
	N    int      `json:"n"`
	Kind StepKind `json:"kind"`
	// Reads are the memories that it depends on: the memory that it changes, or first the
	// memory that is kept and then the memory that isn't. A step that archives a memory because
	// another one covers it reads that one too.
	Reads []Read `json:"reads"`
	// Changes are the fields that differ afterwards.
	Changes []Change `json:"changes"`
	// Reason is a stable name of why.
	Reason string `json:"reason"`
	// Evidence are the facts on which it is based, by name.
	Evidence map[string]string `json:"evidence,omitempty"`
}

// Read is the state in which a step must find a memory.
type Read struct {
	MemoryID string `json:"memory_id"`
	Digest   string `json:"digest"`
}

// Changed are the step's memories that it changes, or gives a link: not one that only covers
// what is archived.
func (s *Step) Changed() []Read {
	if s.Kind == StepArchive {
		return s.Reads[:1]
	}
	return s.Reads
}

// Change is a field of a memory before and after a step: its value, or, for title, content
// and tags, a digest that is keyed with the memory's salt.
type Change struct {
	MemoryID string `json:"memory_id"`
	Field    string `json:"field"`
	Before   string `json:"before"`
	After    string `json:"after"`
}

// Refusal is a pair that wasn't merged.
type Refusal struct {
	// Newer and Older are ids.
	Newer string `json:"newer"`
	Older string `json:"older"`
	// Class is how the texts differ, such as number, or "tags" if they have too many together.
	Class string `json:"class"`
}

// PlanDigest identifies a plan.
func (p *Plan) PlanDigest() string { return core.Digest(jsontext.MustEncode(p)) }

// Of returns the step with a number; nil if there is none.
func (p *Plan) Of(n int) *Step {
	if n < 1 || n > len(p.Steps) {
		return nil
	}
	return &p.Steps[n-1]
}

// Make makes the plan of a pass. It changes nothing in its input. An error is the judge's or
// the context's.
func Make(ctx context.Context, in *Input) (*Plan, error) {
	own := *in
	if own.Judge != nil {
		own.Judge = remembered{own.Judge, map[[2]string]bool{}}
	}
	p := &planner{Input: &own, plan: &Plan{
		Namespace: in.Namespace, Agent: in.Agent, At: in.At, Since: in.Since, Options: in.Options,
		GuardVersion: GuardVersion, Scanned: len(in.Items), Steps: []Step{}, Refusals: []Refusal{}, Conflicts: []Conflict{},
	}}
	for i := range in.Items {
		p.drafts = append(p.drafts, newDraft(&in.Items[i], in.Since))
	}
	slices.SortFunc(p.drafts, newerDraft)
	p.reports()
	if !in.Options.SkipDates {
		p.dates()
	}
	if !in.Options.SkipMerges {
		if err := p.merges(ctx); err != nil {
			return nil, err
		}
	}
	if !in.Options.SkipConflicts {
		if err := p.conflicts(ctx); err != nil {
			return nil, err
		}
	}
	if !in.Options.SkipArchival {
		p.notifications()
		p.stale()
	}
	return p.plan, ctx.Err()
}

// planner is a plan in the making.
type planner struct {
	*Input
	plan *Plan
	// drafts are the memories, the newest first.
	drafts []*draft
}

// step adds a step that reads memories as they are now. The caller then changes them.
func (p *planner) step(kind StepKind, reason string, evidence map[string]string, reads ...*draft) *Step {
	s := Step{N: len(p.plan.Steps) + 1, Kind: kind, Reason: reason, Evidence: evidence, Changes: []Change{}}
	for _, d := range reads {
		s.Reads = append(s.Reads, d.read())
	}
	p.plan.Steps = append(p.plan.Steps, s)
	return &p.plan.Steps[len(p.plan.Steps)-1]
}

// change records the change of a field, if the value differs.
func (s *Step) change(d *draft, field, before, after string) {
	if before != after {
		s.Changes = append(s.Changes, Change{d.ID, field, before, after})
	}
}

// changeText records the change of a field whose value a plan doesn't show.
func (s *Step) changeText(d *draft, field, before, after string) {
	if before != after {
		s.change(d, field, keyed(d.Salt, before), keyed(d.Salt, after))
	}
}

// move changes a memory's state.
func (s *Step) move(d *draft, to core.MemoryState) {
	s.change(d, "state", string(d.State), string(to))
	d.State = to
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// reports adds steps that record new organization reports.
func (p *planner) reports() {
	for _, d := range p.drafts {
		if d.mark.Report != nil || d.Kind == core.KindNotification {
			continue
		}
		if r := ParseOrganizationReport(d.Content); r != nil {
			p.step(StepReport, "organization_report", map[string]string{
				"consolidated": strconv.FormatInt(r.Consolidated, 10), "removed": strconv.FormatInt(r.Removed, 10),
				"reindexed": strconv.FormatInt(r.Reindexed, 10),
			}, d)
			d.mark.Report = r
		}
	}
}

// dates rewrites relative dates, the oldest memory first.
func (p *planner) dates() {
	for _, d := range slices.Backward(p.drafts) {
		if !Touched(&d.Memory) || d.mark.Undated {
			continue
		}
		after, found := Rewrite(&d.Memory, p.Options.DateOptions(), p.Title)
		if found == 0 {
			continue
		}
		s := p.step(StepDates, "relative_dates", map[string]string{
			"anchor": Anchor(&d.Memory).Format(time.RFC3339), "phrases": strconv.Itoa(found),
		}, d)
		s.changeText(d, "title", d.Title, after.Title)
		s.changeText(d, "content", d.Content, after.Content)
		d.Title, d.Content, d.fresh = after.Title, after.Content, true
		d.vector = nil // which a step makes again
	}
}

// The limits of a title, in characters, and of a content, in bytes.
const (
	maxTitle   = 512
	maxContent = 65_536
	maxTags    = 50
)

// Texts are a memory's title and content.
type Texts struct{ Title, Content string }

// Rewrite returns a memory's texts with absolute dates, and how many phrases it found; 0 if
// it changes nothing, as for procedures, for memories with the tag [Undated] and for texts that
// would become too long. A title that was derived from the content is derived again.
func Rewrite(m *core.Memory, o DateOptions, derive func(string) string) (Texts, int) {
	unchanged := Texts{m.Title, m.Content}
	if m.Kind == core.KindProcedural || slices.Contains(m.Tags, Undated) {
		return unchanged, 0
	}
	anchor := Anchor(m)
	content := MakeDatesAbsolute(m.Content, anchor, o)
	title := MakeDatesAbsolute(m.Title, anchor, o)
	found := len(content.Found)
	if derive != nil && m.Title == derive(m.Content) {
		title.Text = derive(content.Text)
	} else {
		found += len(title.Found)
	}
	after := Texts{title.Text, content.Text}
	if after == unchanged || len([]rune(after.Title)) > maxTitle || len(after.Content) > maxContent {
		return unchanged, 0
	}
	return after, found
}
