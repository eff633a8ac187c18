package gateway_test

import (
	"os"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
)

func TestMain(m *testing.M) { os.Exit(coretest.WithPlain(m).Run()) }
