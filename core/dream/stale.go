package dream

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/reflectory/reflectory/core"
)

// ReasonStale is the reason of a step that archives a stale memory.
const ReasonStale = "stale"

// keptNotifications is how many notifications a namespace keeps out of the archive.
const keptNotifications = 50

// notifications archives all but the newest notifications.
func (p *planner) notifications() {
	n := 0
	for _, d := range p.drafts {
		if d.Kind != core.KindNotification || d.State == core.StateRevalidatePending {
			continue
		}
		if n++; n > keptNotifications && !d.kept() {
			s := p.step(StepArchive, "old_notification", map[string]string{"newer": strconv.Itoa(n - 1)}, d)
			s.move(d, core.StateArchived)
		}
	}
}

// candidate is a stale memory with its effective importance.
type candidate struct {
	*draft
	importance float64
}

// stale archives old memories that nobody recalled and that matter little; of these only redundant ones,
// unless the options want all. What matters least comes first, up to a limit of a tenth of the
// namespace's memories. So with fewer than ten memories it archives nothing.
func (p *planner) stale() {
	if !p.Turned || p.Options.Stale == StaleOff {
		return
	}
	list, most := p.candidates()
	if len(list) == 0 || most == 0 {
		return
	}
	var redundant *redundancy
	if p.Options.Stale != StaleAll {
		redundant = p.redundant()
	}
	for _, c := range list {
		evidence, reads := map[string]string{}, []*draft{c.draft}
		if redundant != nil {
			var coverer *draft
			if evidence, coverer = redundant.why(c.draft); evidence == nil {
				continue
			}
			if coverer != nil {
				reads = append(reads, coverer)
			}
		}
		evidence["effective_importance"] = strconv.FormatFloat(c.importance, 'f', 4, 64)
		evidence["age_hours"] = strconv.FormatFloat(p.At.Sub(c.CreatedAt).Hours(), 'f', 1, 64)
		s := p.step(StepArchive, ReasonStale, evidence, reads...)
		s.move(c.draft, core.StateArchived)
		if most--; most == 0 {
			return
		}
	}
}

// candidates are the stale memories, those that matter least first, and how many of them may be archived.
func (p *planner) candidates() (list []candidate, most int) {
	live := p.ArchivedLately
	for _, d := range p.drafts {
		if d.Kind != core.KindNotification && d.State.Live() {
			live++
		}
		hours := p.At.Sub(d.CreatedAt).Hours()
		if !d.free() || d.named || d.AccessCount > 0 || d.kept() || hours <= p.Options.staleHours() {
			continue
		}
		if e := p.Options.Effective(d.Importance, d.AccessCount, hours); e < p.Options.staleImportance() {
			list = append(list, candidate{d, e})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.importance, b.importance), newerDraft(b.draft, a.draft))
	})
	if p.Options.Force {
		return list, len(list)
	}
	return list, max(0, live/10-p.ArchivedLately)
}
