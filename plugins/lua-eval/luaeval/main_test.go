package luaeval_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core/coretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(coretest.WithPlain(m)) }
