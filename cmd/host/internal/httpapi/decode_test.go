package httpapi

import "github.com/reflectory/reflectory/core"

// decodeBody reads a request from JSON alone.
func decodeBody(data []byte, in any, taken []string) error {
	var f faults
	err := f.decodeBody(data, in, taken)
	return core.JoinErrors(append([]error{err}, f...)...)
}

// decodeQuery reads a request from a query alone.
func decodeQuery(query string, in any, taken []string) error {
	var f faults
	err := f.decodeQuery(query, in, taken)
	return core.JoinErrors(append([]error{err}, f...)...)
}
