package cli

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/sdk"
)

// State of a part that doctor examined.
const (
	partOK   = "ok"
	partWarn = "warn" // it works, but less well than elsewhere
	partFail = "fail" // something doesn't work because of it
)

// examined is a part of this machine or host, and how doctor found it.
type examined struct {
	Part  string `json:"part"`
	State string `json:"state"`
	Found string `json:"found"`
	// Fix is what to do about it; "" if it is ok.
	Fix string `json:"fix,omitempty"`
}

// examination is the result of doctor.
type examination struct {
	OK    bool       `json:"ok"`
	Parts []examined `json:"parts"`
}

func doctorCommand(a *App) *cobra.Command {
	c := &cobra.Command{
		Use: "doctor", Short: "Find what on this machine prevents the program from working",
		Long: `Examine what the program needs of this machine, and say how to fix what is wrong: the
settings, the data folder, its disk and its store, the clock, the folder for temporary
files, the sandbox, the server's address, the proxy, the models of the gateway, and each plugin,
which is started.
Nothing is changed. What a model does is examined by reflectory doctor llm.

Exit codes: 0 if everything works, 3 if something doesn't.`,
		Example: "  reflectory doctor\n  reflectory doctor --json",
		RunE: func(c *cobra.Command, _ []string) error {
			result := examination{OK: true, Parts: doctor{a}.examine(c.Context())}
			for _, p := range result.Parts {
				result.OK = result.OK && p.State != partFail
			}
			a.out.term.Clear()
			return exitNotValidUnless(result.OK, printExamination(a.out, result))
		},
	}
	c.AddCommand(doctorLLMCommand(a))
	return c
}

func printExamination(out *output, result examination) error {
	if out.json {
		return out.printJSON(result)
	}
	for _, p := range result.Parts {
		out.lines("                  ", "%-5s %-11s %s", p.State, p.Part, p.Found)
		if p.Fix != "" {
			out.lines("                       ", "%18sfix: %s", "", p.Fix)
		}
	}
	return nil
}

// doctor examines the parts that commands of an App need.
type doctor struct{ app *App }

// examine looks at everything that commands need.
func (d doctor) examine(ctx context.Context) []examined {
	if err := d.app.load(); err != nil {
		return []examined{d.app.out.failed("settings", err)}
	}
	ctx = core.WithCaller(ctx, core.Operator(d.app.config.Agent.Value))
	parts := []examined{{Part: "settings", State: partOK, Found: cmp.Or(d.app.config.File(), "defaults: there is no "+config.FileName)}}
	if d.app.remote() {
		return append(parts, examined{Part: "server", State: partWarn, Found: "commands use the server " + d.app.config.Server.Value, Fix: "run doctor on its machine"})
	}
	parts = append(parts, d.examineFolder(), examineClock(time.Now(), host.VersionOf(version).Date), examineTemporary(os.TempDir()), d.examineSandbox())
	if network := d.examineProxy(ctx); network.State != "" {
		parts = append(parts, network)
	}
	status, err := currentStatus(ctx, d.app)
	if err != nil {
		return append(parts, d.app.out.failed("host", err))
	}
	parts = append(parts, d.examineStore(status.Store), d.examineAddress(ctx, status.Server))
	if status.Problem != nil {
		return append(parts, d.app.out.problem("host", status.Problem))
	}
	return append(append(parts, d.examineGateway()...), d.examinePlugins(ctx)...)
}

// examineGateway reads which models a gateway would serve, and looks for their keys.
func (d doctor) examineGateway() []examined {
	const part = "gateway"
	s, err := gateway.Read(d.app.config)
	switch {
	case err != nil:
		return []examined{d.app.out.failed(part, err)}
	case len(s.Models)+len(s.Pass) == 0:
		return nil
	}
	found := examined{Part: part, State: partOK, Found: "it serves " + strings.Join(append(s.Names(operatorsModels), s.Pass...), ", ")}
	for i := range s.Models {
		if name := s.Models[i].At.KeyEnv; name != "" && d.app.Getenv(name) == "" {
			found.State, found.Fix = partWarn, "set "+name+", which has the key of "+s.Models[i].Name+", for the server"
		}
	}
	return []examined{found}
}

// failed is a part that an error prevents from working, and problem one whose error came from
// elsewhere.
func (out *output) failed(part string, err error) examined {
	return out.problem(part, core.NewErrorInfo(err))
}

func (out *output) problem(part string, p *core.ErrorInfo) examined {
	return examined{Part: part, State: partFail, Found: p.Message, Fix: out.hint(p)}
}

// minSpace is the free space below which doctor warns. A store writes new files before it removes
// old ones, so it needs about as much as it has; a new one has some MiB.
const minSpace = 1 << 30

// examineFolder tries the data folder, or the folder in which it would be made, and its disk.
func (d doctor) examineFolder() examined {
	const part = "data folder"
	dir := d.app.config.DataDir.Value
	if err := config.CheckDataDir(dir); err != nil {
		return d.app.out.failed(part, err)
	}
	there := config.Existing(dir)
	file, err := os.CreateTemp(there, ".reflectory-doctor-")
	if err != nil {
		return d.app.out.failed(part, sdk.Errorf(sdk.Denied, "data_dir", "%s can't be written to: %w", there, err).WithHint("make it writable for this user, or choose another with --data-dir"))
	}
	_, _ = file.Close(), os.Remove(file.Name())
	available, _, err := pebble.Space(there)
	found := examined{Part: part, State: partOK, Found: fmt.Sprintf("%s, %s free", dir, term.Size(int64(min(available, 1<<62))))}
	switch {
	case err != nil:
		return d.app.out.failed(part, err)
	case available < minSpace/10:
		found.State, found.Fix = partFail, "free some space: a store needs room for new files before old ones go"
	case available < minSpace:
		found.State, found.Fix = partWarn, "free some space: a store needs room for new files before old ones go"
	}
	return found
}

// examineClock compares the clock with the time of the program's commit, if that is known.
func examineClock(now time.Time, built string) examined {
	found := examined{Part: "clock", State: partOK, Found: now.UTC().Format(time.RFC3339)}
	if at, err := time.Parse(time.RFC3339, built); err == nil && now.Before(at) {
		found.State, found.Found = partFail, found.Found+", which is before this program was made ("+built+")"
		found.Fix = "set the clock: certificates and times in the journal depend on it"
	}
	return found
}

// examineTemporary tries the folder for temporary files.
func examineTemporary(dir string) examined {
	found := examined{Part: "temporary", State: partOK, Found: dir}
	file, err := os.CreateTemp(dir, "reflectory-doctor-")
	if err != nil {
		found.State, found.Found, found.Fix = partFail, err.Error(), "make the folder, or name another one in TMPDIR"
		return found
	}
	_, _ = file.Close(), os.Remove(file.Name())
	if sandbox.NoExec(dir) {
		found.State, found.Found = partWarn, dir+" is mounted with noexec: programs can't be started from it"
		found.Fix = "if a plugin doesn't start, name another folder in TMPDIR"
	}
	return found
}

// examineSandbox says how plugins are confined.
func (d doctor) examineSandbox() examined {
	s := host.NewSandbox(d.app.config, sandbox.Probe())
	found := examined{Part: "sandbox", State: partOK, Found: "everything essential holds"}
	switch {
	case s.Refuses:
		found.State, found.Found, found.Fix = partFail, "missing: "+strings.Join(s.Missing, "; "), "use another system, or set sandbox: prefer to run plugins with what there is"
	case len(s.Missing) > 0:
		found.State, found.Found, found.Fix = partWarn, "missing: "+strings.Join(s.Missing, "; "), "run only plugins that you trust here"
	case len(s.Notes) > 0:
		found.Found += "; " + strings.Join(s.Notes, "; ")
	}
	return found
}

// dialTime is how long doctor waits for a connection.
const dialTime = 3 * time.Second

// examineProxy connects to the proxy for https, if there is one.
func (d doctor) examineProxy(ctx context.Context) (found examined) {
	proxy := d.app.config.Network().For("https", "model.example.org", 443)
	if proxy == nil {
		return found
	}
	found = examined{Part: "proxy", State: partOK, Found: d.app.config.HTTPSProxy.Value}
	port := cmp.Or(proxy.Port(), map[string]string{"https": "443", "http": "80"}[proxy.Scheme], "1080")
	ctx, stop := context.WithTimeout(ctx, dialTime)
	defer stop()
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(proxy.Hostname(), port))
	if err != nil {
		found.State, found.Found, found.Fix = partFail, found.Found+" can't be reached: "+err.Error(), "start it, or change "+d.app.config.HTTPSProxy.Origin
		return found
	}
	_ = connection.Close()
	return found
}

// examineStore says whether the store can be opened.
func (d doctor) examineStore(s host.StoreStatus) examined {
	if s.Problem != nil {
		return d.app.out.problem("store", s.Problem)
	}
	found := examined{Part: "store", State: partOK, Found: storeLine(s)}
	if s.Database != nil && s.Database.Warning != "" {
		found.State, found.Fix = partWarn, s.Database.Warning
	}
	return found
}

// examineAddress says whether a server could listen at its address, or that one does.
func (d doctor) examineAddress(ctx context.Context, running *host.Server) examined {
	if running != nil {
		return examined{Part: "address", State: partOK, Found: "a server listens on " + running.Listen}
	}
	address := d.app.config.Listen.Value
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return examined{Part: "address", State: partWarn, Found: "a server couldn't listen on " + address + ": " + err.Error(), Fix: "stop what has it, or serve with --listen 127.0.0.1:0, which takes a free port"}
	}
	_ = listener.Close()
	return examined{Part: "address", State: partOK, Found: address + " is free for a server"}
}

// examinePlugins starts each plugin.
func (d doctor) examinePlugins(ctx context.Context) (parts []examined) {
	h, err := d.app.openHost(ctx)
	if err != nil {
		return []examined{d.app.out.failed("plugins", err)}
	}
	callable, err := h.Plugins.Callable()
	if err != nil {
		return []examined{d.app.out.failed("plugins", err)}
	}
	for _, p := range callable.Set.Installed() {
		if _, err := callable.Describe(ctx, p.Name); err != nil {
			parts = append(parts, d.app.out.failed("plugin", err))
			continue
		}
		parts = append(parts, examined{Part: "plugin", State: partOK, Found: p.Name + " starts"})
	}
	return parts
}
