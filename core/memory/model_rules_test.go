package memory_test

import (
	"math"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
)

// What follows is a model of the lifecycle and the gate that was written from their
// description alone, independently of the code that it is compared with: it shares no
// arithmetic with it, only the names of states and signals.

// life is a memory of the model.
type life struct {
	id, namespace     string
	state, before     core.MemoryState
	depth             int
	accesses, created int64
	s                 core.Signals
	sessions          map[string]bool
	// outcomes are the tools' outcomes, by turn; used are all turns that used it.
	outcomes map[core.TurnRef][]tool
	used     map[core.TurnRef]bool
	dag      dagOf
	author   string
	offers   []past
	news     bool // whether evidence came since the last decision
	// experiment is whether its namespace experiments, rows what its trial saw, and shown what that came to.
	experiment bool
	rows       []tried
	shown      string
}

// tool is the outcome of a call.
type tool struct{ ok, recovered bool }

// dagOf is what a workflow's graph says of a memory: the share of reachable exits that
// need it, and the share of reachable nodes downstream of it.
type dagOf struct {
	known, reachable       bool
	dependency, downstream float64
}

// omegaOf are the three factors: upstream, codebase and trend.
type omegaOf [3]*float64

func newLife(id, namespace string, depth int, created int64) *life {
	return &life{
		id: id, namespace: namespace, depth: depth, created: created, state: core.StateOpen, s: core.Signals{Utility: .5, Q: .5},
		sessions: map[string]bool{}, outcomes: map[core.TurnRef][]tool{}, used: map[core.TurnRef]bool{},
	}
}

// relevant applies a turn of a subject that offered the memory: use is the outcome of its use, ""
// for none, assumed whether nobody named it, shared whether others were named too, and passed whether it was passed over.
func (m *life) relevant(turn core.TurnRef, by string, number int64, use string, assumed, shared bool, weight float64, passed bool) {
	s, r := &m.s, map[string]float64{"success": 1, "partial": .5}[use]
	if use != "" || passed {
		m.offers = lastOf(append(m.offers, past{by, use}))
	}
	s.Window = m.window()
	s.RelevantTurns++
	s.HitRate = .9*s.HitRate + .1*r
	if r > 0 {
		s.MissStreak = 0
	} else {
		s.MissStreak++
	}
	if use == "" && s.HitCount == 0 {
		s.Recent = lastTwenty(s.Recent, turn)
	}
	if use != "" {
		m.used[turn], m.sessions[turn.Session] = true, m.sessions[turn.Session] || !assumed
		s.HitCount, s.LastHitTurn, s.Sessions = s.HitCount+1, number, int64(len(m.sessions))
		s.AssumedSessions = 0
		for _, named := range m.sessions {
			if !named {
				s.AssumedSessions++
			}
		}
		if shared {
			s.Shared++
		}
		if assumed {
			s.Assumed++
			if use == "failure" {
				s.AssumedFailures++
			}
		}
		s.Utility = .9*s.Utility + .1*r
		s.Q += .2 * weight * (r - s.Q)
		s.LastOutcomeError = use == "failure"
		s.RecentUses, s.Recent = lastTwenty(s.RecentUses, turn), nil
		switch use {
		case "success":
			s.Successes++
		case "partial":
			s.Partials++
		default:
			s.Failures++
		}
	}
	m.retention(number)
}

func lastTwenty(list []core.TurnRef, turn core.TurnRef) []core.TurnRef {
	list = append(slices.Clone(list), turn)
	return list[max(0, len(list)-20):]
}

// ttl is the score at a turn of the namespace.
func (m *life) ttl(number int64) float64 {
	s, since, rate := &m.s, m.created, 0.0
	if s.HitCount > 0 {
		since = s.LastHitTurn
	}
	if s.RelevantTurns > 0 {
		rate = s.HitRate / (1 - math.Pow(.9, float64(s.RelevantTurns)))
	}
	return toNano(.5*rate + .5*s.Utility - .03*float64(s.MissStreak) - .005*float64(min(40, number-since)))
}

func toNano(x float64) float64 { return math.Round(x*1e9) / 1e9 }

// retention evaluates the memory at a turn of its namespace.
func (m *life) retention(number int64) {
	s, uses := &m.s, float64(m.s.Uses())
	switch m.state {
	case core.StateOpen, core.StateActive, core.StateCooling, core.StateRevalidatePending:
	case core.StatePromoted:
		if m.fails() || m.is(core.EffectNone) {
			m.state, m.before = core.StateRevalidatePending, core.StatePromoted
		}
		return
	default:
		return
	}
	s.TTLScore = m.ttl(number)
	ttl, rested := s.TTLScore, !s.Gated || s.RelevantTurns-s.GatedAt >= s.GateRest
	rate := float64(s.Failures) / uses
	switch {
	case m.state == core.StateRevalidatePending:
	case m.is(core.EffectHelps) && rested:
		m.move(core.StateRevalidatePending)
	case uses >= 3 && rested && (rate >= .7 || rate <= .25 && s.Sessions >= 2):
		m.move(core.StateRevalidatePending)
	case m.state == core.StateOpen && s.HitCount > 0 && ttl >= .35:
		m.move(core.StateActive)
	case m.state == core.StateOpen && s.RelevantTurns >= 5 && ttl < .35, m.state == core.StateActive && ttl < .35:
		m.move(core.StateCooling)
	case m.state == core.StateCooling && ttl >= .5 && s.RelevantTurns-s.CooledAt >= s.CoolingWait:
		m.move(core.StateActive)
	case m.state == core.StateCooling && ttl < .15 && rested:
		m.move(core.StateRevalidatePending)
	}
}

// move brings the memory into a state. What waits for the gate remembers the one before.
func (m *life) move(to core.MemoryState) {
	s, from := &m.s, m.state
	switch {
	case to == core.StateRevalidatePending:
		m.before = from
	case from == core.StateRevalidatePending:
		from, m.before = m.before, ""
	}
	switch {
	case to == core.StateCooling && from != to:
		wait := int64(10)
		if s.WarmedAt > 0 && s.RelevantTurns-s.WarmedAt <= 50 {
			wait = min(160, 2*s.CoolingWait)
		}
		s.CooledAt, s.CoolingWait = s.RelevantTurns, wait
	case to == core.StateActive && from == core.StateCooling:
		s.WarmedAt = s.RelevantTurns
	}
	m.state = to
}

// tool keeps the outcome of a tool in the model.
func (m *life) tool(turn core.TurnRef, o core.ToolOutcome) {
	m.outcomes[turn] = append(m.outcomes[turn], tool{o.OK, o.Recovered})
	m.news = true
}

// lanes are the scores of react, the graph and omega.
func (m *life) lanes(known omegaOf) (react, graph, omega float64) {
	good, bad, recurrence := 0.0, 0.0, 0.0
	for turn, outcomes := range m.outcomes {
		for _, o := range outcomes {
			switch {
			case !o.ok && !o.recovered:
				bad++
			case m.used[turn]:
				good++
			}
		}
	}
	for _, turn := range m.s.RecentUses {
		if len(m.outcomes[turn]) > 0 {
			recurrence += 1 / float64(min(20, m.s.Uses()))
		}
	}
	react = (good + 1) / (good + bad + 2) * (.4 + .6*recurrence)
	switch {
	case !m.dag.known:
		graph = .5
	case m.dag.reachable:
		graph = .4 + .35*m.dag.dependency + .25*m.dag.downstream
	}
	for i, absent := range []float64{.5, .5, m.s.Utility} {
		if known[i] != nil {
			absent = *known[i]
		}
		omega += absent / 3
	}
	return react, graph, omega
}

// decide is a decision of the gate, with what follows from it.
func (m *life) decide(known omegaOf, number int64) (next string, confidence float64) {
	s := &m.s
	react, graph, omega := m.lanes(known)
	utility := toNano(.32*react + .23*graph + .25*omega + .2*s.Q)
	if m.before == core.StatePromoted {
		next, confidence, utility = verdict.NextPromote, 1, m.lately("").q
		if m.fails() || m.is(core.EffectNone) {
			next, m.rows, m.shown = verdict.NextDemote, nil, ""
		}
	} else {
		next, confidence = m.verdict(utility)
	}
	if fresh := m.news || known != (omegaOf{}); s.Gated && !fresh {
		s.GateRest = min(160, 2*s.GateRest)
	} else {
		s.GateRest = 10
	}
	m.news = false
	s.Gated, s.GatedAt, s.Revalidation = true, s.RelevantTurns, &utility
	switch next {
	case verdict.NextPurge:
		m.state = core.StatePurged
	case verdict.NextPromote:
		if m.before == core.StatePromoted {
			next = verdict.NextRetain
		}
		m.state, m.before = core.StatePromoted, ""
	case verdict.NextDemote:
		s.MissStreak, s.LastHitTurn = 0, number
		m.move(core.StateCooling)
	default:
		s.MissStreak, s.LastHitTurn = 0, number
		s.TTLScore = m.ttl(number)
		to := m.before
		if to == core.StateOpen || to == "" {
			if to = core.StateActive; s.TTLScore < .35 {
				to = core.StateCooling
			}
		}
		m.move(to)
	}
	return next, confidence
}

// verdict is what the default policy and the engine's conditions make of it.
func (m *life) verdict(utility float64) (next string, confidence float64) {
	s, uses, rate, freq := &m.s, float64(m.s.Uses()), 0.0, 0.0
	if uses > 0 {
		rate, freq = float64(s.Failures)/uses, uses/(uses+3)
	} else if s.LastOutcomeError {
		rate = 1
	}
	good, bad := float64(s.Successes), float64(s.Failures)
	ttl := toNano(.45*freq + .35*(1-rate) + .2*(good+1)/(good+bad+2))
	retain := min(.85, .42+.6*min(math.Abs(.78-utility), math.Abs(utility-.32)))
	react := false // whether there is a reference of the tools, or an offer of what was never used
	for range m.outcomes {
		react = true
	}
	refs := m.dag.known && (react || uses == 0)
	sure := func(c float64) bool { confidence = min(1, max(0, c)); return toNano(confidence) >= .7 && refs }
	if tested := m.experiment && m.rides(); tested {
		_, _, _, e := m.effect()
		if e >= 20 && rate <= .5 && sure(1-1/e) {
			return verdict.NextPromote, confidence
		}
		if e >= 20 && rate <= .5 || uses >= 3 && utility >= .78 && rate <= .25 && ttl >= .5 {
			return verdict.NextRetain, retain
		}
	}
	switch {
	case uses >= 3 && utility >= .78 && rate <= .25 && ttl >= .5:
		if sure(.55+1.8*(utility-.78)+.8*(.25-rate)) && s.Named() >= 8 && s.NamedSessions() >= 2 &&
			(s.Revalidation == nil || toNano(*s.Revalidation) >= .6) {
			return verdict.NextPromote, confidence
		}
	case uses >= 2 && utility <= .32 && rate >= .7 && (ttl <= .45 || uses >= 10):
		if sure(.55+1.8*(.32-utility)+.8*(rate-.7)) && s.NamedFailures() >= 3 {
			return verdict.NextPurge, confidence
		}
	case uses == 0 && s.RelevantTurns >= 10 && utility <= .32 && m.dag.known && !m.dag.reachable:
		if sure(.75 + 1.8*(.32-utility)) {
			return verdict.NextPurge, confidence
		}
	}
	return verdict.NextRetain, retain
}
