package sandbox

import (
	"context"
	"errors"
	"time"
)

// watchEvery is how often the limits are looked at that the kernel only counts.
const watchEvery = 50 * time.Millisecond

// watch ends the command when its context ends or a limit is reached.
func (s *session) watch(ctx context.Context, disk *usage) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.ended:
			return
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errTooLong) {
				s.kill(LimitDuration)
			} else {
				s.kill("")
			}
			return
		case <-ticker.C:
		}
		if limit := s.groups.exceeded(); limit != "" {
			s.kill(limit)
		}
		if disk.over(ctx) {
			s.kill(LimitDisk)
		}
	}
}
