package inject

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Input is what a snapshot is assembled from. The order of its blocks never matters.
type Input struct {
	Namespace, SessionID string
	TurnID               int64
	// Route is the leading kind of evidence; "" if there is none.
	Route string
	// Policy is completed by [Assemble].
	Policy Policy
	// File, FileDigest and Rule name what decided the policy: see [Applied].
	File, FileDigest, Rule string
	// RoleMix is put into the snapshot unchanged; its blocks are among the other blocks.
	RoleMix *RoleMix
	Blocks  []*Block
	// Withheld is put into the snapshot unchanged: no block has it.
	Withheld []string
	// Before is the digest of the prefix of the session's previous snapshot; "" if there is none.
	Before string

	// early is whether the blocks of the snapshot have neither turns nor references, as in
	// snapshots that were stored before they did.
	early bool
}

// assembly is a snapshot in the making.
type assembly struct {
	policy  Policy
	measure measure
	turn    int64
	blocks  []*piece
	// out are the blocks that were left out, in that order.
	out []*piece
}

// piece is a block on its way through the assembly.
type piece struct {
	*Block
	rank, priority int
	anchor, stable bool
	// payload and size are what is left of the block.
	payload string
	size    size
	reason  Reason
}

// Assemble makes a snapshot, without an id and a time. The first of its nine steps, collecting the blocks, is
// the caller's. The refusals are the ones of [Policy.Completed], sdk.Denied, reason "anchor_denied", for an
// anchor of a caller, and sdk.Conflict of the reasons "anchors_exceed_blocks" and "anchors_exceed_budget",
// which name the anchors.
func Assemble(in *Input) (*Snapshot, error) {
	policy, err := in.Policy.Completed()
	if err != nil {
		return nil, err
	}
	a := &assembly{policy: policy, measure: measureOf(&policy), turn: in.TurnID, blocks: make([]*piece, len(in.Blocks)), out: make([]*piece, 0, len(in.Blocks))}
	pieces := make([]piece, len(in.Blocks))
	for i, b := range in.Blocks {
		a.blocks[i] = &pieces[i]
		pieces[i] = a.piece(b)
	}
	if err := a.checkTrust(); err != nil {
		return nil, err
	}
	a.drop()
	a.dedupe()
	a.sort()
	a.single()
	a.cap()
	if err := a.limit(); err != nil {
		return nil, err
	}
	a.anchorsFirst()
	if err := a.budget(); err != nil {
		return nil, err
	}
	return a.snapshot(in), nil
}

func (a *assembly) piece(b *Block) piece {
	return piece{
		Block: b, rank: b.draft.Category.rank(), priority: *b.draft.Priority, anchor: b.draft.Anchor || slices.Contains(a.policy.Anchors, b.draft.Category),
		stable: b.draft.Stable && b.prefixable(), payload: b.draft.Payload, size: a.measure.size(b.draft.Payload, b.chars),
	}
}

// checkTrust refuses a caller's block in a category whose blocks are anchors.
func (a *assembly) checkTrust() error {
	var denied []error
	for _, p := range a.blocks {
		if p.anchor && !p.trusted {
			denied = append(denied, anchorDenied(p.draft.BlockID, "of category "+string(p.draft.Category)+" is an anchor"))
		}
	}
	slices.SortFunc(denied, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return core.JoinErrors(denied...)
}

// leave removes the blocks for which why returns a reason.
func (a *assembly) leave(why func(*piece) Reason) {
	kept := a.blocks[:0]
	for _, p := range a.blocks {
		if p.reason = why(p); p.reason != "" {
			a.out = append(a.out, p)
		} else {
			kept = append(kept, p)
		}
	}
	a.blocks = kept
}

// drop is step 2: it drops disabled categories, then expired blocks.
func (a *assembly) drop() {
	var enabled [len(categories)]bool
	for _, c := range a.policy.Enabled {
		enabled[c.rank()] = true
	}
	a.leave(func(p *piece) Reason {
		switch {
		case !enabled[p.rank]:
			return CategoryDisabled
		case p.expired(a.turn):
			return Expired
		}
		return ""
	})
}

// dedupe is step 3: among blocks that count as the same, the best stays.
func (a *assembly) dedupe() {
	type key struct {
		name string
		rank int
	}
	keyOf := func(p *piece) (key, bool) {
		if a.policy.Dedupe == BySource {
			return key{p.draft.Source, p.rank}, p.draft.Source != ""
		}
		return key{name: p.draft.BlockID}, true
	}
	best := make(map[key]*piece, len(a.blocks))
	for _, p := range a.blocks {
		k, comparable := keyOf(p)
		if other := best[k]; comparable && (other == nil || better(p, other)) {
			best[k] = p
		}
	}
	a.leave(func(p *piece) Reason {
		k, comparable := keyOf(p)
		if !comparable || best[k] == p {
			return ""
		}
		return DuplicateOf + Reason(best[k].draft.BlockID)
	})
}

// better reports whether a block is preferred to another one that counts as the same: first
// anchors, then by the higher priority, the smaller id, the category's rank and the payload's
// digest.
func better(a, b *piece) bool {
	if a.anchor != b.anchor {
		return a.anchor
	}
	return cmp.Or(
		cmp.Compare(b.priority, a.priority), strings.Compare(a.draft.BlockID, b.draft.BlockID), cmp.Compare(a.rank, b.rank),
		a.other(b),
	) < 0
}

// other compares fields that no rule names, so that the order of the input doesn't matter.
func (p *piece) other(q *piece) int {
	if c := strings.Compare(p.digest, q.digest); c != 0 {
		return c
	}
	return strings.Compare(string(jsontext.MustEncode(p.draft)), string(jsontext.MustEncode(q.draft)))
}

// sort is step 4.
func (a *assembly) sort() { slices.SortFunc(a.blocks, a.policy.Ordering.compare) }

func (o Ordering) compare(a, b *piece) int {
	byPriority, byRank := cmp.Compare(b.priority, a.priority), a.rank-b.rank
	c := 0
	switch {
	case o == ByCategory:
		c = cmp.Or(byRank, byPriority)
	case o == StablePrefix && a.stable != b.stable:
		return boolRank(a.stable) - boolRank(b.stable)
	case o == StablePrefix && a.stable:
		c = byRank
	default:
		c = cmp.Or(byPriority, byRank)
	}
	if c == 0 {
		c = strings.Compare(a.draft.BlockID, b.draft.BlockID)
	}
	if c == 0 {
		c = byPriority
	}
	if c == 0 {
		c = a.other(b)
	}
	return c
}

// boolRank puts true first.
func boolRank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// single is step 5: in the mode single, the anchors stay, and the block with the highest priority
// among the others. In the mode hybrid, the mix of roles is already among the blocks.
func (a *assembly) single() {
	if a.policy.Mode != Single {
		return
	}
	var one *piece
	for _, p := range a.blocks {
		if !p.anchor && (one == nil || p.priority > one.priority) {
			one = p
		}
	}
	a.leave(func(p *piece) Reason {
		if p.anchor || p == one {
			return ""
		}
		return OverMaxBlocks
	})
}

// cap is step 6: a block that fits its category's cap is kept; any other block is cut if possible,
// and otherwise dropped.
func (a *assembly) cap() {
	if len(a.policy.CategoryCap) == 0 {
		return
	}
	var left [len(categories)]size
	for i, c := range categories {
		left[i] = unlimited
		if most, capped := a.policy.CategoryCap[c]; capped {
			left[i].chars = most
		}
	}
	a.leave(func(p *piece) Reason {
		if p.anchor || a.measure.fit(p, &left[p.rank]) {
			return ""
		}
		return OverCap
	})
}

// limit is step 7: the first blocks stay, and every further anchor takes the place of the last
// block that isn't an anchor.
func (a *assembly) limit() error {
	if a.policy.Mode == Single {
		return nil
	}
	var anchors []string
	for _, p := range a.blocks {
		if p.anchor {
			anchors = append(anchors, p.draft.BlockID)
		}
	}
	others := a.policy.MaxBlocks - len(anchors)
	if others < 0 {
		slices.Sort(anchors)
		return sdk.Errorf(sdk.Conflict, "anchors_exceed_blocks", "there are %d anchors (limit %d blocks): %s", len(anchors), a.policy.MaxBlocks, core.Cut(strings.Join(anchors, ", "))).
			WithHint("anchors are never dropped: make fewer of them, or raise max_blocks").WithDetail("anchors", anchors)
	}
	a.leave(func(p *piece) Reason {
		if p.anchor {
			return ""
		}
		if others--; others < 0 {
			return OverMaxBlocks
		}
		return ""
	})
	return nil
}

// anchorsFirst is step 8: each group keeps its order.
func (a *assembly) anchorsFirst() {
	slices.SortStableFunc(a.blocks, func(p, q *piece) int { return boolRank(p.anchor) - boolRank(q.anchor) })
}

// snapshot is the finished snapshot.
func (a *assembly) snapshot(in *Input) *Snapshot {
	s := &Snapshot{
		Namespace: in.Namespace, SessionID: in.SessionID, TurnID: in.TurnID, Route: in.Route, RoleMix: in.RoleMix,
		PolicyApplied: Applied{Policy: a.policy, Digest: a.policy.digest(), File: in.File, FileDigest: in.FileDigest, Rule: in.Rule},
		BlocksUsed:    make([]Used, 0, len(a.blocks)), DroppedBlocks: make([]Dropped, 0, len(a.out)), TruncatedBlocks: []Truncated{},
		Withheld: in.Withheld,
	}
	total := size{}
	for _, p := range a.blocks {
		u := p.used()
		if in.early {
			u.TTLTurns, u.CreatedTurn, u.TraceRefs = nil, nil, nil
		}
		s.BlocksUsed = append(s.BlocksUsed, u)
		if p.size.chars != p.chars {
			s.TruncatedBlocks = append(s.TruncatedBlocks, Truncated{p.draft.BlockID, p.chars, p.size.chars})
		}
		total = total.plus(p.size)
	}
	s.CharsInjected = total.chars
	if a.policy.MaxTokens > 0 {
		s.TokensInjected = &total.tokens
	}
	slices.SortFunc(a.out, func(p, q *piece) int {
		if c := strings.Compare(p.draft.BlockID, q.draft.BlockID); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(p.rank, q.rank), strings.Compare(string(p.reason), string(q.reason)))
	})
	for _, p := range a.out {
		s.DroppedBlocks = append(s.DroppedBlocks, Dropped{p.draft.BlockID, p.draft.Category, p.reason})
	}
	if a.policy.Ordering == StablePrefix {
		s.Prefix = a.prefix(in.Before)
	}
	s.Digest = s.computeDigest()
	return s
}

func (p *piece) used() Used {
	u := Used{
		BlockID: p.draft.BlockID, Category: p.draft.Category, Priority: p.priority, Source: p.draft.Source, Tags: p.draft.Tags,
		TTLTurns: p.draft.TTLTurns, CreatedTurn: p.draft.CreatedTurn, TraceRefs: p.draft.TraceRefs,
		MemoryID: p.draft.MemoryID, Anchor: p.anchor, Stable: p.stable, Format: p.draft.Format,
		Chars: p.size.chars, PayloadDigest: p.digest, Payload: p.payload,
	}
	switch {
	case p.size.chars != p.chars && p.kept != nil:
		u.PayloadDigest = p.kept.PayloadDigest
	case p.size.chars != p.chars:
		u.PayloadDigest = digestOf(p.draft.Salt, p.payload)
	}
	return u
}

// prefix is the part that stays the same from turn to turn: the anchors and the stable blocks, up
// to the first block that is neither an anchor nor stable, or that is recalled text or a hint.
func (a *assembly) prefix(before string) Prefix {
	var payloads, digests []string
	keyed := false
	out := Prefix{}
	for _, p := range a.blocks {
		if !p.anchor && !p.stable || !p.prefixable() {
			break
		}
		digest := p.used().PayloadDigest
		payloads, digests = append(payloads, p.payload), append(digests, digest)
		keyed = keyed || strings.HasPrefix(digest, keyedPrefix)
		out.Chars += p.size.chars
	}
	switch {
	case keyed: // without the salts that a purge removes, no text can be guessed from it
		out.Digest = core.Digest([]byte(strings.Join(digests, "\n")))
	case len(payloads) > 0:
		out.Digest = core.Digest([]byte(strings.Join(payloads, "\n\n")))
	}
	out.Reused = out.Digest != "" && out.Digest == before
	return out
}
