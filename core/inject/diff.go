package inject

import (
	"slices"
	"strings"
)

// Diff is the difference between two snapshots.
type Diff struct {
	// From is the id of the first snapshot.
	From string `json:"from"`
	// To is the id of the second.
	To string `json:"to"`
	// Same is whether both prompts have the same payloads, in the same order.
	Same bool `json:"same"`
	// Added are the blocks that only the second has.
	Added []BlockChange `json:"added"`
	// Removed are the blocks that only the first has.
	Removed []BlockChange `json:"removed"`
	// Changed are the blocks of both whose payload or order differs.
	Changed []BlockChange `json:"changed"`
	// PolicyChanged is whether another policy was applied.
	PolicyChanged bool `json:"policy_changed"`
	// CharsFrom counts the characters of the first.
	CharsFrom int `json:"chars_from"`
	// CharsTo counts the characters of the second.
	CharsTo int `json:"chars_to"`
	// Prefix compares the cached prefixes.
	Prefix PrefixDiff `json:"prefix"`
}

// BlockChange is a block that differs.
type BlockChange struct {
	// BlockID names it.
	BlockID string `json:"block_id"`
	// Category is its purpose.
	Category Category `json:"category"`
	// What is payload, order or both for a changed block; otherwise it is the reason why the
	// other snapshot doesn't have the block: "absent" if it wasn't among the candidates.
	What string `json:"what"`
	// CharsFrom is its length in the first snapshot; 0 if the snapshot doesn't have it.
	CharsFrom int `json:"chars_from"`
	// CharsTo is its length in the second snapshot; 0 if the snapshot doesn't have it.
	CharsTo int `json:"chars_to"`
}

// PrefixDiff shows whether the cached prefix is reused, and if not, what broke it.
type PrefixDiff struct {
	// Reused is whether it is the same.
	Reused bool `json:"reused"`
	// SharedChars counts the characters of the blocks that both begin with.
	SharedChars int `json:"shared_chars"`
	// BrokenBy is the first block of the prefix that differs; "" if the prefix is the same.
	BrokenBy string `json:"broken_by,omitempty"`
	// How is the way in which that block differs: added, removed, payload or order.
	How string `json:"how,omitempty"`
}

// Compare compares two snapshots.
func Compare(from, to *Snapshot) *Diff {
	d := &Diff{
		From: from.SnapshotID, To: to.SnapshotID, Added: []BlockChange{}, Removed: []BlockChange{}, Changed: []BlockChange{},
		PolicyChanged: from.PolicyApplied.Digest != to.PolicyApplied.Digest, CharsFrom: from.CharsInjected, CharsTo: to.CharsInjected,
		Prefix: comparePrefixes(from, to), Same: slices.Equal(digests(from), digests(to)),
	}
	before, after := byID(from), byID(to)
	for i := range to.BlocksUsed {
		if u := &to.BlocksUsed[i]; before[u.BlockID] == nil {
			d.Added = append(d.Added, BlockChange{u.BlockID, u.Category, reasonIn(from, u.BlockID), 0, u.Chars})
		}
	}
	for i := range from.BlocksUsed {
		if u := &from.BlocksUsed[i]; after[u.BlockID] == nil {
			d.Removed = append(d.Removed, BlockChange{u.BlockID, u.Category, reasonIn(to, u.BlockID), u.Chars, 0})
		}
	}
	moved := movedBlocks(from, to, before, after)
	for i := range to.BlocksUsed {
		u := &to.BlocksUsed[i]
		was := before[u.BlockID]
		if was == nil {
			continue
		}
		var what []string
		if was.PayloadDigest != u.PayloadDigest {
			what = append(what, "payload")
		}
		if moved[u.BlockID] {
			what = append(what, "order")
		}
		if len(what) > 0 {
			d.Changed = append(d.Changed, BlockChange{u.BlockID, u.Category, strings.Join(what, ", "), was.Chars, u.Chars})
		}
	}
	return d
}

func byID(s *Snapshot) map[string]*Used {
	used := make(map[string]*Used, len(s.BlocksUsed))
	for i := range s.BlocksUsed {
		used[s.BlocksUsed[i].BlockID] = &s.BlocksUsed[i]
	}
	return used
}

// reasonIn is the reason why a snapshot doesn't have a block.
func reasonIn(s *Snapshot, id string) string {
	for _, d := range s.DroppedBlocks {
		if d.BlockID == id {
			return string(d.Reason)
		}
	}
	return "absent"
}

// movedBlocks are the blocks of both snapshots whose order differs.
func movedBlocks(from, to *Snapshot, before, after map[string]*Used) map[string]bool {
	was, is := common(from, after), common(to, before)
	moved := map[string]bool{}
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			moved[is[i]] = true
		}
	}
	return moved
}

// common are the ids of a snapshot's blocks that another snapshot has too, in order.
func common(s *Snapshot, other map[string]*Used) (ids []string) {
	for i := range s.BlocksUsed {
		if id := s.BlocksUsed[i].BlockID; other[id] != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// comparePrefixes finds the first block of the prefix that differs.
func comparePrefixes(from, to *Snapshot) PrefixDiff {
	was, is := from.prefixBlocks(), to.prefixBlocks()
	out := PrefixDiff{Reused: len(is) > 0 && from.Prefix.Digest == to.Prefix.Digest}
	if out.Reused {
		out.SharedChars = to.Prefix.Chars
		return out
	}
	for i := range max(len(was), len(is)) {
		switch {
		case i >= len(is):
			out.BrokenBy, out.How = was[i].BlockID, "removed"
		case i >= len(was):
			out.BrokenBy, out.How = is[i].BlockID, "added"
		case was[i].BlockID == is[i].BlockID && was[i].PayloadDigest == is[i].PayloadDigest:
			out.SharedChars += is[i].Chars
			continue
		case was[i].BlockID == is[i].BlockID:
			out.BrokenBy, out.How = is[i].BlockID, "payload"
		case !has(was, is[i].BlockID):
			out.BrokenBy, out.How = is[i].BlockID, "added"
		case !has(is, was[i].BlockID):
			out.BrokenBy, out.How = was[i].BlockID, "removed"
		default:
			out.BrokenBy, out.How = is[i].BlockID, "order"
		}
		return out
	}
	return out
}

func has(list []Used, id string) bool {
	return slices.ContainsFunc(list, func(u Used) bool { return u.BlockID == id })
}

// prefixBlocks are the blocks of the cached prefix.
func (s *Snapshot) prefixBlocks() []Used {
	if s.Prefix.Digest == "" {
		return nil
	}
	chars := 0
	for i := range s.BlocksUsed {
		if chars == s.Prefix.Chars {
			return s.BlocksUsed[:i]
		}
		chars += s.BlocksUsed[i].Chars
	}
	return s.BlocksUsed
}
