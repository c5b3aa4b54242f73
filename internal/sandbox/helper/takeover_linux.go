package helper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// init takes over when the executable was started as a helper. Nothing else happens in
// a host's own process.
func init() { //nolint:gochecknoinits // the one exception: see the doc comment of the package
	if len(os.Args) == 0 || os.Args[0] != Name {
		return
	}
	runtime.LockOSThread()
	os.Exit(run())
}

// run builds the sandbox, runs the command and reaps until it ends. The end of this
// process, the first of its process namespace, ends every other.
func run() int {
	// Nobody inside may look into this process, which has more rights than they.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 2
	}
	config, err := configuration()
	if err != nil {
		return fail(err)
	}
	streams, err := takeStreams()
	if err != nil {
		return fail(err)
	}
	if config.Confined {
		err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	} else {
		config.Env, err = build(config)
	}
	if err != nil {
		return fail(err)
	}
	return supervise(config, streams)
}

// configuration waits for the host's word and reads what it wrote.
func configuration() (*Config, error) {
	var start [1]byte
	if n, err := unix.Read(ControlFD, start[:]); n != 1 || err != nil {
		return nil, fmt.Errorf("waiting for the host: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	var stat unix.Stat_t
	if err := unix.Fstat(ConfigFD, &stat); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	data := make([]byte, stat.Size)
	if _, err := unix.Pread(ConfigFD, data, 0); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	config := new(Config)
	if err := json.Unmarshal(data, config); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	// What else the host's process had open does not belong here, and what the helper
	// uses does not belong to the command.
	if err := unix.CloseRange(uint(FirstMountFD+config.Mounts), 1<<31-1, 0); err != nil {
		return nil, fmt.Errorf("closing the host's descriptors: %w", err)
	}
	if err := unix.CloseRange(ControlFD, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return nil, fmt.Errorf("keeping descriptors from the command: %w", err)
	}
	return config, nil
}

// takeStreams moves the command's input and output out of the helper's own, whose
// runtime might have words to say if it ran out of something.
func takeStreams() (streams [3]uintptr, err error) {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return streams, fmt.Errorf("opening %s: %w", os.DevNull, err)
	}
	defer unix.Close(null)
	for i := range streams {
		moved, err := unix.FcntlInt(uintptr(i), unix.F_DUPFD_CLOEXEC, FirstMountFD)
		if err != nil {
			return streams, fmt.Errorf("moving descriptor %d: %w", i, err)
		}
		streams[i] = uintptr(moved)
		if err := unix.Dup3(null, i, 0); err != nil {
			return streams, fmt.Errorf("moving descriptor %d: %w", i, err)
		}
	}
	return streams, nil
}

// lackingError says which part of the protection the kernel does not offer.
type lackingError struct {
	feature string
	err     error
}

func (e *lackingError) Error() string { return e.err.Error() }
func (e *lackingError) Unwrap() error { return e.err }

func lacking(feature string, format string, args ...any) error {
	return &lackingError{feature, fmt.Errorf(format, args...)}
}

func fail(err error) int {
	failure := &Failure{Cause: err.Error()}
	if missing, ok := errors.AsType[*lackingError](err); ok {
		failure.Feature = missing.feature
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		failure.Errno = int(errno)
	}
	report(&Report{Failure: failure})
	return 2
}

// report tells the host. A host that is gone needs no report.
func report(r *Report, descriptors ...int) {
	data, err := json.Marshal(r)
	if err != nil {
		return
	}
	var rights []byte
	if len(descriptors) > 0 {
		rights = unix.UnixRights(descriptors...)
	}
	_ = unix.Sendmsg(ControlFD, data, rights, nil, unix.MSG_NOSIGNAL)
}
