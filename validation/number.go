package validation

import (
	"errors"
	"math/big"
)

// exactNumber holds a number of a JSON document for comparison: integers of up to
// 150 digits exactly, and two spellings of one decimal as equal. Exponents are
// cheap here, unlike in a rational number, where 1e999999999 fills the memory.
type exactNumber struct {
	text  string
	value *big.Float
}

// numberBits is the precision of the comparison.
const numberBits = 512

func parseNumber(text string) (*exactNumber, error) {
	value, _, err := big.ParseFloat(text, 10, numberBits, big.ToNearestEven)
	if err != nil {
		return nil, errors.New("not a number")
	}
	return &exactNumber{text: text, value: value}, nil
}

// compare is -1, 0 or 1 as n is below, equal to or above other.
func (n *exactNumber) compare(other *exactNumber) int { return n.value.Cmp(other.value) }

// String is the number as it was written.
func (n *exactNumber) String() string { return n.text }
