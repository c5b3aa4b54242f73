package costs

// UnmarshalJSON reads what [Amount.MarshalJSON] writes; fields that it does not
// know are passed over.
func (a *Amount) UnmarshalJSON(data []byte) error {
	u, err := readUsage(data)
	if err != nil {
		return err
	}
	b, err := u.bucket()
	if err != nil {
		return err
	}
	*a = b.amount()
	return nil
}
