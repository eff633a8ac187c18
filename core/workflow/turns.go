package workflow

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/workflow/action"
)

// A run gives feedback on the memories that it recalled: each memory.recall begins a turn,
// and the run's end is the turn's feedback. Memories that a plugin or a node named count
// as used. If none was named and a prompt or a script read the recall, what the nodes after it put
// out shows which were used. If it shows none, as data may, the first result counts as used: crediting
// everything recalled would promote memories that nobody used.
// All of this follows from the recorded visits, so that a resumed run gives the same
// feedback as an uninterrupted one.

// turn is a recall of the run.
type turn struct {
	core.TurnRef
	node     string
	also     []string // nodes that put its memories into a prompt
	visit    int
	ids      []string
	referred bool
	named    []string
	closed   bool     // by memory.feedback
	credited []string // the memories that this feedback was about and were used
}

// turns has what a run's visits show about its recalls.
type turns struct {
	list []*turn
	// memories are the ids of all memories in the results of memory.* nodes.
	memories map[string]bool
	// hasTexts is whether a result has turns of a session, which a snapshot repeats.
	hasTexts bool
	// outputs are what the nodes put out.
	outputs []output
	// loops are the loops that ended, and newest has the newest visit of each of them.
	loops, newest []judged
	// best is the best score of what decided the run's status so far.
	best float64
}

// output is what a visit's node put out.
type output struct {
	visit int
	value json.RawMessage
}

// judged is a loop that ended.
type judged struct {
	visit     int
	node      string
	tool      string // its evaluator
	continues bool   // it may be exhausted: action.LoopSpec.Continues
	outcome   outcome
}

// addVisit adds a finished visit.
func (t *turns) addVisit(node *Node, v *core.Visit, o *outcome) {
	for _, name := range v.Refers {
		t.refer(name)
	}
	for _, at := range t.list {
		at.name(v.Used)
	}
	given, written := memoriesIn(node.Action, v.Result)
	t.addMemories(slices.Concat(given, written, v.Given)...)
	var said struct {
		Output json.RawMessage `json:"output"`
	}
	if json.Unmarshal(v.Result, &said) == nil && len(said.Output) > 0 {
		t.outputs = append(t.outputs, output{v.Number, said.Output})
	}
	switch s := node.Action.(type) {
	case *action.LoopSpec:
		l := judged{v.Number, v.Node, toolOf(s.Evaluator), s.Continues, *o}
		t.loops = append(t.loops, l)
		t.newest = append(slices.DeleteFunc(t.newest, func(old judged) bool { return old.node == v.Node }), l)
	case *action.MemorySpec:
		t.remember(s.Verb, v)
	case *action.SnapshotSpec:
		t.inject(v)
	}
}

// inject adds a snapshot: a turn whose recalled memories are the memories in its prompt.
// If an earlier recall of the run began the turn, the snapshot is another place where the
// recalled memories can be read.
func (t *turns) inject(v *core.Visit) {
	var s struct {
		Session string `json:"session_id"`
		Turn    int64  `json:"turn_id"`
		Used    []struct {
			BlockID  string `json:"block_id"`
			MemoryID string `json:"memory_id"`
			Digest   string `json:"payload_digest"`
		} `json:"blocks_used"`
	}
	if json.Unmarshal(v.Result, &s) != nil || s.Session == "" {
		return
	}
	at := &turn{TurnRef: core.TurnRef{Session: s.Session, Turn: s.Turn}, node: v.Node, visit: v.Number}
	for _, u := range s.Used {
		if u.MemoryID == "" && strings.HasPrefix(u.Digest, "hmac-sha256:") { // it can be purged
			t.hasTexts = true
		}
		if u.BlockID == "memory:"+u.MemoryID { // knowledge isn't recalled in a turn
			at.ids = append(at.ids, u.MemoryID)
		}
	}
	known := slices.IndexFunc(t.list, func(other *turn) bool { return other.TurnRef == at.TurnRef })
	if known >= 0 {
		t.list[known].also = append(t.list[known].also, v.Node)
	} else if len(at.ids) > 0 {
		t.list = append(t.list, at)
	}
}

// remember adds a recall or a feedback.
func (t *turns) remember(verb action.MemoryVerb, v *core.Visit) {
	var r struct {
		core.TurnRef
		Outcome core.Outcome `json:"outcome"`
		Used    []string     `json:"used"`
		Items   []struct {
			ID   string `json:"id"`
			Used bool   `json:"used"`
		} `json:"items"`
		Memories []struct{ ID string } `json:"memories"`
	}
	if json.Unmarshal(v.Result, &r) != nil || r.Session == "" {
		return // also a recall without a session
	}
	switch verb {
	case action.VerbRecall:
		at := &turn{TurnRef: r.TurnRef, node: v.Node, visit: v.Number}
		for _, m := range r.Memories {
			at.ids = append(at.ids, m.ID)
		}
		t.list = append(t.list, at)
	case action.VerbFeedback:
		for _, at := range t.list {
			if at.TurnRef != r.TurnRef {
				continue
			}
			if r.Outcome == "" {
				at.name(r.Used)
				continue
			}
			at.closed, at.credited = true, nil
			for _, item := range r.Items {
				if item.Used {
					at.credited = append(at.credited, item.ID)
				}
			}
		}
	}
}

// addMemories records the memories whose texts are in the state.
func (t *turns) addMemories(ids ...string) {
	if t.memories == nil {
		t.memories = map[string]bool{}
	}
	for _, id := range ids {
		if id != "" {
			t.memories[id] = true
		}
	}
}

// given are the memories whose content is in the state, sorted.
func (t *turns) given() []string { return slices.Sorted(maps.Keys(t.memories)) }

// name notes which of the turn's memories were used.
func (t *turn) name(ids []string) {
	for _, id := range ids {
		id = core.ResolveHandle(t.ids, id)
		if !t.closed && slices.Contains(t.ids, id) && !slices.Contains(t.named, id) {
			t.named = append(t.named, id)
		}
	}
}

// refer notes that something read the last recall of a node.
func (t *turns) refer(node string) {
	seen := map[string]bool{}
	for i := len(t.list) - 1; i >= 0; i-- {
		at := t.list[i]
		if !seen[at.node] && at.readBy(node) {
			at.referred = true
		}
		seen[at.node] = true
	}
}

// recalls reports whether a recall of the node came before.
func (t *turns) recalls(node string) bool {
	return slices.ContainsFunc(t.list, func(at *turn) bool { return at.readBy(node) })
}

// readBy reports whether reading the result of a node means reading what the turn
// recalled.
func (t *turn) readBy(node string) bool {
	return node == t.node || node == action.RefersToAll || slices.Contains(t.also, node)
}

// open is the newest turn without a feedback.
func (t *turns) open() core.TurnRef {
	for i := len(t.list) - 1; i >= 0; i-- {
		if !t.list[i].closed {
			return t.list[i].TurnRef
		}
	}
	return core.TurnRef{}
}

// giveFeedback gives feedback on the run's turns, and records the run's evidence. A run that can be
// resumed does neither yet.
func (w *walk) giveFeedback(ctx context.Context) {
	if w.Reporter == nil || w.run.Status.Resumable() || len(w.turns.list) == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	check := func(err error) {
		if err != nil {
			w.emit(core.FeedbackFailed{Err: err})
		}
	}
	if dag := w.plan.dag(w.turns.list); dag != nil { // first: the gate may ask for it at once
		check(w.Reporter.AddDAG(ctx, dag))
	}
	if outcomes := w.turns.ofClosed(w.run.ID); len(outcomes) > 0 {
		check(w.Reporter.AddTools(ctx, outcomes))
	}
	for _, r := range w.turns.feedbacks(w.run) {
		result, err := w.Reporter.Feedback(ctx, r)
		check(err)
		if err == nil {
			w.turns.close(result)
		}
	}
}

// close notes the memories that a feedback credited.
func (t *turns) close(result *core.FeedbackResult) {
	for _, at := range t.list {
		if at.Session != result.Session || at.Turn != result.Turn {
			continue
		}
		at.closed, at.credited = true, nil
		for _, item := range result.Items {
			if item.Used {
				at.credited = append(at.credited, item.ID)
			}
		}
	}
}

// tally counts the memories that the run recalled, and how many of them were used. For a
// run that can be resumed, this isn't known yet.
func (w *walk) tally() {
	w.run.Recalled, w.run.Used = 0, 0
	if w.run.Status.Resumable() {
		return
	}
	for _, recalls := range w.turns.byTurn() {
		w.run.Recalled += int64(len(distinct(recalls, func(at *turn) []string { return at.ids })))
		if at := recalls[0]; at.closed {
			w.run.Used += int64(len(at.credited))
			continue
		}
		named, assumed, _ := w.turns.uses(recalls)
		w.run.Used += int64(len(named) + len(assumed))
	}
}

// byTurn are the recalls of each turn, in the run's order. A turn has several if nodes name it.
func (t *turns) byTurn() (all [][]*turn) {
	for _, at := range t.list {
		i := slices.IndexFunc(all, func(recalls []*turn) bool { return recalls[0].TurnRef == at.TurnRef })
		if i < 0 {
			i, all = len(all), append(all, nil)
		}
		all[i] = append(all[i], at)
	}
	return all
}

// distinct are the memories that recalls give, each once.
func distinct(recalls []*turn, of func(*turn) []string) (list []string) {
	for _, at := range recalls {
		for _, id := range of(at) {
			if !slices.Contains(list, id) {
				list = append(list, id)
			}
		}
	}
	return list
}

// uses returns the memories of a turn's recalls that were named as used; or else what may show which
// were used, and the memories that are assumed to be used if it doesn't.
func (t *turns) uses(recalls []*turn) (named, assumed []string, reply string) {
	if named = distinct(recalls, func(at *turn) []string { return at.named }); len(named) > 0 {
		return named, nil, ""
	}
	assumed = distinct(recalls, func(at *turn) []string {
		if !at.referred {
			return nil
		}
		return at.ids[:min(len(at.ids), 1)]
	})
	if len(assumed) > 0 {
		reply = t.reply(recalls[0])
	}
	return nil, assumed, reply
}

// feedbacks are the feedback requests for the turns without feedback, in the run's order.
func (t *turns) feedbacks(run *core.Run) []*core.FeedbackRequest {
	var all []*core.FeedbackRequest
	for _, recalls := range t.byTurn() {
		at := recalls[0]
		if at.closed {
			continue
		}
		r := &core.FeedbackRequest{Session: at.Session, Turn: at.Turn, Outcome: t.outcome(run), Source: "tool"}
		r.Used, r.Assumed, r.Reply = t.uses(recalls)
		if len(r.Used)+len(r.Assumed) > 0 {
			r.ToolOutcomes = t.tools(at, run.ID)
		}
		all = append(all, r)
	}
	return all
}

// maxReply is how many characters of a run's outputs show what it used.
const maxReply = 1 << 18

// reply is the texts in what the nodes after a recall put out, the newest first.
func (t *turns) reply(at *turn) string {
	var b strings.Builder
	for _, o := range slices.Backward(t.outputs) {
		if o.visit < at.visit || b.Len() > maxReply {
			break
		}
		decoder := json.NewDecoder(bytes.NewReader(o.value))
		for token, err := decoder.Token(); err == nil; token, err = decoder.Token() {
			if text, is := token.(string); is {
				b.WriteString(text + "\n")
			}
		}
	}
	return b.String()[:min(b.Len(), maxReply)]
}

// ofClosed are the outcomes of the evaluators for the memories that were used in turns which
// memory.feedback closed.
func (t *turns) ofClosed(ref string) (all []core.ToolOutcome) {
	for _, recalls := range t.byTurn() {
		at := recalls[0]
		for _, id := range at.credited {
			for _, o := range t.tools(at, ref) {
				o.MemoryID, o.Session, o.Turn = id, at.Session, at.Turn
				all = append(all, o)
			}
		}
	}
	return all
}

// goodEnough is the lowest best score at which a run that didn't pass is a partial
// success.
const goodEnough = 0.5

// outcome is what a run's end says about its turns. A run that passed only because its loops
// may be exhausted is no proof that the memories helped.
func (t *turns) outcome(run *core.Run) core.Outcome {
	passed := run.Status == core.StatusPassed
	switch {
	case passed && len(run.ExhaustedLoops) == 0:
		return core.OutcomeSuccess
	case passed || t.best >= goodEnough:
		return core.OutcomePartial
	}
	return core.OutcomeFailure
}

// tools are the loops that came after a recall, as outcomes of their evaluators. Their references
// differ, since an outcome of the same tool with the same reference is recorded only once.
func (t *turns) tools(at *turn, run string) []core.ToolOutcome {
	var all []core.ToolOutcome
	for i, l := range t.loops {
		if l.visit < at.visit {
			continue
		}
		ref := run
		if i > 0 {
			ref = fmt.Sprintf("%s.%d", run, i+1)
		}
		passed := l.outcome.Status == core.StatusPassed
		all = append(all, core.ToolOutcome{
			Tool: l.tool, OK: passed && l.outcome.Iteration == 1, Recovered: passed && l.outcome.Iteration > 1, Ref: ref,
		})
	}
	return all
}

// toolOf is the name of an evaluator.
func toolOf(s action.Step) string {
	if s.Composite != nil {
		return string(s.Composite.Kind)
	}
	return s.Plugin
}

// dag is the plan's graph with the nodes that recalled a memory; nil if none was recalled
// or no node is an end. Edges that lead back are left out: the graph must not have
// cycles.
func (p *Plan) dag(recalled []*turn) *core.WorkflowDAG {
	d := &core.WorkflowDAG{Workflow: p.Name, Entry: []string{p.Nodes[0].Name}, Memories: map[string][]string{}}
	for _, at := range recalled {
		for _, id := range at.ids {
			if !slices.Contains(d.Memories[id], at.node) {
				d.Memories[id] = append(d.Memories[id], at.node)
			}
		}
	}
	for i := range p.Nodes {
		for _, to := range p.ways(i) {
			switch at := p.index(to); {
			case to == End:
				d.Exits = append(d.Exits, p.Nodes[i].Name)
			case at > i:
				d.Edges = append(d.Edges, [2]string{p.Nodes[i].Name, to})
			}
		}
	}
	if len(d.Memories) == 0 || len(d.Exits) == 0 {
		return nil
	}
	return d
}

// ways are the nodes that may come after a node.
func (p *Plan) ways(i int) []string {
	ways := map[string]bool{}
	falls := true // it may continue with the next node in the file
	for _, g := range p.Nodes[i].Goto {
		ways[g.To] = true
		falls = falls && (g.When != nil || p.Nodes[i].When != nil)
	}
	if falls && i+1 < len(p.Nodes) {
		ways[p.Nodes[i+1].Name] = true
	} else if falls {
		ways[End] = true
	}
	return slices.Sorted(maps.Keys(ways))
}
