package agent

import "context"

// Journal is how a loop becomes durable. Its types are built in, so a host's own
// store fits without importing anything. A nil Journal means that nothing is
// recorded.
//
// A key is a position, such as "turn/3/tool/2": it is the same when the work is
// done again after a crash. The input is what the result depends on; the journal
// keeps its hash.
type Journal interface {
	// Do returns what is recorded under key. When nothing is, it runs fn, records
	// the result durably, and returns it; an error of fn is returned and not
	// recorded. A record made for another input is an error. The result is JSON.
	// While fn runs it may use the journal under other keys.
	Do(ctx context.Context, key, input string, fn func(context.Context) ([]byte, error)) ([]byte, error)
	// Begin records durably that the work under key starts, for work of effect
	// [Unsafe] before its Do. It reports true, and records nothing, when the work
	// has been started before and has no result: its outcome is in doubt.
	Begin(ctx context.Context, key, input string) (inDoubt bool, err error)
}
