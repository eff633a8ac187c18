//go:build unix && (!linux || !(amd64 || arm64))

package exec

import (
	"fmt"
	"runtime"
)

// openRoom says that there are no rooms here.
func (p *running) openRoom() (place, error) {
	return nil, &noRoom{fmt.Errorf("there are none for programs on %s on %s", runtime.GOOS, runtime.GOARCH)}
}
