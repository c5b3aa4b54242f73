package helper

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_AARCH64

// refusedHere are calls that only this architecture has.
func refusedHere() []uint32 { return []uint32{unix.SYS_KEXEC_FILE_LOAD} }

// refusedOutsideHere are older forms of calls of refusedOutside, which this architecture
// never had.
func refusedOutsideHere() []uint32 { return nil }
