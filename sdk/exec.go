package sdk

import "context"

// ExecRequest runs a program of the host's machine in a sandbox of its own, in a fresh copy of
// a folder. The operator grants the programs and the folders.
type ExecRequest struct {
	// Run is the program and its arguments. Set either Run or Shell, which /bin/sh runs.
	Run   []string `json:"run,omitempty"`
	Shell string   `json:"shell,omitempty"`
	// Stdin is what the program reads; at most 8 MiB.
	Stdin string `json:"stdin,omitempty"`
	// Env names variables of the host's environment that the program gets besides PATH, HOME, LANG
	// and TMPDIR. Each must be granted.
	Env []string `json:"env,omitempty"`
	// Workspace is the folder in which the program runs. Without From it starts empty.
	Workspace ExecWorkspace `json:"workspace,omitzero"`
	// Report is a file of the workspace that the host empties before the program starts and
	// returns afterwards; "" means none.
	Report string `json:"report,omitempty"`
	// TimeoutMS ends the program after so many milliseconds; 0 means 300,000 (five minutes).
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
	// Limits bound the program; a zero field is the host's default.
	Limits ExecLimits `json:"limits,omitzero"`
	// Caches are folders that a command fills once per original, before anything is put: the name
	// of a cache to its command. A call reads its caches through a copy that is thrown away.
	Caches map[string]string `json:"caches,omitempty"`
}

// ExecWorkspace is the folder that a program runs in: a copy, made for the call.
type ExecWorkspace struct {
	// From is the original: a folder within the workflow's, or within a granted one.
	From string `json:"from,omitempty"`
	// Put writes the attempt into the copy.
	Put ExecPut `json:"put,omitzero"`
	// MayChange are the patterns of the files that Put may write, "!" before a pattern excludes
	// (the last that matches decides). With Put.File it is that file. Protect always excludes.
	MayChange []string `json:"may_change,omitempty"`
	Protect   []string `json:"protect,omitempty"`
}

// ExecPut is an attempt: at most one of its fields is set.
type ExecPut struct {
	// File is the file that gets Text.
	File string `json:"file,omitempty"`
	Text string `json:"text,omitempty"`
	// Files are texts by their paths.
	Files map[string]string `json:"files,omitempty"`
	// Diff is a unified diff, git's included.
	Diff string `json:"diff,omitempty"`
}

// ExecLimits bound a program and everything that it starts.
type ExecLimits struct {
	// MemoryBytes is for all processes together. Default 2 GiB.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	// Processes counts threads too. Default 256.
	Processes int64 `json:"processes,omitempty"`
	// DiskBytes is for the workspace and the temporary folder. Default 1 GiB.
	DiskBytes int64 `json:"disk_bytes,omitempty"`
}

// What ended a program ([ExecResponse.Stopped]).
const (
	ExecTimeout   = "timeout"
	ExecMemory    = "memory"
	ExecProcesses = "processes"
	ExecDisk      = "disk"
)

// ExecResponse says how the program ended, as the host saw it.
type ExecResponse struct {
	// Refused are the paths of the attempt that it may not change, and what is wrong with each. The
	// program then wasn't started, and the other fields are empty.
	Refused []ExecRefusal `json:"refused,omitempty"`
	// Exit is the exit status; -1 if a signal ended the program, which Signal then names.
	Exit   int    `json:"exit"`
	Signal string `json:"signal,omitempty"`
	// Stopped is the bound that ended the program: [ExecTimeout], [ExecMemory], [ExecProcesses] or
	// [ExecDisk]; "" if it ended by itself.
	Stopped string `json:"stopped,omitempty"`
	// Stdout and Stderr are at most 4 MiB each; the middle is left out of a longer one, and Cut
	// says so.
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	Cut    bool   `json:"cut,omitempty"`
	// Report is the content of [ExecRequest.Report]; at most 8 MiB.
	Report string `json:"report,omitempty"`
	// Program is what ran.
	Program ExecProgram `json:"program,omitzero"`
	// Unbounded names what this machine can't bound, with the reason ("network: …").
	Unbounded []string `json:"unbounded,omitempty"`
	// DurationMS is how long the program ran.
	DurationMS int64 `json:"duration_ms"`
}

// ExecRefusal is a path that an attempt may not change, or that can't be written.
type ExecRefusal struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// ExecProgram is the program that ran. The lock doesn't pin it.
type ExecProgram struct {
	Path string `json:"path"`
	// Version is the first line that the program prints with --version; "" if it prints none.
	Version string `json:"version,omitempty"`
	SHA256  string `json:"sha256"`
}

// Exec runs a program ([ServiceExec]). A program or a folder that isn't granted is [Denied]; one
// that can't be started, or a sandbox that can't be had, is [Unavailable].
func Exec(ctx context.Context, r *ExecRequest) (*ExecResponse, error) {
	return ask[ExecRequest, ExecResponse](ctx, ServiceExec, r)
}
