package feedback_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/treadle-dev/treadle/feedback"
)

// pseudoTerminal returns the side of the person and that of the program.
func pseudoTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = person.Close() })
	fd := int(person.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		require.NoError(t, person.Close())
		require.NoError(t, err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

func echoes(t *testing.T, f *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	require.NoError(t, err)
	return state.Lflag&unix.ECHO != 0
}

func TestASecretIsTypedWithoutEchoAndTheEchoComesBack(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/ptmx"); err != nil {
		t.Skip("there is no /dev/ptmx here:", err)
	}
	b := setup(t)
	person, program := pseudoTerminal(t)
	in := b.process()
	q := question("code")
	q.Kind = feedback.KindSecret
	e := ask(t, in, q)
	s := &screen{}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	running, stop := context.WithCancel(ctx)
	terminal := &feedback.Terminal{In: program, Out: s}
	go func() { ended <- terminal.Run(running, in) }()

	until(ctx, t, func() bool { return strings.Contains(s.String(), "What of code?") && !echoes(t, program) })
	_, err := person.WriteString("4711\n")
	require.NoError(t, err)
	_, err = in.Wait(ctx, e.ID)
	require.NoError(t, err)
	value, err := in.TakeSecret(e.ID)
	require.NoError(t, err)
	assert.Equal(t, "4711", value)
	until(ctx, t, func() bool { return echoes(t, program) })

	// Also when the run is stopped while the secret is awaited.
	q = question("other")
	q.Kind = feedback.KindSecret
	ask(t, in, q)
	until(ctx, t, func() bool { return !echoes(t, program) })
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
	assert.True(t, echoes(t, program))
	assert.NotContains(t, s.String(), "4711")
}

func TestLinesThatArePastedAtATerminalDoNotAnswerWhatIsNotYetShown(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/ptmx"); err != nil {
		t.Skip("there is no /dev/ptmx here:", err)
	}
	b := setup(t)
	person, program := pseudoTerminal(t)
	in := b.process()
	first := question("first")
	first.Run = "iteration-\x1b[2J"
	one, two := ask(t, in, first), ask(t, in, question("second"))
	s := &screen{}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	running, stop := context.WithCancel(ctx)
	terminal := &feedback.Terminal{In: program, Out: s}
	go func() { ended <- terminal.Run(running, in) }()

	until(ctx, t, func() bool { return strings.Contains(s.String(), "What of first?") })
	_, err := person.WriteString("for the first\nyes\n")
	require.NoError(t, err)
	until(ctx, t, func() bool { return strings.Contains(s.String(), "What of second?") })
	_, err = person.WriteString("for the second\n")
	require.NoError(t, err)
	for id, want := range map[string]string{one.ID: "for the first", two.ID: "for the second"} {
		e, err := in.Wait(ctx, id)
		require.NoError(t, err)
		assert.Equal(t, want, e.Answer.Value)
	}
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
	assert.NotContains(t, s.String(), "\x1b")
}
