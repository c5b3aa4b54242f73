package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// Conversation is what a model has been told and has said, in order; a loop with a
// [Condenser] replaces older parts by a summary. Its digest
// grows with each message, so that the input of a turn is named in constant time
// however long the conversation is.
//
// The zero value is empty and ready to use. It is not safe for concurrent use.
type Conversation struct {
	messages []Message
	digest   [sha256.Size]byte
}

// NewConversation returns a conversation that starts with the messages.
func NewConversation(messages ...Message) *Conversation {
	c := &Conversation{}
	c.Append(messages...)
	return c
}

// NewNamedConversation returns a conversation that starts with messages which a
// record of the caller holds. The name, which is unique to that record, stands for
// them in the digest.
func NewNamedConversation(name string, messages ...Message) *Conversation {
	return &Conversation{messages: messages, digest: sha256.Sum256([]byte(name))}
}

// Append adds messages.
func (c *Conversation) Append(messages ...Message) {
	for i := range messages {
		// A Message holds nothing that JSON refuses, except raw JSON that is not
		// JSON; its text is then what names it.
		data, err := json.Marshal(&messages[i])
		if err != nil {
			data = []byte(err.Error() + messages[i].ContentText())
		}
		c.appendRecorded(messages[i], data)
	}
}

// appendNote adds a message in the library's own words. What it says is named and
// not its words, so that another release may word it better in the middle of a run.
func (c *Conversation) appendNote(m Message, what string) { c.appendRecorded(m, []byte(what)) }

// appendRecorded adds a message that the record names: the digest then is the
// same in the process that made the record and in one that reads it.
func (c *Conversation) appendRecorded(m Message, record []byte) {
	h := sha256.New()
	h.Write(c.digest[:])
	h.Write(record)
	h.Sum(c.digest[:0])
	c.messages = append(c.messages, m)
}

// replaceRecorded puts other messages in the place of all, as the record says.
func (c *Conversation) replaceRecorded(messages []Message, record []byte) {
	h := sha256.New()
	h.Write(c.digest[:])
	h.Write(record)
	h.Sum(c.digest[:0])
	c.messages = messages
}

// Messages returns the messages so far. The slice is the caller's; what it holds
// is shared.
func (c *Conversation) Messages() []Message { return slices.Clone(c.messages) }

// view is the messages so far for those who only read: it does not grow with the
// conversation and costs nothing.
func (c *Conversation) view() []Message { return slices.Clip(c.messages) }

// Len is the number of messages.
func (c *Conversation) Len() int { return len(c.messages) }

// Digest names everything said so far, in hex.
func (c *Conversation) Digest() string {
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], c.digest[:])
	return string(text[:])
}
