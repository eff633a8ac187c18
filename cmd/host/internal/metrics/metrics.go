// Package metrics counts what a host does, for Prometheus, and is the only package that
// imports its client.
//
// Each series costs Prometheus memory for as long as it is kept, so their number is
// limited: the values of a label are a fixed set, or the names of installed plugins. What
// callers choose, such as a namespace, a workflow, a subject or a path, isn't a label. A
// value outside its set is counted as "other", so that a new word of a later version isn't
// lost.
//
// Events are counted when they happen. States, such as the number of memories, are read at
// each scrape.
package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/policypoint"
)

// The buckets of histograms, by their upper bounds. Prometheus's own buckets end at 10 s,
// but many calls of a model take longer.
var (
	requestSeconds = []float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10}
	callSeconds    = []float64{0.001, 0.01, 0.05, 0.25, 1, 5, 15, 60, 300}
	runSeconds     = []float64{0.1, 1, 5, 15, 60, 300, 1800, 7200}
	waitSeconds    = []float64{0.1, 1, 5, 15, 60, 300, 1800, 7200}
	scores         = []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}
)

// Metrics count. They are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	requests       *prometheus.CounterVec
	requestSeconds *prometheus.HistogramVec
	modelSeconds   prometheus.Histogram

	runs       *prometheus.CounterVec
	runSeconds prometheus.Histogram
	iterations *prometheus.CounterVec
	scores     *prometheus.HistogramVec

	calls       *prometheus.CounterVec
	callSeconds *prometheus.HistogramVec
	instances   *prometheus.CounterVec

	decisions *prometheus.CounterVec
	memories  *prometheus.CounterVec

	jobs       *prometheus.CounterVec
	jobWait    *prometheus.HistogramVec
	jobSeconds *prometheus.HistogramVec
}

// New makes metrics that are 0.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),

		requests:       counter("http_requests_total", "Requests that were answered, by the route's path, the method and the class of the status.", "route", "method", "class"),
		requestSeconds: histogram("http_request_seconds", "How long requests took; streams of events count from their beginning to their end, and the gateway's requests not at all.", requestSeconds, "method"),
		modelSeconds:   prometheus.NewHistogram(histogramOpts("gateway_request_seconds", "How long requests to the gateway took, with all attempts of the model.", callSeconds)),

		runs:       counter("runs_total", "Runs that ended, by how they ended.", "status"),
		runSeconds: prometheus.NewHistogram(histogramOpts("run_seconds", "How long runs took, from their beginning or resume to their end.", runSeconds)),
		iterations: counter("iterations_total", "Iterations of loops, by what became of their attempt: accepted, rejected, or none.", "outcome"),
		scores:     histogram("run_score", "Scores of runs with a loop: which=first is the score of the first attempt, which=best the best one at the end.", scores, "which"),

		calls:       counter("plugin_calls_total", "Calls of plugins, by what they were called for and the class of the error, or ok.", "plugin", "role", "code"),
		callSeconds: histogram("plugin_call_seconds", "How long calls of plugins took, with the wait for an instance.", callSeconds, "plugin"),
		instances:   counter("plugin_instance_events_total", "Instances of plugins that started, exited by themselves, were killed or replaced, or used a processor while idle.", "plugin", "event"),

		decisions: counter("decisions_total", "Decisions of policy points, recorded or not, by their outcome.", "point", "outcome"),
		memories:  counter("memory_operations_total", "What was done with memories: search, update or delete, and the class of the error, or ok.", "operation", "code"),

		jobs:       counter("jobs_total", "Jobs that came into a status, by their type.", "type", "status"),
		jobWait:    histogram("job_wait_seconds", "How long jobs were queued before a worker began them.", waitSeconds, "type"),
		jobSeconds: histogram("job_seconds", "How long workers were at a job before it ended.", runSeconds, "type"),
	}
	m.registry.MustRegister(
		m.requests, m.requestSeconds, m.modelSeconds, m.runs, m.runSeconds, m.iterations, m.scores, m.calls, m.callSeconds, m.instances,
		m.decisions, m.memories, m.jobs, m.jobWait, m.jobSeconds,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.begin()
	return m
}

// begin makes the series that alerts use, so that the first increase counts: a series that
// doesn't exist has no rate.
func (m *Metrics) begin() {
	for _, status := range core.RunStatuses() {
		if status != core.StatusRunning && status != core.StatusInterrupted {
			m.runs.WithLabelValues(string(status))
		}
	}
	for _, outcome := range []string{accepted, rejected, none} {
		m.iterations.WithLabelValues(outcome)
	}
	for _, which := range []string{"first", "best"} {
		m.scores.WithLabelValues(which)
	}
	for _, point := range policypoint.Points() {
		m.decisions.WithLabelValues(string(point), "failed")
	}
}

// Observe returns the functions that a host calls with what it does.
func (m *Metrics) Observe() host.Observe {
	return host.Observe{Work: m.work, Decided: m.decided, Instance: m.instance}
}

// decided counts a decision.
func (m *Metrics) decided(point policypoint.Point, word string) {
	m.decisions.WithLabelValues(string(point), known(word, outcomes)).Inc()
}

// outcomes are the words for the outcomes of decisions.
var outcomes = append([]string{
	"allow", "deny", "accept", "stop", "continue", "failed", "high", "medium", "low", "single", "classified", "hybrid",
	policypoint.VerdictRetain, policypoint.VerdictObsolete, policypoint.VerdictPromote,
}, stateNames()...)

// stateNames are the states of memories.
func stateNames() (names []string) {
	for _, s := range core.MemoryStates() {
		names = append(names, string(s))
	}
	return names
}

// instance counts what happened to an instance.
func (m *Metrics) instance(name string, e plugin.InstanceEvent) {
	m.instances.WithLabelValues(name, string(e)).Inc()
}

// other represents a value that isn't in its set.
const other = "other"

// known is a value of a set, or other.
func known(value string, set []string) string {
	if slices.Contains(set, value) {
		return value
	}
	return other
}

// namespace begins the names of all metrics.
const namespace = "reflectory"

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(histogramOpts(name, help, buckets), labels)
}

func histogramOpts(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}
}
