package host

import (
	"fmt"

	"github.com/reflectory/reflectory/sdk"
)

// Notice is something that an operator should know and that no call returns: an invalid
// change of the policy folder, logs that can't be written.
type Notice struct {
	// Level is info or warn.
	Level string
	// Message is one or more lines of plain text. It may quote a file.
	Message string
	// Hint is what to do; "" if there is nothing to do.
	Hint string
	// Try is the operation that follows Hint, if there is one.
	Try *sdk.Action
}

// Activity is something that a call waits for.
type Activity string

// The activities.
const (
	// OpeningStore may wait for another program that has the store open.
	OpeningStore Activity = "opening_store"
	// StartingPlugins starts plugins, so that they check their configs.
	StartingPlugins Activity = "starting_plugins"
	// CallingPlugins is a call outside a run.
	CallingPlugins Activity = "calling_plugins"
)

func (c *Config) info(format string, args ...any) {
	c.Notices(Notice{Level: "info", Message: fmt.Sprintf(format, args...)})
}

func (c *Config) warn(err error) { warn(c.Notices, err) }

func warn(notices func(Notice), err error) {
	e := sdk.AsError(err)
	notices(Notice{Level: "warn", Message: err.Error(), Hint: e.Hint, Try: e.Try})
}

func (c *Config) warnf(format string, args ...any) {
	c.Notices(Notice{Level: "warn", Message: fmt.Sprintf(format, args...)})
}
