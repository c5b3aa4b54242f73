//go:build solaris || illumos || aix || (!unix && !windows)

package feedback

import (
	"os"
	"time"
)

// canPoll says that readable works here.
const canPoll = false

func readable(*os.File, time.Duration) bool { return true }

// hideTyping cannot turn the echo off here.
func hideTyping(*os.File) (restore func()) { return func() {} }

func dropTyped(*os.File) {}
