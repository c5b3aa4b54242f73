package helper

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// supervise starts the command as a process of its own and reaps until it ends: a
// command that were itself the first process would ignore its own signals.
func supervise(config *Config, streams [3]uintptr) int {
	started := make(chan startResult)
	go func() {
		// This thread is confined and stays so: it ends with the process.
		runtime.LockOSThread()
		pid, exit, err := launch(config, streams)
		started <- startResult{pid, exit, err}
		select {}
	}()
	result := <-started
	switch {
	case result.err != nil:
		return fail(result.err)
	case result.exit != nil:
		report(&Report{Exit: result.exit})
		return 0
	}
	for _, fd := range streams {
		_ = unix.Close(int(fd))
	}
	if err := boundCommand(result.pid, config); err != nil {
		return fail(err)
	}
	exit := await(config, result.pid)
	if config.Confined {
		endTree()
	}
	if exit == nil {
		return 3 // the host is gone, or has ended the command
	}
	report(&Report{Exit: exit})
	return 0
}

type startResult struct {
	pid  int
	exit *Exit
	err  error
}

// launch confines the calling thread and starts the command from it. A command that
// cannot be started is one that failed, with the exit codes that shells use.
func launch(config *Config, streams [3]uintptr) (pid int, exit *Exit, err error) {
	if !config.Confined {
		// The names of the host's cgroups are nobody's business inside. Kernels without
		// such namespaces have no other way.
		_ = unix.Unshare(unix.CLONE_NEWCGROUP)
	}
	if err := confine(config); err != nil {
		return 0, nil, err
	}
	name, err := find(config)
	attributes := &syscall.SysProcAttr{Setsid: true}
	if config.Confined {
		attributes.Pdeathsig = syscall.SIGKILL // no namespace ends it with the helper
	}
	if err == nil {
		pid, err = syscall.ForkExec(name, config.Argv, &syscall.ProcAttr{
			Dir: config.Dir, Env: config.Env, Files: streams[:], Sys: attributes,
		})
	}
	if err != nil {
		code := 126
		if errors.Is(err, unix.ENOENT) {
			code = 127
		}
		_, _ = unix.Write(int(streams[2]), fmt.Appendf(nil, "%s: %v\n", config.Argv[0], err))
		return 0, &Exit{Code: code}, nil
	}
	return pid, nil, nil
}

// find looks the command up in the PATH of its own environment.
func find(config *Config) (string, error) {
	name := config.Argv[0]
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := "/usr/local/bin:/usr/bin:/bin"
	for _, entry := range config.Env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	err := error(unix.ENOENT)
	for dir := range strings.SplitSeq(path, ":") {
		if !strings.HasPrefix(dir, "/") {
			dir = config.Dir + "/" + dir
		}
		candidate := dir + "/" + name
		var stat unix.Stat_t
		if unix.Stat(candidate, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		if stat.Mode&0o111 != 0 {
			return candidate, nil
		}
		err = unix.EACCES
	}
	return "", err
}

// await returns how the command ended, or nil when the host is gone. One poll watches
// everything: a second thread that waits would cost more than the rest of the start.
func await(config *Config, pid int) *Exit {
	command, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return &Exit{Code: 255}
	}
	watcher := newWatcher(config)
	for {
		polled := []unix.PollFd{{Fd: ControlFD, Events: unix.POLLIN}, {Fd: int32(command), Events: unix.POLLIN}}
		n, err := unix.Poll(polled, watcher.every)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return &Exit{Code: 255}
		case polled[1].Revents != 0:
			return ended(pid)
		case polled[0].Revents != 0:
			return nil
		case n == 0:
			reap(pid)
			if limit := watcher.over(); limit != "" {
				return &Exit{Code: 128 + int(unix.SIGKILL), Signal: int(unix.SIGKILL), Limit: limit}
			}
		}
	}
}

func ended(pid int) *Exit {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return &Exit{Code: 255}
		case status.Signaled():
			return &Exit{Code: 128 + int(status.Signal()), Signal: int(status.Signal())}
		default:
			return &Exit{Code: status.ExitStatus()}
		}
	}
}

// reap lets go of the orphans that have ended, but not of the command.
func reap(command int) {
	for {
		var info unix.Siginfo
		if unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil) != nil {
			return
		}
		// The first field of what describes a child is its process id.
		pid := int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), childPID))) //nolint:gosec // what the kernel reads or wrote there stands above
		if pid == 0 || pid == command {
			return
		}
		_, _ = unix.Wait4(pid, nil, unix.WALL|unix.WNOHANG, nil)
	}
}

// childPID is where a 64-bit siginfo_t has the process id.
const childPID = 16
