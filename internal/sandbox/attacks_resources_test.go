//go:build linux

package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attackReserve takes so many megabytes of disk without writing them, in each way there is.
func attackReserve(on string) error {
	n, _ := strconv.Atoi(on)
	file, err := os.Create("reserved")
	if err != nil {
		return err
	}
	defer file.Close()
	var errs []error
	for _, mode := range []uint32{0, unix.FALLOC_FL_KEEP_SIZE, unix.FALLOC_FL_ZERO_RANGE} {
		err := unix.Fallocate(int(file.Fd()), mode, 0, int64(n)<<20)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	space := struct {
		kind, whence  int16
		start, length int64
		_             [24]byte
	}{length: int64(n) << 20}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, file.Fd(), 0x4030582a, uintptr(unsafe.Pointer(&space))) // FS_IOC_RESVSP64
	if errno == 0 {
		return nil
	}
	return errors.Join(append(errs, errno)...)
}

// nameless makes a file of a megabyte that has no name.
func nameless() (*os.File, error) {
	file, err := os.Create("nameless")
	if err != nil {
		return nil, err
	}
	_, err = file.Write(bytes.Repeat([]byte("x"), 1<<20))
	return file, errors.Join(err, os.Remove("nameless"))
}

// attackDiskMapped keeps files that are neither named nor open.
func attackDiskMapped(on string) error {
	n, _ := strconv.Atoi(on)
	for range n {
		file, err := nameless()
		if err != nil {
			return err
		}
		if _, err := unix.Mmap(int(file.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_SHARED); err != nil {
			return err
		}
		_ = file.Close()
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// attackDiskSent keeps files that are on their way through sockets.
func attackDiskSent(on string) error {
	n, _ := strconv.Atoi(on)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	for range n {
		if err != nil {
			return err
		}
		var file *os.File
		if file, err = nameless(); err != nil {
			return err
		}
		if err = unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(int(file.Fd())), nil, unix.MSG_DONTWAIT); errors.Is(err, unix.EAGAIN) {
			pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
		}
		_ = file.Close()
		time.Sleep(5 * time.Millisecond)
	}
	return err
}

// attackDiskHeadless ends the first thread of the process, behind which the others go
// on.
func attackDiskHeadless(on string) error {
	for range 1000 {
		done := make(chan bool)
		go func() {
			runtime.LockOSThread()
			if unix.Gettid() == unix.Getpid() {
				done <- true
				_, _, _ = unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
			}
			done <- false
			time.Sleep(time.Millisecond) // keeps its thread, so that the next gets another
			runtime.UnlockOSThread()
		}()
		if <-done {
			time.Sleep(20 * time.Millisecond)
			return attackDiskNameless(on)
		}
	}
	return errors.New("the first thread was not found")
}

// attackSockets lets so many megabytes wait in sockets, in several processes for the
// limit of open files. What was sent by a socket that is closed waits too.
func attackSockets(on string) error {
	n, _ := strconv.Atoi(on)
	const each = 60
	var child *exec.Cmd
	if n > each {
		child = exec.Command(os.Args[0])
		child.Env = append(os.Environ(), attackName+"=sockets", attackOn+"="+strconv.Itoa(n-each))
		if err := child.Start(); err != nil {
			return err
		}
	}
	block, left := make([]byte, 32<<10), min(n, each)<<20
	for left > 0 {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		for {
			written, err := unix.Write(pair[0], block)
			if err != nil {
				break
			}
			left -= written
		}
		if left%2 == 0 {
			_ = unix.Close(pair[0])
		}
	}
	time.Sleep(2 * time.Second)
	if child == nil {
		return nil
	}
	return child.Wait()
}

// attackPageTables has the kernel keep so many megabytes of tables for memory that is
// read but never written.
func attackPageTables(on string) error {
	n, _ := strconv.Atoi(on)
	const step = 2 << 20 // what one table of 4 KiB describes
	size := n << 20 / 4096 * step
	address, _, errno := unix.Syscall6(unix.SYS_MMAP, 0, uintptr(size), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE, ^uintptr(0), 0)
	if errno != 0 {
		return errno
	}
	memory := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(nil), address)), size)
	sum := byte(0)
	for i := 0; i < size; i += step {
		sum += memory[i]
	}
	time.Sleep(2 * time.Second)
	return wantZero(sum)
}

func wantZero(sum byte) error {
	if sum != 0 {
		return errors.New("memory that nobody wrote is not zero")
	}
	return nil
}

// attackProtocols opens a socket of a protocol that the kernel would load a module for.
func attackProtocols(string) error {
	var errs []error
	for _, s := range [][3]int{
		{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP},
		{unix.AF_INET, unix.SOCK_SEQPACKET, 0},
		{unix.AF_INET6, unix.SOCK_DCCP, 0},
		{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP},
		{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE},
		{unix.AF_TIPC, unix.SOCK_SEQPACKET, 0},
		{unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
		{unix.AF_BLUETOOTH, unix.SOCK_RAW, 0},
		{unix.AF_XDP, unix.SOCK_RAW, 0},
	} {
		err := socketOf(s[0], s[1], s[2])
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	if pair, err := unix.Socketpair(unix.AF_TIPC, unix.SOCK_SEQPACKET, 0); err == nil {
		return errors.Join(unix.Close(pair[0]), unix.Close(pair[1]))
	}
	return errors.Join(errs...)
}

// attackContent reads anything at all.
func attackContent(on string) error {
	data, err := os.ReadFile(on)
	if err == nil && len(data) == 0 {
		err = fmt.Errorf("%s is empty", on)
	}
	return err
}

// attackNamedPipe opens a pipe of the host in a way that waits for nobody.
func attackNamedPipe(on string) error {
	fd, err := unix.Open(on, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return errors.New("it is no pipe in here")
	}
	return nil
}

// attackOwnSocket listens in the folder, and connects to itself.
func attackOwnSocket(string) error {
	_ = os.Remove("own.sock")
	l, err := net.Listen("unix", "own.sock")
	if err != nil {
		return err
	}
	defer l.Close()
	return attackUnix("own.sock")
}
