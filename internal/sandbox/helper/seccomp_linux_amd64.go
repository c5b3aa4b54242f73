package helper

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_X86_64

// refusedHere are calls that only this architecture has.
func refusedHere() []uint32 {
	return []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS}
}

// refusedOutsideHere are older forms of calls of refusedOutside.
func refusedOutsideHere() []uint32 {
	return []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
}
