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

// values are the values of a collector's gauges, by their names and label values.
func values(c prometheus.Collector) map[string]float64 {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		panic(err) // a defect of the collector
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			all[name] = m.GetGauge().GetValue()
		}
	}
	return all
}
