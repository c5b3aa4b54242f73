package manifest

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"
)

// lookup finds the value at a dot path. What is not there is nil, as null is.
func lookup(config map[string]any, key string) any {
	var value any = config
	for part := range strings.SplitSeq(key, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[part]
	}
	return value
}

// isNull reports whether a value would be null in JSON.
func isNull(value any) bool {
	if value == nil {
		return true
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Map, reflect.Slice, reflect.Pointer:
		return v.IsNil()
	default:
		return false
	}
}

// isUnset reports whether a value is null, "" or [].
func isUnset(value any) bool {
	if isNull(value) || value == "" {
		return true
	}
	list, isList := elements(value)
	return isList && len(list) == 0
}

// elements gives the elements of a list of any Go type.
func elements(value any) ([]any, bool) {
	switch list := value.(type) {
	case nil, string, bool, json.Number:
		return nil, false
	case []any:
		return list, list != nil
	}
	v := reflect.ValueOf(value)
	if v.Kind() != reflect.Slice || v.IsNil() {
		return nil, false
	}
	list := make([]any, v.Len())
	for i := range list {
		list[i] = v.Index(i).Interface()
	}
	return list, true
}

// equal compares two values as JSON values: numbers by what they are worth, other
// values only with their own type.
func equal(a, b any) bool {
	if left, ok := number(a); ok {
		right, ok := number(b)
		return ok && left.Cmp(right) == 0
	}
	if left, ok := elements(a); ok {
		right, ok := elements(b)
		if !ok || len(left) != len(right) {
			return false
		}
		for i := range left {
			if !equal(left[i], right[i]) {
				return false
			}
		}
		return true
	}
	if left, ok := a.(map[string]any); ok {
		return equalObjects(left, b)
	}
	return reflect.DeepEqual(a, b)
}

func equalObjects(left map[string]any, b any) bool {
	right, ok := b.(map[string]any)
	if !ok || len(left) != len(right) {
		return false
	}
	for key, value := range left {
		other, ok := right[key]
		if !ok || !equal(value, other) {
			return false
		}
	}
	return true
}

// numberBits is the precision to which numbers are compared; integers of 75
// digits are exact.
const numberBits = 256

// number reads a number of any Go type that a configuration may hold.
func number(value any) (*big.Float, bool) {
	var written string
	switch v := value.(type) {
	case json.Number:
		written = v.String()
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, float32, float64:
		written = fmt.Sprint(v)
	default:
		return nil, false
	}
	parsed, _, err := big.ParseFloat(written, 10, numberBits, big.ToNearestEven)
	if err != nil {
		return nil, false
	}
	return parsed, true
}
