package workflow

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/agent"
)

// visitKey is the position of a visit of a step.
func visitKey(step string, visit int) string {
	return step + "/visit/" + strconv.Itoa(visit)
}

// stepOf takes the step from a visit's key.
func stepOf(key string) string {
	step, _, _ := strings.Cut(key, "/")
	return step
}

// Keys of what a step records, below the key of its visit.

func attemptKey(visit string, attempt int) string {
	return visit + "/attempt/" + strconv.Itoa(attempt)
}

// failedKey is the key of a failed model call. A turn may be tried again by
// another process, so the time tells its tries apart.
func failedKey(attempt string, turn int, failed *agent.FailedTry) string {
	return fmt.Sprintf("%s/turn/%d/failed/%d", attempt, turn, failed.StartedAt.UnixNano())
}

// agentRecord is what follows {step}/visit/N/attempt/N/turn/N/ in the key of a record
// of a step's agent, or of the agent that judges its work, whose keys have verdict/N/
// before turn; empty for all others, such as what a host records in a step.
func agentRecord(key string) string {
	parts := strings.SplitN(key, "/", 6)
	if len(parts) < 6 || parts[1] != "visit" || parts[3] != "attempt" {
		return ""
	}
	rest := parts[5]
	if judged, ok := strings.CutPrefix(rest, "verdict/"); ok {
		_, rest, _ = strings.Cut(judged, "/")
	}
	turn, ok := strings.CutPrefix(rest, "turn/")
	if !ok {
		return ""
	}
	_, record, _ := strings.Cut(turn, "/")
	return record
}

// A reply is that of a turn, or a summary of the conversation so far.
func isReplyKey(key string) bool {
	record := agentRecord(key)
	return record == "reply" || record == "condense/reply"
}

func isToolKey(key string) bool { return strings.HasPrefix(agentRecord(key), "tool/") }

func isFailedKey(key string) bool { return strings.HasPrefix(agentRecord(key), "failed/") }

func isValidationKey(key string) bool {
	parts := strings.Split(key, "/")
	return len(parts) == 6 && parts[1] == "visit" && parts[3] == "attempt" && parts[5] == "validation"
}

// numberAfter reads the number that follows a part of a key; 0 when there is none.
func numberAfter(key, part string) int {
	_, rest, _ := strings.Cut(key, part)
	digits, _, _ := strings.Cut(rest, "/")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}
