package rate

import (
	"math"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/table"
)

const (
	// hold is how long a host may use a part that it borrowed.
	hold = 10 * time.Second
	// window is how long a window lasts at least. Near the limit there are a few small
	// transactions in each window; after a full burst, nothing is admitted for up to two windows.
	window = 250 * time.Millisecond
)

// prefix begins the keys of the records: rate/, what is limited, a slash, and the name.
const prefix = "rate/"

// rates are the records by what is limited, a slash, and the name. They matter only for seconds.
var rates = table.Kind[record]{Part: "rates", Prefix: prefix,
	Doc:     "what `/` name | what hosts that share the store have borrowed, and can still borrow, of a rate limit, such as the `requests` of a subject: `{window, left, room, parts?: {host: {window, amount}}}`. `window` counts the windows, `left` is what can be borrowed, `room` is how much more could be added when the window began, `parts` are the newest parts of hosts",
	Passing: true, Valid: func(_ string, rec *record) string {
		wrong := rec.Window == 0 || rec.Left < 0 || rec.Room < 0
		for _, p := range rec.Parts {
			wrong = wrong || p.Window > rec.Window || p.Amount < 0
		}
		if wrong {
			return "it lends what it can't have"
		}
		return ""
	}}

// Checker checks the records of what is lent, and of what was used.
func Checker() core.Rebuilder { return table.Part{&rates, &spent} }

// terms are how much is lent, and for how long.
type terms struct {
	perSecond, burst float64
	// window is how long a window lasts at least: the usual length, or half the time in which the
	// rate fills a burst if that is less.
	window time.Duration
	// keeps is how many whole windows must pass after a part was lent before it has surely
	// ended.
	keeps uint64
}

func termsOf(o *Options) terms {
	length := time.Duration(math.Min(float64(window), o.Burst/o.PerSecond/2*float64(time.Second))) + 1
	return terms{o.PerSecond, o.Burst, length, uint64(hold/length) + 1}
}

// record has how much of a name's rate is lent. What is left and what hosts have borrowed are
// together never more than the content of a bucket that begins with the burst, gets what the rate
// gives, and never holds more than the burst: at the end of a window, the record gets what came in
// meanwhile, but no more than there was room for when the window began.
type record struct {
	// Window counts the windows from 1.
	Window uint64 `json:"window"`
	// Left is what can be lent. Room is how much more could be added when the window began,
	// in addition to what was left and what hosts had then.
	Left float64 `json:"left"`
	Room float64 `json:"room"`
	// Parts has the part that each host borrowed last, by the host's id.
	Parts map[string]part `json:"parts,omitempty"`
}

// part is what a host borrowed last, and in which window.
type part struct {
	Window uint64 `json:"window"`
	Amount int64  `json:"amount"`
}

// read reads a record. If it is damaged, nothing is left to lend until the next window.
func read(r core.Reader, id string, t *terms) (rec *record, value []byte, err error) {
	value, found, err := r.Get([]byte(prefix + id))
	if err != nil {
		return nil, nil, err
	}
	if !found {
		rec = &record{Window: 1, Left: t.burst}
	} else if rec, err = rates.Parse(id, value); err != nil {
		rec = &record{Window: 1, Room: t.burst}
	}
	if rec.Left = min(rec.Left, t.burst); rec.Parts == nil {
		rec.Parts = map[string]part{}
	}
	return rec, value, nil
}

// begin begins the next window. passed is how long the last one lasted.
func (r *record) begin(t *terms, passed time.Duration) {
	r.Window++
	r.Left += min(r.Room, passed.Seconds()*t.perSecond)
	r.Room = t.burst - r.Left
	for host, p := range r.Parts {
		if r.Window > p.Window+t.keeps {
			delete(r.Parts, host)
		} else {
			r.Room -= float64(p.Amount)
		}
	}
	r.Room = max(0, r.Room)
}

// lend lends a host as much as it asks for, but at most half of what is left, so that another
// host finds something too.
func (r *record) lend(host string, ask int64) int64 {
	n := min(ask, (int64(r.Left)+1)/2)
	if n > 0 {
		r.Left -= float64(n)
		r.Parts[host] = part{r.Window, n}
	}
	return n
}
