package agent

import (
	"errors"
	"fmt"
	"time"
)

// A loop that ends at a limit returns an error that matches [ErrLimit] and the
// sentinel of that limit, and that carries what was done until then.
var (
	// ErrLimit is what every error of a limit matches.
	ErrLimit = errors.New("a limit ended the agent")
	// ErrTurnLimit is what a [*TurnLimitError] matches.
	ErrTurnLimit = errors.New("turn limit reached")
	// ErrTimeLimit is what a [*TimeLimitError] matches.
	ErrTimeLimit = errors.New("time limit reached")
	// ErrTokenLimit is what a [*TokenLimitError] matches.
	ErrTokenLimit = errors.New("token limit reached")
	// ErrBudget is what a [*BudgetError] matches.
	ErrBudget = errors.New("the budget refused a model call")
)

// TurnLimitError says that a loop ended at its turn limit with the model still
// asking for tools.
type TurnLimitError struct {
	Limit  int
	Result *Result // what was done until then
}

func (e *TurnLimitError) Error() string {
	return fmt.Sprintf("the agent still asked for tools after %d turns; raise execution_max_turns or narrow the step", e.Limit)
}

// Is reports whether target is [ErrTurnLimit] or [ErrLimit].
func (e *TurnLimitError) Is(target error) bool { return target == ErrTurnLimit || target == ErrLimit }

// TimeLimitError says that a loop ended at its time limit. The model call and the
// tool calls under way were ended.
type TimeLimitError struct {
	Limit  time.Duration
	Result *Result // what was done until then
}

func (e *TimeLimitError) Error() string {
	return fmt.Sprintf("the agent was not done after %s; allow it more time or narrow the step", e.Limit)
}

// Is reports whether target is [ErrTimeLimit] or [ErrLimit].
func (e *TimeLimitError) Is(target error) bool { return target == ErrTimeLimit || target == ErrLimit }

// TokenLimitError says that the next model call could have passed a limit of
// tokens. The call was not made.
type TokenLimitError struct {
	Limit    int64   // tokens
	Spent    int64   // tokens of the calls so far
	Reserved int64   // tokens set aside for calls under way elsewhere
	Needed   int64   // tokens that the call needs at least
	Result   *Result // what was done until then; nil from a meter alone
}

func (e *TokenLimitError) Error() string {
	msg := fmt.Sprintf("the next model call may need %d tokens and %d of %d are spent", e.Needed, e.Spent, e.Limit)
	if e.Reserved > 0 {
		msg += fmt.Sprintf(", %d more are set aside for calls under way", e.Reserved)
	}
	return msg + "; raise the token limit or narrow the step"
}

// Is reports whether target is [ErrTokenLimit] or [ErrLimit].
func (e *TokenLimitError) Is(target error) bool { return target == ErrTokenLimit || target == ErrLimit }

// BudgetError says that the host's [Meter] refused the next model call. The call
// was not made.
type BudgetError struct {
	Err    error   // the meter's error
	Result *Result // what was done until then
}

func (e *BudgetError) Error() string { return ErrBudget.Error() + ": " + e.Err.Error() }

func (e *BudgetError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrBudget] or [ErrLimit].
func (e *BudgetError) Is(target error) bool { return target == ErrBudget || target == ErrLimit }

// withResult puts what was done until then into the error of a limit.
func withResult(err error, result *Result) error {
	var (
		turns  *TurnLimitError
		timed  *TimeLimitError
		tokens *TokenLimitError
		budget *BudgetError
		reply  *ReplyError
	)
	switch {
	case errors.As(err, &turns):
		turns.Result = result
	case errors.As(err, &timed):
		timed.Result = result
	case errors.As(err, &budget):
		budget.Result = result
	case errors.As(err, &tokens):
		tokens.Result = result
	case errors.As(err, &reply):
		reply.Result = result
	}
	return err
}
