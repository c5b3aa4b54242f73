package workflow

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/treadle-dev/treadle/internal/openjson"
)

// Schedule says when a workflow runs by itself. One that is not [Schedule.Valid] has a
// notice and must not be used.
type Schedule struct {
	open

	ID           string `json:"id,omitempty"`
	Name         string `json:"name,omitempty"`
	Description  string `json:"description,omitempty"`
	ScheduleType string `json:"schedule_type,omitempty"` // cron (the default) or calendar
	// CronExpression has the 5 fields minute, hour, day, month and weekday.
	CronExpression string          `json:"cron_expression,omitempty"`
	Timezone       string          `json:"timezone,omitempty"` // IANA, such as Europe/Oslo
	Enabled        *bool           `json:"enabled,omitempty"`
	TriggerPayload json.RawMessage `json:"trigger_payload,omitempty"`
	CalendarItems  []CalendarItem  `json:"calendar_items,omitempty"`
	// GroupNames are the groups of variables that it runs, by name.
	GroupNames   []string `json:"group_names,omitempty"`
	Mode         string   `json:"mode,omitempty"` // workshop
	Messages     []string `json:"messages,omitempty"`
	WorkshopMode string   `json:"workshop_mode,omitempty"` // run
	Query        string   `json:"query,omitempty"`
	// ResumePrevious takes up an unfinished run instead of starting one.
	ResumePrevious       *bool  `json:"resume_previous,omitempty"`
	DirectMessagesReason string `json:"direct_messages_reason,omitempty"`
	// RouteSelections are routes by the id of the step that chooses among them.
	RouteSelections Values `json:"route_selections,omitempty"`
	PulseMode       string `json:"pulse_mode,omitempty"` // off, basic or full

	// GroupIDs is the older form of GroupNames, into which reading migrates it.
	GroupIDs []string `json:"group_ids,omitempty"`
}

// CalendarItem is one day of a calendar schedule.
type CalendarItem struct {
	open

	ID             string          `json:"id,omitempty"`
	Date           string          `json:"date,omitempty"` // 2006-01-02
	Time           string          `json:"time,omitempty"` // 15:04
	Description    string          `json:"description,omitempty"`
	TriggerPayload json.RawMessage `json:"trigger_payload,omitempty"`
	Messages       []string        `json:"messages,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Schedule) UnmarshalJSON(data []byte) error { return s.rest.Decode(data, s) }

// MarshalJSON implements [json.Marshaler].
func (s Schedule) MarshalJSON() ([]byte, error) { return s.rest.Encode(&s) }

// UnmarshalJSON implements [json.Unmarshaler].
func (i *CalendarItem) UnmarshalJSON(data []byte) error { return i.rest.Decode(data, i) }

// MarshalJSON implements [json.Marshaler].
func (i CalendarItem) MarshalJSON() ([]byte, error) { return i.rest.Encode(&i) }

// Valid reports whether the schedule was read whole and says when to run. Its time zone
// is looked up where the machine knows time zones.
func (s *Schedule) Valid() bool {
	return wellFormed(s) && len(s.problems()) == 0 && len(s.untimely()) == 0
}

// fault is what is wrong with a value of an object.
type fault struct{ pointer, message, hint string }

// problems are the values that cannot be used.
func (s *Schedule) problems() []fault {
	found := s.timing()
	if s.ID == "" {
		found = append(found, fault{"/id", "the schedule has no id", "give it a short name that never changes"})
	}
	for _, word := range []struct {
		key, value string
		allowed    []string
	}{
		{"schedule_type", s.ScheduleType, []string{"cron", "calendar"}},
		{"mode", s.Mode, []string{"workshop"}},
		{"workshop_mode", s.WorkshopMode, []string{"run"}},
		{"pulse_mode", s.PulseMode, []string{"off", "basic", "full"}},
	} {
		if word.value != "" && !slices.Contains(word.allowed, word.value) {
			found = append(found, fault{"/" + word.key, fmt.Sprintf("unknown value %q", word.value), "use one of " + strings.Join(word.allowed, ", ")})
		}
	}
	return found
}

func (s *Schedule) timing() []fault {
	if s.ScheduleType != "calendar" {
		return s.fields()
	}
	var found []fault
	if len(s.CalendarItems) == 0 {
		found = append(found, fault{"/calendar_items", "the calendar has no items", "add an item with a date"})
	}
	for i := range s.CalendarItems {
		item := &s.CalendarItems[i]
		at := fmt.Sprintf("/calendar_items/%d", i)
		if _, err := time.Parse(time.DateOnly, item.Date); err != nil {
			found = append(found, fault{at + "/date", fmt.Sprintf("%q is no date", item.Date), "write it as 2006-01-02"})
		}
		if _, err := time.Parse("15:04", item.Time); err != nil && item.Time != "" {
			found = append(found, fault{at + "/time", fmt.Sprintf("%q is no time of day", item.Time), "write it as 15:04"})
		}
	}
	return found
}

const cronHint = `write minute, hour, day, month and weekday (0 to 6 or SUN to SAT), such as "0 9 * * 1"`

func (s *Schedule) fields() []fault {
	if fields := len(strings.Fields(s.CronExpression)); fields != 5 {
		return []fault{{"/cron_expression", fmt.Sprintf("a cron expression has 5 fields, this one %d", fields), cronHint}}
	}
	return nil
}

// untimely are a cron expression and a time zone that have the right form and are none
// all the same, or that never come.
func (s *Schedule) untimely() []fault {
	found := s.zone()
	if s.ScheduleType != "calendar" && len(s.fields()) == 0 {
		found = append(found, s.expression()...)
	}
	return found
}

// expression checks the fields of the cron expression. The parser knows further forms,
// which the format does not have.
func (s *Schedule) expression() []fault {
	const at = "/cron_expression"
	shown := openjson.Excerpt(s.CronExpression, 60)
	if strings.ContainsAny(s.CronExpression, "@=") {
		return []fault{{at, fmt.Sprintf("%q is no cron expression", shown), cronHint}}
	}
	times, err := cron.ParseStandard(s.CronExpression)
	if err != nil {
		return []fault{{at, fmt.Sprintf("%q is no cron expression: %v", shown, err), cronHint}}
	}
	if times.Next(time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return []fault{{at, fmt.Sprintf("no day is like %q, so the schedule never comes", shown), "correct day and month"}}
	}
	return nil
}

// zone checks the time zone, unless the machine knows none at all.
func (s *Schedule) zone() []fault {
	if s.Timezone == "" {
		return nil
	}
	if _, err := time.LoadLocation(s.Timezone); err == nil && s.Timezone != "Local" {
		return nil
	}
	if _, err := time.LoadLocation("Europe/London"); err != nil {
		return nil
	}
	return []fault{{"/timezone", fmt.Sprintf("there is no time zone %q", openjson.Excerpt(s.Timezone, 60)), "write a name of the IANA time zone database, such as Europe/Oslo or UTC"}}
}
