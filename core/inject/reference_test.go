package inject_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/inject/tokenizer"
)

// The reference is the assembly once more, written from its description and from nothing
// else: a list of plain structs that goes through nine plain loops, character by character,
// with no thought of speed. It and the real one agree on random inputs.

var rankOf = map[inject.Category]int{
	"safety": 0, "policy": 1, "session_injection": 2, "memory_recall": 3, "knowledge": 4, "workflow": 5, "tooling": 6, "reflection": 7,
}

type refBlock struct {
	inject.Draft
	digest, text string // text is the payload as it is cut
	anchor       bool
}

type refResult struct {
	used    []string // id, text
	dropped []string // id, category, reason
	cut     []string // id, from, to
	err     string
}

func reference(policy inject.Policy, turn int64, blocks []*inject.Block) refResult {
	anchored := policy.Anchors
	if anchored == nil {
		anchored = []inject.Category{"safety", "policy"}
	}
	var list []*refBlock
	for _, b := range blocks {
		d := b.Draft()
		list = append(list, &refBlock{Draft: d, digest: b.Digest(), text: d.Payload, anchor: d.Anchor || slices.Contains(anchored, d.Category)})
	}
	var res refResult
	drop := func(b *refBlock, reason string) {
		res.dropped = append(res.dropped, fmt.Sprint(b.BlockID, " ", b.Category, " ", reason))
	}
	// 2. disabled, expired
	var two []*refBlock
	for _, b := range list {
		switch {
		case policy.Enabled != nil && !slices.Contains(policy.Enabled, b.Category):
			drop(b, "category_disabled")
		case b.TTLTurns != nil && turn-*b.CreatedTurn >= *b.TTLTurns:
			drop(b, "expired")
		default:
			two = append(two, b)
		}
	}
	// 3. dedupe: each block looks for a better one that is the same
	same := func(a, b *refBlock) bool {
		if policy.Dedupe == inject.BySource {
			return a.Source != "" && a.Source == b.Source && a.Category == b.Category
		}
		return a.BlockID == b.BlockID
	}
	stays := func(a, b *refBlock) bool { // a before b
		if a.anchor != b.anchor {
			return a.anchor
		}
		if *a.Priority != *b.Priority {
			return *a.Priority > *b.Priority
		}
		if a.BlockID != b.BlockID {
			return a.BlockID < b.BlockID
		}
		if rankOf[a.Category] != rankOf[b.Category] {
			return rankOf[a.Category] < rankOf[b.Category]
		}
		return a.digest < b.digest
	}
	var three []*refBlock
	for _, b := range two {
		best := b
		for _, o := range two {
			if o != b && same(o, b) && stays(o, best) {
				best = o
			}
		}
		if best == b {
			three = append(three, b)
		} else {
			drop(b, "duplicate_of:"+best.BlockID)
		}
	}
	// 4. sort
	stable := func(b *refBlock) bool {
		return b.Stable && b.Category != "memory_recall" && b.Category != "reflection" && b.MemoryID == ""
	}
	less := func(a, b *refBlock) bool {
		if policy.Ordering == inject.StablePrefix && stable(a) != stable(b) {
			return stable(a)
		}
		byRank := policy.Ordering == inject.ByCategory || policy.Ordering == inject.StablePrefix && stable(a)
		if byRank && rankOf[a.Category] != rankOf[b.Category] {
			return rankOf[a.Category] < rankOf[b.Category]
		}
		if policy.Ordering == inject.StablePrefix && stable(a) && a.BlockID != b.BlockID {
			return a.BlockID < b.BlockID
		}
		if *a.Priority != *b.Priority {
			return *a.Priority > *b.Priority
		}
		if rankOf[a.Category] != rankOf[b.Category] {
			return rankOf[a.Category] < rankOf[b.Category]
		}
		if a.BlockID != b.BlockID {
			return a.BlockID < b.BlockID
		}
		return a.digest < b.digest
	}
	sort.SliceStable(three, func(i, j int) bool { return less(three[i], three[j]) })
	// 5. single
	five := three
	if policy.Mode == inject.Single {
		five = nil
		at := -1
		for i, b := range three {
			if !b.anchor && (at < 0 || *b.Priority > *three[at].Priority) {
				at = i
			}
		}
		for i, b := range three {
			if b.anchor || i == at {
				five = append(five, b)
			} else {
				drop(b, "max_blocks")
			}
		}
	}
	// 6. caps
	used := map[inject.Category]int{}
	var six []*refBlock
	for _, b := range five {
		most, capped := policy.CategoryCap[b.Category]
		if b.anchor || !capped {
			six = append(six, b)
			continue
		}
		left := most - used[b.Category]
		if length(b.text) > left {
			if short := shorten(b, left); short != "" {
				b.text = short
			} else {
				drop(b, "category_cap")
				continue
			}
		}
		used[b.Category] += length(b.text)
		six = append(six, b)
	}
	// 7. max_blocks: the first, and anchors replace the last that is none
	most := policy.MaxBlocks
	if most == 0 {
		most = 12
	}
	seven := six
	if policy.Mode != inject.Single {
		anchors := 0
		for _, b := range six {
			if b.anchor {
				anchors++
			}
		}
		if anchors > most {
			return refResult{err: "anchors_exceed_blocks"}
		}
		seven = append([]*refBlock{}, six[:min(most, len(six))]...)
		for _, b := range six[min(most, len(six)):] {
			if !b.anchor {
				drop(b, "max_blocks")
				continue
			}
			for i := len(seven) - 1; ; i-- {
				if !seven[i].anchor {
					drop(seven[i], "max_blocks")
					seven = append(slices.Delete(seven, i, i+1), b)
					break
				}
			}
		}
	}
	// 8. anchors first
	var eight []*refBlock
	for _, want := range []bool{true, false} {
		for _, b := range seven {
			if b.anchor == want {
				eight = append(eight, b)
			}
		}
	}
	// 9. budget, in characters and in tokens
	chars, tokens := policy.MaxChars, policy.MaxTokens
	if chars == 0 && tokens == 0 {
		chars = 8000
	}
	if chars == 0 {
		chars = 1 << 40
	}
	if tokens == 0 {
		tokens = 1 << 40
	}
	toks := tokensOf(policy)
	for _, b := range eight {
		if b.anchor {
			chars -= length(b.text)
			tokens -= toks(b.text)
		}
	}
	if chars < 0 || tokens < 0 {
		return refResult{err: "anchors_exceed_budget"}
	}
	charShare, tokenShare := shares(chars, eight, length), shares(tokens, eight, toks)
	if policy.Mode == inject.Single {
		for c := range rankOf {
			charShare[c], tokenShare[c] = chars, tokens
		}
	}
	var over []*refBlock
	for _, b := range eight {
		if b.anchor {
			continue
		}
		cs, ts := charShare[b.Category], tokenShare[b.Category]
		if length(b.text) > cs || toks(b.text) > ts {
			short := ""
			if byPairs(policy) {
				short = shortenTokens(b, policy.Tokenizer, cs, ts)
			} else {
				short = shorten(b, min(cs, 4*ts))
			}
			if short == "" {
				over = append(over, b)
				continue
			}
			b.text = short
		}
		charShare[b.Category] -= length(b.text)
		tokenShare[b.Category] -= toks(b.text)
		chars -= length(b.text)
		tokens -= toks(b.text)
	}
	for _, b := range over {
		if length(b.text) <= chars && toks(b.text) <= tokens {
			chars -= length(b.text)
			tokens -= toks(b.text)
			continue
		}
		drop(b, "budget")
		eight = slices.DeleteFunc(eight, func(o *refBlock) bool { return o == b })
	}
	for _, b := range eight {
		res.used = append(res.used, b.BlockID+" "+b.text)
		if b.text != b.Payload {
			res.cut = append(res.cut, fmt.Sprint(b.BlockID, " ", length(b.Payload), " ", length(b.text)))
		}
	}
	sort.Strings(res.dropped)
	return res
}

func length(s string) int { return len([]rune(s)) }

func byPairs(p inject.Policy) bool {
	return p.MaxTokens > 0 && p.Tokenizer != "" && p.Tokenizer != "chars4"
}

func tokensOf(p inject.Policy) func(string) int {
	if byPairs(p) {
		return tokenizer.Named(p.Tokenizer).Count
	}
	return func(s string) int { return (length(s) + 3) / 4 }
}

// shortenTokens cuts a block's payload to a number of characters and of tokens; "" if it can't. It
// tries everything, from the longest on.
func shortenTokens(b *refBlock, vocabulary string, chars, tokens int) string {
	if chars < 32 || tokens < 8 || recalled(b) {
		return ""
	}
	count := tokenizer.Named(vocabulary).Count
	if b.Format == inject.XML {
		return shortenXML(b, func(s string) bool { return length(s) <= chars && count(s) <= tokens })
	}
	if length(b.Payload) > chars {
		if short := shorten(b, chars); count(short) <= tokens {
			return short
		}
	}
	for n := count(b.Payload); n > 0; n-- {
		short := tokenizer.Named(vocabulary).First(b.Payload, n) + "…"
		if length(short) <= chars && length(short) < length(b.Payload) && count(short) <= tokens {
			return short
		}
	}
	return ""
}

// recalled reports whether a block has a memory's text, which is never cut.
func recalled(b *refBlock) bool { return b.MemoryID != "" || b.Category == inject.MemoryRecall }

// shorten cuts a block's payload to a number of characters; "" if it can't.
func shorten(b *refBlock, most int) string {
	if most < 32 || recalled(b) {
		return ""
	}
	if b.Format != inject.XML {
		return string([]rune(b.Payload)[:most-1]) + "…"
	}
	return shortenXML(b, func(s string) bool { return length(s) <= most })
}

// shortenXML keeps as many children as fit: the random documents have a root r with children c that
// have no children.
func shortenXML(b *refBlock, fits func(string) bool) string {
	best := ""
	for at := 0; ; {
		next := strings.Index(b.Payload[at:], "</c>")
		if next < 0 {
			return best
		}
		at += next + len("</c>")
		if candidate := b.Payload[:at] + "</r>"; fits(candidate) {
			best = candidate
		}
	}
}

// shares pours a whole out to the categories a unit at a time, to the one that has least and
// wants more; what is left of a round goes to the first by rank.
func shares(whole int, blocks []*refBlock, size func(string) int) map[inject.Category]int {
	need := map[inject.Category]int{}
	for _, b := range blocks {
		if !b.anchor {
			need[b.Category] += size(b.text)
		}
	}
	var order []inject.Category
	for c := range need {
		order = append(order, c)
	}
	sort.Slice(order, func(i, j int) bool { return rankOf[order[i]] < rankOf[order[j]] })
	got := map[inject.Category]int{}
	for {
		var want []inject.Category
		for _, c := range order {
			if got[c] < need[c] {
				want = append(want, c)
			}
		}
		if len(want) == 0 {
			return got
		}
		if whole < len(want) {
			got[want[0]] += whole
			return got
		}
		for _, c := range want {
			got[c]++
		}
		whole -= len(want)
	}
}

// randomPolicy and randomDrafts make inputs that meet every rule: few ids and sources, small
// budgets, and every category.
func randomPolicy(r *rand.Rand) inject.Policy {
	p := inject.Policy{
		Mode:      []inject.Mode{"", inject.Single, inject.Classified, inject.Hybrid}[r.IntN(4)],
		Ordering:  []inject.Ordering{"", inject.ByPriority, inject.ByCategory, inject.StablePrefix}[r.IntN(4)],
		Dedupe:    []inject.Dedupe{"", inject.ByBlockID, inject.BySource}[r.IntN(3)],
		MaxBlocks: r.IntN(14), MaxChars: r.IntN(3) * r.IntN(900), MaxTokens: r.IntN(3) / 2 * r.IntN(250),
	}
	if r.IntN(3) == 0 {
		p.Anchors = []inject.Category{inject.Safety}
	}
	p.Tokenizer = []string{"", inject.Chars4, inject.CL100K, inject.O200K}[r.IntN(4)]
	if r.IntN(3) == 0 {
		p.Enabled = []inject.Category{inject.Safety, inject.PolicyText}
		for _, c := range inject.Categories()[2:] {
			if r.IntN(3) > 0 {
				p.Enabled = append(p.Enabled, c)
			}
		}
	}
	for _, c := range inject.Categories() {
		if r.IntN(6) == 0 {
			if p.CategoryCap == nil {
				p.CategoryCap = map[inject.Category]int{}
			}
			p.CategoryCap[c] = r.IntN(300)
		}
	}
	return p
}

func randomBlocks(t testing.TB, r *rand.Rand, n int) []*inject.Block {
	t.Helper()
	seen := map[string]bool{}
	var drafts []inject.Draft
	for range n {
		category := inject.Categories()[r.IntN(8)]
		if r.IntN(3) > 0 { // few anchors, so that most budgets hold them
			category = inject.Categories()[2+r.IntN(6)]
		}
		d := inject.Draft{
			BlockID: fmt.Sprint("b", r.IntN(n+n/2+1)), Category: category, Priority: new(r.IntN(4) * 10), Payload: randomText(r),
			Anchor: r.IntN(20) == 0, Stable: r.IntN(3) == 0,
		}
		if r.IntN(2) == 0 {
			d.Source = fmt.Sprint("s", r.IntN(4))
		}
		if r.IntN(4) == 0 {
			d.TTLTurns, d.CreatedTurn = new(int64(1+r.IntN(3))), new(int64(7+r.IntN(4)))
		}
		if r.IntN(4) == 0 && category != inject.MemoryRecall {
			d.Payload, d.Format = randomXML(r), inject.XML
		}
		if key := fmt.Sprint(d.BlockID, d.Category, *d.Priority, d.Payload, d.Anchor); !seen[key] {
			seen[key] = true
			drafts = append(drafts, d)
		}
	}
	blocks, err := inject.NewBlocks(drafts, inject.FromOperator)
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(120) {
		b.WriteRune([]rune("aé😀 \n<&z")[r.IntN(8)])
	}
	return b.String()
}

func randomXML(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("<r>")
	for range r.IntN(6) {
		fmt.Fprintf(&b, "<c n=\"%d\">%s</c>", r.IntN(9), strings.Repeat("é", r.IntN(30)))
		if r.IntN(3) == 0 {
			b.WriteString("between")
		}
	}
	return b.String() + "</r>"
}

// agree compares the reference with the real assembly for one seed.
func agree(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 17))
	policy, blocks := randomPolicy(r), randomBlocks(t, r, r.IntN(24))
	want := reference(policy, 10, blocks)
	got := summary(inject.Assemble(&inject.Input{SessionID: "s", TurnID: 10, Policy: policy, Blocks: blocks}))
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("seed %d, policy %+v:\n%+v\nthe reference has\n%+v", seed, policy, got, want)
	}
}

func summary(s *inject.Snapshot, err error) (res refResult) {
	if err != nil {
		return refResult{err: reason(err)}
	}
	for _, u := range s.BlocksUsed {
		res.used = append(res.used, u.BlockID+" "+u.Payload)
	}
	for _, d := range s.DroppedBlocks {
		res.dropped = append(res.dropped, fmt.Sprint(d.BlockID, " ", d.Category, " ", d.Reason))
	}
	for _, c := range s.TruncatedBlocks {
		res.cut = append(res.cut, fmt.Sprint(c.BlockID, " ", c.From, " ", c.To))
	}
	sort.Strings(res.dropped)
	return res
}

// TestAssemble_AgreesWithTheReference on random inputs, 20,000 of them in make stress.
func TestAssemble_AgreesWithTheReference(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	for seed := range coretest.Heavy(uint64(600), 20_000) {
		agree(t, seed)
	}
}
