package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// redis is Debian's redis-server on its own loopback address, at the default port. The name redis
// resolves to it in the namespace of the workload.
type redis struct {
	t       *testing.T
	address string // without the port
	socket  string
}

func startRedis(t *testing.T, namespace string) *redis {
	t.Helper()
	folder := t.TempDir()
	r := &redis{t: t, address: newAddress(), socket: filepath.Join(folder, "socket")}
	command := exec.Command("redis-server", "--bind", r.address, "--port", "6379", "--protected-mode", "no",
		"--unixsocket", r.socket, "--save", "", "--dir", folder)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
	})
	eventually(t, timeout, "Redis serves", func() bool {
		output, err := exec.Command("redis-cli", "-s", r.socket, "PING").Output()
		return err == nil && strings.TrimSpace(string(output)) == "PONG"
	})
	giveNameTo(t, "redis."+namespace, r.address)
	return r
}

// do executes a Redis command and returns the words of the reply.
func (r *redis) do(words ...string) []string {
	r.t.Helper()
	output, err := exec.Command("redis-cli", append([]string{"-e", "-s", r.socket}, words...)...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%v: %v\n%s", words, err, output)
	}
	return strings.Fields(string(output))
}

// A stream that one consumer group reads.
const (
	jobs    = "jobs"
	workers = "workers"
)

func (r *redis) makeStream() { r.do("XGROUP", "CREATE", jobs, workers, "$", "MKSTREAM") }

func (r *redis) addJobs(count int) {
	r.t.Helper()
	script := fmt.Sprintf("for i = 1, %d do redis.call('XADD', '%s', '*', 'job', i) end", count, jobs)
	r.do("EVAL", script, "0")
}

// finish makes the group read and acknowledge that many jobs.
func (r *redis) finish(count int) {
	r.t.Helper()
	script := fmt.Sprintf(`
		local read = redis.call('XREADGROUP', 'GROUP', '%[2]s', 'worker', 'COUNT', %[3]d, 'STREAMS', '%[1]s', '>')
		for _, entry in ipairs(read[1][2]) do redis.call('XACK', '%[1]s', '%[2]s', entry[1]) end`,
		jobs, workers, count)
	r.do("EVAL", script, "0")
}

// lag returns a push trigger on the jobs not yet read.
func (w *workload) lag(jobsPerReplica int) map[string]any {
	return map[string]any{"type": "external-push", "name": "queue", "metadata": map[string]string{
		"scalerAddress":      "keda-gpu-scaler." + w.namespace + ":6000",
		"metricType":         "redis_stream_lag",
		"redisAddress":       "redis:6379",
		"redisStream":        jobs,
		"redisConsumerGroup": workers,
		"jobsPerReplica":     fmt.Sprint(jobsPerReplica),
	}}
}

// allowLoopback allows loopback, which is the cluster's network here.
const allowLoopback = "--allow-endpoints=127.0.0.0/8"

func TestRedisStreamOf47JobsGoesFrom2To10ReplicasAndBackToZero(t *testing.T) {
	t.Parallel()
	queue := startRedis(t, "stream")
	queue.makeStream()
	queue.addJobs(7)
	w := newWorkload(t, "stream", start{gpus: 12, flags: []string{allowLoopback}})
	w.scale(scaledObject{min: 0, max: 12, triggers: []any{w.lag(5)}})
	w.line.reaches(2, timeout)

	up := w.line.mark("47 jobs")
	queue.addJobs(40)
	w.line.reaches(10, timeout)
	w.line.risesOnly(up)
	steps := w.line.changes(up)
	fmt.Fprintf(os.Stderr, "e2e: 47 jobs, 5 a replica: %.1f s from 2 to 10 replicas\n",
		(steps[len(steps)-1].at - w.line.since(up)[0].at).Seconds())

	down := w.line.mark("all jobs are done")
	queue.finish(47)
	w.line.reaches(0, timeout)
	w.line.fallsOnly(down)
	w.line.neverAbove(10)
}

func TestFirstJobWakesByPush(t *testing.T) {
	t.Parallel()
	queue := startRedis(t, "job")
	queue.makeStream()
	w := newWorkload(t, "job", start{flags: []string{allowLoopback}})
	w.scale(scaledObject{min: 0, max: 4, polling: 3600, triggers: []any{w.lag(5)}}) // no poll wakes it
	w.scaler.waitForStreams(1)
	mark := w.line.mark("1 job")
	queue.addJobs(1)
	w.line.reaches(1, timeout)
	fmt.Fprintf(os.Stderr, "e2e: first job to first replica asked for %.2f s\n", w.line.firstChange(mark).Seconds())
}

// Both waiting jobs and busy GPUs: more replicas. Only one of them: none.
func TestQueueAndGPUsMustAgree(t *testing.T) {
	t.Parallel()
	queue := startRedis(t, "agree")
	queue.makeStream()
	w := newWorkload(t, "agree", start{signals: 1, replicas: 1, flags: []string{allowLoopback}})
	w.line.reaches(1, timeout)
	gpu := w.signal(0)
	gpu["name"] = "gpu"
	w.scale(scaledObject{min: 1, max: 8,
		advanced: map[string]any{"scalingModifiers": map[string]any{
			"formula": "min(queue / 5, gpu / 20)", "target": "1", "activationTarget": "0.1"}},
		triggers: []any{w.lag(5), gpu}})
	w.signals(60)
	w.line.mark("busy GPUs, and no job")
	w.line.stays(4 * time.Second)
	w.signals(0)
	eventually(t, timeout, "the GPU is read as idle", func() bool {
		busy, ok := w.valueOf(gpu)
		return ok && busy == 0
	})
	queue.addJobs(40)
	w.line.mark("40 jobs, and idle GPUs")
	w.line.stays(4 * time.Second)
	w.signals(60)
	w.line.reaches(3, timeout)
	w.signals(100)
	w.line.reaches(5, timeout)
	queue.finish(30)
	w.line.mark("10 jobs")
	w.line.reaches(2, timeout)
	w.line.neverAbove(5)
}
