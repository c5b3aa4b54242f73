// Package feedback is how a run reaches people: questions that wait durably, answers,
// and notifications.
//
// An [Inbox] holds the questions of a workspace. A question is in the run's folder
// before anybody is notified of it, so it outlives the process that asked; any process
// that reaches the storage can answer it, and the first answer wins. [Asker] asks and
// waits, or leaves the run while a person thinks. [NewTools] gives a model the tools
// human_feedback and notify_user. A [Notifier] carries messages to people, a [Source]
// brings answers back.
//
// # Files
//
// Each question is a file of JSON lines in the folder feedback/questions of its run:
// asked, receipts of notifications, and at most one of answered, expired or withdrawn.
// Each line ends with a checksum. A line is appended only where the file ended when it
// was read, so of two answers one is refused by the storage. A line that an interrupted
// append has left without its end is closed with the byte 0x18, and passed over from
// then on. What a closed file says is never changed.
//
// The file runs/questions.jsonl lists what is open in all runs, so that a listing reads
// one file. Whoever changes a question notes there first that it is about to, and then
// what came of it; where only the first note is found, the question's own file decides.
// It is rebuilt when it is missing or damaged.
//
// # Secrets
//
// The answer to a secret question is recorded as given, without its value. The value
// stays in the memory of the Inbox that asked and is taken once, by
// [Inbox.TakeSecret]. An Inbox that did not ask refuses such an answer with
// [ErrSecretElsewhere], since it could not hand it on. Asking again, after a restart or
// when the value was taken already, makes a new question: see [Inbox.Ask].
package feedback
