package lives_test

// row is a line of the table: a figure of lives.
type row struct {
	name string
	// reach is what the figure is to reach; less is whether it is better the lower it is.
	reach float64
	less  bool
	of    func(passed []bool) float64
	// allowed is by how much the figure may be worse than these baselines'; the others' it mustn't be.
	allowed map[string]float64
}

// kind is one kind of life with its rows.
type kind struct {
	name string
	life
	rows []row
}

// all is enough to excuse a row from a baseline.
const all = 1e9

// kinds are the kinds of lives of agents that act on what they are told.
func kinds() []kind {
	sure := life{turns: 400, right: 1, reads: 1}
	noisy := life{turns: 400, right: .9, wrong: .1, reads: 1}
	drifts := func(l life, newTip bool) life {
		l.turns, l.drift, l.newTip = 1000, 501, newTip
		if newTip {
			l.turns = 1500
		}
		return l
	}
	with := func(l life, change func(*life)) life {
		change(&l)
		return l
	}
	rides := func(names naming) life { return life{turns: 400, right: 1, reads: 3, riders: 3, names: names} }
	late := rate(301, 400)
	exploring := map[string]float64{byUCB: all}
	vague := map[string]float64{byWords: .05}
	return []kind{
		{"20 tasks, 1/0", sure, []row{{name: "turns 1-100", reach: .93, of: rate(1, 100)}, {name: "turns 301-400", reach: .99, of: late}}},
		{"20 tasks, .9/.1", noisy, []row{{name: "turns 1-100", reach: .77, of: rate(1, 100)}, {name: "turns 301-400", reach: .87, of: late}}},
		{"poison every 5 turns, 1/0", with(sure, func(l *life) { l.poison = 5 }), []row{{name: "turns 301-400", reach: .99, of: late}}},
		{"20 % of outcomes flipped, 1/0", with(sure, func(l *life) { l.flipped = .2 }), []row{{name: "turns 301-400", reach: .95, of: late}}},
		{"half the world drifts at 501, new tips, 1/0", drifts(sure, true), []row{
			{name: "turns until 90 % of the best", reach: 145, less: true, of: recovery(501, 1), allowed: exploring},
			{name: "turns 901-1000", of: rate(901, 1000)},
		}},
		{"half the world drifts at 501, new tips, .9/.1", drifts(noisy, true), []row{
			{name: "turns until 90 % of the best", less: true, of: recovery(501, .9), allowed: exploring},
			{name: "turns 901-1000", of: rate(901, 1000)},
		}},
		{"the old wrong tips become right at 501, 1/0", drifts(sure, false), []row{{name: "turns 901-1000", reach: .75, of: rate(901, 1000)}}},
		{"riders worded nearer, the agent names just what helped", rides(namesJust), []row{{name: "turns 301-400", reach: .88, of: late}}},
		{"riders worded nearer, the agent names all", rides(namesAll), []row{{name: "turns 301-400", reach: .82, of: late, allowed: vague}}},
		{"riders worded nearer, the agent names the first", rides(namesFirst), []row{{name: "turns 301-400", reach: .82, of: late, allowed: vague}}},
	}
}
