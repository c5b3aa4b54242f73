package feedback

import (
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// canPoll says that readable works here.
const canPoll = false

func readable(*os.File, time.Duration) bool { return true }

// hideTyping turns the echo of a console off until restore is called. What is no console
// stays as it is.
func hideTyping(file *os.File) (restore func()) {
	handle := windows.Handle(file.Fd())
	var before uint32
	if windows.GetConsoleMode(handle, &before) != nil ||
		windows.SetConsoleMode(handle, before&^windows.ENABLE_ECHO_INPUT) != nil {
		return func() {}
	}
	return func() { _ = windows.SetConsoleMode(handle, before) }
}

// dropTyped forgets what is typed and not read.
func dropTyped(file *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(file.Fd())) }
