package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// gathered is how many series a collector has.
func gathered(c prometheus.Collector) (n int) {
	out := make(chan prometheus.Metric, 100)
	c.Collect(out)
	return len(out)
}

// names are the names of what a collector has.
func names(c prometheus.Collector) (list []string) {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		panic(err) // a defect of the collector
	}
	for _, f := range families {
		list = append(list, f.GetName())
	}
	return list
}
