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
	// settings are how the product's namespace is governed.
	settings []string
	// brief is whether make test lives it too.
	brief bool
}

// all is enough to excuse a row from a baseline.
const all = 1e9

// kinds are the kinds of lives of agents that act on what they recall.
func kinds() []kind {
	sure := life{turns: 400, right: 1, reads: 1}
	noisy := life{turns: 400, right: .9, wrong: .1, reads: 1}
	drifts := func(l life, newTip bool) life {
		l.turns, l.drift, l.newTip = 1000, 501, newTip
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
		{brief: true, name: "20 tasks, 1/0", life: sure, rows: []row{{name: "turns 1-100", reach: .93, of: rate(1, 100)}, {name: "turns 301-400", reach: .99, of: late}}},
		{name: "20 tasks, .9/.1", life: noisy, rows: []row{{name: "turns 1-100", reach: .77, of: rate(1, 100)}, {name: "turns 301-400", reach: .87, of: late}}},
		{name: "four users with the same needs, 1/0", life: with(sure, func(l *life) { l.shared = true }), rows: []row{{name: "turns 1-100", of: rate(1, 100)}, {name: "turns 301-400", of: late}}},
		{name: "poison every 5 turns, 1/0", life: with(sure, func(l *life) { l.poison = 5 }), rows: []row{{name: "turns 301-400", reach: .99, of: late}}},
		{name: "20 % of outcomes flipped, 1/0", life: with(sure, func(l *life) { l.flipped = .2 }), rows: []row{{name: "turns 301-400", reach: .95, of: late}}},
		{name: "half the world drifts at 501, new tips, 1/0", life: drifts(sure, true), rows: []row{
			{name: "turns until 90 % of the best", reach: 145, less: true, of: recovery(501, 1), allowed: exploring},
			{name: "turns 901-1000", of: rate(901, 1000)},
		}},
		{name: "half the world drifts at 501, new tips, .9/.1", life: drifts(noisy, true), rows: []row{
			{name: "turns until 90 % of the best", less: true, of: recovery(501, .9), allowed: exploring},
			{name: "turns 901-1000", of: rate(901, 1000)},
		}},
		{name: "the old wrong tips become right at 501, 1/0", life: drifts(sure, false), rows: []row{{name: "turns 901-1000", reach: .75, of: rate(901, 1000)}}},
		{name: "opposite needs of users, credit: per_subject, 1/0", life: with(sure, func(l *life) { l.turns, l.opposed = 1000, true }), settings: []string{"credit=per_subject"}, rows: []row{
			{name: "turns 801-1000", reach: .86, of: rate(801, 1000)},
		}},
		{name: "the agent names 2 % of what it used, 1/0", life: with(sure, func(l *life) { l.names = namesRarely }), rows: []row{
			{name: "turns 301-400", reach: .96, of: late},
		}},
		{brief: true, name: "riders worded nearer, the agent names just what helped", life: rides(namesJust), rows: []row{{name: "turns 301-400", reach: .88, of: late}}},
		{name: "riders worded nearer, the agent names all", life: rides(namesAll), rows: []row{{name: "turns 301-400", reach: .82, of: late, allowed: vague}}},
		{name: "riders worded nearer, the agent names the first", life: rides(namesFirst), rows: []row{{name: "turns 301-400", reach: .82, of: late, allowed: vague}}},
	}
}
