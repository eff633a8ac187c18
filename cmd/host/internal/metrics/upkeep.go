package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// upkeepGauges show what an operator has to do before it is too late: renew a token or a certificate,
// take a backup, make space.
type upkeepGauges struct {
	certificates map[string]func() time.Time
	token        func(context.Context) (time.Time, error)
	backup       func() (at time.Time, known bool)
	disk         func() (available, size uint64, err error)
}

var (
	certificateExpiry = desc("certificate_expiry_timestamp_seconds", "When a certificate of the server expires: the one that clients see (use=server), or the one for the other hosts (use=peers).", "use")
	tokenExpiry       = desc("token_expiry_timestamp_seconds", "When the next of the valid tokens expires, of those that were made for two weeks or longer.")
	lastBackup        = desc("last_backup_timestamp_seconds", "When the store in the data folder was last backed up; 0 if it never was.")
	dataAvailable     = desc("data_available_bytes", "Bytes that the server may still use on the data folder's file system.")
	dataSize          = desc("data_size_bytes", "Bytes of the data folder's file system.")
)

// Describe implements [prometheus.Collector].
func (g *upkeepGauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{certificateExpiry, tokenExpiry, lastBackup, dataAvailable, dataSize} {
		out <- d
	}
}

// Collect implements [prometheus.Collector]. What isn't there, such as a certificate, or can't be read
// has no gauge.
func (g *upkeepGauges) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for use, expires := range g.certificates {
		if at := expires(); !at.IsZero() {
			gauge(certificateExpiry, float64(at.Unix()), use)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), countTime)
	defer cancel()
	if at, err := g.token(ctx); err == nil && !at.IsZero() {
		gauge(tokenExpiry, float64(at.Unix()))
	}
	if at, known := g.backup(); known {
		gauge(lastBackup, max(0, float64(at.Unix()))) // the zero time is before 1970
	}
	if available, size, err := g.disk(); err == nil {
		gauge(dataAvailable, float64(available))
		gauge(dataSize, float64(size))
	}
}
