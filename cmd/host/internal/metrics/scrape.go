package metrics

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/plugin"
)

// Handler answers a scrape with what was counted, and with how the host is now. Expiries are
// when its server's certificates expire, by what they are for. Streams counts the streams of events that
// are followed.
func (m *Metrics) Handler(h *host.Host, expiries map[string]func() time.Time, streams func() int) http.Handler {
	now := prometheus.NewRegistry()
	now.MustRegister(
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: namespace, Name: "store_commits_total", Help: "Commits of the store since it was opened.",
		}, func() float64 { return float64(h.Databases.Commits()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: namespace, Name: "store_state", Help: "1 if the store takes writes, 0 after its disk refused one or is full.",
		}, func() float64 {
			if h.Storage.Failed() != nil {
				return 0
			}
			return 1
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: namespace, Name: "sse_subscribers", Help: "Streams of events that are followed.",
		}, func() float64 { return float64(streams()) }),
		&pluginGauges{h.Databases.PluginInstances}, &memoryGauge{count: h.Databases.MemoryStates}, &jobGauges{h.Databases.JobCounts, h.Databases.OldestJobs},
		&databaseGauges{h.Databases.Stats}, &upkeepGauges{expiries, h.Access.NextExpiry, h.Storage.LastBackup, h.Storage.DiskSpace},
	)
	return promhttp.HandlerFor(prometheus.Gatherers{m.registry, now}, promhttp.HandlerOpts{})
}

// desc describes a metric that is read at a scrape.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
}

// pluginGauges show the state of plugins.
type pluginGauges struct{ status func() []plugin.Status }

var (
	pluginInstances = desc("plugin_instances", "Instances of plugins that run.", "plugin")
	pluginBusy      = desc("plugin_busy", "Calls that instances of plugins work on.", "plugin")
	pluginWaiting   = desc("plugin_waiting", "Calls that wait for an instance of a plugin.", "plugin")
	pluginBreaker   = desc("plugin_breaker_open", "1 while a plugin isn't started, since it exited too often, else 0.", "plugin")
)

// Describe implements [prometheus.Collector].
func (g *pluginGauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{pluginInstances, pluginBusy, pluginWaiting, pluginBreaker} {
		out <- d
	}
}

// Collect implements [prometheus.Collector]: a plugin's environments together.
func (g *pluginGauges) Collect(out chan<- prometheus.Metric) {
	type sum struct{ instances, busy, waiting, open float64 }
	sums := map[string]*sum{}
	for _, st := range g.status() {
		s := sums[st.Plugin]
		if s == nil {
			s = &sum{}
			sums[st.Plugin] = s
		}
		s.instances += float64(st.Instances + st.Draining)
		s.busy += float64(st.Busy)
		s.waiting += float64(st.Waiting)
		if st.Breaker == plugin.BreakerOpen {
			s.open = 1
		}
	}
	for name, s := range sums {
		out <- prometheus.MustNewConstMetric(pluginInstances, prometheus.GaugeValue, s.instances, name)
		out <- prometheus.MustNewConstMetric(pluginBusy, prometheus.GaugeValue, s.busy, name)
		out <- prometheus.MustNewConstMetric(pluginWaiting, prometheus.GaugeValue, s.waiting, name)
		out <- prometheus.MustNewConstMetric(pluginBreaker, prometheus.GaugeValue, s.open, name)
	}
}

// jobGauges show the state of the queue.
type jobGauges struct {
	counts func(context.Context) ([]job.Count, error)
	oldest func(context.Context) (map[job.Type]time.Duration, error)
}

var (
	jobsQueued  = desc("jobs_queued", "Jobs that wait, by their type.", "type")
	jobsRunning = desc("jobs_running", "Jobs that are worked on, by their type.", "type")
	jobsOldest  = desc("job_oldest_wait_seconds", "How long ago the job was queued that waits the longest of those that may begin; 0 where none waits.", "type")
)

// Describe implements [prometheus.Collector].
func (g *jobGauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{jobsQueued, jobsRunning, jobsOldest} {
		out <- d
	}
}

// Collect implements [prometheus.Collector]. If the queue can't be read, only these gauges
// are missing.
func (g *jobGauges) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTime)
	defer cancel()
	counts, err := g.counts(ctx)
	if err != nil {
		return
	}
	oldest, err := g.oldest(ctx)
	if err != nil {
		return
	}
	for _, c := range counts {
		out <- prometheus.MustNewConstMetric(jobsQueued, prometheus.GaugeValue, float64(c.Queued), string(c.Type))
		out <- prometheus.MustNewConstMetric(jobsRunning, prometheus.GaugeValue, float64(c.Running), string(c.Type))
		out <- prometheus.MustNewConstMetric(jobsOldest, prometheus.GaugeValue, oldest[c.Type].Seconds(), string(c.Type))
	}
}

// databaseGauges are what the host did with a database that is its store.
type databaseGauges struct {
	stats func(context.Context) (*host.DatabaseStats, error)
}

var (
	databaseTransactions = desc("database_transactions_total", "Transactions that were committed; over store_commits_total that is how many share a commit.")
	databaseConflicts    = desc("database_conflicts_total", "Commits that found something changed, after which transactions run again.")
	databaseRoundTrips   = desc("database_round_trips_total", "How often the host waited for an answer of the database.")
	databaseDeadRows     = desc("database_dead_rows", "Rows of the store's table that wait for a vacuum.")
)

// Describe implements [prometheus.Collector].
func (g *databaseGauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{databaseTransactions, databaseConflicts, databaseRoundTrips, databaseDeadRows} {
		out <- d
	}
}

// Collect implements [prometheus.Collector]. If the store isn't a database, it collects
// nothing. If the database can't be asked, the dead rows are missing.
func (g *databaseGauges) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTime)
	defer cancel()
	s, err := g.stats(ctx)
	if s == nil {
		return
	}
	for _, c := range []struct {
		desc  *prometheus.Desc
		count uint64
	}{{databaseTransactions, s.Members}, {databaseConflicts, s.Conflicts}, {databaseRoundTrips, s.RoundTrips}} {
		out <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(c.count))
	}
	if err == nil {
		out <- prometheus.MustNewConstMetric(databaseDeadRows, prometheus.GaugeValue, float64(s.DeadRows))
	}
}

// memoryGauge is how many memories there are. The time to count them grows with their
// number. So a count is kept for 50 times as long as it took, and for at least 15 s, the
// usual time between two scrapes. Counting then uses at most a fiftieth of one processor.
type memoryGauge struct {
	count func(context.Context) (map[core.MemoryState]int64, error)

	mu     sync.Mutex
	counts map[core.MemoryState]int64
	until  time.Time
}

const (
	minCountAge = 15 * time.Second
	countShare  = 50
	countTime   = 8 * time.Second // Prometheus waits for 10 s
)

var memories = desc("memories", "Memories by their state, of all namespaces.", "state")

// Describe implements [prometheus.Collector].
func (g *memoryGauge) Describe(out chan<- *prometheus.Desc) { out <- memories }

// Collect implements [prometheus.Collector]. If they can't be counted, only this gauge is
// missing, which Prometheus can alert on.
func (g *memoryGauge) Collect(out chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if began := time.Now(); began.After(g.until) {
		ctx, cancel := context.WithTimeout(context.Background(), countTime)
		defer cancel()
		var err error
		if g.counts, err = g.count(ctx); err != nil {
			g.counts = nil
		}
		ended := time.Now()
		g.until = ended.Add(max(minCountAge, countShare*ended.Sub(began)))
	}
	if g.counts == nil {
		return
	}
	for _, state := range core.MemoryStates() {
		if state == core.StatePurged {
			continue // only tombstones of such memories exist
		}
		out <- prometheus.MustNewConstMetric(memories, prometheus.GaugeValue, float64(g.counts[state]), string(state))
	}
}
