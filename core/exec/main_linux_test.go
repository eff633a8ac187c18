package exec_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/exec"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/sdk"
)

// attacker is this test binary without the race detector: as "attack NAME ARG" it attacks.
var attacker string

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "attack" {
		attack(os.Args[2], os.Args[3])
		os.Exit(0)
	}
	if dir := os.Getenv(hostVariable); dir != "" {
		runHost(dir)
		os.Exit(0)
	}
	if os.Getenv(noNamespacesVariable) != "" {
		runWithoutNamespaces()
		os.Exit(0)
	}
	if len(os.Args) == 2 && strings.HasSuffix(os.Args[1], "version") {
		fmt.Println("attacker 1.2\nof the tests")
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("/tmp", "rx")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		err = makeAttacker(dir)
	}
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// makeAttacker copies the test binary to a folder that other users may enter.
func makeAttacker(dir string) error {
	built, err := coretest.PlainBinary(dir)
	if err != nil {
		return err
	}
	binary, err := os.ReadFile(built)
	if err != nil {
		return err
	}
	attacker = filepath.Join(dir, "attacker")
	return os.WriteFile(attacker, binary, 0o755)
}

// attacks are what a hostile program tries. They return what they got, or why they didn't get it.
var attacks = map[string]func(arg string) (string, error){
	"read":  func(path string) (string, error) { b, err := os.ReadFile(path); return string(b), err },
	"list":  func(path string) (string, error) { e, err := os.ReadDir(path); return fmt.Sprint(e), err },
	"write": func(path string) (string, error) { return "written", os.WriteFile(path, []byte("x"), 0o600) },
	"dial": func(address string) (string, error) {
		network, address, _ := strings.Cut(address, " ")
		c, err := net.Dial(network, address)
		if err == nil {
			_ = c.Close()
		}
		return "connected", err
	},
	"loopback": func(string) (string, error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			_ = c.Close()
		}
		return "connected", err
	},
	"signal": func(pid string) (string, error) { return "signalled", syscall.Kill(number(pid), syscall.SIGTERM) },
	"ptrace": func(pid string) (string, error) { return "attached", syscall.PtraceAttach(number(pid)) },
	"memory of": func(pid string) (string, error) {
		f, err := os.OpenFile("/proc/"+pid+"/mem", os.O_RDWR, 0)
		if err == nil {
			_ = f.Close()
		}
		return "opened", err
	},
	"mount":   func(dir string) (string, error) { return "mounted", unix.Mount("tmpfs", dir, "tmpfs", 0, "") },
	"unmount": func(dir string) (string, error) { return "unmounted", unix.Unmount(dir, unix.MNT_DETACH) },
	"unshare": func(string) (string, error) { return "unshared", unix.Unshare(unix.CLONE_NEWUSER) },
	"socket": func(family string) (string, error) {
		fd, err := unix.Socket(number(family), unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			_ = unix.Close(fd)
		}
		return "opened", err
	},
	"device": func(path string) (string, error) {
		return "made", unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 1)))
	},
	"root":  func(string) (string, error) { return "root", unix.Setuid(0) },
	"forks": forks,
	"memory": func(string) (string, error) {
		var kept [][]byte
		for {
			b := make([]byte, 16<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			kept = append(kept, b)
			if len(kept) > 1<<10 {
				return "16 GiB", nil
			}
		}
	},
	"memory file": func(string) (string, error) {
		fd, err := unix.MemfdCreate("x", 0)
		if err != nil {
			return "", err
		}
		return "written", fill(os.NewFile(uintptr(fd), "x"))
	},
	"disk": func(path string) (string, error) {
		f, err := os.Create(path)
		if err != nil {
			return "", err
		}
		return "written", hold(fill(f))
	},
	// It takes the room in a file without a name, which its end gives back.
	"disk again": func(path string) (string, error) {
		f, err := os.Create(path)
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil {
			return "", err
		}
		return "written", hold(fill(f))
	},
	"files": func(dir string) (string, error) {
		for n := range 1 << 20 {
			if err := os.Mkdir(filepath.Join(dir, strconv.Itoa(n)), 0o700); err != nil {
				return "", hold(err)
			}
		}
		return "1 Mi", nil
	},
	"daemon": func(path string) (string, error) {
		cmd := osexec.Command("/proc/self/exe", "attack", "rewrite", path)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		ready, err := cmd.StdoutPipe()
		if err != nil {
			return "", err
		}
		if err := cmd.Start(); err != nil {
			return "", err
		}
		_, err = ready.Read(make([]byte, 1)) // it has begun to rewrite
		return "started", err
	},
	"rewrite": func(path string) (string, error) {
		for n := 0; ; n++ {
			_ = os.WriteFile(path, []byte("forged "+strconv.Itoa(n)), 0o600)
			if n == 1 {
				fmt.Println("begun")
			}
		}
	},
	// It puts links to a folder of the host in the place of its own folders.
	"replace": func(dir string) (string, error) {
		var failed []error
		for _, own := range []string{sandbox.Workspace, sandbox.Home} {
			failed = append(failed, os.Rename(own, own+"-before"), os.Symlink(dir, own))
		}
		return "replaced", errors.Join(failed...)
	},
	"sleep": func(string) (string, error) { select {} },
}

func attack(name, arg string) {
	got, err := attacks[name](arg)
	if err != nil {
		fmt.Print("refused: ", err)
		return
	}
	fmt.Print("got: ", got)
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// forks makes processes that never end, until it is refused one, and goes on trying.
func forks(string) (string, error) {
	for {
		_ = osexec.Command("/proc/self/exe", "attack", "forks", "").Start()
	}
}

func fill(f *os.File) error {
	b := make([]byte, 1<<20)
	for range 1 << 14 {
		if _, err := f.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// hold keeps what was taken for as long as the program is let.
func hold(err error) error {
	if err != nil {
		select {}
	}
	return nil
}

// options let programs run: in the strictest mode that this machine allows.
func options(t *testing.T) exec.Options {
	o := exec.Options{
		Grants:  func() exec.Grants { return exec.Grants{Allow: []string{"sh", attacker}, Env: []string{"GRANTED"}} },
		TempDir: shortTempDir(t), CacheDir: filepath.Join(t.TempDir(), "caches"),
		Getenv: func(name string) string { return "value of " + name },
	}
	if sandbox.Probe().Cgroup == "" {
		o.Sandbox = sandbox.Off
	}
	return o
}

func shortTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		left, _ := os.ReadDir(dir)
		if len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

// attacked is the response to a program that attacks.
func attacked(t *testing.T, r *exec.Runner, q sdk.ExecRequest, name, arg string) *sdk.ExecResponse {
	t.Helper()
	q.Run = []string{attacker, "attack", name, arg}
	got, err := r.Run(t.Context(), exec.Caller{}, &q)
	if err != nil {
		t.Fatalf("%s %s: %v", name, arg, err)
	}
	return got
}
