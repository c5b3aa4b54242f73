package mcp

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAListIsReadOnceItsServerIsQuiet(t *testing.T) {
	t.Parallel()
	for name, burst := range map[string]struct{ lasts, want time.Duration }{
		"none":  {0, 0},
		"short": {200 * time.Millisecond, 200*time.Millisecond + quietTime},
		"long":  {time.Hour, maxQuietWait},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				session := newSession(Server{Name: "fake"}.withDefaults(), "")
				defer session.end()
				began := time.Now()
				var changes sync.WaitGroup
				stop := make(chan struct{})
				if burst.lasts > 0 {
					session.listChanged()
				}
				changes.Go(func() {
					for time.Since(began) < burst.lasts {
						select {
						case <-stop:
							return
						case <-time.After(20 * time.Millisecond):
							session.listChanged()
						}
					}
				})
				session.awaitQuiet()
				assert.Equal(t, burst.want, time.Since(began))
				close(stop)
				changes.Wait()
			})
		})
	}
}

func TestAReadingThatFailedIsTriedAgainLaterAndLater(t *testing.T) {
	t.Parallel()
	var c catalogue
	now := time.Now()
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
		c.failed(now)
		assert.Equal(t, want, c.retryAt.Sub(now))
	}
	for range 100 {
		c.failed(now)
	}
	assert.Equal(t, maxRelistDelay, c.retryAt.Sub(now))
	c.restarted()
	assert.True(t, c.retryAt.IsZero(), "another process has no failures yet")
}

func TestACallClockEndsAtTheHardLimitHoweverOftenItIsWound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, clock := startCallClock(t.Context(), time.Minute, 150*time.Second)
		defer clock.stop()
		for ctx.Err() == nil {
			select {
			case <-time.After(50 * time.Second):
				clock.wind()
			case <-ctx.Done():
			}
		}
		assert.Equal(t, 150*time.Second, time.Since(began))
	})
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, clock := startCallClock(t.Context(), time.Minute, time.Hour)
		defer clock.stop()
		<-ctx.Done()
		assert.Equal(t, time.Minute, time.Since(began))
	})
}
