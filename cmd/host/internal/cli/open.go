package cli

import (
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host/operation"
)

func openCommand(a *App) *cobra.Command {
	var c *cobra.Command
	c = verb[operation.NewLogin]{
		Use: "open", Short: "Log a browser in to the server",
		Long: `Print a link that logs a browser in to the server as the local operator. The link works
once, within a minute; the login ends after 12 hours. On a desktop's terminal, the
browser is opened too.`,
		Example:   "  reflectory open",
		Operation: "login_new", In: &operation.LoginNew{},
		Print: func(out *output, made *operation.NewLogin) error {
			if !made.ExpiresAt.IsZero() {
				out.term.Line("this link logs in once, until %s", term.Time(made.ExpiresAt))
			}
			if term.Styled(out.Stdout) {
				a.openBrowser(c.Context(), string(made.URL))
			}
			return out.say("%s", string(made.URL))
		},
	}.command(a)
	return c
}

// openFile is the page in the data folder that leads a browser to a link.
const openFile = "open.html"

// openBrowser opens a link in the desktop's browser, if there is one. The link isn't an
// argument of the program that opens it, since every user of this machine can see
// arguments. Instead, it is in a file that only this user may read. Errors are reported,
// and the link is printed anyway.
func (a *App) openBrowser(ctx context.Context, link string) {
	program := opener(a.Getenv)
	if len(program) == 0 {
		return
	}
	path := filepath.Join(a.config.DataDir.Value, openFile)
	page := fmt.Sprintf("<!doctype html>\n<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n", html.EscapeString(link))
	err := os.Remove(path)
	if err == nil || os.IsNotExist(err) {
		err = os.WriteFile(path, []byte(page), 0o600)
	}
	if err == nil {
		err = exec.CommandContext(context.WithoutCancel(ctx), program[0], append(program[1:], path)...).Start() //nolint:gosec // one of a few names
	}
	if err != nil {
		a.out.term.Line("warn: the browser can't be opened: %s", term.Clean(err.Error()))
	}
}

// opener is the program that opens a file as the desktop does; nil if there is no desktop.
func opener(getenv func(string) string) []string {
	switch {
	case runtime.GOOS == "darwin":
		return []string{"open"}
	case runtime.GOOS == "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	case getenv("DISPLAY") == "" && getenv("WAYLAND_DISPLAY") == "":
		return nil
	}
	return []string{"xdg-open"}
}
