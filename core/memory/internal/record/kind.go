package record

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/table"
)

// Part is whose data the problems are.
const Part = "memories"

// Memories are the memories, by id. The title index holds live memories only: its purpose is that
// no two of them share a title.
var Memories = table.Kind[core.Memory]{
	Part: Part, Prefix: MemoryPrefix,
	Doc:    "id | the memory, as `core.Memory` in JSON, with its salt as `salt` at the end. An id that a caller chose within a namespace ends in `@` and a mark (see `core/memory/internal/record/chosen.go`)",
	Decode: Decode,
	Indices: []table.Index[core.Memory]{
		{Prefix: TimePrefix,
			Doc: "namespace 00 when id | index: the size that is counted for the memory, in bytes, as decimal text",
			ID:  indexedID, Entries: func(_ string, m *core.Memory) []table.Entry {
				return []table.Entry{{Key: indexKey(TimePrefix, m, ""), Value: sizeValue(m)}}
			}},
		byValue(StatePrefix, "namespace 00 state 00 when id | index: empty", func(m *core.Memory) []string { return []string{string(m.State)} }),
		byValue(KindPrefix, "namespace 00 kind 00 when id | index: empty", func(m *core.Memory) []string { return []string{string(m.Kind)} }),
		byValue(AgentPrefix, "namespace 00 agent 00 when id | index: empty; absent if the memory has no agent", func(m *core.Memory) []string {
			return slices.DeleteFunc([]string{m.AgentID}, func(s string) bool { return s == "" })
		}),
		byValue(TagPrefix, "namespace 00 tag 00 when id | index: empty; one for each tag", func(m *core.Memory) []string { return m.Tags }),
		{Prefix: TitlePrefix, Doc: "namespace 00 digest(32) id | index of live memories by the SHA-256 of the title: empty", ID: indexedID, Entries: func(_ string, m *core.Memory) (list []table.Entry) {
			if m.State.Live() {
				list = []table.Entry{{Key: append(TitleStart(m.Namespace, m.Title), m.ID...)}}
			}
			return list
		}},
	},
	Sums: []table.Sum[core.Memory]{{
		Prefix: CountPrefix,
		Doc:    "namespace | what the namespace holds: `{memories, bytes, states?: {state: n}, kinds?: {kind: n}}`; absent if it holds nothing. An early store has no counts by state and kind: they can be counted in the indices, and `store check --repair` adds them",
		Of:     func(_ string, m *core.Memory) string { return m.Namespace }, Value: countValue, Differs: countDiffers,
	}},
}

// indexKey is a memory's key in an index.
func indexKey(prefix string, m *core.Memory, value string) []byte {
	return append(IndexStart(prefix, m.Namespace, value), Place(m.CreatedAt, m.ID)...)
}

// byValue is an index of memories by values within their namespaces.
func byValue(prefix, doc string, values func(*core.Memory) []string) table.Index[core.Memory] {
	return table.Index[core.Memory]{Prefix: prefix, Doc: doc, ID: indexedID, Entries: func(_ string, m *core.Memory) []table.Entry {
		list := make([]table.Entry, 0, 1)
		for _, value := range values(m) {
			list = append(list, table.Entry{Key: indexKey(prefix, m, value)})
		}
		return list
	}}
}

// countValue is the count of a namespace, from the indices.
func countValue(ctx context.Context, _ *table.Kind[core.Memory], r core.Reader, namespace string) (value []byte, err error) {
	found, err := countIndex(ctx, r, namespace)
	if found.Count != (Count{}) {
		value = jsontext.MustEncode(&found)
	}
	return value, err
}

// Links are the links, by the memory that they begin at, the relation and the memory that they end
// at, with slashes between them.
var Links = table.Kind[core.Link]{
	Part: Part, Prefix: LinkPrefix,
	Doc: "from `/` relation `/` to | a link: `{from, relation, to, position?, created_at, metadata?, salt?}`; a link with metadata has a salt. A link to a tombstone's id has no metadata, and is shown as a link to `purged:` id; so has a `supersedes` link from one, which is the only kind that stays when the memory that it begins at is purged",

	Valid: func(id string, l *core.Link) string {
		if string(LinkKey(l.From, l.Relation, l.To)) != LinkPrefix+id {
			return "it names other memories"
		}
		return ""
	},
	Indices: []table.Index[core.Link]{{
		Prefix: LinkToPrefix, Doc: "to `/` relation `/` from | index of links by their other end: empty",
		Entries: func(_ string, l *core.Link) []table.Entry {
			return []table.Entry{{Key: LinkToKey(l.To, l.Relation, l.From)}}
		},
		ID: func(key, _ []byte) string {
			to, rest, _ := strings.Cut(string(key[len(LinkToPrefix):]), "/")
			relation, from, _ := strings.Cut(rest, "/")
			return from + "/" + relation + "/" + to
		},
	}},
}

// Pendings are the reflections that wait for an approval, by id.
var Pendings = table.Kind[Pending]{
	Part: Part, Prefix: PendingPrefix,
	Doc:    "id | a reflection that waits for approval: `{id, namespace, agent_id, depth, above, created_at, request, salt}`",
	Decode: decodePending,
	Indices: []table.Index[Pending]{
		{Prefix: PendingNamespacePrefix, Doc: "namespace 00 id | index: empty", ID: afterZero, Entries: func(id string, p *Pending) []table.Entry {
			return []table.Entry{{Key: append(PendingStart(p.Namespace), id...)}}
		}},
		{Prefix: PendingSourcePrefix, Doc: "source `/` id | index: empty; one for each source", Quotes: func(p *Pending) []string { return p.Request.SourceIDs }},
	},
}

func decodePending(id string, value []byte) (*Pending, error) {
	p := pendingRecord{Pending: &Pending{}}
	if err := json.Unmarshal(value, &p); err != nil {
		return nil, Damaged(PendingPrefix+id, err)
	}
	if p.salt = p.Salt; p.Request == nil {
		return nil, Damaged(PendingPrefix+id, errors.New("it holds no request"))
	}
	return p.Pending, nil
}

// Decisions are the gate's decisions, by id.
var Decisions = table.Kind[verdict.GateDecision]{
	Part: Part, Prefix: DecisionPrefix, Doc: "id | a decision of the gate, kept when the memory is purged",
	Valid: func(id string, d *verdict.GateDecision) string { return ownID(id, d.ID) },
	Indices: []table.Index[verdict.GateDecision]{{Prefix: DecisionMemoryPrefix, Doc: "memory `/` id | index: empty", Entries: func(id string, d *verdict.GateDecision) []table.Entry {
		return []table.Entry{{Key: DecisionMemoryKey(d.MemoryID, id)}}
	}}},
}

// Knowledge are the entries of knowledge, by id.
var Knowledge = table.Kind[core.Knowledge]{
	Part: Part, Prefix: KnowledgePrefix,
	Doc: "id | an entry of knowledge with a salt, never changed except for `superseded_by` and the salt",

	Valid: func(id string, k *core.Knowledge) string { return ownID(id, k.ID) },
	Indices: []table.Index[core.Knowledge]{{Prefix: KnowledgeNamespacePrefix, Doc: "namespace 00 when id | index: empty", ID: afterPlace, Entries: func(_ string, k *core.Knowledge) []table.Entry {
		return []table.Entry{{Key: KnowledgeIndexKey(k)}}
	}}},
}

// Dreams are the plans and runs of dream passes, by id.
var Dreams = table.Kind[DreamRun]{
	Part: Part, Prefix: DreamPrefix,
	Doc: "id | a plan of a dream pass, and its run: `{run_id, namespace, agent?, mode, status, planned_at, began_at?, completed_at?, plan_digest, steps, plan, report?, undo_expired?}`. The plan names memories by ids and keyed digests, and has no content",

	Valid: func(id string, d *DreamRun) string {
		if d.Plan == nil {
			return "it has no plan"
		}
		return ownID(id, d.ID)
	},
	Agrees: func(_ core.Reader, _ string, d *DreamRun) (wrong string, err error) {
		if d.PlanDigest != d.Plan.PlanDigest() {
			wrong = "its plan isn't what its digest says"
		}
		return wrong, nil
	},
	Indices: []table.Index[DreamRun]{{Prefix: DreamNamespacePrefix,
		Doc: "namespace 00 when id | index of runs: empty. `when` is the complement of the time of the plan",
		ID:  afterPlace, Entries: func(_ string, d *DreamRun) []table.Entry {
			return []table.Entry{{Key: DreamIndexKey(d)}}
		}}},
}

// ownID describes a record with another id than its key.
func ownID(id, own string) string {
	if own != id {
		return "its own id is " + strconv.Quote(bounds.Shorten(own))
	}
	return ""
}

// afterZero is what follows the first zero byte of a key, and afterPlace the id in a [Place] there.
func afterZero(key, _ []byte) string {
	_, id, _ := strings.Cut(string(key), "\x00")
	return id
}

func afterPlace(key, _ []byte) string { return PlaceID([]byte(afterZero(key, nil))) }
