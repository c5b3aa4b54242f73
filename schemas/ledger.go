package schemas

import "time"

// dailyFile is a file of the ledger, costs/{scope}/{group}/{day}.json.
type dailyFile struct {
	// Date is the day in UTC, as in the file's name.
	Date string `json:"date,omitempty"`
	// Group is the group of the runs, as in the folder's name.
	Group string `json:"group_folder,omitempty"`
	// UpdatedAt is when the last call in the file ended.
	UpdatedAt *time.Time `json:"updated_at,omitempty"`
	// RunFolders is what was used, by run folder.
	RunFolders map[string]runFolderUsage `json:"run_folders,omitempty"`
	// Executions is what was used by run, in files that know no run folders.
	Executions map[string]runUsage `json:"executions,omitempty"`
	// Evaluations is what was used by evaluation, in files that know no run folders.
	Evaluations map[string]runUsage `json:"evaluations,omitempty"`
}

// runFolderUsage is what all runs of one folder have used.
type runFolderUsage struct {
	runUsage

	// Executions is what each run used, by its id. Where there are any, the other fields
	// are their sums.
	Executions map[string]runUsage `json:"executions,omitempty"`
	// ExecutionID is the id of the only run, in older files.
	ExecutionID *string `json:"execution_id,omitempty"`
}

// runUsage is what one run has used.
type runUsage struct {
	// CreatedAt is when the first call ended.
	CreatedAt *time.Time `json:"created_at,omitempty"`
	// UpdatedAt is when the last call ended.
	UpdatedAt *time.Time `json:"updated_at,omitempty"`
	// ByModel is what was used, by model.
	ByModel modelUsages `json:"by_model,omitempty"`
	// ByStep is the same by phase:step, and then by model.
	ByStep map[string]modelUsages `json:"by_step_and_model,omitempty"`
}

// modelUsages is what was used, by model; where several providers serve one, by
// provider/model.
type modelUsages map[string]modelUsage

// modelUsage is what a number of model calls have used. A count or cost that is absent
// is not known, which is not zero.
type modelUsage struct {
	// CacheCost is what the cache cost, in US dollars: reading and writing.
	CacheCost *float64 `json:"cache_cost_usd,omitempty"`
	// CacheReadCost is what reading from the cache cost, in US dollars.
	CacheReadCost *float64 `json:"cache_read_cost_usd,omitempty"`
	// CacheReadTokens were sent and read from a cache.
	CacheReadTokens *int64 `json:"cache_read_tokens,omitempty"`
	// CacheTokens were sent and read from a cache or written to it.
	CacheTokens *int64 `json:"cache_tokens,omitempty"`
	// CacheWriteCost is what writing to the cache cost, in US dollars.
	CacheWriteCost *float64 `json:"cache_write_cost_usd,omitempty"`
	// CacheWriteTokens were sent and written to a cache.
	CacheWriteTokens *int64 `json:"cache_write_tokens,omitempty"`
	// CallsWithoutPrice are the calls whose cost is not known in full, so that the costs
	// here are lower bounds.
	CallsWithoutPrice *int64 `json:"calls_without_price,omitempty"`
	// CallsWithoutUsage are the calls whose provider did not report their tokens, so that
	// the counts here are lower bounds.
	CallsWithoutUsage *int64 `json:"calls_without_usage,omitempty"`
	// DurationMS is the time spent in the calls, in milliseconds, added up even where they
	// ran side by side.
	DurationMS *int64 `json:"duration_ms,omitempty"`
	// InputCost is what the sent tokens cost that were in no cache, in US dollars.
	InputCost *float64 `json:"input_cost_usd,omitempty"`
	// InputTokens were sent and not in a cache.
	InputTokens *int64 `json:"input_tokens,omitempty"`
	// Calls is the number of model calls.
	Calls *int64 `json:"llm_call_count,omitempty"`
	// OutputCost is what the tokens that came back cost, in US dollars, with ReasoningCost.
	OutputCost *float64 `json:"output_cost_usd,omitempty"`
	// OutputTokens came back, with those of reasoning.
	OutputTokens *int64 `json:"output_tokens,omitempty"`
	// PricingModel is the model, where the key that the usage stands under is another.
	PricingModel *string `json:"pricing_model_id,omitempty"`
	// PricingVersion are the versions of the price lists used, parted by ", ".
	PricingVersion *string `json:"pricing_version,omitempty"`
	// Provider is whose model it is.
	Provider *string `json:"provider,omitempty"`
	// ReasoningCost is what reasoning cost, in US dollars; a part of OutputCost.
	ReasoningCost *float64 `json:"reasoning_cost_usd,omitempty"`
	// ReasoningTokens are those of reasoning, a part of OutputTokens.
	ReasoningTokens *int64 `json:"reasoning_tokens,omitempty"`
	// TotalCost is the sum of all costs that are known, in US dollars.
	TotalCost *float64 `json:"total_cost_usd,omitempty"`
}
