package web

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/inject"
)

// snapshotDiffData is the difference between the snapshots of two turns.
type snapshotDiffData struct {
	*inject.Diff
	FromTurn int64         `json:"from_turn"`
	ToTurn   int64         `json:"to_turn"`
	FromURL  string        `json:"-"`
	ToURL    string        `json:"-"`
	Prefixed tag           `json:"-"`
	Broken   string        `json:"-"`
	Rows     []blockChange `json:"-"`
	// Others are the session's snapshots with which it can be compared.
	Others []otherSnapshot `json:"-"`
}

// blockChange is a block that differs.
type blockChange struct {
	inject.BlockChange
	Category tag
	// How is a tag, and Why has more details.
	How tag
	Why string
	// Words are the differences of the payloads, if both turns have the block.
	Words *wordDiff
	Broke bool
}

// otherSnapshot is a choice of a snapshot.
type otherSnapshot struct {
	ID      string
	Turn    int64
	Current bool
}

func loadSnapshotDiff(v *visit) (*content, error) {
	in := &operation.SnapshotDiff{ID: v.PathValue("id"), With: v.query("with")}
	found, err := call[inject.Diff](v, "snapshot_diff", in)
	if err != nil {
		return nil, err
	}
	from, err := v.snapshot(found.From)
	if err != nil {
		return nil, err
	}
	to, err := v.snapshot(found.To)
	if err != nil {
		return nil, err
	}
	d := &snapshotDiffData{Diff: found, FromTurn: from.TurnID, ToTurn: to.TurnID, FromURL: snapshotURL(from.SnapshotID), ToURL: snapshotURL(to.SnapshotID)}
	d.prefix(from, to)
	d.rows(v, from, to)
	if err := d.others(v, from, to); err != nil {
		return nil, err
	}
	session := "/snapshots?" + url.Values{"namespace": {to.Namespace}, "session": {to.SessionID}}.Encode()
	return &content{
		Title:  "Turn " + strconv.FormatInt(from.TurnID, 10) + " → " + strconv.FormatInt(to.TurnID, 10),
		Crumbs: []crumb{{"Snapshots", "/snapshots"}, {line(to.SessionID, 30), session}, {"Turn " + strconv.FormatInt(to.TurnID, 10), d.ToURL}}, Data: d,
	}, nil
}

// prefix compares the prefixes that a model's provider caches.
func (d *snapshotDiffData) prefix(from, to *inject.Snapshot) {
	switch p := &d.Prefix; {
	case from.Prefix.Chars+to.Prefix.Chars == 0:
		d.Prefixed = tag{Text: "no prefix"}
	case p.Reused:
		d.Prefixed = tag{Text: "prefix reused", Class: "ok"}
	default:
		d.Prefixed = tag{Text: "prefix broken", Class: "bad"}
		d.Broken = map[string]string{
			"added": "the block is new there", "removed": "the block is gone from it", "payload": "the block says something else", "order": "the block has another place",
		}[p.How]
	}
}

// rows adds the blocks that differ: removed, added and changed ones.
func (d *snapshotDiffData) rows(v *visit, from, to *inject.Snapshot) {
	add := func(list []inject.BlockChange, how tag, absent string) {
		for _, c := range list {
			row := blockChange{BlockChange: c, Category: categoryTag(c.Category), How: how, Broke: c.BlockID == d.Prefix.BrokenBy}
			switch {
			case absent == "":
				row.Why = strings.ReplaceAll(c.What, "payload", "other words")
				if a, b := blockIn(from, c.BlockID), blockIn(to, c.BlockID); a != nil && b != nil && a.PayloadDigest != b.PayloadDigest {
					row.Words = v.words(a.Payload, b.Payload)
				}
			case c.What == "absent":
				row.Why = absent
			default:
				row.Why = dropText(inject.Reason(c.What))
			}
			d.Rows = append(d.Rows, row)
		}
	}
	add(d.Removed, tag{Text: "gone", Class: "bad"}, "nothing offered it")
	add(d.Added, tag{Text: "new", Class: "ok"}, "nothing offered it before")
	add(d.Changed, tag{Text: "changed", Class: "warn"}, "")
}

// blockIn is a block of a prompt; nil if the prompt doesn't have it.
func blockIn(s *inject.Snapshot, id string) *inject.Used {
	for i := range s.BlocksUsed {
		if s.BlocksUsed[i].BlockID == id {
			return &s.BlocksUsed[i]
		}
	}
	return nil
}

// others adds the snapshots of the session.
func (d *snapshotDiffData) others(v *visit, from, to *inject.Snapshot) error {
	list, err := v.snapshotsOf(to.Namespace, to.SessionID, operation.MaxLimit)
	for _, s := range list {
		if s.SnapshotID != to.SnapshotID {
			d.Others = append(d.Others, otherSnapshot{s.SnapshotID, s.TurnID, s.SnapshotID == from.SnapshotID})
		}
	}
	return err
}

// snapshotsOf are the first snapshots of a session; none if the caller may not see them.
func (v *visit) snapshotsOf(namespace, session string, most int) ([]*inject.Snapshot, error) {
	found, err := optional[operation.Page[*inject.Snapshot]](v, "snapshot_list", &operation.SnapshotList{
		Namespace: namespace, Session: session, Paging: operation.Paging{Limit: most},
	})
	if err != nil || found == nil {
		return nil, err
	}
	return found.Items, nil
}
