package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/treadle-dev/treadle/internal/egress"
	"github.com/treadle-dev/treadle/internal/sandbox/helper"
)

// session is one command while it runs.
type session struct {
	command *Command
	limits  Limits
	paths   *paths
	user    identity
	wall    wall

	process *os.Process
	control *net.UnixConn
	groups  *groups
	proxy   *egress.Proxy // nil without hosts to reach
	missing []Feature

	killing sync.Mutex
	late    *time.Timer // ends a helper that was asked to end and did not
	// limit is the name of the limit that ended the command.
	limit atomic.Pointer[string]
	ended chan struct{} // closed when the helper has ended
	tasks sync.WaitGroup
}

// run starts the helper, lets it go and waits until it has ended.
func (s *session) run(ctx context.Context) (result *Result, err error) {
	if len(s.command.Hosts)+len(s.command.PrivateHosts) > 0 {
		if s.proxy, err = egress.New(egress.Config{Hosts: s.command.Hosts, PrivateHosts: s.command.PrivateHosts}); err != nil {
			return nil, &CommandError{Field: "Hosts", Reason: err.Error()}
		}
		defer s.closeProxy()
	}
	streams, err := openStreams(s)
	if err != nil {
		return nil, err
	}
	defer streams.close()
	s.groups = openGroups(s.limits)
	defer func() { err = errors.Join(err, s.groups.remove()) }()
	for _, feature := range s.groups.missing {
		if !s.without(feature) {
			s.missing = append(s.missing, feature)
		}
	}

	disk := s.paths.usage(ctx, s.limits.Disk)
	masks, err := s.masks(ctx)
	if err != nil {
		return nil, err
	}
	config, err := s.startHelper(streams)
	if err != nil {
		return nil, err
	}
	defer s.control.Close()
	reports := make(chan outcome, 1)
	s.tasks.Go(func() { reports <- s.listen() })
	s.tasks.Go(func() { s.watch(ctx, disk) })
	streams.copy()

	released := s.release(config, masks)
	state, waited := s.process.Wait()
	close(s.ended)
	s.inTime()
	s.closeProxy()
	outcome := <-reports // the socket's other end is closed with the helper
	s.tasks.Wait()
	copied := streams.wait()
	if s.limit.Load() == nil && ctx.Err() == nil && disk.exceeds(ctx) {
		// The command ended before anybody saw it.
		limit := LimitDisk
		s.limit.Store(&limit)
	}
	if err := errors.Join(released, waited); err != nil && outcome.exit == nil && outcome.failure == nil && s.limit.Load() == nil && ctx.Err() == nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	return s.result(ctx, outcome, state, copied)
}

// masks are the names that are covered. Without mounts nothing is; there the command
// has no socket that it could connect.
func (s *session) masks(ctx context.Context) ([]string, error) {
	if s.wall == confined {
		return nil, nil
	}
	return s.paths.answering(ctx)
}

// kill ends the helper, and with it every process of the sandbox, for a limit or, with
// the empty name, because the context ended.
func (s *session) kill(limit string) {
	if limit != "" {
		s.limit.CompareAndSwap(nil, &limit)
	}
	s.killing.Lock()
	defer s.killing.Unlock()
	if s.wall != confined {
		_ = s.process.Kill()
		return
	}
	// No namespace ends the command with the helper: the helper must do it.
	_ = s.control.CloseWrite()
	if s.late == nil {
		s.late = time.AfterFunc(killLate, func() { _ = s.process.Kill() })
	}
}

// killLate is after how long a helper that does not end its command is ended itself.
const killLate = 10 * time.Second

// inTime stops what waits for a helper that is late.
func (s *session) inTime() {
	s.killing.Lock()
	defer s.killing.Unlock()
	if s.late != nil {
		s.late.Stop()
	}
}

// startHelper starts the host's own executable again, in namespaces of its own.
func (s *session) startHelper(streams *streams) (config *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("sandbox: making a control socket: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	ours := os.NewFile(uintptr(pair[0]), "control")
	defer ours.Close()
	memory, err := unix.MemfdCreate("treadle-sandbox", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("sandbox: making a configuration: %w", err)
	}
	config = os.NewFile(uintptr(memory), "configuration")
	files := append(streams.inside(), theirs, config)
	files = append(files, s.paths.mounts()...)
	connection, err := net.FileConn(ours)
	if err != nil {
		_ = config.Close()
		return nil, fmt.Errorf("sandbox: making a control socket: %w", err)
	}
	s.control = connection.(*net.UnixConn) //nolint:forcetypeassert // made above
	s.process, err = os.StartProcess("/proc/self/exe", []string{helper.Name}, &os.ProcAttr{
		Dir: "/",
		// The helper is small and short: one processor, and no garbage collection.
		Env:   []string{"GOMAXPROCS=1", "GOGC=off", "GOTRACEBACK=none", "GORACE=atexit_sleep_ms=0"},
		Files: files,
		Sys:   s.attributes(),
	})
	if err != nil {
		_ = config.Close()
		_ = s.control.Close()
		if refused(err) {
			return nil, unavailable(Namespaces, "starting a process in new namespaces", err)
		}
		return nil, fmt.Errorf("sandbox: starting the helper: %w", err)
	}
	streams.closeInside()
	return config, nil
}

func (s *session) attributes() *syscall.SysProcAttr {
	const namespaces = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	switch s.wall {
	case confined:
		return &syscall.SysProcAttr{Setsid: true}
	case rootsNamespaces:
		return &syscall.SysProcAttr{Setsid: true, Cloneflags: namespaces}
	}
	return &syscall.SysProcAttr{
		Cloneflags:  namespaces | unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: helper.UID, HostID: s.user.uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: helper.GID, HostID: s.user.gid, Size: 1}},
		// Root leaves its groups inside, for which it needs the call.
		GidMappingsEnableSetgroups: rootHere(),
		AmbientCaps: []uintptr{
			unix.CAP_SYS_ADMIN, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN, unix.CAP_SYS_PTRACE,
		},
		Setsid: true,
	}
}

// release puts the helper in its cgroups, writes its configuration and lets it go.
func (s *session) release(file *os.File, masks []string) error {
	defer file.Close()
	err := s.groups.add(s.process.Pid)
	if err == nil {
		var data []byte
		if data, err = json.Marshal(s.configuration(masks)); err == nil {
			if _, err = file.WriteAt(data, 0); err == nil {
				_, err = s.control.Write([]byte{1})
			}
		}
	}
	if err != nil {
		s.kill("")
		return fmt.Errorf("releasing the helper: %w", err)
	}
	return nil
}

func (s *session) configuration(masks []string) *helper.Config {
	c := s.command
	config := &helper.Config{
		Argv: c.Argv, Dir: c.Dir, Env: c.Env, Listen: s.proxy != nil, Direct: s.direct(), Masks: masks,
		User: helper.UID, Group: helper.GID, Become: s.wall != ownNamespaces && rootHere(), Confined: s.wall == confined,
		TmpSize: s.limits.Memory / 2, ShmSize: s.limits.Memory / 4,
		FileSize: s.limits.FileSize, OpenFiles: s.limits.OpenFiles, Disk: s.limits.Disk,
		NoProc:     s.without(Proc),
		NoLandlock: s.without(Landlock),
		NoSeccomp:  s.without(Seccomp),
	}
	if config.Dir == "" {
		config.Dir = "/tmp"
	}
	if slices.Contains(s.missing, MemoryCgroup) {
		config.Data, config.WatchMemory, config.NoSharedMemory = s.limits.Memory, s.limits.Memory, true
	}
	if slices.Contains(s.missing, ProcessCgroup) {
		config.WatchProcesses, config.Processes = s.limits.Processes, s.limits.Processes+helperThreads
	}
	if s.wall != ownNamespaces {
		config.User, config.Group = s.user.uid, s.user.gid
		if config.Processes > 0 {
			config.Processes += tasksOf(s.user.uid) // the kernel counts them too
		}
		config.NoSharedMemory = true
	}
	s.paths.describe(config)
	return config
}

func (s *session) without(feature Feature) bool { return slices.Contains(s.missing, feature) }

// helperThreads is what a limit on processes leaves for the helper itself, which is
// counted with the command.
const helperThreads = 16

// outcome is what the helper told.
type outcome struct {
	exit    *helper.Exit
	failure *helper.Failure
}

// listen reads what the helper tells until it ends.
func (s *session) listen() (told outcome) {
	data, rights := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4))
	for {
		n, nr, _, _, err := s.control.ReadMsgUnix(data, rights)
		if err != nil || n == 0 {
			return told
		}
		var report helper.Report
		if json.Unmarshal(data[:n], &report) != nil {
			continue
		}
		if report.Listener {
			s.serve(rights[:nr])
		}
		if report.Exit != nil {
			told.exit = report.Exit
		}
		if report.Failure != nil {
			told.failure = report.Failure
		}
	}
}

// result makes of what the helper told, and of what this side saw, how the command
// ended.
func (s *session) result(ctx context.Context, told outcome, state *os.ProcessState, copied error) (*Result, error) {
	limit := s.exceeded(told)
	switch {
	case told.failure != nil:
		return nil, s.failed(told.failure)
	case told.exit == nil && limit == "" && ctx.Err() != nil:
		return nil, ctx.Err()
	case told.exit == nil && limit == "":
		return nil, fmt.Errorf("sandbox: the helper ended without a report (%v)", state)
	}
	result := &Result{Limit: limit, Missing: s.missing, ExitCode: 128 + int(syscall.SIGKILL), Signal: syscall.SIGKILL.String()}
	// A command that a limit ended has not succeeded, whatever it managed to say last.
	if told.exit != nil && (limit == "" || told.exit.Code != 0) {
		result.ExitCode, result.Signal = told.exit.Code, ""
		if told.exit.Signal != 0 {
			result.Signal = syscall.Signal(told.exit.Signal).String()
		}
	}
	return result, copied
}

// exceeded returns the limit that ended the command.
func (s *session) exceeded(told outcome) string {
	if limit := s.limit.Load(); limit != nil {
		return *limit
	}
	if told.exit != nil && told.exit.Limit != "" {
		return told.exit.Limit
	}
	return s.groups.exceeded()
}

func (s *session) failed(failure *helper.Failure) error {
	cause := errors.New(failure.Cause)
	if failure.Errno != 0 {
		cause = &causeError{failure.Cause, syscall.Errno(failure.Errno)}
	}
	if failure.Feature != "" {
		return &UnavailableError{Feature: Feature(failure.Feature), Cause: cause}
	}
	return fmt.Errorf("sandbox: %w", cause)
}

// causeError has the words of the helper and the number of the kernel.
type causeError struct {
	text  string
	errno syscall.Errno
}

func (e *causeError) Error() string { return e.text }
func (e *causeError) Unwrap() error { return e.errno }
