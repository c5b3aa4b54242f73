package costs

import (
	"encoding/json"

	"github.com/tidwall/gjson"
)

// members calls yield for each field of an object, in order. Nothing and null have
// none. The text must be valid JSON; names are made valid UTF-8, as encoding/json
// would write them.
//
// A daily file is read level by level, and most of it only to be kept: the standard
// decoder would check every byte again on every level.
func members(raw []byte, yield func(name string, value json.RawMessage) error) error {
	object := gjson.ParseBytes(raw)
	if object.Type == gjson.Null {
		return nil
	}
	if !object.IsObject() {
		return errNotObject
	}
	var err error
	object.ForEach(func(name, value gjson.Result) bool {
		err = yield(validText(name.String()), json.RawMessage(value.Raw))
		return err == nil
	})
	return err
}
