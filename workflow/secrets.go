package workflow

import "fmt"

// reveal puts secret values back into variables that were recorded without them.
func (c *Controller) reveal(vars Variables) Variables {
	revealed := make(Variables, len(vars))
	for name, value := range vars {
		revealed[name] = c.redactor.Reveal(value)
	}
	return revealed
}

// checkSecrets refuses values that records are full of: to hide them would make
// the records unreadable.
func checkSecrets(secrets map[string]string) error {
	for name, value := range secrets {
		if IsRecordWord(value) {
			return fmt.Errorf("the value of the secret %s is a word of the records' own form and cannot be hidden; choose another value", name)
		}
	}
	return nil
}

// IsRecordWord reports whether a value is a word that records are made of, such as "true"
// or "user". It cannot be hidden, so that [Config].Secrets may not have it.
func IsRecordWord(value string) bool {
	switch value {
	case "system", "user", "assistant", "tool", "text", "image", "audio", "file", "stop", "tool_calls", "length",
		"content_filter", "refusal", "read_only", "idempotent", "reentrant", "completed", "failed", "canceled",
		"stopped", "waiting", "running", "lost", "symlink", "pipe", "socket", "other", "object", "string", "number",
		"boolean", "array", "null", "true", "false":
		return true
	}
	return false
}
