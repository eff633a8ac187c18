package guest

import (
	"io"
	"os"

	"github.com/reflectory/reflectory/sdk"
)

// Command makes the one call that is on standard input, and exits.
func Command(p sdk.Plugin) { os.Exit(command(p, os.Stdin, os.Stdout, os.Stderr)) }

func command(p sdk.Plugin, in io.Reader, out, log io.Writer) int {
	request, err := io.ReadAll(in)
	if err == nil {
		_, err = out.Write(newServer(p, func(int, string) {}).handle(0, request))
	}
	if err != nil {
		_, _ = io.WriteString(log, err.Error()+"\n") // there is nowhere else to report it
		return 1
	}
	return 0
}
