package config

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/reflectory/reflectory/core"
)

// Limits bound what callers of a server may send, how often, and what they may hold open. Limits
// are bounded themselves, so that none can be switched off by a number.
type Limits struct {
	// Body is how many bytes a request's JSON may have, ImportBody the same for a streamed body, and
	// Headers for a request's line and headers. JSONDepth is how deep the JSON may be nested.
	Body, ImportBody, Headers, JSONDepth int64
	// HeaderTime is how long headers may take to arrive, BodyTime how long a body may take, and
	// IdleTime how long a connection without a request stays open.
	HeaderTime, BodyTime, IdleTime time.Duration
	// Requests and Writes are how many requests, and how many writing requests, a subject may make in
	// a second, with bursts of twice that. FailedLogins is how many wrong credentials an address may
	// send in a minute.
	Requests, Writes, FailedLogins float64
	// Runs is how many runs are worked on at once, RunsPerUser how many of them may be one user's, and
	// RunsPerNamespace how many may be in one namespace; 0 is no limit for the last two.
	Runs, RunsPerUser, RunsPerNamespace int64
	// AtOnce is how many requests are worked on at once, Gateway how many to models, Connections how many connections are open,
	// Streams how many streams of events, and SubjectStreams how many of them a subject has.
	AtOnce, Gateway, Connections, Streams, SubjectStreams int64
	// CallsPerModel are how many calls of a model are made at once, by its name; "*" is every model that
	// isn't named. 0 is no limit.
	CallsPerModel map[string]int64
}

// limit is one of the limits.
type limit struct {
	name, doc   string
	flag        string  // of serve; "" if it has none
	standard    float64 // in seconds for a time
	least, most float64
	count       func(*Limits) *int64 // exactly one of these three is set
	rate        func(*Limits) *float64
	time        func(*Limits) *time.Duration
	setting     func(*Config) *Setting
}

// serverLimits are the limits, in display order. A default is what a host with a gigabyte of
// memory withstands from hostile callers; the highest values only exclude mistakes in writing.
func serverLimits() []limit {
	return []limit{
		{name: "body", doc: "bytes of a request's JSON", standard: 1 << 20, least: 1 << 10, most: 64 << 20, count: func(l *Limits) *int64 { return &l.Body }, setting: func(c *Config) *Setting { return &c.LimitBody }},
		{name: "import_body", doc: "bytes of a streamed body, such as an import", standard: 256 << 20, least: 1 << 10, most: 1 << 40, count: func(l *Limits) *int64 { return &l.ImportBody }, setting: func(c *Config) *Setting { return &c.LimitImportBody }},
		{name: "headers", doc: "bytes of a request's line and headers", standard: 32 << 10, least: 1 << 10, most: 1 << 20, count: func(l *Limits) *int64 { return &l.Headers }, setting: func(c *Config) *Setting { return &c.LimitHeaders }},
		{name: "json_depth", doc: "levels of a request's JSON", standard: 32, least: 8, most: 256, count: func(l *Limits) *int64 { return &l.JSONDepth }, setting: func(c *Config) *Setting { return &c.LimitJSONDepth }},
		{name: "header_time", doc: "how long a request's headers may take to arrive", standard: 5, least: .1, most: 600, time: func(l *Limits) *time.Duration { return &l.HeaderTime }, setting: func(c *Config) *Setting { return &c.LimitHeaderTime }},
		{name: "body_time", doc: "how long a request's body may take to arrive, or a streamed body may pause", standard: 30, least: .1, most: 3600, time: func(l *Limits) *time.Duration { return &l.BodyTime }, setting: func(c *Config) *Setting { return &c.LimitBodyTime }},
		{name: "idle_time", doc: "how long a connection without a request stays open", standard: 120, least: 1, most: 3600, time: func(l *Limits) *time.Duration { return &l.IdleTime }, setting: func(c *Config) *Setting { return &c.LimitIdleTime }},
		{name: "requests", doc: "requests that a subject may make in a second, in bursts of twice that", standard: 100, least: 1, most: 1e6, rate: func(l *Limits) *float64 { return &l.Requests }, setting: func(c *Config) *Setting { return &c.LimitRequests }},
		{name: "writes", doc: "writing requests that a subject may make in a second, in bursts of twice that", standard: 60, least: 1, most: 1e6, rate: func(l *Limits) *float64 { return &l.Writes }, setting: func(c *Config) *Setting { return &c.LimitWrites }},
		{name: "failed_logins", doc: "wrong credentials that an address may send in a minute", standard: 10, least: 1, most: 1e6, rate: func(l *Limits) *float64 { return &l.FailedLogins }, setting: func(c *Config) *Setting { return &c.LimitFailedLogins }},
		{name: "at_once", doc: "requests that are worked on at once; tenants take turns for the next", standard: 64, least: 2, most: 1 << 16, count: func(l *Limits) *int64 { return &l.AtOnce }, setting: func(c *Config) *Setting { return &c.LimitAtOnce }},
		{name: "gateway", doc: "requests to models that are worked on at once; tenants, and their users, take turns for the next", standard: 256, least: 2, most: 1 << 16, count: func(l *Limits) *int64 { return &l.Gateway }, setting: func(c *Config) *Setting { return &c.LimitGateway }},
		{name: "connections", doc: "connections that are open at once", standard: 2000, least: 2, most: 1 << 20, count: func(l *Limits) *int64 { return &l.Connections }, setting: func(c *Config) *Setting { return &c.LimitConnections }},
		{name: "runs", flag: "runs", doc: "runs that are worked on at once; tenants, and their users, take turns for the next", standard: 32, least: 1, most: 1000, count: func(l *Limits) *int64 { return &l.Runs }, setting: func(c *Config) *Setting { return &c.LimitRuns }},
		{name: "runs_per_user", doc: "runs of a user that are worked on at once; 0 is no limit", standard: 8, least: 0, most: 1000, count: func(l *Limits) *int64 { return &l.RunsPerUser }, setting: func(c *Config) *Setting { return &c.LimitRunsPerUser }},
		{name: "runs_per_namespace", doc: "runs in a namespace that are worked on at once; 0 is no limit", standard: 0, least: 0, most: 1000, count: func(l *Limits) *int64 { return &l.RunsPerNamespace }, setting: func(c *Config) *Setting { return &c.LimitRunsPerNamespace }},
		{name: "streams", doc: "streams of events that are open at once", standard: 1000, least: 2, most: 1 << 20, count: func(l *Limits) *int64 { return &l.Streams }, setting: func(c *Config) *Setting { return &c.LimitStreams }},
		{name: "subject_streams", doc: "streams of events that a subject has open at once", standard: 16, least: 1, most: 1 << 20, count: func(l *Limits) *int64 { return &l.SubjectStreams }, setting: func(c *Config) *Setting { return &c.LimitSubjectStreams }},
	}
}

// limitSettings are the settings of a server's limits.
func limitSettings() (settings []Definition) {
	for _, l := range serverLimits() {
		d := Definition{
			Name: "limits_" + l.name, Flag: l.flag, Key: "limits." + l.name, Default: l.text(l.standard),
			Doc:   fmt.Sprintf("%s, %s to %s", l.doc, l.text(l.least), l.text(l.most)),
			field: l.setting,
			check: func(value string) *fault { _, f := l.read(value); return f },
			kind:  number, schema: schema{"minimum": l.least, "maximum": l.most},
		}
		switch {
		case l.time != nil:
			d.kind, d.schema = span, schema{"pattern": timeForm}
		case l.count != nil:
			d.schema["multipleOf"] = 1
		}
		settings = append(settings, d)
	}
	return append(settings, Definition{
		Name: "limits_calls_per_model", Key: "limits.calls_per_model", Default: "*=16",
		Doc:   "calls of a model that are made at once, by its name; `*` is every model that isn't named; 0 is no limit. Tenants, and their users, take turns for the next. A run that waits for one lets another run have its worker",
		field: func(c *Config) *Setting { return &c.LimitCallsPerModel },
		check: func(item string) *fault {
			_, _, err := readCount(item)
			return err
		},
		kind: counts, schema: schema{"minimum": 0, "maximum": maxCalls},
	})
}

// maxCalls is the highest number of calls of a model at once.
const maxCalls = 10_000

// countName is the form of a model's name in a limit.
const countName = `^[^,=\s]{1,200}$`

var countForm = core.Pattern(`^([^,=\s]{1,200})=([0-9]{1,5})$`)

// readCount reads a model's limit, such as gpt-5=4.
func readCount(item string) (name string, n int64, f *fault) {
	parts := countForm().FindStringSubmatch(item)
	if parts != nil {
		n, _ = strconv.ParseInt(parts[2], 10, 64)
	}
	if parts == nil || n > maxCalls {
		return "", 0, &fault{says: fmt.Sprintf("is not a model and a whole number from 0 to %d", maxCalls), hint: "write limits: {calls_per_model: {\"*\": 16, MODEL: 4}}"}
	}
	return parts[1], n, nil
}

// text is a value of the limit as it is written.
func (l *limit) text(v float64) string {
	if l.time != nil {
		return time.Duration(v * float64(time.Second)).String()
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// read reads a value of the limit, a time in seconds.
func (l *limit) read(value string) (v float64, f *fault) {
	what, hint := "number", "write a number, such as "+l.text(l.standard)
	var err error
	if l.time != nil {
		var d time.Duration
		d, err = time.ParseDuration(value)
		v, what, hint = d.Seconds(), "time", "write it with a unit, such as "+l.text(l.standard)
	} else {
		v, err = strconv.ParseFloat(value, 64)
	}
	if l.count != nil {
		what = "whole number"
	}
	if err != nil || !(v >= l.least && v <= l.most) || l.count != nil && v != math.Trunc(v) {
		return 0, &fault{says: fmt.Sprintf("is not a %s from %s to %s", what, l.text(l.least), l.text(l.most)), hint: hint}
	}
	return v, nil
}

// Limits are the limits of a server here, from the settings Limit….
func (c *Config) Limits() Limits {
	var all Limits
	for _, l := range serverLimits() {
		v, f := l.read(l.setting(c).Value)
		if f != nil { // a Config that wasn't loaded
			v = l.standard
		}
		switch {
		case l.time != nil:
			*l.time(&all) = time.Duration(v * float64(time.Second))
		case l.rate != nil:
			*l.rate(&all) = v
		default:
			*l.count(&all) = int64(v)
		}
	}
	all.CallsPerModel = map[string]int64{"*": 16}
	for _, item := range list(c.LimitCallsPerModel.Value) {
		if name, n, f := readCount(item); f == nil {
			all.CallsPerModel[name] = n
		}
	}
	return all
}
