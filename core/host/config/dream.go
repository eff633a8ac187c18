package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/sdk"
)

// booleans are the values of a flag in a variable.
var booleans = [...]string{"true", "false"}

// dreams are the switches and thresholds of passes of housekeeping.
func dreams() []Definition {
	phase := func(name, doc string, field func(*Config) *Setting) Definition {
		return Definition{
			Name: "dream_" + name, Key: "settings.dream." + name, Variable: "REFLECTORY_DREAM_" + strings.ToUpper(name),
			Default: "true", Words: booleans[:], Doc: doc + "; a request can also turn it off", field: field, kind: flag,
		}
	}
	var strategies, stales []string
	for _, s := range dream.Strategies() {
		strategies = append(strategies, string(s))
	}
	for _, s := range dream.Stales() {
		stales = append(stales, string(s))
	}
	return []Definition{
		phase("dates", "whether passes make relative dates absolute", func(c *Config) *Setting { return &c.DreamDates }),
		phase("merges", "whether passes merge memories that say the same", func(c *Config) *Setting { return &c.DreamMerges }),
		phase("conflicts", "whether passes decide contradictions of low importance", func(c *Config) *Setting { return &c.DreamConflicts }),
		phase("archival", "whether passes archive stale memories and old notifications", func(c *Config) *Setting { return &c.DreamArchival }),
		{
			Name: "dream_keep_phrase", Key: "settings.dream.keep_phrase", Variable: "REFLECTORY_DREAM_KEEP_PHRASE",
			Default: "false", Words: booleans[:], kind: flag,
			Doc:   "whether a relative date is kept, with the calendar date after it",
			field: func(c *Config) *Setting { return &c.DreamKeepPhrase },
		}, {
			Name: "dream_ranges", Key: "settings.dream.ranges", Variable: "REFLECTORY_DREAM_RANGES",
			Default: "false", Words: booleans[:], kind: flag,
			Doc:   "whether last or next week, month or year is replaced by its first and last day",
			field: func(c *Config) *Setting { return &c.DreamRanges },
		}, {
			Name: "dream_strategy", Key: "settings.dream.strategy", Variable: "REFLECTORY_DREAM_STRATEGY",
			Default: string(dream.KeepNewest), Words: strategies,
			Doc:   "which of two contradictory memories of low importance is kept; manual leaves both",
			field: func(c *Config) *Setting { return &c.DreamStrategy },
		}, {
			Name: "dream_stale", Key: "settings.dream.stale", Variable: "REFLECTORY_DREAM_STALE",
			Default: string(dream.StaleRedundant), Words: stales,
			Doc:   "which stale memories passes archive: redundant are those that another memory covers, and those written as less important than usual that fitted none of the last queries; all takes every one, off none",
			field: func(c *Config) *Setting { return &c.DreamStale },
		}, {
			Name: "dream_stale_after", Key: "settings.dream.stale_after", Variable: "REFLECTORY_DREAM_STALE_AFTER",
			Default: "7d", Doc: fmt.Sprintf("age beyond which a memory that nobody used may be stale, such as 7d or 168h, up to %d days", maxKeepDays),
			field: func(c *Config) *Setting { return &c.DreamStaleAfter }, check: checkAge, schema: schema{"pattern": keepForm},
		}, {
			Name: "dream_stale_below", Key: "settings.dream.stale_below", Variable: "REFLECTORY_DREAM_STALE_BELOW",
			Default: "0.2", Doc: "effective importance below which such a memory is stale, above 0 and up to 1",
			field: func(c *Config) *Setting { return &c.DreamStaleBelow }, kind: number, check: checkStaleBelow,
			schema: schema{"exclusiveMinimum": 0, "maximum": 1},
		}, {
			Name: "dream_decay", Key: "settings.dream.decay", Variable: "REFLECTORY_DREAM_DECAY",
			Default: "exponential", Doc: "how importance fades with age: exponential or linear, optionally with a rate per hour, such as exponential:0.004; step:T or power_law:a",
			field: func(c *Config) *Setting { return &c.DreamDecay }, check: checkDecay,
			schema: schema{"pattern": `^(exponential|linear|(exponential|linear|step|power_law):[^:]+)$`},
		}, {
			Name: "dream_judge", Key: "settings.dream.judge", Variable: "REFLECTORY_DREAM_JUDGE",
			Doc:   "evaluator plugin that may decide that two similar texts say the same although a name or a word differs; without one, such texts are not merged",
			field: func(c *Config) *Setting { return &c.DreamJudge }, check: checkPlugin, schema: schema{"maxLength": maxPluginName},
		},
	}
}

// readAge reads an age above 0: such as 7d, or as Go writes durations.
func readAge(value string) (time.Duration, *fault) {
	age, f := readKeep(value)
	if f != nil || age <= 0 {
		return 0, &fault{says: fmt.Sprintf("is not an age up to %d days", maxKeepDays), hint: "write it with a unit, such as 7d or 168h"}
	}
	return age, nil
}

func checkAge(value string) *fault {
	_, f := readAge(value)
	return f
}

func checkStaleBelow(value string) *fault {
	below, err := strconv.ParseFloat(value, 64)
	if err != nil || !(below > 0 && below <= 1) {
		return &fault{says: "is not a number above 0 and up to 1", hint: "write a share such as 0.2; a smaller one archives less"}
	}
	return nil
}

func checkDecay(value string) *fault {
	o := dream.Options{Decay: value}
	if err := o.Validate(); err != nil {
		return &fault{says: "is not exponential, linear, step:T or power_law:a", hint: sdk.DidYouMean(value, []string{"exponential", "linear", "step:720h", "power_law:0.5"}, "")}
	}
	return nil
}

// readDream is what passes do, of settings that were checked. What has its default is left
// out, as it is in a request: a plan has only what somebody chose.
func (c *Config) readDream() (o dream.Options) {
	is := func(s Setting, value string) bool { return s.Value == value }
	o = dream.Options{
		SkipDates: is(c.DreamDates, "false"), SkipMerges: is(c.DreamMerges, "false"), SkipConflicts: is(c.DreamConflicts, "false"), SkipArchival: is(c.DreamArchival, "false"),
		KeepPhrase: is(c.DreamKeepPhrase, "true"), Ranges: is(c.DreamRanges, "true"),
	}
	if s := c.DreamStrategy; !s.IsDefault() {
		o.Strategy = dream.Strategy(s.Value)
	}
	if s := c.DreamStale; !s.IsDefault() {
		o.Stale = dream.Stale(s.Value)
	}
	if s := c.DreamDecay; !s.IsDefault() {
		o.Decay = s.Value
	}
	if s := c.DreamStaleAfter; !s.IsDefault() {
		age, _ := readAge(s.Value)
		o.StaleAfterHours = age.Hours()
	}
	if s := c.DreamStaleBelow; !s.IsDefault() {
		o.StaleBelow, _ = strconv.ParseFloat(s.Value, 64)
	}
	return o
}
