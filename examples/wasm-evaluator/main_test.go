package main

import (
	"os"
	"testing"

	"github.com/reflectory/reflectory/sdk/sdktest"
)

// The contract, and the fixtures in package/tests.
func TestConformance(t *testing.T) {
	sdktest.Run(t, sdktest.InProcess(plugin()), os.DirFS("package"))
}

func TestASecretIsNeverRepeated(t *testing.T) {
	s := &scanner{rules: rules(), minEntropy: 3.5}
	const secret = "x8Kq2vN7tR4mWz1P"
	hits := s.scan("api_key: " + secret)
	if len(hits) != 1 || hits[0].message != "what looks like a random password or key, in line 1 of the text" {
		t.Errorf("got %+v", hits)
	}
}
