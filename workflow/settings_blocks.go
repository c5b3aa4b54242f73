package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/internal/jsonedit"
	"github.com/treadle-dev/treadle/internal/openjson"
	"github.com/treadle-dev/treadle/stepconfig"
)

// Ownership says whose the workflow is.
type Ownership struct {
	open

	EmployeeID string `json:"employee_id,omitempty"`
}

// Notifications say who hears of a workflow's runs.
type Notifications struct {
	open

	// SlackWebhookSecretName is the name of a secret, never its value.
	SlackWebhookSecretName   string   `json:"slack_webhook_secret_name,omitempty"`
	RunSummaryInstructions   string   `json:"run_summary_instructions,omitempty"`
	PulseSummaryInstructions string   `json:"pulse_summary_instructions,omitempty"`
	RunSummaryChannels       []string `json:"run_summary_channels,omitempty"`
	PulseSummaryChannels     []string `json:"pulse_summary_channels,omitempty"`
	ExcludeChannels          []string `json:"exclude_channels,omitempty"`
	BlockRecipients          []string `json:"block_recipients,omitempty"`
}

// Pulse is the look at a workflow after its runs.
type Pulse struct {
	open

	Enabled *bool `json:"enabled,omitempty"`
}

// Backup says where the workflow's files are copied to.
type Backup struct {
	open

	Enabled      *bool               `json:"enabled,omitempty"`
	Mode         string              `json:"mode,omitempty"`
	Triggers     Triggers            `json:"triggers,omitzero"`
	Destinations []BackupDestination `json:"destinations,omitempty"`
}

// Triggers say after which runs something happens.
type Triggers struct {
	open

	AfterScheduledRun *bool `json:"after_scheduled_run,omitempty"`
	AfterManualRun    *bool `json:"after_manual_run,omitempty"`
}

// BackupDestination is one place of copies.
type BackupDestination struct {
	open

	ID         string   `json:"id,omitempty"`
	Type       string   `json:"type,omitempty"` // git, object_store, huggingface or local_zip
	Provider   string   `json:"provider,omitempty"`
	Repo       string   `json:"repo,omitempty"`
	Branch     string   `json:"branch,omitempty"`
	Bucket     string   `json:"bucket,omitempty"`
	Prefix     string   `json:"prefix,omitempty"`
	Covers     []string `json:"covers,omitempty"`
	SecretRefs []string `json:"secret_refs,omitempty"` // names of secrets
	Notes      string   `json:"notes,omitempty"`
}

// Publish says where the workflow's reports are shown.
type Publish struct {
	open

	Enabled       *bool                `json:"enabled,omitempty"`
	Mode          string               `json:"mode,omitempty"`
	Targets       []string             `json:"targets,omitempty"`
	DashboardMode string               `json:"dashboard_mode,omitempty"` // snapshot
	URL           string               `json:"url,omitempty"`
	Triggers      Triggers             `json:"triggers,omitzero"`
	Destinations  []PublishDestination `json:"destinations,omitempty"`
}

// PublishDestination is one place where reports are shown.
type PublishDestination struct {
	open

	ID            string   `json:"id,omitempty"`
	Provider      string   `json:"provider,omitempty"`
	Method        string   `json:"method,omitempty"` // cli, git or sync
	Site          string   `json:"site,omitempty"`
	SecretName    string   `json:"secret_name,omitempty"`
	Visibility    string   `json:"visibility,omitempty"`
	PublicBaseURL string   `json:"public_base_url,omitempty"`
	URL           string   `json:"url,omitempty"`
	Covers        []string `json:"covers,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler]. A block with a value of a wrong type is an
// error as a whole: half of it could mean something else.
func (o *Ownership) UnmarshalJSON(data []byte) error { return decodeBlock(data, o) }

// MarshalJSON implements [json.Marshaler].
func (o Ownership) MarshalJSON() ([]byte, error) { return o.rest.Encode(&o) }

// UnmarshalJSON implements [json.Unmarshaler], as that of [Ownership] does.
func (n *Notifications) UnmarshalJSON(data []byte) error { return decodeBlock(data, n) }

// MarshalJSON implements [json.Marshaler].
func (n Notifications) MarshalJSON() ([]byte, error) { return n.rest.Encode(&n) }

// UnmarshalJSON implements [json.Unmarshaler], as that of [Ownership] does.
func (p *Pulse) UnmarshalJSON(data []byte) error { return decodeBlock(data, p) }

// MarshalJSON implements [json.Marshaler].
func (p Pulse) MarshalJSON() ([]byte, error) { return p.rest.Encode(&p) }

// UnmarshalJSON implements [json.Unmarshaler], as that of [Ownership] does.
func (b *Backup) UnmarshalJSON(data []byte) error { return decodeBlock(data, b) }

// MarshalJSON implements [json.Marshaler].
func (b Backup) MarshalJSON() ([]byte, error) { return b.rest.Encode(&b) }

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Triggers) UnmarshalJSON(data []byte) error { return t.rest.Decode(data, t) }

// MarshalJSON implements [json.Marshaler].
func (t Triggers) MarshalJSON() ([]byte, error) { return t.rest.Encode(&t) }

// UnmarshalJSON implements [json.Unmarshaler].
func (d *BackupDestination) UnmarshalJSON(data []byte) error { return d.rest.Decode(data, d) }

// MarshalJSON implements [json.Marshaler].
func (d BackupDestination) MarshalJSON() ([]byte, error) { return d.rest.Encode(&d) }

// UnmarshalJSON implements [json.Unmarshaler], as that of [Ownership] does.
func (p *Publish) UnmarshalJSON(data []byte) error { return decodeBlock(data, p) }

// MarshalJSON implements [json.Marshaler].
func (p Publish) MarshalJSON() ([]byte, error) { return p.rest.Encode(&p) }

// UnmarshalJSON implements [json.Unmarshaler].
func (d *PublishDestination) UnmarshalJSON(data []byte) error { return d.rest.Decode(data, d) }

// MarshalJSON implements [json.Marshaler].
func (d PublishDestination) MarshalJSON() ([]byte, error) { return d.rest.Encode(&d) }

// openObject is an object of a file that keeps what its struct cannot hold.
type openObject interface{ members() *openjson.Members }

var errMalformedBlock = errors.New("a value is of another type than its field")

// decodeBlock fills a block, or fails when anything in it is of a wrong type.
func decodeBlock(data []byte, block openObject) error {
	if err := block.members().Decode(data, block); err != nil {
		return err
	}
	if !wellFormed(block) {
		return errMalformedBlock
	}
	return nil
}

// wellFormed reports whether every value of an object, and of those in it, has the type
// of its field.
func wellFormed(object any) bool {
	whole := true
	eachObject("", object, func(_ string, inner any) {
		if o, ok := inner.(openObject); ok {
			whole = whole && !slices.ContainsFunc(o.members().Faults(), isWrongType)
		}
	})
	return whole
}

func isWrongType(f openjson.Fault) bool { return f.Kind == openjson.WrongType }

// eachObject visits a decoded object and every one in it, with its pointer, in the order
// of the fields. Each is a pointer to a struct.
func eachObject(pointer string, object any, visit func(pointer string, object any)) {
	visit(pointer, object)
	if _, ok := object.(*stepconfig.LLMRef); ok {
		return // it checks itself
	}
	value := reflect.ValueOf(object).Elem()
	for i := range value.NumField() {
		key := jsonName(value.Type().Field(i))
		if key == "" {
			continue
		}
		eachObjectIn(pointer+"/"+key, value.Field(i), visit)
	}
}

func eachObjectIn(pointer string, value reflect.Value, visit func(string, any)) {
	switch value.Kind() {
	case reflect.Struct:
		eachObject(pointer, value.Addr().Interface(), visit)
	case reflect.Pointer:
		if !value.IsNil() && value.Elem().Kind() == reflect.Struct {
			eachObject(pointer, value.Interface(), visit)
		}
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Struct {
			for i := range value.Len() {
				eachObject(pointer+"/"+strconv.Itoa(i), value.Index(i).Addr().Interface(), visit)
			}
		}
	}
}

// Values are texts by name, such as those of a group of variables.
type Values map[string]string

// UnmarshalJSON implements [json.Unmarshaler]. A value that is no string is an error: a
// number could not be written back as it was.
func (v *Values) UnmarshalJSON(data []byte) error {
	values := map[string]*string{}
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return nil
	}
	*v = make(Values, len(values))
	for name, value := range values {
		if value == nil {
			return errMalformedBlock
		}
		(*v)[name] = *value
	}
	return nil
}

// wrongValues are the members of an object that are no strings.
func wrongValues(object []byte) []jsonedit.Member {
	var wrong []jsonedit.Member
	for _, m := range jsonedit.Members(object) {
		if openjson.KindOf(m.Value) != "a string" {
			wrong = append(wrong, m)
		}
	}
	return wrong
}

// jsonName is the key of a field in JSON; empty when it has none.
func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}
