package feedback

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/treadle-dev/treadle/workspace"
)

// Defaults of [Config].
const (
	DefaultNotifyTimeout = 30 * time.Second
	DefaultPollInterval  = time.Second
	DefaultMaxWait       = 24 * time.Hour
	DefaultLockWait      = 10 * time.Second
)

// Config says how an [Inbox] works. The zero value works: it notifies nobody.
type Config struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Redact takes secret values out of every text before it is written or sent. Nil
	// leaves texts as they are.
	Redact func(text string) string
	// Notifier is told of every question. Nil tells nobody. A [Channels] is used channel
	// by channel.
	Notifier Notifier
	// NotifyTimeout limits one notification on one channel; 0 is [DefaultNotifyTimeout].
	// A notifier that does not return then is left, and what became of it is [InDoubt].
	NotifyTimeout time.Duration
	// Logger takes what does not stop a question, such as a notifier that fails. Nil
	// discards.
	Logger *slog.Logger
	// OnChange is called after each change that this inbox has made durable: asked,
	// answered, expired, withdrawn. It is called by the goroutine that made the change,
	// must not block, and may be called by several at a time. A process that dies in
	// between loses the call, not the change. Nil is not called.
	OnChange func(e *Entry)
	// PollInterval is the longest pause between two looks at a question that another
	// process may answer; 0 is [DefaultPollInterval]. Answers given through this inbox
	// are noticed at once.
	PollInterval time.Duration
	// MaxWait limits one [Inbox.Wait]; 0 is [DefaultMaxWait].
	MaxWait time.Duration
	// LockWait limits how long a change waits for the list of open questions; 0 is
	// [DefaultLockWait].
	LockWait time.Duration
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Redact == nil {
		c.Redact = func(text string) string { return text }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	for _, d := range []struct {
		value *time.Duration
		def   time.Duration
	}{
		{&c.NotifyTimeout, DefaultNotifyTimeout},
		{&c.PollInterval, DefaultPollInterval},
		{&c.MaxWait, DefaultMaxWait},
		{&c.LockWait, DefaultLockWait},
	} {
		if *d.value <= 0 {
			*d.value = d.def
		}
	}
	return c
}

// Inbox holds the questions of one workspace. It starts no goroutine that outlives a
// call, except that of a notifier which does not return when its context ends, and keeps nothing in memory but secrets that wait to be taken. It is safe for
// concurrent use, and so are several inboxes, also in several processes, over one
// storage. Get one from [New].
type Inbox struct {
	st      workspace.Storage
	config  Config
	index   *index
	secrets *secrets
	hints   hints
	// expiring holds one token while somebody who waits marks a question.
	expiring chan struct{}
}

// New returns the inbox of the workspace over a storage. It reads nothing.
func New(st workspace.Storage, config Config) *Inbox {
	in := &Inbox{st: st, config: config.withDefaults(), secrets: newSecrets(), expiring: make(chan struct{}, 1)}
	in.index = &index{
		st: st, now: in.config.Now, lockWait: in.config.LockWait, rebuild: in.openRecords,
		writing: make(chan struct{}, 1), end: -1, compact: compactFrom,
	}
	return in
}

// announce tells those who wait in this process.
func (in *Inbox) announce(e *Entry) {
	in.hints.tell(e.ID)
	if in.config.OnChange != nil {
		copied := *e
		in.config.OnChange(&copied)
	}
}

// file is the question's own file.
func (in *Inbox) file(run, id string) logFile {
	return logFile{st: in.st, name: workspace.RunLayout(run).Question(fileName(id))}
}

// load reads one question; nil when it is not there.
func (in *Inbox) load(ctx context.Context, run, id string) (*Entry, error) {
	p, _, err := in.file(run, id).read(ctx)
	if err != nil {
		return nil, err
	}
	return fold(p.records), nil
}

// Get returns a question with what became of it. The error matches [ErrNotFound] when
// there is none.
func (in *Inbox) Get(ctx context.Context, id string) (*Entry, error) {
	e, err := in.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return e.seen(in.config.Now()), nil
}

// find looks a question up: what is open is listed; what is closed is looked for in the
// folders of all runs.
func (in *Inbox) find(ctx context.Context, id string) (*Entry, error) {
	v, err := in.index.read(ctx)
	if err != nil {
		return nil, err
	}
	if at := v.byID[id]; at != nil {
		if e, err := in.load(ctx, at.run, id); e != nil || err != nil {
			return e, err
		}
	}
	runs, err := in.runs(ctx)
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		if e, err := in.load(ctx, run, id); e != nil || err != nil {
			return e, err
		}
	}
	return nil, notFound(id)
}

// runs are the folders of the runs in which something was asked or told.
func (in *Inbox) runs(ctx context.Context) ([]string, error) {
	entries, err := in.readDir(ctx, workspace.RunsDir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		inside, err := in.readDir(ctx, path.Join(workspace.RunsDir, e.Name()))
		if err != nil {
			return nil, err
		}
		for _, sub := range inside {
			run := e.Name() + "/" + sub.Name()
			if !sub.IsDir() {
				continue
			}
			if sub.Name() == workspace.FeedbackDir { // perhaps also the name of a group
				found = append(found, e.Name())
			}
			if in.isFolder(ctx, workspace.RunLayout(run).Feedback()) {
				found = append(found, run)
			}
		}
	}
	return found, nil
}

func (in *Inbox) isFolder(ctx context.Context, name string) bool {
	stat, err := in.st.Stat(ctx, name)
	return err == nil && stat.IsDir()
}

// readDir returns nothing for a folder that does not exist.
func (in *Inbox) readDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	entries, err := in.st.ReadDir(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// questionsOf reads all questions of a run. What cannot be read is told beside the rest.
func (in *Inbox) questionsOf(ctx context.Context, run string) ([]*Entry, error) {
	folder := workspace.RunLayout(run).Questions()
	files, err := in.readDir(ctx, folder)
	if err != nil {
		return nil, err
	}
	var list []*Entry
	var errs []error
	for _, f := range files {
		if f.IsDir() || !strings.HasSuffix(f.Name(), ".jsonl") {
			continue
		}
		p, _, err := logFile{st: in.st, name: folder + "/" + f.Name()}.read(ctx)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if e := fold(p.records); e != nil {
			list = append(list, e)
		}
	}
	return list, errors.Join(errs...)
}

// openRecords is the list of open questions as the questions' own files have it. A file
// that cannot be read is passed over: it stays where it is and is told when its run is
// looked at.
func (in *Inbox) openRecords(ctx context.Context) ([]record, error) {
	runs, err := in.runs(ctx)
	if err != nil {
		return nil, err
	}
	var records []record
	for _, run := range runs {
		list, err := in.questionsOf(ctx, run)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			in.config.Logger.WarnContext(ctx, "questions that cannot be read are not listed", "run", run, "error", err)
		}
		for _, e := range list {
			if e.State == Open {
				records = append(records, record{Kind: recordOpen, Question: &e.Question})
			}
		}
	}
	return records, nil
}
