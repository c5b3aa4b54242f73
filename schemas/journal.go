package schemas

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/workflow"
)

// journalRecord is one line of a journal. Its members stand in this order, without space
// between tokens.
type journalRecord struct {
	// Seq is the position in the file, from 1.
	Seq int64 `json:"seq"`
	// Time is in UTC, with milliseconds.
	Time time.Time `json:"time"`
	// Kind is what the record is.
	Kind string `json:"kind"`
	// Key is what the record is about, such as fetch/visit/1/attempt/1/turn/3/reply.
	Key string `json:"key,omitempty"`
	// Input is the first 16 bytes, in hex, of the SHA-256 of what a result was made from.
	Input string `json:"input,omitempty"`
	// Data is the payload; its form is that of the kind and the key.
	Data json.RawMessage `json:"data,omitempty"`
	// Blob stands in place of Data where the payload is over 32 KB: its SHA-256, in hex,
	// which is the name of its file beside the journal.
	Blob string `json:"blob,omitempty"`
	// Size is the length of a payload that lies beside the journal, in bytes.
	Size int64 `json:"size,omitempty"`
	// Hash is the running hash: the first 8 bytes, in hex, of the SHA-256 over the hash of
	// the record before (16 zeros for the first) and the bytes of this line in front of the
	// comma before hash.
	Hash string `json:"hash"`
	// CRC is the CRC-32C, in hex, of the bytes of this line in front of the comma before
	// crc.
	CRC string `json:"crc"`
}

// journalHeader is the data of the first record.
type journalHeader struct {
	// Format is "treadle-journal".
	Format string `json:"format"`
	// Version is that of the format. A reader refuses a higher one than it knows.
	Version int `json:"version"`
}

// journalOwner is the data of a record of a process that took the journal over.
type journalOwner struct {
	// Holder says which process it is.
	Holder string `json:"holder,omitempty"`
}

// journalSchema is that of one line, with the data of each kind.
func journalSchema(k *knowledge) *jsonschema.Schema {
	r := newReflection(writing, k)
	root := r.root(reflect.TypeFor[journalRecord]())
	root.DependentRequired = map[string][]string{"blob": {"size"}, "size": {"blob"}}
	root.Not = &jsonschema.Schema{Required: []string{"data", "blob"}}
	forms := []workflow.RecordForm{
		{Kind: string(journal.KindHeader), About: "The first record: format and version.", Data: reflect.TypeFor[journalHeader]()},
		{Kind: string(journal.KindOwner), About: "A process took the journal over.", Data: reflect.TypeFor[journalOwner]()},
	}
	for _, form := range append(forms, workflow.RecordForms()...) {
		condition := with("kind", form.Kind)
		if form.Key != "" {
			condition.Properties.Set("key", &jsonschema.Schema{Pattern: form.Key})
			condition.Required = append(condition.Required, "key")
		}
		properties := jsonschema.NewProperties()
		properties.Set("data", r.ref(form.Data))
		root.AllOf = append(root.AllOf, &jsonschema.Schema{
			If: condition, Then: &jsonschema.Schema{Description: form.About, Properties: properties},
		})
	}
	root.Definitions = r.defs
	return root
}
