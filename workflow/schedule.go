package workflow

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
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

// Valid reports whether the schedule was read whole and says when to run. The cron
// expression is only counted here, and time zones are not looked up.
func (s *Schedule) Valid() bool { return wellFormed(s) && len(s.problems()) == 0 }

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
		if fields := len(strings.Fields(s.CronExpression)); fields != 5 {
			return []fault{{"/cron_expression", fmt.Sprintf("a cron expression has 5 fields, this one %d", fields), `write minute, hour, day, month and weekday, such as "0 9 * * 1"`}}
		}
		return nil
	}
	if len(s.CalendarItems) == 0 {
		return []fault{{"/calendar_items", "the calendar has no items", "add an item with a date"}}
	}
	var found []fault
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
